"""Beads as JSON on stdout, copied from the file and not parsed (T-19)."""

from __future__ import annotations

import os
import sys

from ddx.fastjson import to_bytes
from ddx.text import harmless
from ddx.tracker.codec import decode
from ddx.tracker.columns import SHADOWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Applied, Tracker

_PARTS_AT_ONCE = 900  # the kernel takes at most 1,024


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


def changed_row(applied: Applied, bead_id: str) -> Row:
    """A row as a command that changed it shows it."""
    return _with_computed(applied.rows[bead_id], applied.revisions[bead_id])


def row_after(tracker: Tracker, applied: Applied, bead_id: str) -> Row:
    """The same, for a command that may have found nothing to change."""
    if bead_id in applied.rows:
        return changed_row(applied, bead_id)
    view = tracker.snapshot()
    return _with_computed(view.row(bead_id), view.revision(bead_id))


def _with_computed(row: Row, revision: str) -> Row:
    owner = row.get("owner")
    return {
        **dict(sorted(row.items())),
        **({"assignee": owner} if owner else {}),
        "revision": revision,
    }
