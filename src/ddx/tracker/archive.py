"""Closed beads that nobody needs in front of him, in a file of their own."""

from __future__ import annotations

from ddx.instants import sort_key
from ddx.tracker.codec import decode
from ddx.tracker.columns import Columns, entry_of
from ddx.tracker.model import FINISHED, links_of, text_of
from ddx.tracker.publishing import publish
from ddx.tracker.working import Changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddx.clock import Clock
    from ddx.tracker.snapshot import Snapshot


def archive(view: Snapshot, *, closed_before: str = "", max_size: int | None = None) -> Changes:
    """Closed beads that no unfinished bead refers to move out, the longest closed first."""
    columns = view.columns
    needed = _referred_to(view)
    candidates = []
    for n, status in enumerate(columns.statuses):
        if status == "closed" and columns.ids[n] not in needed:
            row = decode(view.line(n))
            closed_at = sort_key(text_of(row, "closed_at") or text_of(row, "updated_at"))
            if not closed_before or closed_at < sort_key(closed_before):
                candidates.append((closed_at, columns.ids[n], columns.ends[n] - columns.starts[n]))
    moved = []
    size = view.identity.size
    for _, bead_id, length in sorted(candidates):
        if max_size is not None and size <= max_size:
            break
        moved.append(bead_id)
        size -= length + 1
    return Changes({}, archived=frozenset(moved))


def _referred_to(view: Snapshot) -> set[str]:
    """What an unfinished bead waits for, stands below, replaces or is replaced by."""
    columns = view.columns
    needed: set[str] = set()
    for n, status in enumerate(columns.statuses):
        if status not in FINISHED:
            row = decode(view.line(n))
            needed.update(columns.waits_for[n])
            needed.add(columns.parents[n])
            needed.update(links_of(row, "superseded-by"), links_of(row, "replaces"))
    return needed


def keep_in_archive(
    path: str,
    before: Snapshot | None,
    lines: Mapping[str, bytes],
    *,
    index_folder: str,
    clock: Clock,
) -> None:
    """The archive with these rows in it; a row that was there is replaced by its newer self."""
    there = before.columns if before else Columns.of(())
    put = {bead_id: (entry_of(decode(line), line), line) for bead_id, line in lines.items()}
    pieces, columns = there.spliced(put)
    publish(
        path,
        before,
        pieces,
        columns,
        index_folder=index_folder,
        clock=clock,
        agree=lambda new_file: True,
    )
