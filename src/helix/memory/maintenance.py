"""Memory kept in order: what was held back, what does not help, what is said twice or never used.

What was explored for an objective is kept beside the memories for who comes next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.base import NotFound, Refused, changed, dumps, value
from helix.memory.interchange import MergedCounts, RemovalRecord, write_undo
from helix.memory.model import MemoryDraft, MemoryEdge
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
from helix.memory.storage import MemoryRejected, store_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from helix.memory.embedders import Embedder
    from helix.memory.model import Memory
    from helix.memory.storage import StoreContext
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


_HELD = """
    SELECT id, type, trigger, resolution, source, reason, created_at FROM quarantine ORDER BY id
"""


@value
class HeldMemory:
    """Its secrets are masked already."""

    id: int
    type: str
    trigger: str
    resolution: str
    source: str
    reason: str
    created_at: str


def all_held(store: MemoryStore) -> list[HeldMemory]:
    with store.reading() as db:
        rows = db.execute(_HELD).fetchall()
    return [HeldMemory(**dict(zip(HeldMemory.__annotations__, row, strict=True))) for row in rows]


def accept_held(store: MemoryStore, number: int, wits: StoreContext, *, now: str) -> str:
    """A person has looked: it becomes a memory like any other; its name."""
    held = _require(store, number)
    draft = MemoryDraft(held.type, held.trigger, held.resolution, source=held.source)
    stored = store_memory(store, draft, wits, now=now, is_judged=True)
    if isinstance(stored, MemoryRejected):
        raise Refused(f"{number} cannot become a memory: {stored.reason}")
    drop_held(store, number)
    return stored.memory.name


def drop_held(store: MemoryStore, number: int) -> None:
    _require(store, number)
    with store.writing() as db:
        db.execute("DELETE FROM quarantine WHERE id = ?", (number,))


def _require(store: MemoryStore, number: int) -> HeldMemory:
    for held in all_held(store):
        if held.id == number:
            return held
    raise NotFound(f"nothing is held back under {number}", hint="see: helix memory review")


LEAST_EFFECTIVENESS = 0.25
LEAST_USES = 3.0
SAME = 0.9
OLD_DAYS = 30
USES_TO_SURVIVE = 2.0


@value
class RemovalResult:
    """What went, what is left, and the file that brings it back."""

    memories: tuple[Memory, ...]
    remaining: int
    undo: str = ""


@value
class DuplicatePair:
    """Two memories that say the same: the first is kept, the other goes into it."""

    kept: Memory
    merged: Memory
    similarity: float


@value
class ConsolidationResult:
    pairs: tuple[DuplicatePair, ...]
    remaining: int
    undo: str = ""


# -- what does not help ---------------------------------------------------------------------


def is_useless(
    memory: Memory,
    *,
    least_effectiveness: float = LEAST_EFFECTIVENESS,
    least_uses: float = LEAST_USES,
) -> bool:
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
) -> RemovalResult:
    with store.writing() as db:
        gone = [
            memory
            for memory in all_memories(db)
            if is_useless(memory, least_effectiveness=least_effectiveness, least_uses=least_uses)
        ]
        return _remove(store, db, "prune", gone, now=now, dry_run=dry_run)


def forget(store: MemoryStore, names: Sequence[str], *, now: str, dry_run: bool) -> RemovalResult:
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
) -> RemovalResult:
    remaining = count_memories(db) - len(gone)
    if dry_run or not gone:
        return RemovalResult(tuple(gone), remaining)
    edges = edges_around(db, [memory.name for memory in gone])
    undo = write_undo(store.path, RemovalRecord(command, tuple(gone), tuple(edges)), now=now)
    for memory in gone:
        delete(db, memory.name)
    return RemovalResult(tuple(gone), remaining, undo)


# -- what is said twice ---------------------------------------------------------------------


def consolidate(
    store: MemoryStore,
    embedder: Embedder,
    *,
    now: str,
    dry_run: bool,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ConsolidationResult:
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
        return ConsolidationResult(found, len(known) - len(found))
    with store.writing() as db:
        pairs = tuple(_still_true(db, found))
        remaining = count_memories(db) - len(pairs)
        if not pairs:
            return ConsolidationResult(pairs, remaining)
        edges = edges_around(db, [pair.merged.name for pair in pairs])
        moved = [edge for pair in pairs for edge in _merge(db, pair, now=now)]
        removal = RemovalRecord(
            "consolidate",
            tuple(pair.merged for pair in pairs),
            tuple(edges),
            additions=tuple(
                MergedCounts(
                    it.merged.name, it.kept.name, it.merged.helped, failed=it.merged.failed
                )
                for it in pairs
            ),
            moved=tuple(moved),
        )
        return ConsolidationResult(pairs, remaining, write_undo(store.path, removal, now=now))


def _worth(memory: Memory) -> tuple[bool, float, str, int]:
    """Who is kept: what a person pinned, then what was used most, then the oldest."""
    return not memory.pinned, -memory.uses, memory.created_at, memory.id


def _pairs(
    known: dict[int, Memory], found: Iterable[tuple[int, int, float]]
) -> tuple[DuplicatePair, ...]:
    """Each goes into one that is itself kept, so that no chain drags unlike things together."""
    gone: set[int] = set()
    pairs = []
    for first, second, similarity in found:
        kept, merged = known[first], known[second]
        if first in gone or second in gone or kept.type != merged.type or merged.pinned:
            continue
        gone.add(second)
        pairs.append(DuplicatePair(kept, merged, similarity))
    return tuple(pairs)


def _still_true(db: Connection, pairs: Iterable[DuplicatePair]) -> Iterator[DuplicatePair]:
    """The pairs of which both are as they were compared, with the counts that they have now."""
    for pair in pairs:
        kept, merged = (find_memory(db, it.name) for it in (pair.kept, pair.merged))
        if kept is None or merged is None or merged.pinned:
            continue
        if kept.whole == pair.kept.whole and merged.whole == pair.merged.whole:
            yield DuplicatePair(kept, merged, pair.similarity)


def _merge(db: Connection, pair: DuplicatePair, *, now: str) -> list[MemoryEdge]:
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
        new = MemoryEdge(source, target, edge.relation, weight=edge.weight)
        if source != target and add_edge(db, new, now=now):
            led_over.append(new)
    delete(db, merged.name)
    return led_over


# -- what nobody uses -----------------------------------------------------------------------


def fading(
    store: MemoryStore, *, now: str, days: float = OLD_DAYS, uses: float = USES_TO_SURVIVE
) -> tuple[Memory, ...]:
    """Old, hardly used, not pinned; a new memory is not old (M-7)."""
    with store.reading() as db:
        known = [it for it in all_memories(db) if not it.pinned and it.uses < uses]
    return tuple(it for it in known if idle_days(it, now=now) >= days)


def pin(store: MemoryStore, name: str, *, pinned: bool) -> Memory:
    with store.writing() as db:
        return put(db, changed(require_memory(db, name), pinned=pinned))
