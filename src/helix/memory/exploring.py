"""What was explored for an objective, kept beside the memories for who comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.fastjson import dumps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix.memory.store import MemoryStore

MOST_KEPT = 200
_FORGET_OLDEST = """
    DELETE FROM exploration WHERE id NOT IN (SELECT id FROM exploration ORDER BY id DESC LIMIT ?)
"""


def keep_exploration(
    store: MemoryStore, objective: str, found: Mapping[str, Any], *, now: str
) -> None:
    """The newest ones stay (C-9)."""
    with store.writing() as db:
        db.execute(
            "INSERT INTO exploration (objective, data, created_at) VALUES (?, ?, ?)",
            (objective, dumps(dict(found)), now),
        )
        db.execute(_FORGET_OLDEST, (MOST_KEPT,))
