"""How lists of beads are shown."""

from __future__ import annotations

from ddx.cli.rows import answer_rows, lines_of_rows, listed_row
from ddx.console.screen import say, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.snapshot import Snapshot

HEADS = ("id", "pri", "type", "status", "title")


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
    columns = view.columns
    return (
        columns.ids[n],
        str(columns.priorities[n]),
        columns.types[n],
        columns.statuses[n],
        columns.titles[n],
    )
