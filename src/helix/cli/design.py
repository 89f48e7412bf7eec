"""`helix design`"""

from __future__ import annotations

from ddx.console.spec import Command, Flag
from helix.cli.opening import SCOPE
from helix.cli.writing import FLAGS, carry_out, require_rounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(*, scope: str | None, rounds: int | None, **given: Any) -> int:
    from helix.actions.design import ROUNDS, order_design
    from helix.actions.scope import REPO

    most = require_rounds(rounds, usual=ROUNDS)
    return carry_out(lambda desk: order_design(desk, scope or REPO, rounds=most), **given)


COMMAND = Command(
    "design",
    "Work out how something is to be built, in rounds, and land the plan.",
    run,
    "helix design --rounds 3 FEAT-003",
    arguments=(SCOPE,),
    flags=(Flag("--rounds", "rounds at most (5)", kind="number"), *FLAGS),
    schema="helix-pass",
)
