"""`ddx bead cancel`"""

from __future__ import annotations

from ddx.cli.bead.transition import move
from ddx.console.spec import ID, IF_REVISION, JSON, REASON, Command
from ddx.tracker.lifecycle import cancel


def run(*, id: str, reason: str, if_revision: str | None, json: bool) -> int:
    return move(cancel, id, reason=reason, done="is cancelled", if_revision=if_revision, json=json)


COMMAND = Command(
    "bead cancel",
    "Give a bead up; whatever waits for it stays blocked.",
    run,
    'ddx bead cancel app-1a2b3c4d --reason "the product is discontinued"',
    arguments=(ID,),
    flags=(REASON, IF_REVISION, JSON),
    schema="bead-changed",
)
