"""Memories as lines of JSON: out to a file, in again from anywhere, and back after a removal (M-7).

A line with `type`, `trigger` and `resolution` is enough; a line with `from` and `to` is an edge.
What a command takes away goes to an undo file: an export that can also be imported.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ddx.base import CorruptFile, Instant, NotFound, changed, cut, loads, replace, to_bytes, value
from helix.memory.embedders import NoEmbedder
from helix.memory.model import Memory, MemoryDraft, MemoryEdge, MemoryHistory, MemoryKind, Relation
from helix.memory.rows import add_edge, all_edges, all_memories, find_memory, find_same, put
from helix.memory.storage import (
    MemoryAdded,
    MemoryMerged,
    MemoryRejected,
    StoreContext,
    store_memory,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from ddx.base import Masker
    from helix.memory.store import MemoryStore

LARGEST_FILE = 256 << 20
_MOST_CREDIT = 1e9
_LONGEST_SHOWN = 80


@value
class RejectedLine:
    """One line that was not taken over, and why."""

    number: int
    reason: str


@value
class ImportResult:
    added: tuple[str, ...]
    merged: tuple[str, ...]
    rejected: tuple[RejectedLine, ...]
    edges: int


def export_rows(store: MemoryStore) -> Iterator[dict[str, Any]]:
    with store.reading() as db:
        memories, edges = all_memories(db), all_edges(db)
    yield from map(memory_row, memories)
    yield from map(edge_row, edges)


def memory_row(memory: Memory) -> dict[str, Any]:
    """As it is exported and answered: all that a person may know of it."""
    shown = {name: it for name, it in memory.__dict__.items() if name not in ("id", "embedder")}
    return {**shown, "type": str(memory.type), "file_patterns": list(memory.file_patterns)}


def memory_of(row: dict[str, Any]) -> Memory:
    """The memory of a row that we wrote ourselves."""
    fields = {**row, "type": MemoryKind(row["type"]), "file_patterns": tuple(row["file_patterns"])}
    return Memory(id=0, **fields)


def edge_row(edge: MemoryEdge) -> dict[str, Any]:
    return {
        "from": edge.source,
        "to": edge.target,
        "relation": str(edge.relation),
        "weight": edge.weight,
    }


def edge_of(row: dict[str, Any]) -> MemoryEdge:
    """The edge of a row; KeyError, or ValueError that says why, if it is none."""
    source, target, weight = row["from"], row["to"], _count(row.get("weight", 1.0))
    if not all(isinstance(name, str) and name.isprintable() for name in (source, target)):
        raise ValueError("an edge leads from one name to another")
    if not weight:
        raise ValueError("an edge has a weight above 0")
    if row["relation"] not in tuple(Relation):
        raise ValueError(f"the relation of an edge is one of {', '.join(Relation)}")
    return MemoryEdge(source, target, Relation(row["relation"]), weight=weight)


def read_rows(text: str, *, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line with its number, or an error that names the first that is no table."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = loads(line)
        except ValueError as problem:
            raise CorruptFile(f"{where}:{number}: {problem}; nothing was imported") from None
        if not isinstance(row, dict):
            raise CorruptFile(f"{where}:{number}: not a table; nothing was imported")
        yield number, row


def import_rows(
    store: MemoryStore, text: str, masker: Masker, *, where: str, now: str
) -> ImportResult:
    """Every line by the rules of M-2; what is here already stays as it is.

    Vectors are made when they are first needed, so similar triggers are left to `consolidate`.
    """
    rows = list(read_rows(text, where=where))
    wits = StoreContext(NoEmbedder("not while importing", is_chosen=True), masker)
    added, merged, rejected = [], [], []
    names: dict[str, str] = {}
    for number, row in rows:
        if "from" in row or "undo" in row:
            continue
        match _taken_over(store, row, wits, now=now):
            case MemoryAdded(memory=memory):
                added.append(memory.name)
                names[row.get("name") or memory.name] = memory.name
            case MemoryMerged(memory=memory):
                merged.append(memory.name)
                names[row.get("name") or memory.name] = memory.name
            case MemoryRejected(reason=reason):
                rejected.append(RejectedLine(number, reason))
    edges = 0
    for number, row in rows:
        if "from" in row:
            reason, is_new = _related(store, row, names, now=now)
            edges += is_new
            if reason:
                rejected.append(RejectedLine(number, reason))
    lines = sorted(rejected, key=lambda line: line.number)
    return ImportResult(tuple(added), tuple(merged), tuple(lines), edges=edges)


def _taken_over(
    store: MemoryStore, row: dict[str, Any], wits: StoreContext, *, now: str
) -> MemoryAdded | MemoryMerged | MemoryRejected:
    texts = {key: row.get(key, "") for key in ("type", "trigger", "resolution", "source", "name")}
    if wrong := [key for key, found in texts.items() if not isinstance(found, str)]:
        return MemoryRejected(f"{wrong[0]} is not a text")
    listed = row.get("file_patterns", [])
    files = (
        tuple(path for path in listed if isinstance(path, str)) if isinstance(listed, list) else ()
    )
    name = texts.pop("name")
    draft = MemoryDraft(**texts, files=files)
    return store_memory(store, draft, wits, now=now, like=name, past=_past(row))


def _past(row: dict[str, Any]) -> MemoryHistory:
    """What a row says of the past, as far as it can be true."""
    return MemoryHistory(
        _time(row.get("created_at")),
        _time(row.get("last_used")),
        _count(row.get("helped")),
        failed=_count(row.get("failed")),
        pinned=row.get("pinned") is True,
    )


def _count(given: Any) -> float:
    """0 for what is no number that can be."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if is_number and 0 <= given <= _MOST_CREDIT else 0.0


