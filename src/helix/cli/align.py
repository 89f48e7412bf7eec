"""`helix align`"""

from __future__ import annotations

from ddx.console.spec import Command
from helix.actions.align import make_align, order_align
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
        lambda desk: order_align(desk, scope or REPO),
        agent=agent,
        model=model,
        effort=effort,
        dry_run=dry_run,
        json=json,
        make=make_align,
    )


COMMAND = Command(
    "align",
    "Look for drift between documents and code; gaps become beads.",
    run,
    "helix align FEAT-003",
    arguments=(SCOPE,),
    flags=FLAGS,
    schema="helix-pass",
)
