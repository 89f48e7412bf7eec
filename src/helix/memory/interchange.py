"""Memories as lines of JSON: out to a file, and in again from anywhere (M-7).

A line with `type`, `trigger` and `resolution` is enough; a line with `from` and `to` is an edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx import fastjson
from ddx.errors import CorruptFile
from ddx.instants import parse
from ddx.text import cut
from ddx.values import changed, value
from helix.memory.embedders.base import Absent
from helix.memory.model import Draft, Edge, Kind, Memory, Past, Relation
from helix.memory.rows import add_edge, all_edges, all_memories, find_memory
from helix.memory.storing import Added, Merged, Rejected, Wits, store_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.masking import Masker
    from helix.memory.store import MemoryStore

LARGEST_FILE = 256 << 20
_MOST_CREDIT = 1e9
_LONGEST_SHOWN = 80


@value
class Line:
    """One line that was not taken over, and why."""

    number: int
    reason: str


@value
class Imported:
    added: tuple[str, ...]
    merged: tuple[str, ...]
    rejected: tuple[Line, ...]
    edges: int


def export_rows(store: MemoryStore) -> Iterator[dict[str, Any]]:
    with store.reading() as db:
        memories, edges = all_memories(db), all_edges(db)
    yield from map(memory_row, memories)
    yield from map(edge_row, edges)


def memory_row(memory: Memory) -> dict[str, Any]:
    """As it is exported and answered: all that a person may know of it."""
    return {
        "name": memory.name,
        "type": str(memory.type),
        "trigger": memory.trigger,
        "resolution": memory.resolution,
        "helped": memory.helped,
        "failed": memory.failed,
        "source": memory.source,
        "created_at": memory.created_at,
        "last_used": memory.last_used,
        "file_patterns": list(memory.file_patterns),
        "pinned": memory.pinned,
    }


def memory_of(row: dict[str, Any]) -> Memory:
    """The memory of a row that we wrote ourselves."""
    fields = {**row, "type": Kind(row["type"]), "file_patterns": tuple(row["file_patterns"])}
    return Memory(id=0, **fields)


def edge_row(edge: Edge) -> dict[str, Any]:
    return {
        "from": edge.source,
        "to": edge.target,
        "relation": str(edge.relation),
        "weight": edge.weight,
    }


def edge_of(row: dict[str, Any]) -> Edge:
    """The edge of a row; KeyError, or ValueError that says why, if it is none."""
    ends, weight = (row["from"], row["to"]), _count(row.get("weight", 1.0))
    if not all(isinstance(name, str) and name.isprintable() for name in ends):
        raise ValueError("an edge leads from one name to another")
    if not weight:
        raise ValueError("an edge has a weight above 0")
    if row["relation"] not in tuple(Relation):
        raise ValueError(f"the relation of an edge is one of {', '.join(Relation)}")
    return Edge(*ends, Relation(row["relation"]), weight)


def read_rows(text: str, *, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line with its number, or an error that names the first that is no table."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = fastjson.loads(line)
        except ValueError as problem:
            raise CorruptFile(f"{where}:{number}: {problem}; nothing was imported") from None
        if not isinstance(row, dict):
            raise CorruptFile(f"{where}:{number}: not a table; nothing was imported")
        yield number, row


def import_rows(store: MemoryStore, text: str, masker: Masker, *, where: str, now: str) -> Imported:
    """Every line by the rules of M-2; what is here already stays as it is.

    Vectors are made when they are first needed, so similar triggers are left to `consolidate`.
    """
    rows = list(read_rows(text, where=where))
    wits = Wits(Absent("not while importing", is_chosen=True), masker)
    added, merged, rejected = [], [], []
    names: dict[str, str] = {}
    for number, row in rows:
        if "from" in row or "undo" in row:
            continue
        match _taken_over(store, row, wits, now=now):
            case Added(memory=memory):
                added.append(memory.name)
                names[row.get("name") or memory.name] = memory.name
            case Merged(memory=memory):
                merged.append(memory.name)
                names[row.get("name") or memory.name] = memory.name
            case Rejected(reason=reason):
                rejected.append(Line(number, reason))
    edges = 0
    for number, row in rows:
        if "from" in row:
            reason, is_new = _related(store, row, names, now=now)
            edges += is_new
            if reason:
                rejected.append(Line(number, reason))
    lines = sorted(rejected, key=lambda line: line.number)
    return Imported(tuple(added), tuple(merged), tuple(lines), edges)


def _taken_over(
    store: MemoryStore, row: dict[str, Any], wits: Wits, *, now: str
) -> Added | Merged | Rejected:
    texts = {key: row.get(key, "") for key in ("type", "trigger", "resolution", "source", "name")}
    if wrong := [key for key, found in texts.items() if not isinstance(found, str)]:
        return Rejected(f"{wrong[0]} is not a text")
    listed = row.get("file_patterns", [])
    files = (
        tuple(path for path in listed if isinstance(path, str)) if isinstance(listed, list) else ()
    )
    name = texts.pop("name")
    draft = Draft(**texts, files=files)
    return store_memory(store, draft, wits, now=now, like=name, past=_past(row))


def _past(row: dict[str, Any]) -> Past:
    """What a row says of the past, as far as it can be true."""
    return Past(
        _time(row.get("created_at")),
        _time(row.get("last_used")),
        _count(row.get("helped")),
        _count(row.get("failed")),
        row.get("pinned") is True,
    )


def _count(given: Any) -> float:
    """0 for what is no number that can be."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if is_number and 0 <= given <= _MOST_CREDIT else 0.0


def _time(given: Any) -> str:
    return given if isinstance(given, str) and parse(given) is not None else ""


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
        edge,
        source=names.get(edge.source, edge.source),
        target=names.get(edge.target, edge.target),
    )
    if edge.source == edge.target:
        return "", False
    with store.writing() as db:
        for name in (edge.source, edge.target):
            if find_memory(db, name) is None:
                return f"there is no memory {cut(name, _LONGEST_SHOWN)!r}", False
        return "", add_edge(db, edge, now=now)
