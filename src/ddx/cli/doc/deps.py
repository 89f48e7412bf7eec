"""`ddx doc deps`"""

from __future__ import annotations

from ddx.cli.doc.closures import DEPTH, ID, show_closure
from ddx.console.spec import JSON, Command


def run(*, id: str, depth: int | None, json: bool) -> int:
    return show_closure(id, down=False, depth=depth, none="it follows from nothing", json=json)


COMMAND = Command(
    "doc deps",
    "Draw what a document follows from, directly or not.",
    run,
    "ddx doc deps TD-001 --depth 2",
    arguments=(ID,),
    flags=(DEPTH, JSON),
    schema="doc-closure",
)
