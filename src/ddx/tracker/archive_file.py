"""Closed beads that nobody needs in front of him, in a file of their own.

`AllBeads` puts them together with the others again, each with the events kept beside (T-6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddx.base import sort_key
from ddx.tracker.changeset import ChangeSet, joined
from ddx.tracker.columns import Columns, entry_of
from ddx.tracker.publication import publish
from ddx.tracker.row import FINISHED, Row, decode, events_of, links_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.base import Clock
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.tracker import Tracker


def archive(view: Snapshot, *, closed_before: str = "", max_size: int | None = None) -> ChangeSet:
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
    return ChangeSet({}, archived=frozenset(moved))


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


class AllBeads(Mapping[str, Row]):
    """Beads by id, in the order of ids; each is read when it is asked for, not before."""

    def __init__(self, tracker: Tracker, view: Snapshot | None = None) -> None:
        self._view = view or tracker.snapshot()
        self._attachments = tracker.attachments
        archive = self._view.archive()
        self._ids = {*self._view.columns.ids, *(archive.columns.ids if archive else ())}

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, bead_id: object) -> bool:
        return bead_id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._ids))

    def __getitem__(self, bead_id: str) -> Row:
        row = self._view.find(bead_id)
        if row is None:
            raise KeyError(bead_id)
        events = joined(self._attachments.events(bead_id), events_of(row))
        return {**row, "events": list(events)} if events else row
