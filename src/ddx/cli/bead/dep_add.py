"""`ddx bead dep add`"""

from __future__ import annotations

from ddx.cli.bead.transition import finish
from ddx.cli.place import actor
from ddx.cli.session import open_tracker
from ddx.console.spec import ID, IF_REVISION, JSON, Argument, Command
from ddx.tracker.updating import add_dependency


def run(*, id: str, wanted: str, if_revision: str | None, json: bool) -> int:
    tracker = open_tracker()
    applied = tracker.change(
        lambda view, now: add_dependency(view, id, wanted, now=now, by=actor()),
        expect={id: if_revision} if if_revision else None,
    )
    return finish(tracker, applied, id, f"{id} waits for {wanted} now", json=json)


COMMAND = Command(
    "bead dep add",
    "Let a bead wait for another one.",
    run,
    "ddx bead dep add app-1a2b3c4d app-5e6f7a8b",
    arguments=(ID, Argument("wanted", "the bead that it waits for")),
    flags=(IF_REVISION, JSON),
    schema="bead-changed",
)
