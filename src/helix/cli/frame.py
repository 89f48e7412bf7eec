"""`helix frame`"""

from __future__ import annotations

from ddx.console.spec import Command
from helix.actions.frame import order_frame
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
        lambda desk: order_frame(desk, scope or REPO),
        agent=agent,
        model=model,
        effort=effort,
        dry_run=dry_run,
        json=json,
    )


COMMAND = Command(
    "frame",
    "Write the documents that say what is wanted: vision, requirements, features.",
    run,
    "helix frame",
    arguments=(SCOPE,),
    flags=FLAGS,
    schema="helix-pass",
)
