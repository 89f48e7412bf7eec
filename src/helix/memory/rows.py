"""Memories and edges as rows: found by name, by words and by who is near whom (M-7)."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from ddx.base import NotFound, Refused, UsageError, changed, dumps, loads, value
from ddx.documents import terms_of
from helix.memory.model import (
    Memory,
    MemoryEdge,
    MemoryHistory,
    MemoryKind,
    Relation,
    free_name,
    identity,
    patterns_of,
    slug_of,
)
from helix.memory.scoring import LEAST_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection
    from typing import Any

    from helix.memory.model import MemoryDraft
    from helix.memory.store import MemoryStore

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
_ALL_EDGES = "SELECT from_name, to_name, rel_type, weight FROM memory_edge ORDER BY id"
_AROUND = """
    SELECT from_name, to_name, rel_type, weight FROM memory_edge
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


def find_same(db: Connection, draft: MemoryDraft) -> Memory | None:
    """The memory of that type with the same trigger, but for case, blanks and marks."""
    row = db.execute(_BY_IDENTITY, (draft.type, identity(draft.trigger))).fetchone()
    return None if row is None else _memory(row)


def insert(
    db: Connection,
    draft: MemoryDraft,
    *,
    now: str,
    like: str = "",
    past: MemoryHistory | None = None,
) -> Memory:
    """A new row, under a name that reads like its trigger or like what was wished."""
    slug = slug_of(like or draft.trigger)
    pattern = f"{slug}*"  # a slug holds letters, digits and dashes: nothing that GLOB reads
    before = past or MemoryHistory()
    taken = {row[0] for row in db.execute("SELECT name FROM memory WHERE name GLOB ?", (pattern,))}
    memory = Memory(
        id=0,
        name=free_name(slug, taken),
        type=MemoryKind(draft.type),
        trigger=draft.trigger.strip(),
        resolution=draft.resolution.strip(),
        source=draft.source,
        file_patterns=patterns_of(draft),
        **{**before.__dict__, "created_at": before.created_at or now},
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
    """The row's columns are the memory's fields, in their order."""
    fields = dict(zip(Memory.__annotations__, row, strict=True))
    fields["type"] = MemoryKind(fields["type"])
    fields["file_patterns"] = tuple(map(str, loads(fields["file_patterns"])))
    fields["pinned"] = bool(fields["pinned"])
    return Memory(**fields)


# -- words ---------------------------------------------------------------------------------
#
# FTS5 with Porter stems, stop words dropped, nothing read as syntax.

MOST_TERMS = 24
MOST_ROWS = 500
AT_LEAST = 100
"""How rare a word is can be told among so many memories; fewer are taken for so many."""

_SCORES = """
    SELECT rowid, -bm25(memory_text) AS score FROM memory_text
    WHERE memory_text MATCH ? ORDER BY score DESC LIMIT ?
"""
_HOLDERS = "SELECT rowid FROM memory_text WHERE memory_text MATCH ?"


def question_terms(query: str) -> tuple[str, ...]:
    """What a question is about: its first words but for stop words, joined ones taken apart."""
    return terms_of(query, apart=True)[:MOST_TERMS]


def bm25_scores(db: Connection, terms: Sequence[str]) -> dict[int, float]:
    """By id, the best rows that hold at least one of the terms; positive, more is better."""
    if not terms:
        return {}
    rows = db.execute(_SCORES, (" OR ".join(map(_phrase, terms)), MOST_ROWS))
    return {number: max(score, 0.0) for number, score in rows}


def coverages(db: Connection, terms: Sequence[str], memories: int) -> dict[int, float]:
    """By id, the share of the question that a memory holds, rare words counting more.

    Where words are all there is, bm25 will not do: among few memories it is nearly 0 for all.
    """
    weights, held = [], []
    memories = max(memories, AT_LEAST)
    for term in terms:
        rows = [number for (number,) in db.execute(_HOLDERS, (_phrase(term),))]
        weights.append(log(1.0 + (memories - len(rows) + 0.5) / (len(rows) + 0.5)))
        held.append(rows)
    whole = sum(weights)
    found: dict[int, float] = {}
    for weight, rows in zip(weights, held, strict=True):
        for number in rows:
            found[number] = found.get(number, 0.0) + weight / whole
    return found


def _phrase(word: str) -> str:
    """A word as FTS5 reads it when it shall be no operator; terms hold letters and digits alone."""
    return f'"{word}"'


# -- edges ---------------------------------------------------------------------------------


def all_edges(db: Connection) -> list[MemoryEdge]:
    return [_edge(row) for row in db.execute(_ALL_EDGES)]


def edges_around(db: Connection, names: Iterable[str], *, hops: int = 1) -> list[MemoryEdge]:
    """The edges on all ways from these memories, so many steps far, in both directions."""
    known, found = set(names), []
    for _ in range(hops):
        found = [_edge(row) for row in db.execute(_AROUND, (dumps(sorted(known)),))]
        known.update(name for edge in found for name in (edge.source, edge.target))
    return found


def _edge(row: tuple[Any, ...]) -> MemoryEdge:
    source, target, relation, weight = row
    return MemoryEdge(source, target, Relation(relation), weight=weight)


def add_edge(db: Connection, edge: MemoryEdge, *, now: str) -> bool:
    """False if it was there already."""
    given = (edge.source, edge.target, str(edge.relation), edge.weight, now)
    return db.execute(_ADD_EDGE, given).rowcount > 0


@value
class RelatedMemory:
    """A memory that can be reached, by how many steps, and the one before it on the way."""

    memory: Memory
    hop: int
    via: str
    relation: Relation


def relate(
    store: MemoryStore, source: str, target: str, relation: str, *, now: str, weight: float = 1.0
) -> bool:
    """One edge between two memories that exist; False if it was there."""
    if relation not in tuple(Relation):
        raise UsageError(f"type must be one of {', '.join(Relation)}, not {relation!r}")
    if source == target:
        raise Refused(f"{source} cannot be related to itself")
    with store.writing() as db:
        require_memory(db, source)
        require_memory(db, target)
        return add_edge(db, MemoryEdge(source, target, Relation(relation), weight=weight), now=now)


def connected(store: MemoryStore, name: str, *, hops: int) -> tuple[RelatedMemory, ...]:
    """What can be reached over edges that are strong enough, nearest first, each once."""
    with store.reading() as db:
        require_memory(db, name)
        edges = [
            edge for edge in edges_around(db, (name,), hops=hops) if edge.weight >= LEAST_WEIGHT
        ]
        reached: dict[str, RelatedMemory] = {}
        frontier = {name}
        for hop in range(1, hops + 1):
            step: dict[str, RelatedMemory] = {}
            for edge in edges:
                for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                    if here in frontier and there != name and there not in (*reached, *step):
                        memory = find_memory(db, there)
                        if memory is not None:
                            step[there] = RelatedMemory(memory, hop, here, relation=edge.relation)
            reached |= step
            frontier = set(step)
        return tuple(reached.values())
