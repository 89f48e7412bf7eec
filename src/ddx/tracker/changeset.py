"""A change in the making: rows as they will be, and the rules that no change may break (T-12).

What happened to a bead is an event in its row; once it is closed, its events stand beside the
tracker instead of in it (T-6).
"""

from __future__ import annotations

import os

from ddx.base import Refused, changed, loads, replace, require_clean, sort_key, to_bytes, value
from ddx.tracker.row import (
    Row,
    blockers_of,
    events_of,
    link_of,
    revision_of,
    status_of,
    text_of,
    typed,
)
from ddx.tracker.snapshot import corrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Protocol

    class TrackerView(Protocol):
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


LARGEST_TEXT = 65_536
_CUT = "\n[... {} bytes cut here ...]\n"
_LONGEST_NAME = 120


@value
class ChangeSet:
    """One write: all of it happens or nothing does."""

    put: Mapping[str, Row]
    archived: frozenset[str] = frozenset()
    """Rows that move to the archive; no row is ever just removed."""
    attached: Mapping[str, tuple[Row, ...]] = {}
    """Events that leave their row for `.ddx/attachments` (T-6)."""
    remarks: tuple[str, ...] = ()
    """What happened besides what was asked, for a person."""


class WorkingCopy:
    """The tracker with the changes made so far on top.

    It can be asked whatever a tracker can, so that one edit after the other is made on it: each
    sees what those before it did, and all are one write.
    """

    def __init__(self, view: TrackerView, *, now: str) -> None:
        self._view = view
        self.now = now
        self.put_rows: dict[str, Row] = {}
        self._children: dict[str, set[str]] = {}
        self._waiters: dict[str, set[str]] = {}
        self._attached: dict[str, tuple[Row, ...]] = {}
        self.remarks: list[str] = []

    def changes(self) -> ChangeSet:
        return ChangeSet(self.put_rows, attached=self._attached, remarks=tuple(self.remarks))

    def add(self, changes: ChangeSet) -> None:
        """Lay an edit on top that was made on this very state."""
        if changes.archived:
            raise ValueError("what moves to the archive is a write of its own")
        for row in changes.put.values():
            self.put(row)
        for bead_id, events in changes.attached.items():
            self._attached[bead_id] = (*self._attached.get(bead_id, ()), *events)
        self.remarks += changes.remarks

    def find(self, bead_id: str) -> Row | None:
        """The row, also from the archive; None if there is no such bead."""
        return self.put_rows.get(bead_id) or self._view.find(bead_id)

    def __contains__(self, bead_id: object) -> bool:
        return bead_id in self.put_rows or bead_id in self._view

    def exists(self, bead_id: str) -> bool:
        return self.find(bead_id) is not None

    def row(self, bead_id: str) -> Row:
        """A row that may be changed; what is in the archive may not."""
        row = self.row_even_archived(bead_id)
        if bead_id not in self:
            raise Refused(
                f"{bead_id} is in the archive and cannot change",
                hint=f"bring it back first: ddx bead reopen {typed(bead_id)} --reason '...'",
            )
        return row

    def is_archived(self, bead_id: str) -> bool:
        return bead_id not in self and self.exists(bead_id)

    def row_even_archived(self, bead_id: str) -> Row:
        return self.find(bead_id) or self._view.row(bead_id)

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
        self.row_even_archived(bead_id)

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
        ring = self._way(wanted, bead_id) if self.is_waited_for(bead_id) else ()
        if ring:
            raise Refused(
                f"{bead_id} cannot wait for {wanted}: that closes the ring "
                f"{' -> '.join((bead_id, *ring))}",
                hint=f"see it: ddx bead dep tree {typed(wanted)}",
            )

    def is_waited_for(self, bead_id: str) -> bool:
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


# Events


