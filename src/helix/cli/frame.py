"""`helix frame`"""

from __future__ import annotations

from ddx.console.spec import Command
from helix.cli.opening import SCOPE
from helix.cli.writing import FLAGS, carry_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(*, scope: str | None, **given: Any) -> int:
    from helix.actions.frame import order_frame
    from helix.actions.scope import REPO

    return carry_out(lambda desk: order_frame(desk, scope or REPO), **given)


COMMAND = Command(
    "frame",
    "Write the documents that say what is wanted: vision, requirements, features.",
    run,
    "helix frame",
    arguments=(SCOPE,),
    flags=FLAGS,
    schema="helix-pass",
)
