"""`ddx bead block`"""

from __future__ import annotations

from ddx.cli.bead.transition import move
from ddx.console.spec import ID, IF_REVISION, JSON, REASON, Command
from ddx.tracker.lifecycle import block


def run(*, id: str, reason: str, if_revision: str | None, json: bool) -> int:
    return move(block, id, reason=reason, done="is blocked", if_revision=if_revision, json=json)


COMMAND = Command(
    "bead block",
    "Hold a bead back for a reason that the tracker cannot see.",
    run,
    'ddx bead block app-1a2b3c4d --reason "the vendor has sent no key yet"',
    arguments=(ID,),
    flags=(REASON, IF_REVISION, JSON),
    schema="bead-changed",
)
