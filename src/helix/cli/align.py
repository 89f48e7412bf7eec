"""`helix align`"""

from __future__ import annotations

from ddx.console.spec import Command
from helix.cli.opening import SCOPE
from helix.cli.writing import FLAGS, carry_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(*, scope: str | None, **given: Any) -> int:
    from helix.actions.align import make_align, order_align
    from helix.actions.scope import REPO

    return carry_out(lambda desk: order_align(desk, scope or REPO), make_align, **given)


COMMAND = Command(
    "align",
    "Look for drift between documents and code; gaps become beads.",
    run,
    "helix align FEAT-003",
    arguments=(SCOPE,),
    flags=FLAGS,
    schema="helix-pass",
)
