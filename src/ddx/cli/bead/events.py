"""`ddx bead events` and `ddx bead evidence`: what happened to a bead, and what proves it."""

from __future__ import annotations

from ddx.base import changed
from ddx.cli.bead.changes import change_bead
from ddx.cli.context import CLOCK, actor, open_tracker
from ddx.console import ID, JSON, Command, Flag, answer, dim, excerpt, say, when
from ddx.tracker import add_event, event, events_of, joined, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker import ChangeSet, Snapshot


@Command.of(
    example="ddx bead events app-1a2b3c4d", arguments=(ID,), flags=(JSON,), schema="bead-events"
)
def list_events(*, id: str, json: bool) -> int:
    """Show what happened to a bead, oldest first."""
    tracker = open_tracker()
    row = tracker.snapshot().row(id)
    events = joined(tracker.attachments.events(id), events_of(row))
    if json:
        answer(list(events))
        return 0
    for happened in events:
        at, kind, who = (text_of(happened, key) for key in ("created_at", "kind", "actor"))
        say(
            dim(when(at, now=CLOCK.stamp())),
            f"  {kind}{f' by {who}' if who else ''}: {text_of(happened, 'summary')}",
        )
        for line in excerpt(text_of(happened, "body")).splitlines():
            say(f"    {line}")
    if not events:
        say(f"{id} has no events")
    return 0


EVIDENCE_LIST = changed(
    list_events,
    summary="Show what was recorded about a bead, oldest first.",
    example="ddx bead evidence list app-1a2b3c4d --json",
)


@Command.of(
    example='ddx bead evidence add app-1a2b3c4d --kind test --summary "214 passed"',
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
def evidence_add(
    *, id: str, kind: str, summary: str, body: str | None, source: str | None, json: bool, **by: str
) -> int:
    """Record something that happened to a bead or proves it."""

    def decide(view: Snapshot, now: str) -> ChangeSet:
        who, where = by["actor"] or actor(), source or "ddx"
        proof = event(kind, summary=summary, body=body or "", source=where, actor=who, at=now)
        return add_event(view, id, proof, now=now)

    return change_bead(id, decide, f"{id} has one more event", json=json)
