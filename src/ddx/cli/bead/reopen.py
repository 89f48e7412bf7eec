"""`ddx bead reopen`"""

from __future__ import annotations

from ddx.cli.bead.transition import move
from ddx.console.spec import ID, IF_REVISION, JSON, REASON, Command
from ddx.tracker.lifecycle import reopen


def run(*, id: str, reason: str, if_revision: str | None, json: bool) -> int:
    return move(reopen, id, reason=reason, done="is open again", if_revision=if_revision, json=json)


COMMAND = Command(
    "bead reopen",
    "Open a closed, cancelled, blocked or proposed bead again.",
    run,
    'ddx bead reopen app-1a2b3c4d --reason "the throttle resets too late"',
    arguments=(ID,),
    flags=(REASON, IF_REVISION, JSON),
    schema="bead-changed",
)
