"""`helix backfill`"""

from __future__ import annotations

from ddx.console.spec import Command
from helix.actions.backfill import BACKFILL_EXIT_CODES, order_backfill
from helix.actions.scope import REPO
from helix.cli.writing import FLAGS, SCOPE, carry_out


def run(
    *,
    scope: str | None,
    agent: str | None,
    model: str | None,
    effort: str | None,
    dry_run: bool,
    json: bool,
) -> int:
    return carry_out(
        lambda desk: order_backfill(desk, scope or REPO),
        agent=agent,
        model=model,
        effort=effort,
        dry_run=dry_run,
        json=json,
        exit_codes=BACKFILL_EXIT_CODES,
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
