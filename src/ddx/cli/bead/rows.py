"""Lists of beads: JSON copied from the file and not parsed (T-19), or a table."""

from __future__ import annotations

import os
import sys

from ddx.base import harmless, to_bytes
from ddx.console import say, table
from ddx.tracker import SHADOWS, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ddx.tracker import Snapshot

HEADS = ("id", "pri", "type", "status", "title")
_PARTS_AT_ONCE = 900  # the kernel takes at most 1,024


def show_beads(
    view: Snapshot, places: list[int], *, json: bool, none: str, jsonl: bool = False
) -> int:
    """Beads as a JSON array, as JSON lines, or as a table."""
    if jsonl:
        lines_of_rows(listed_row(view, n) for n in places)
    elif json:
        answer_rows(listed_row(view, n) for n in places)
    elif places:
        table(HEADS, [cells(view, n) for n in places])
    else:
        say(none)
    return 0


def cells(view: Snapshot, n: int) -> tuple[str, ...]:
    at = view.columns
    return (at.ids[n], str(at.priorities[n]), at.types[n], at.statuses[n], at.titles[n])


def answer_rows(rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Rows that are JSON already, each in two parts, as one array, a row a line."""
    parts: list[bytes] = []
    between = b"["
    sys.stdout.flush()
    for start, end in rows:
        parts += (between, harmless(start), harmless(end))
        between = b",\n"
        if len(parts) > _PARTS_AT_ONCE:
            _write_out(parts)
            parts = []
    _write_out([*parts, b"[]\n" if between == b"[" else b"]\n"])


def lines_of_rows(rows: Iterable[tuple[bytes, bytes]]) -> None:
    """The same rows as JSON lines."""
    sys.stdout.flush()
    for start, end in rows:
        _write_out([harmless(start), harmless(end), b"\n"])


def _write_out(parts: list[bytes]) -> None:
    """To the result's file without a copy; a pipe may take it in several bites."""
    try:
        taken = os.writev(1, parts)
        if taken < sum(map(len, parts)):
            rest = memoryview(b"".join(parts))[taken:]
            while rest:
                rest = rest[os.write(1, rest) :]
    except OSError as problem:
        problem.filename = "stdout"
        raise


def listed_row(snapshot: Snapshot, n: int, **more: Any) -> tuple[bytes, bytes]:
    """A row as every list shows it: as it stands in the file, then what is computed."""
    columns = snapshot.columns
    if columns.owners[n]:
        more = {"assignee": columns.owners[n], **more}
    if columns.marks[n] & SHADOWS:
        row = {**decode(snapshot.line(n)), **more, "revision": columns.revisions[n]}
        return to_bytes(row), b""
    added = to_bytes(more)[1:-1] + b"," if more else b""
    return snapshot.line(n, short_by=1), b',%s"revision":"%s"}' % (
        added,
        columns.revisions[n].encode(),
    )
