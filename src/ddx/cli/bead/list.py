"""`ddx bead list`"""

from __future__ import annotations

from ddx.cli.bead.filters import FILTER_FLAGS, matching
from ddx.cli.bead.listing import HEADS, cells, show_beads
from ddx.cli.rows import answer_rows, lines_of_rows, listed_row
from ddx.cli.session import open_tracker
from ddx.console.screen import table
from ddx.console.spec import JSON, Command, Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.tracker.snapshot import Snapshot

SORTS = ("queue", "id", "priority", "created", "updated", "status", "title")


def run(*, limit: int | None, sort: str, all: bool, json: bool, jsonl: bool, **values: Any) -> int:
    tracker = open_tracker()
    view = tracker.snapshot()
    places = matching(view, values, sort=sort)[:limit]
    archive = tracker.archive() if all else None
    if archive is None:
        none = "no bead matches" if len(view.columns) else "no beads yet: ddx bead create 'a title'"
        return show_beads(view, places, json=json, jsonl=jsonl, none=none)
    moved = [n for n in matching(archive, values, sort=sort) if archive.columns.ids[n] not in view]
    return _show_with_archive(view, places, archive, moved[:limit], json=json, jsonl=jsonl)


def _show_with_archive(
    view: Snapshot,
    places: list[int],
    archive: Snapshot,
    moved: list[int],
    *,
    json: bool,
    jsonl: bool,
) -> int:
    if json or jsonl:
        rows = [listed_row(view, n) for n in places]
        rows += [listed_row(archive, n, archived=True) for n in moved]
        if json:
            answer_rows(rows)
        else:
            lines_of_rows(rows)
    else:
        table(HEADS, [cells(view, n) for n in places] + [cells(archive, n) for n in moved])
    return 0


COMMAND = Command(
    "bead list",
    "List beads, by any of their fields.",
    run,
    "ddx bead list --status open --label area:login",
    flags=(
        *FILTER_FLAGS,
        Flag("--limit", "at most this many", kind="number"),
        Flag("--sort", "the order", kind="choice", choices=SORTS, default="queue"),
        Flag("--all", "the archive too", kind="switch"),
        JSON,
        Flag("--jsonl", "answer as JSON, a bead a line", kind="switch"),
    ),
    schema="bead-list",
)
