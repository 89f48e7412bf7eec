"""The merge of three tracker files into one (T-14)."""

from __future__ import annotations

from ddx.base import CorruptFile, replace
from ddx.tracker.merge import MergeResult, merge_trackers
from ddx.tracker.row import Row, decode, encode, id_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def merge_files(base: str, ours: str, theirs: str, *, draw: Callable[[], str]) -> MergeResult:
    """The merged rows, written over `ours`; rows that are as one side had them keep its bytes."""
    sides = [_read(path) for path in (base, ours, theirs)]
    rows = [{bead_id: row for bead_id, (row, _) in side.items()} for side in sides]

    def new_id(old: str) -> str:
        return f"{id_prefix(old.rpartition('-')[0] or old)}-{draw()}"

    merged = merge_trackers(*rows, new_id=new_id)
    lines = [
        _line(row, [side[bead_id] for side in sides[1:] if bead_id in side]) + b"\n"
        for bead_id, row in sorted(merged.rows.items())
    ]
    replace(ours, lines)
    return merged


def _line(row: Row, sides: list[tuple[Row, bytes]]) -> bytes:
    """The bytes that a side has for this very row, else new ones."""
    written = encode(row)
    return next((line for there, line in sides if encode(there) == written), written)


def _read(path: str) -> dict[str, tuple[Row, bytes]]:
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    found: dict[str, tuple[Row, bytes]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = decode(line)
        except ValueError as problem:
            raise CorruptFile(f"{path}:{number}: {problem}") from None
        if row["id"] in found:
            raise CorruptFile(f"{path}:{number}: the id {row['id']!r} stands twice")
        found[row["id"]] = (row, line.strip())
    return found
