"""Every bead with all that belongs to it: the archive's too, and the events kept beside (T-6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddx.tracker.events import joined
from ddx.tracker.model import Row, events_of
from ddx.tracker.snapshot import Snapshot
from ddx.tracker.store import Tracker


class Whole(Mapping[str, Row]):
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