def _time(given: Any) -> str:
    return given if isinstance(given, str) and Instant(given).moment is not None else ""


def _related(
    store: MemoryStore, row: dict[str, Any], names: dict[str, str], *, now: str
) -> tuple[str, bool]:
    """Why the edge cannot be, and whether it is new."""
    try:
        edge = edge_of(row)
    except KeyError:
        return "not an edge: it needs from, to and relation", False
    except ValueError as problem:
        return str(problem), False
    edge = changed(
        edge, source=names.get(edge.source, edge.source), target=names.get(edge.target, edge.target)
    )
    if edge.source == edge.target:
        return "", False
    with store.writing() as db:
        for name in (edge.source, edge.target):
            if find_memory(db, name) is None:
                return f"there is no memory {cut(name, _LONGEST_SHOWN)!r}", False
        return "", add_edge(db, edge, now=now)


# -- the undo file -------------------------------------------------------------------------

FOLDER = "undo"
MOST_FILES = 20
_ENDING, _UNDONE = ".jsonl", ".undone"


@value
class MergedCounts:
    """What one memory brought to the one that it went into."""

    merged: str
    kept: str
    helped: float
    failed: float


@value
class RemovalRecord:
    """Everything that a command took away, and what it made of that elsewhere."""

    command: str
    memories: tuple[Memory, ...]
    edges: tuple[MemoryEdge, ...] = ()
    additions: tuple[MergedCounts, ...] = ()
    moved: tuple[MemoryEdge, ...] = ()


@value
class UndoResult:
    command: str
    at: str
    restored: tuple[str, ...]
    kept: tuple[str, ...]
    """Those that are here already: nothing was done to them."""
    file: str


def undo_folder(database: str) -> str:
    return os.path.join(os.path.dirname(database), FOLDER)


def undo_files(database: str, ending: str = _ENDING) -> list[str]:
    """Oldest first."""
    folder = undo_folder(database)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(ending))
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in names]


def write_undo(database: str, removal: RemovalRecord, *, now: str) -> str:
    """On the disk before anything is gone; only so many are kept (C-9)."""
    head = {
        "undo": removal.command,
        "at": now,
        "additions": [dict(one.__dict__) for one in removal.additions],
        "moved": [edge_row(edge) for edge in removal.moved],
    }
    rows = [head, *map(memory_row, removal.memories), *map(edge_row, removal.edges)]
    at = now.translate({ord(mark): None for mark in "-:."})
    name = f"{at}-{removal.command}-{os.urandom(2).hex()}{_ENDING}"
    path = os.path.join(undo_folder(database), name)
    replace(path, (to_bytes(row) + b"\n" for row in rows))
    for ending in (_ENDING, _UNDONE):
        for old in undo_files(database, ending)[:-MOST_FILES]:
            with suppress(FileNotFoundError):
                os.unlink(old)
    return path


def undo_last(store: MemoryStore, *, now: str) -> UndoResult:
    """The last removal, taken back; its file is then put aside."""
    files = undo_files(store.path)
    if not files:
        raise NotFound(f"nothing to undo: {undo_folder(store.path)} holds no file")
    path = files[-1]
    head, removal = _read(path)
    restored, kept = [], []
    with store.writing() as db:
        for memory in removal.memories:
            if _is_here(db, memory):
                kept.append(memory.name)
            else:
                put(db, changed(memory, id=0, embedder=""))
                restored.append(memory.name)
        for addition in removal.additions:
            if addition.merged in restored:
                _take_back(db, addition)
        for edge in removal.moved if restored else ():
            db.execute(
                "DELETE FROM memory_edge WHERE from_name = ? AND to_name = ? AND rel_type = ?",
                (edge.source, edge.target, str(edge.relation)),
            )
        for edge in removal.edges:
            if find_memory(db, edge.source) and find_memory(db, edge.target):
                add_edge(db, edge, now=now)
    with suppress(FileNotFoundError):  # another one has just taken back the same
        os.rename(path, path.removesuffix(_ENDING) + _UNDONE)
    return UndoResult(removal.command, head, tuple(restored), kept=tuple(kept), file=path)


def _is_here(db: Connection, memory: Memory) -> bool:
    draft = MemoryDraft(str(memory.type), memory.trigger, memory.resolution)
    return find_memory(db, memory.name) is not None or find_same(db, draft) is not None


def _take_back(db: Connection, addition: MergedCounts) -> None:
    kept = find_memory(db, addition.kept)
    if kept is not None:
        helped = max(kept.helped - addition.helped, 0.0)
        failed = max(kept.failed - addition.failed, 0.0)
        put(db, changed(kept, helped=helped, failed=failed))


def _read(path: str) -> tuple[str, RemovalRecord]:
    with open(path, encoding="utf-8") as file:
        rows = [row for _, row in read_rows(file.read(), where=path)]
    if not rows or "undo" not in rows[0]:
        raise CorruptFile(f"{path}:1: not an undo file")
    head: dict[str, Any] = rows[0]
    try:
        return str(head["at"]), RemovalRecord(
            str(head["undo"]),
            tuple(memory_of(row) for row in rows[1:] if "trigger" in row),
            tuple(edge_of(row) for row in rows[1:] if "from" in row),
            additions=tuple(MergedCounts(**one) for one in head["additions"]),
            moved=tuple(map(edge_of, head["moved"])),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise CorruptFile(f"{path}: not an undo file of ours: {problem}") from None
