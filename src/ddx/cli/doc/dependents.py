"""`ddx doc dependents`"""

from __future__ import annotations

from ddx.cli.doc.closures import DEPTH, ID, show_closure
from ddx.console.spec import JSON, Command


def run(*, id: str, depth: int | None, json: bool) -> int:
    return show_closure(id, down=True, depth=depth, none="nothing follows from it", json=json)


COMMAND = Command(
    "doc dependents",
    "Draw what follows from a document, directly or not: designs, plans, tests, code.",
    run,
    "ddx doc dependents US-001",
    arguments=(ID,),
    flags=(DEPTH, JSON),
    schema="doc-closure",
)
