"""A change in the making: rows as they will be, and the rules that no change may break (T-12)."""

from __future__ import annotations

from ddx.errors import Refused
from ddx.tracker.model import Row, blockers_of, link_of, status_of, typed
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Protocol

    class View(Protocol):
        """What a change may ask of the tracker as it is now."""

        def find(self, bead_id: str) -> Row | None: ...
        def row(self, bead_id: str) -> Row: ...
        def __contains__(self, bead_id: object) -> bool: ...
        def status(self, bead_id: str) -> str: ...
        def parent(self, bead_id: str) -> str: ...
        def waits_for(self, bead_id: str) -> tuple[str, ...]: ...
        def children(self, bead_id: str) -> tuple[str, ...]: ...
        def dependents(self, bead_id: str) -> tuple[str, ...]: ...
        def is_waited_for(self, bead_id: str) -> bool: ...


@value
class Changes:
    """One write: all of it happens or nothing does."""

    put: Mapping[str, Row]
    archived: frozenset[str] = frozenset()
    """Rows that move to the archive; no row is ever just removed."""
    attached: Mapping[str, tuple[Row, ...]] = {}
    """Events that leave their row for `.ddx/attachments` (T-6)."""
    remarks: tuple[str, ...] = ()
    """What happened besides what was asked, for a person."""


class Working:
    """The tracker with the changes made so far on top."""

    def __init__(self, view: View, *, now: str) -> None:
        self._view = view
        self.now = now
        self.put_rows: dict[str, Row] = {}
        self._children: dict[str, set[str]] = {}
        self._waiters: dict[str, set[str]] = {}
        self.remarks: list[str] = []

    def changes(self) -> Changes:
        return Changes(self.put_rows, remarks=tuple(self.remarks))

    def exists(self, bead_id: str) -> bool:
        return bead_id in self.put_rows or self._view.find(bead_id) is not None

    def row(self, bead_id: str) -> Row:
        """A row that may be changed; what is in the archive may not."""
        if bead_id in self.put_rows:
            return self.put_rows[bead_id]
        row = self._view.row(bead_id)
        if bead_id not in self._view:
            raise Refused(
                f"{bead_id} is in the archive and cannot change",
                hint=f"bring it back first: ddx bead reopen {typed(bead_id)} --reason '...'",
            )
        return row

    def is_archived(self, bead_id: str) -> bool:
        return bead_id not in self.put_rows and bead_id not in self._view and self.exists(bead_id)

    def row_even_archived(self, bead_id: str) -> Row:
        return self.put_rows.get(bead_id) or self._view.row(bead_id)

    def put(self, row: Row) -> Row:
        """The row as it will stand, stamped."""
        row = {**row, "updated_at": self.now}
        bead_id = row["id"]
        for parent in filter(None, (self.parent(bead_id), link_of(row, "parent"))):
            self._children.setdefault(parent, set()).add(bead_id)
        for wanted in (*self.waits_for(bead_id), *blockers_of(row)):
            self._waiters.setdefault(wanted, set()).add(bead_id)
        self.put_rows[bead_id] = row
        return row

    def status(self, bead_id: str) -> str:
        row = self.put_rows.get(bead_id)
        return status_of(row) if row else self._view.status(bead_id)

    def children(self, bead_id: str) -> tuple[str, ...]:
        known = {*self._view.children(bead_id), *self._children.get(bead_id, ())}
        return tuple(sorted(child for child in known if self.parent(child) == bead_id))

    def dependents(self, bead_id: str) -> tuple[str, ...]:
        known = {*self._view.dependents(bead_id), *self._waiters.get(bead_id, ())}
        return tuple(sorted(other for other in known if bead_id in self.waits_for(other)))

    def parent(self, bead_id: str) -> str:
        row = self.put_rows.get(bead_id)
        return link_of(row, "parent") if row else self._view.parent(bead_id)

    def waits_for(self, bead_id: str) -> tuple[str, ...]:
        row = self.put_rows.get(bead_id)
        return blockers_of(row) if row else self._view.waits_for(bead_id)

    def ancestors(self, bead_id: str) -> Iterator[str]:
        seen = {bead_id}
        while (bead_id := self.parent(bead_id)) and bead_id not in seen:
            seen.add(bead_id)
            yield bead_id

    def descendants(self, bead_id: str) -> Iterator[str]:
        seen = {bead_id}
        unseen = [bead_id]
        while unseen:
            for child in self.children(unseen.pop()):
                if child not in seen:
                    seen.add(child)
                    unseen.append(child)
                    yield child

    def require_known(self, bead_id: str) -> None:
        if bead_id not in self.put_rows and self._view.find(bead_id) is None:
            self._view.row(bead_id)

    def require_possible_parent(self, bead_id: str, parent: str) -> None:
        self.require_known(parent)
        if parent == bead_id or bead_id in self.ancestors(parent):
            raise Refused(f"{parent} is {bead_id} itself or below it, so it cannot be its parent")
        above = {parent, *self.ancestors(parent)}
        for moved in (bead_id, *self.descendants(bead_id)):
            for wanted in self.waits_for(moved):
                if wanted in above:
                    raise Refused(f"{moved} waits for {wanted}, so it cannot stand below it")

    def require_possible_dependency(self, bead_id: str, wanted: str) -> None:
        """Known, not itself, not an ancestor, and no ring of waiting (T-12)."""
        self.require_known(wanted)
        if wanted == bead_id:
            raise Refused(f"{bead_id} cannot wait for itself")
        if wanted in self.ancestors(bead_id):
            raise Refused(f"{bead_id} is part of {wanted}, so it cannot wait for it")
        ring = self._way(wanted, bead_id) if self._is_waited_for(bead_id) else ()
        if ring:
            raise Refused(
                f"{bead_id} cannot wait for {wanted}: that closes the ring "
                f"{' -> '.join((bead_id, *ring))}",
                hint=f"see it: ddx bead dep tree {typed(wanted)}",
            )

    def _is_waited_for(self, bead_id: str) -> bool:
        """By anyone at all: else no ring is possible, and nobody needs to look for one."""
        return bool(self._waiters.get(bead_id)) or self._view.is_waited_for(bead_id)

    def _way(self, start: str, goal: str) -> tuple[str, ...]:
        """How `start` comes to wait for `goal`, or nothing."""
        came_from: dict[str, str] = {start: ""}
        waiting = [start]
        while waiting:
            bead_id = waiting.pop()
            if bead_id == goal:
                way = []
                while bead_id:
                    way.append(bead_id)
                    bead_id = came_from[bead_id]
                return tuple(reversed(way))
            for wanted in self.waits_for(bead_id):
                if wanted not in came_from:
                    came_from[wanted] = bead_id
                    waiting.append(wanted)
        return ()
