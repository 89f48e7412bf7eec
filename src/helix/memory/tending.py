"""Keeping memories few and good: prune, consolidate, decay, forget, pin (M-7).

What is removed is written to an undo file before it goes, inside of the very transaction that
removes it: a crash in between leaves a file too many, never a memory too few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.values import changed, value
from helix.memory.model import Edge
from helix.memory.rows import (
    add_edge,
    all_memories,
    count_memories,
    delete,
    edges_around,
    find_memory,
    put,
    require_memory,
)
from helix.memory.scoring import effectiveness_of, idle_days
from helix.memory.undoing import Addition, Removal, write_undo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from sqlite3 import Connection

    from helix.memory.embedders.base import Embedder
    from helix.memory.model import Memory
    from helix.memory.store import MemoryStore

LEAST_EFFECTIVENESS = 0.25
LEAST_USES = 3.0
SAME = 0.9
OLD_DAYS = 30
USES_TO_SURVIVE = 2.0


@value
class Removed:
    """What went, what is left, and the file that brings it back."""

    memories: tuple[Memory, ...]
    remaining: int
    undo: str = ""


@value
class Pair:
    """Two memories that say the same: the first is kept, the other goes into it."""

    kept: Memory
    merged: Memory
    similarity: float


@value
class Consolidated:
    pairs: tuple[Pair, ...]
    remaining: int
    undo: str = ""


# -- what does not help ---------------------------------------------------------------------


def is_useless(memory: Memory, *, least_effectiveness: float, least_uses: float) -> bool:
    """Tried often enough, and it hardly ever helped; what is pinned stays."""
    effectiveness = effectiveness_of(memory.helped, memory.failed)
    return not memory.pinned and memory.uses >= least_uses and effectiveness < least_effectiveness


def prune(
    store: MemoryStore,
    *,
    now: str,
    dry_run: bool,
    least_effectiveness: float = LEAST_EFFECTIVENESS,
    least_uses: float = LEAST_USES,
) -> Removed:
    with store.writing() as db:
        gone = [
            memory
            for memory in all_memories(db)
            if is_useless(memory, least_effectiveness=least_effectiveness, least_uses=least_uses)
        ]
        return _remove(store, db, "prune", gone, now=now, dry_run=dry_run)


def forget(store: MemoryStore, names: Sequence[str], *, now: str, dry_run: bool) -> Removed:
    """These, pinned or not: a person has named them."""
    with store.writing() as db:
        gone = [require_memory(db, name) for name in dict.fromkeys(names)]
        return _remove(store, db, "forget", gone, now=now, dry_run=dry_run)


def _remove(
    store: MemoryStore,
    db: Connection,
    command: str,
    gone: Sequence[Memory],
    *,
    now: str,
    dry_run: bool,
) -> Removed:
    remaining = count_memories(db) - len(gone)
    if dry_run or not gone:
        return Removed(tuple(gone), remaining)
    edges = edges_around(db, [memory.name for memory in gone])
    undo = write_undo(store.path, Removal(command, tuple(gone), tuple(edges)), now=now)
    for memory in gone:
        delete(db, memory.name)
    return Removed(tuple(gone), remaining, undo)


# -- what is said twice ---------------------------------------------------------------------


def consolidate(
    store: MemoryStore,
    embedder: Embedder,
    *,
    now: str,
    dry_run: bool,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Consolidated:
    """Memories of one type that say the same become one: counts added, edges led over.

    Comparing all with all takes its time, so nobody is locked out meanwhile; what was changed by
    then is left for another time.
    """
    from helix.memory.vectors import embed_waiting, read_matrix, twins

    embed_waiting(store, embedder, progress=progress)
    with store.reading() as db:
        known = {memory.id: memory for memory in all_memories(db)}
        matrix = read_matrix(db, embedder)
    order = sorted((known[number] for number in matrix.ids), key=_worth)
    found = _pairs(known, twins(matrix, [memory.id for memory in order], least=SAME))
    if dry_run or not found:
        return Consolidated(found, len(known) - len(found))
    with store.writing() as db:
        pairs = tuple(_still_true(db, found))
        remaining = count_memories(db) - len(pairs)
        if not pairs:
            return Consolidated(pairs, remaining)
        edges = edges_around(db, [pair.merged.name for pair in pairs])
        moved = [edge for pair in pairs for edge in _merge(db, pair, now=now)]
        removal = Removal(
            "consolidate",
            tuple(pair.merged for pair in pairs),
            tuple(edges),
            tuple(
                Addition(it.merged.name, it.kept.name, it.merged.helped, it.merged.failed)
                for it in pairs
            ),
            tuple(moved),
        )
        return Consolidated(pairs, remaining, write_undo(store.path, removal, now=now))


def _worth(memory: Memory) -> tuple[bool, float, str, int]:
    """Who is kept: what a person pinned, then what was used most, then the oldest."""
    return not memory.pinned, -memory.uses, memory.created_at, memory.id


def _pairs(known: dict[int, Memory], found: Iterable[tuple[int, int, float]]) -> tuple[Pair, ...]:
    """Each goes into one that is itself kept, so that no chain drags unlike things together."""
    gone: set[int] = set()
    pairs = []
    for first, second, similarity in found:
        kept, merged = known[first], known[second]
        if first in gone or second in gone or kept.type != merged.type or merged.pinned:
            continue
        gone.add(second)
        pairs.append(Pair(kept, merged, similarity))
    return tuple(pairs)


def _still_true(db: Connection, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The pairs of which both are as they were compared, with the counts that they have now."""
    for pair in pairs:
        kept, merged = (find_memory(db, it.name) for it in (pair.kept, pair.merged))
        if kept is None or merged is None or merged.pinned:
            continue
        if kept.whole == pair.kept.whole and merged.whole == pair.merged.whole:
            yield Pair(kept, merged, pair.similarity)


def _merge(db: Connection, pair: Pair, *, now: str) -> list[Edge]:
    """The edges that the kept one got; none leads from it to itself."""
    kept, merged = require_memory(db, pair.kept.name), pair.merged
    patterns = tuple(dict.fromkeys((*kept.file_patterns, *merged.file_patterns)))
    put(
        db,
        changed(
            kept,
            helped=kept.helped + merged.helped,
            failed=kept.failed + merged.failed,
            last_used=max(kept.last_used, merged.last_used),
            file_patterns=patterns,
        ),
    )
    led_over = []
    for edge in edges_around(db, (merged.name,)):
        source, target = (
            kept.name if name == merged.name else name for name in (edge.source, edge.target)
        )
        new = Edge(source, target, edge.relation, edge.weight)
        if source != target and add_edge(db, new, now=now):
            led_over.append(new)
    delete(db, merged.name)
    return led_over


# -- what nobody uses -----------------------------------------------------------------------


def is_fading(memory: Memory, *, now: str, days: float, uses: float) -> bool:
    """Old, hardly used, not pinned; a new memory is not old (M-7)."""
    return not memory.pinned and memory.uses < uses and idle_days(memory, now=now) >= days


def fading(
    store: MemoryStore, *, now: str, days: float = OLD_DAYS, uses: float = USES_TO_SURVIVE
) -> tuple[Memory, ...]:
    with store.reading() as db:
        known = all_memories(db)
    return tuple(memory for memory in known if is_fading(memory, now=now, days=days, uses=uses))


def pin(store: MemoryStore, name: str, *, pinned: bool) -> Memory:
    with store.writing() as db:
        return put(db, changed(require_memory(db, name), pinned=pinned))
