"""Several changes of the tracker as one write: each sees what those before it did. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.tracker.working import Changes, Working

if TYPE_CHECKING:
    from ddx.tracker.model import Row
    from ddx.tracker.working import View


class Series:
    """The tracker with the changes so far on top; it can be asked whatever a tracker can."""

    def __init__(self, view: View, *, now: str) -> None:
        self._view = view
        self._working = Working(view, now=now)
        self._attached: dict[str, tuple[Row, ...]] = {}
        self.remarks: list[str] = []
        self.now = now

    def add(self, changes: Changes) -> None:
        for row in changes.put.values():
            self._working.put(row)
        self._attached |= changes.attached
        self.remarks += changes.remarks

    def changes(self) -> Changes:
        return Changes(self._working.put_rows, attached=self._attached, remarks=tuple(self.remarks))

    def find(self, bead_id: str) -> Row | None:
        return self._working.put_rows.get(bead_id) or self._view.find(bead_id)

    def row(self, bead_id: str) -> Row:
        return self._working.put_rows.get(bead_id) or self._view.row(bead_id)

    def __contains__(self, bead_id: object) -> bool:
        return bead_id in self._working.put_rows or bead_id in self._view

    def status(self, bead_id: str) -> str:
        return self._working.status(bead_id)

    def parent(self, bead_id: str) -> str:
        return self._working.parent(bead_id)

    def waits_for(self, bead_id: str) -> tuple[str, ...]:
        return self._working.waits_for(bead_id)

    def children(self, bead_id: str) -> tuple[str, ...]:
        return self._working.children(bead_id)

    def dependents(self, bead_id: str) -> tuple[str, ...]:
        return self._working.dependents(bead_id)

    def is_waited_for(self, bead_id: str) -> bool:
        return bool(self.dependents(bead_id)) or self._view.is_waited_for(bead_id)
