"""`helix evolve`"""

from __future__ import annotations

from ddx.console.spec import Argument, Command, Flag
from helix.cli.writing import FLAGS, carry_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(
    *, requirement: tuple[str, ...], scope: str | None, artifact: str | None, **given: Any
) -> int:
    from helix.actions.evolve import order_evolve
    from helix.actions.scope import REPO

    words = " ".join(requirement)
    return carry_out(
        lambda desk: order_evolve(desk, words, scope=scope or REPO, artifact=artifact or ""),
        **given,
    )


COMMAND = Command(
    "evolve",
    "Carry a requirement through all documents that it touches.",
    run,
    'helix evolve --artifact FEAT-003 "exports carry their time zone"',
    arguments=(Argument("requirement", "what shall hold from now on", many=True),),
    flags=(
        Flag("--scope", "a bead, a document, a label, a path, or repo (the default)"),
        Flag("--artifact", "the document to begin with"),
        *FLAGS,
    ),
    schema="helix-pass",
)
