"""`helix backfill`"""

from __future__ import annotations

from ddx.console.spec import Command
from helix.cli.opening import SCOPE
from helix.cli.writing import FLAGS, carry_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(*, scope: str | None, **given: Any) -> int:
    from helix.actions.backfill import BACKFILL_EXIT_CODES, order_backfill
    from helix.actions.scope import REPO

    return carry_out(
        lambda desk: order_backfill(desk, scope or REPO), exit_codes=BACKFILL_EXIT_CODES, **given
    )


COMMAND = Command(
    "backfill",
    "Reconstruct missing documents from the code, as far as evidence reaches.",
    run,
    "helix backfill src/export",
    arguments=(SCOPE,),
    flags=FLAGS,
    schema="helix-pass",
)
