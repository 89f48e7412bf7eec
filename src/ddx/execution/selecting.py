"""Which beads may be handed out together, and which not side by side (X-20). Pure but for rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from ddx.execution.model import Bead
from ddx.tracker.codec import decode
from ddx.tracker.model import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddx.tracker.snapshot import Snapshot

_WILDCARDS = ("*", "?", "[")


class ReadyBeads(Sequence[Bead]):
    """Beads in the queue's order; a row is read when somebody looks at it."""

    def __init__(self, snapshot: Snapshot, places: Sequence[int]) -> None:
        self._snapshot = snapshot
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Bead: ...
    @overload
    def __getitem__(self, index: slice) -> ReadyBeads: ...
    def __getitem__(self, index: int | slice) -> Bead | ReadyBeads:
        if isinstance(index, slice):
            return ReadyBeads(self._snapshot, self._places[index])
        n = self._places[index]
        columns = self._snapshot.columns
        return Bead(columns.ids[n], decode(self._snapshot.line(n)), columns.revisions[n])

    def ids(self) -> list[str]:
        """Without reading a row."""
        return [self._snapshot.columns.ids[n] for n in self._places]


def held_paths(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """The paths that beads in progress declare, whoever works on them."""
    columns = snapshot.columns
    return {
        columns.ids[n]: paths
        for n, status in enumerate(columns.statuses)
        if status == "in_progress"
        if (paths := texts_of(decode(snapshot.line(n)), "paths"))
    }


def overlap(ours: Iterable[str], theirs: Iterable[str]) -> bool:
    """Could an edit below one of our paths be an edit below one of theirs?"""
    others = [_stem(path) for path in theirs]
    return any(
        one.startswith(other) or other.startswith(one)
        for one in map(_stem, ours)
        for other in others
    )


def _stem(path: str) -> str:
    """What every file that the path means begins with; a folder ends in a slash."""
    path = path.strip().removeprefix("./")
    places = [path.find(mark) for mark in _WILDCARDS if mark in path]
    if places:
        return path[: min(places)]
    return path if path.endswith("/") or not path else f"{path}/"
