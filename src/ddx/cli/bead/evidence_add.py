"""`ddx bead evidence add`"""

from __future__ import annotations

from ddx.cli.bead.transition import finish
from ddx.cli.place import actor
from ddx.cli.session import open_tracker
from ddx.console.spec import ID, JSON, Command, Flag
from ddx.tracker.events import event
from ddx.tracker.evidence import add_event


def run(
    *, id: str, kind: str, summary: str, body: str | None, source: str | None, json: bool, **by: str
) -> int:
    tracker = open_tracker()
    applied = tracker.change(
        lambda view, now: add_event(
            view,
            id,
            event(
                kind,
                summary=summary,
                body=body or "",
                source=source or "ddx",
                actor=by["actor"] or actor(),
                at=now,
            ),
            now=now,
        )
    )
    return finish(tracker, applied, id, f"{id} has one more event", json=json)


COMMAND = Command(
    "bead evidence add",
    "Record something that happened to a bead or proves it.",
    run,
    'ddx bead evidence add app-1a2b3c4d --kind test --summary "214 passed"',
    arguments=(ID,),
    flags=(
        Flag("--kind", "what sort of event, for example test or review", required=True),
        Flag("--summary", "one line", required=True),
        Flag("--body", "the details; more than 64 KiB are cut in the middle"),
        Flag("--source", "the program that reports it"),
        Flag("--actor", "who did it"),
        JSON,
    ),
    schema="bead-changed",
)
