"""`helix experiment`"""

from __future__ import annotations

from ddx.console.spec import Argument, Command, Flag
from helix.cli.writing import FLAGS, carry_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(*, goal: tuple[str, ...], close: bool, **given: Any) -> int:
    from helix.actions.experiment import make_experiment, order_experiment

    words = " ".join(goal)
    return carry_out(
        lambda desk: order_experiment(desk, words, close=close), make_experiment, **given
    )


COMMAND = Command(
    "experiment",
    "One bounded iteration towards a number; refuses uncommitted changes.",
    run,
    'helix experiment "the start-up takes less than 50 ms"',
    arguments=(Argument("goal", "a bead, a document, or the goal in words", many=True),),
    flags=(Flag("--close", "end the session: sum it up", kind="switch"), *FLAGS),
    schema="helix-pass",
)
