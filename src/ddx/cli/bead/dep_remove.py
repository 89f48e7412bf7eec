"""`ddx bead dep remove`"""

from __future__ import annotations

from ddx.cli.bead.transition import finish
from ddx.cli.session import open_tracker
from ddx.console.spec import ID, IF_REVISION, JSON, Argument, Command
from ddx.tracker.updating import remove_dependency


def run(*, id: str, wanted: str, if_revision: str | None, json: bool) -> int:
    tracker = open_tracker()
    applied = tracker.change(
        lambda view, now: remove_dependency(view, id, wanted, now=now),
        expect={id: if_revision} if if_revision else None,
    )
    return finish(tracker, applied, id, f"{id} does not wait for {wanted} any more", json=json)


COMMAND = Command(
    "bead dep remove",
    "Let a bead wait no longer for another one.",
    run,
    "ddx bead dep remove app-1a2b3c4d app-5e6f7a8b",
    arguments=(ID, Argument("wanted", "the bead that it waits for")),
    flags=(IF_REVISION, JSON),
    schema="bead-changed",
)