def event(
    kind: str, *, summary: str, at: str, body: str = "", actor: str = "", source: str = "ddx"
) -> Row:
    """An event in its stored form; a text too large keeps its head and tail."""
    return {
        "actor": require_clean(actor, what="actor"),
        "body": capped(require_clean(body, what="body")),
        "created_at": at,
        "kind": require_clean(kind, what="kind"),
        "source": require_clean(source, what="source"),
        "summary": capped(require_clean(summary, what="summary")),
    }


def with_event(row: Row, happened: Row) -> Row:
    return {**row, "events": [*events_of(row), happened]}


def joined(*parts: tuple[Row, ...]) -> tuple[Row, ...]:
    """Events of a row and of its attachment, each once, in the order they were written."""
    seen = []
    for part in parts:
        for happened in part:
            if happened not in seen:
                seen.append(happened)
    return tuple(sorted(seen, key=lambda happened: sort_key(text_of(happened, "created_at"))))


def capped(text: str) -> str:
    """At most 64 KiB as UTF-8; the cut is named in the text."""
    content = text.encode("utf-8", "surrogatepass")
    if len(content) <= LARGEST_TEXT:
        return text
    room = LARGEST_TEXT - len(_CUT.format(10**18))
    head = content[: room * 2 // 3].decode("utf-8", "ignore")
    tail = content[len(content) - room // 3 :].decode("utf-8", "ignore")
    kept = len(head.encode()) + len(tail.encode())
    return f"{head}{_CUT.format(len(content) - kept)}{tail}"


def add_event(view: TrackerView, bead_id: str, happened: Row, *, now: str) -> ChangeSet:
    """In the row while the bead is open, beside the tracker once it is closed."""
    working = WorkingCopy(view, now=now)
    row = working.row(bead_id)
    if status_of(row) == "closed":
        working.put(row)
        return changed(working.changes(), attached={bead_id: (happened,)})
    working.put(with_event(row, happened))
    return working.changes()


class Attachments:
    """The events of closed beads, one folder a bead."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)

    def path(self, bead_id: str) -> str:
        return os.path.join(self.folder, attachment_name(bead_id), "events.jsonl")

    def events(self, bead_id: str) -> tuple[Row, ...]:
        try:
            with open(self.path(bead_id), "rb") as file:
                lines = [line for line in file.read().splitlines() if line.strip()]
        except FileNotFoundError:
            return ()
        return tuple(_event(self.path(bead_id), n, line) for n, line in enumerate(lines, start=1))

    def add(self, bead_id: str, events: tuple[Row, ...]) -> None:
        """Before the row lets go of them, so a crash between leaves them twice, never none.

        A close that is told again in the same words, after nothing new, is the one that a crash
        cut off.
        """
        kept = self.events(bead_id)
        if kept and events and _is_same_close(kept[-1], events[-1]):
            is_again = all(happened in kept for happened in events[:-1])
            kept = kept[:-1] if is_again else kept
        everything = joined(kept, events)
        if everything:
            lines = (to_bytes(dict(sorted(item.items()))) + b"\n" for item in everything)
            replace(self.path(bead_id), tuple(lines), near=self.folder)


def _is_same_close(one: Row, other: Row) -> bool:
    return one.get("kind") == "closed" and {**one, "created_at": ""} == {**other, "created_at": ""}


def _event(path: str, number: int, line: bytes) -> Row:
    try:
        return dict(loads(line.decode("utf-8")))
    except (ValueError, TypeError) as problem:
        raise corrupt(path, number, str(problem)) from None


def attachment_name(bead_id: str) -> str:
    """A folder name for a bead; an id that stands in the file may hold anything (T-3)."""
    safe = "".join(
        mark if mark.isascii() and (mark.isalnum() or mark in "-_.") else f"%{ord(mark):06x}"
        for mark in bead_id
    )
    if len(safe) > _LONGEST_NAME:
        safe = f"{safe[:_LONGEST_NAME]}%{revision_of(bead_id.encode('utf-8', 'surrogatepass'))}"
    return f"%{ord('.'):06x}{safe[1:]}" if safe.startswith(".") else safe
