"""Beads for tests of the rules: rows, the columns made of them, a tracker in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from ddx.base.instants import sort_key
from ddx.project.project import Project
from ddx.testing import FakeClock
from ddx.tracker.columns import Columns
from ddx.tracker.queue import Blocker, QueueContext
from ddx.tracker.row import Row, encode
from ddx.tracker.snapshot import build
from ddx.tracker.tracker import Tracker

NOW = "2026-01-02T03:04:05.000000Z"
EARLIER = "2026-01-01T00:00:00Z"
_TICKS = count()  # a fake clock stands still, but no two files are written at one instant


def bead(bead_id: str = "app-1", **fields: Any) -> Row:
    """An open task that an agent may be handed now; `spec__id` stands for `spec-id`."""
    return {
        "id": bead_id,
        "title": f"Do {bead_id}",
        "status": "open",
        "priority": 2,
        "issue_type": "task",
        "verify": ["true"],
        "created_at": EARLIER,
        "updated_at": EARLIER,
        **{name.replace("__", "-"): given for name, given in fields.items()},
    }


def edges(of: str, *wanted: str, type: str = "blocks") -> list[Row]:
    return [{"issue_id": of, "depends_on_id": bead_id, "type": type} for bead_id in wanted]


def waiting(bead_id: str, *wanted: str, type: str = "blocks", **fields: Any) -> Row:
    """A bead that depends on others."""
    return bead(bead_id, dependencies=edges(bead_id, *wanted, type=type), **fields)


def lines_of(*rows: Row) -> bytes:
    return b"".join(encode(row) + b"\n" for row in sorted(rows, key=lambda row: row["id"]))


def columns_of(*rows: Row) -> Columns:
    return build("beads.jsonl", lines_of(*rows))


def surroundings(
    *,
    now: str = NOW,
    archived: Mapping[str, str] | None = None,
    has_default_checks: bool = False,
    held: Mapping[str, Blocker] | None = None,
) -> QueueContext:
    return QueueContext(
        now=sort_key(now),
        archived=lambda bead_id: (archived or {}).get(bead_id, ""),
        has_default_checks=has_default_checks,
        held=held or {},
    )


def tracker_in(folder: Path, *rows: Row, clock: FakeClock | None = None, **options: Any) -> Tracker:
    """A tracker on a real file that has held these rows for a while."""
    clock = clock or FakeClock()
    project = Project(str(folder))
    os.makedirs(project.ddx(), exist_ok=True)
    put_file(Path(project.ddx("beads.jsonl")), lines_of(*rows), clock=clock)
    return Tracker(project, clock=clock, **options)


def put_file(path: Path, content: bytes, *, clock: FakeClock, age_s: float = 60) -> None:
    """A new file with another inode, as git or an editor leaves it; it is `age_s` old."""
    beside = path.with_name(f"{path.name}.theirs")
    beside.write_bytes(content)
    changed_ns = clock.now_ns() - round(age_s * 1e9) - next(_TICKS)
    os.utime(beside, ns=(changed_ns, changed_ns))
    beside.rename(path)
