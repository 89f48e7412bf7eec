"""The undo file: what a command took away, as an export that can also be imported (M-7)."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ddx import fastjson
from ddx.errors import CorruptFile, NotFound
from ddx.files import replace
from ddx.values import changed, value
from helix.memory.interchange import edge_of, edge_row, memory_of, memory_row, read_rows
from helix.memory.model import Draft
from helix.memory.rows import add_edge, find_memory, find_same, put

if TYPE_CHECKING:
    from sqlite3 import Connection

    from helix.memory.model import Edge, Memory
    from helix.memory.store import MemoryStore

FOLDER = "undo"
MOST_FILES = 20
_ENDING, _UNDONE = ".jsonl", ".undone"


@value
class Addition:
    """What one memory brought to the one that it went into."""

    merged: str
    kept: str
    helped: float
    failed: float


@value
class Removal:
    """Everything that a command took away, and what it made of that elsewhere."""

    command: str
    memories: tuple[Memory, ...]
    edges: tuple[Edge, ...] = ()
    additions: tuple[Addition, ...] = ()
    moved: tuple[Edge, ...] = ()


@value
class Undone:
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


def write_undo(database: str, removal: Removal, *, now: str) -> str:
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
    replace(path, (fastjson.to_bytes(row) + b"\n" for row in rows))
    for ending in (_ENDING, _UNDONE):
        for old in undo_files(database, ending)[:-MOST_FILES]:
            with suppress(FileNotFoundError):
                os.unlink(old)
    return path


def undo_last(store: MemoryStore, *, now: str) -> Undone:
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
    return Undone(removal.command, head, tuple(restored), tuple(kept), path)


def _is_here(db: Connection, memory: Memory) -> bool:
    draft = Draft(str(memory.type), memory.trigger, memory.resolution)
    return find_memory(db, memory.name) is not None or find_same(db, draft) is not None


def _take_back(db: Connection, addition: Addition) -> None:
    kept = find_memory(db, addition.kept)
    if kept is not None:
        helped = max(kept.helped - addition.helped, 0.0)
        failed = max(kept.failed - addition.failed, 0.0)
        put(db, changed(kept, helped=helped, failed=failed))


def _read(path: str) -> tuple[str, Removal]:
    with open(path, encoding="utf-8") as file:
        rows = [row for _, row in read_rows(file.read(), where=path)]
    if not rows or "undo" not in rows[0]:
        raise CorruptFile(f"{path}:1: not an undo file")
    head: dict[str, Any] = rows[0]
    try:
        return str(head["at"]), Removal(
            str(head["undo"]),
            tuple(memory_of(row) for row in rows[1:] if "trigger" in row),
            tuple(edge_of(row) for row in rows[1:] if "from" in row),
            tuple(Addition(**one) for one in head["additions"]),
            tuple(map(edge_of, head["moved"])),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise CorruptFile(f"{path}: not an undo file of ours: {problem}") from None
