"""Who reviewed which document against what: one line a review, the last one counts (G-8)."""

from __future__ import annotations

import os

from ddx.errors import CorruptFile
from ddx.fastjson import loads, to_bytes
from ddx.graph.stale import Stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddx.project import Project


def path_of(project: Project) -> str:
    return project.ddx("reviews.jsonl")


def read_stamps(project: Project) -> dict[str, Stamp]:
    """The last review of each document."""
    found: dict[str, Stamp] = {}
    for stamp in history(project):
        found[stamp.id] = stamp
    return found


def history(project: Project) -> list[Stamp]:
    """Every review, in the order of the file."""
    try:
        with open(path_of(project), "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    return [_stamp(project, n, line) for n, line in enumerate(lines, start=1) if line.strip()]


def record(project: Project, stamps: Iterable[Stamp]) -> None:
    """Append reviews; a line that a crash cut short is named when read and spoils no other."""
    lines = b"".join(
        to_bytes({"at": item.at, "by": item.by, "deps": dict(item.deps), "id": item.id}) + b"\n"
        for item in stamps
    )
    os.makedirs(project.ddx(), exist_ok=True)
    fd = os.open(path_of(project), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        while lines:
            lines = lines[os.write(fd, lines) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def _stamp(project: Project, number: int, line: bytes) -> Stamp:
    try:
        row = loads(line.decode("utf-8"))
        deps = {str(name): str(found) for name, found in row["deps"].items()}
        return Stamp(str(row["id"]), str(row.get("at", "")), str(row.get("by", "")), deps)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CorruptFile(
            f"{path_of(project)}:{number}: not a review", hint="mend or remove that line"
        ) from None
