"""`helix memory list`"""

from __future__ import annotations

from ddx.console.screen import answer
from ddx.console.spec import JSON, Command, Flag
from helix.cli.memory.listing import show_memories
from helix.cli.memory.session import open_session


def run(*, type: str | None, limit: int | None, json: bool) -> int:
    from helix.memory.interchange import memory_row
    from helix.memory.rows import all_memories

    with open_session() as session, session.store.reading() as db:
        known = all_memories(db)
    newest = [memory for memory in reversed(known) if type in (None, memory.type)][:limit]
    if json:
        answer([memory_row(memory) for memory in newest])
        return 0
    show_memories(
        newest, none="nothing is known yet: helix memory store --trigger ... --resolution ..."
    )
    return 0


COMMAND = Command(
    "memory list",
    "List memories, the newest first.",
    run,
    "helix memory list --type failure",
    flags=(
        Flag("--type", "only these", kind="choice", choices=("failure", "pattern")),
        Flag("--limit", "at most this many", kind="number"),
        JSON,
    ),
    schema="memory-list",
)
