"""Who reviewed which document against what: one line a review, the last one counts (G-8)."""

from __future__ import annotations

from ddx.errors import CorruptFile
from ddx.fastjson import loads, to_bytes
from ddx.files import append
from ddx.graph.stale import Stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddx.project import Project


_ID = b'"id":'


def path_of(project: Project) -> str:
    return project.ddx("reviews.jsonl")


def read_stamps(project: Project, *, only: Iterable[str] | None = None) -> dict[str, Stamp]:
    """The last review of each document, or of a few: then the other lines are passed over."""
    if only is None:
        return {stamp.id: stamp for stamp in history(project)}
    wanted = set(only)
    ends = {_end(doc_id) for doc_id in wanted}
    stamps = (
        _stamp(project, number, line)
        for number, line in _lines(project)
        if (end := line[line.rfind(_ID) :]) in ends or b"," in end  # another tool's order of keys
    )
    return {stamp.id: stamp for stamp in stamps if stamp.id in wanted}


def history(project: Project) -> list[Stamp]:
    """Every review, in the order of the file."""
    return [_stamp(project, number, line) for number, line in _lines(project)]


def _lines(project: Project) -> list[tuple[int, bytes]]:
    try:
        with open(path_of(project), "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def _end(doc_id: str) -> bytes:
    """How a line of this document ends: `record` writes the id last."""
    return to_bytes({"id": doc_id})[1:]


def record(project: Project, stamps: Iterable[Stamp]) -> None:
    """Append reviews; a line that a crash cut short is named when read and spoils no other."""
    lines = b"".join(
        to_bytes({"at": item.at, "by": item.by, "deps": dict(item.deps), "id": item.id}) + b"\n"
        for item in stamps
    )
    append(path_of(project), lines)


def _stamp(project: Project, number: int, line: bytes) -> Stamp:
    try:
        row = loads(line.decode("utf-8"))
        deps = {str(name): str(found) for name, found in row["deps"].items()}
        return Stamp(str(row["id"]), str(row.get("at", "")), str(row.get("by", "")), deps)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CorruptFile(
            f"{path_of(project)}:{number}: not a review", hint="mend or remove that line"
        ) from None
