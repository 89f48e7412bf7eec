"""Memories and edges as rows: every statement that reads or writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import NotFound
from ddx.fastjson import dumps, loads
from ddx.values import changed
from helix.memory.model import (
    Edge,
    Kind,
    Memory,
    Past,
    Relation,
    free_name,
    identity,
    patterns_of,
    slug_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection
    from typing import Any

    from helix.memory.model import Draft

_MEMORY = (
    "SELECT id, name, type, trigger, resolution, helped, failed, source, created_at,"
    " coalesce(last_used, ''), file_patterns, pinned, embedder FROM memory "
)
_ALL = _MEMORY + "ORDER BY id"
_BY_NAME = _MEMORY + "WHERE name = ?"
_BY_IDENTITY = _MEMORY + "WHERE type = ? AND identity = ?"
_BY_ID = _MEMORY + "WHERE id = ?"
_PUT = """
    INSERT INTO memory (id, name, type, trigger, resolution, identity, helped, failed, source,
                        created_at, last_used, file_patterns, pinned, embedder)
    VALUES (:id, :name, :type, :trigger, :resolution, :identity, :helped, :failed, :source,
            :created_at, :last_used, :file_patterns, :pinned, :embedder)
    ON CONFLICT (id) DO UPDATE SET
        name = excluded.name, type = excluded.type, trigger = excluded.trigger,
        resolution = excluded.resolution, identity = excluded.identity, helped = excluded.helped,
        failed = excluded.failed, source = excluded.source, created_at = excluded.created_at,
        last_used = excluded.last_used, file_patterns = excluded.file_patterns,
        pinned = excluded.pinned, embedder = excluded.embedder
    RETURNING id
"""
_AROUND = """
    SELECT id, from_name, to_name, rel_type, weight FROM memory_edge
    WHERE from_name IN (SELECT value FROM json_each(?1))
       OR to_name IN (SELECT value FROM json_each(?1)) ORDER BY id
"""
_ADD_EDGE = """
    INSERT INTO memory_edge (from_name, to_name, rel_type, weight, created_at)
    VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""


def all_memories(db: Connection) -> list[Memory]:
    """In the order in which they were learned."""
    return [_memory(row) for row in db.execute(_ALL)]


def count_memories(db: Connection) -> int:
    return int(db.execute("SELECT count(*) FROM memory").fetchone()[0])


def memories_by_id(db: Connection, ids: Iterable[int]) -> dict[int, Memory]:
    rows = (db.execute(_BY_ID, (number,)).fetchone() for number in ids)
    return {row[0]: _memory(row) for row in rows if row is not None}


def find_memory(db: Connection, name: str) -> Memory | None:
    row = db.execute(_BY_NAME, (name,)).fetchone()
    return None if row is None else _memory(row)


def require_memory(db: Connection, name: str) -> Memory:
    found = find_memory(db, name)
    if found is None:
        raise NotFound(f"there is no memory {name!r} here", hint="see: helix memory list")
    return found


def find_same(db: Connection, draft: Draft) -> Memory | None:
    """The memory of that type with the same trigger, but for case, blanks and marks."""
    row = db.execute(_BY_IDENTITY, (draft.type, identity(draft.trigger))).fetchone()
    return None if row is None else _memory(row)


def insert(
    db: Connection, draft: Draft, *, now: str, like: str = "", past: Past | None = None
) -> Memory:
    """A new row, under a name that reads like its trigger or like what was wished."""
    slug = slug_of(like or draft.trigger)
    pattern = f"{slug}*"  # a slug holds letters, digits and dashes: nothing that GLOB reads
    before = past or Past()
    taken = {row[0] for row in db.execute("SELECT name FROM memory WHERE name GLOB ?", (pattern,))}
    memory = Memory(
        0,
        free_name(slug, taken),
        Kind(draft.type),
        draft.trigger.strip(),
        draft.resolution.strip(),
        before.helped,
        before.failed,
        draft.source,
        before.created_at or now,
        before.last_used,
        patterns_of(draft),
        before.pinned,
    )
    return put(db, memory)


def put(db: Connection, memory: Memory) -> Memory:
    """The memory as it is now, in its own row or, if it has none yet, in a new one."""
    given = {
        **memory.__dict__,
        "id": memory.id or None,
        "type": str(memory.type),
        "identity": identity(memory.trigger),
        "last_used": memory.last_used or None,
        "file_patterns": dumps(list(memory.file_patterns)),
        "pinned": int(memory.pinned),
    }
    return changed(memory, id=int(db.execute(_PUT, given).fetchone()[0]))


def delete(db: Connection, name: str) -> None:
    """Its edges go with it; what was credited to it stays, should it ever come back."""
    db.execute("DELETE FROM memory WHERE name = ?", (name,))


def _memory(row: tuple[Any, ...]) -> Memory:
    number, name, type, trigger, resolution, helped, failed, source, created, used, *rest = row
    patterns, pinned, embedder = rest
    return Memory(
        number,
        name,
        Kind(type),
        trigger,
        resolution,
        helped,
        failed,
        source,
        created,
        used,
        tuple(map(str, loads(patterns))),
        bool(pinned),
        embedder,
    )


# -- edges ---------------------------------------------------------------------------------


def all_edges(db: Connection) -> list[Edge]:
    rows = db.execute("SELECT from_name, to_name, rel_type, weight FROM memory_edge ORDER BY id")
    return [Edge(row[0], row[1], Relation(row[2]), row[3]) for row in rows]


def edges_around(db: Connection, names: Iterable[str], *, hops: int = 1) -> list[Edge]:
    """The edges on all ways from these memories, so many steps far, in both directions."""
    known, found = set(names), {}
    for _ in range(hops):
        rows = db.execute(_AROUND, (dumps(sorted(known)),)).fetchall()
        found = {row[0]: Edge(row[1], row[2], Relation(row[3]), row[4]) for row in rows}
        known.update(name for edge in found.values() for name in (edge.source, edge.target))
    return list(found.values())


def add_edge(db: Connection, edge: Edge, *, now: str) -> bool:
    """False if it was there already."""
    given = (edge.source, edge.target, str(edge.relation), edge.weight, now)
    return db.execute(_ADD_EDGE, given).rowcount > 0
