"""Several memories as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.console.screen import say, table
from helix.cli.memory.session import credit_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helix.memory.model import Memory


def show_memories(
    memories: Sequence[Memory],
    *,
    none: str,
    last: str = "trigger",
    cell: Callable[[Memory], str] = lambda memory: memory.trigger,
) -> None:
    if not memories:
        say(none)
        return
    rows = [(it.name, str(it.type), _record(it), cell(it)) for it in memories]
    table(("name", "type", "record", last), rows)


def _record(memory: Memory) -> str:
    credit = credit_in_words(memory.helped, memory.failed)
    return f"{credit}, pinned" if memory.pinned else credit
