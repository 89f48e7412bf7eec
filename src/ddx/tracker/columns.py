"""What the queue asks of every bead, a list per fact, in the order of ids.

Plain lists because the index stores them by `marshal` and reads ten thousand beads in a few
milliseconds; a column reads as well as an attribute: `columns.statuses[n]`.
"""

from __future__ import annotations

import sys

from ddx.base import sort_key, value
from ddx.tracker import criteria
from ddx.tracker.row import (
    FINISHED,
    Row,
    blockers_of,
    is_eligible,
    labels_of,
    link_of,
    links_of,
    priority_of,
    rank_of,
    revision_of,
    status_of,
    text_of,
    type_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeAlias

    Entry: TypeAlias = tuple[Any, ...]

HAS_CRITERION = criteria.HAS_CRITERION
IS_VAGUE = criteria.IS_VAGUE
INELIGIBLE = 4
SUPERSEDED = 8
IN_CONFLICT = 16
SHADOWS = 32
"""The row itself holds a key that our answers add, so no bytes can just be put at its end."""

ADDED_KEYS = frozenset(
    {"assignee", "revision", "ready", "blockers", "blocker", "children", "dependents", "archived"}
)

CORE = (
    "ids",
    "statuses",
    "priorities",
    "orders",
    "types",
    "parents",
    "waits_for",
    "marks",
    "retry_after",
)
TEXTS = ("titles", "labels", "specs", "owners", "revisions")


ORDER_HEAD = 19
_FAR = 10**16


def entry_of(row: Row, line: bytes) -> Entry:
    """The facts of a row that stands in the file as `line`, in the order of CORE and then TEXTS."""
    return (
        row["id"],
        sys.intern(status_of(row)),
        priority_of(row),
        _order(row),
        sys.intern(type_of(row)),
        link_of(row, "parent"),
        blockers_of(row),
        _marks(row),
        _cooling_until(row),
        text_of(row, "title"),
        tuple(map(sys.intern, labels_of(row))),
        sys.intern(text_of(row, "spec-id")),
        sys.intern(text_of(row, "owner") or text_of(row, "assignee")),
        revision_of(line),
    )


def _order(row: Row) -> str:
    """Leaves before epics, then priority, queue-rank (present first), creation (D-12)."""
    rank = rank_of(row)
    ranked = "~" * 17 if rank is None else f"{min(max(rank, -_FAR), _FAR) + _FAR:017d}"
    leaf = 1 if type_of(row) == "epic" else 0
    return f"{leaf}{priority_of(row)}{ranked}{sort_key(text_of(row, 'created_at'))}"


def _marks(row: Row) -> int:
    return (
        (criteria.marks(row) if status_of(row) not in FINISHED else 0)
        | (0 if is_eligible(row) else INELIGIBLE)
        | (SUPERSEDED if links_of(row, "superseded-by") else 0)
        | (IN_CONFLICT if row.get("merge-conflicts") else 0)
        | (SHADOWS if not ADDED_KEYS.isdisjoint(row) else 0)
    )


def _cooling_until(row: Row) -> str:
    until = text_of(row, "retry-after")
    return sort_key(until) if until else ""


@value
class OldRows:
    """Rows `first` to `last` (not included) of the old file, unchanged."""

    first: int
    last: int


@value
class NewRow:
    """A row that is new or changed, as it will stand in the file."""

    line: bytes


class Columns:
    """All beads of one file; the rows' places in it; texts are unpacked only when asked for."""

    ids: list[str]
    statuses: list[str]
    priorities: list[int]
    orders: list[str]
    """Texts that sort as the queue does; what follows ORDER_HEAD is the time of creation."""
    types: list[str]
    parents: list[str]
    waits_for: list[tuple[str, ...]]
    marks: list[int]
    retry_after: list[str]
    titles: list[str]
    labels: list[tuple[str, ...]]
    specs: list[str]
    owners: list[str]
    revisions: list[str]
    starts: list[int]
    ends: list[int]
    contiguous: bool
    """The file is just its rows in order, each closed by one newline."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.__dict__.update(facts)

    @classmethod
    def of(cls, entries: Iterable[tuple[Entry, int, int]], *, size: int = 0) -> Columns:
        """From entries with their places in a file of `size` bytes, in any order."""
        found = sorted(entries, key=lambda item: item[0][0])
        facts: dict[str, Any] = {
            name: [entry[place] for entry, _, _ in found]
            for place, name in enumerate((*CORE, *TEXTS))
        }
        facts["starts"] = [start for _, start, _ in found]
        facts["ends"] = [end for _, _, end in found]
        facts["contiguous"] = [*facts["starts"], size] == [0, *(end + 1 for end in facts["ends"])]
        return cls(facts)

    def __getattr__(self, name: str) -> Any:
        """What is derived, once: the columns themselves never change."""
        match name:
            case "place":
                found: Any = dict(zip(self.ids, range(len(self.ids)), strict=True))
            case "closed":
                found = {
                    bead_id
                    for bead_id, status in zip(self.ids, self.statuses, strict=True)
                    if status == "closed"
                }
            case "missing":
                found = set().union(*self.waits_for).difference(self.ids)
            case "children":
                found = _grouped((parent,) for parent in self.parents)
            case "waiters":
                found = _grouped(self.waits_for)
            case _ if name in TEXTS:
                self.__dict__.update(self.__dict__.pop("packed_texts")())
                return self.__dict__[name]
            case _:
                raise AttributeError(name)
        self.__dict__[name] = found
        return found

    if TYPE_CHECKING:
        place: dict[str, int]
        closed: set[str]
        missing: set[str]
        """Beads that are waited for and do not stand in this file."""
        children: dict[str, list[int]]
        """Below each bead, the places of its children."""
        waiters: dict[str, list[int]]
        """For each bead, the places of those that wait for it."""

    def __len__(self) -> int:
        return len(self.ids)

    def spliced(
        self, put: Mapping[str, tuple[Entry, bytes]], removed: frozenset[str] = frozenset()
    ) -> tuple[list[OldRows | NewRow], Columns]:
        """The next file as a list of pieces, and its columns, without looking at kept rows."""
        pieces = self._pieces(put, removed)
        facts: dict[str, Any] = {}
        for number, name in enumerate((*CORE, *TEXTS)):
            column: list[Any] = []
            old = getattr(self, name)
            for piece, entry in pieces:
                if isinstance(piece, OldRows):
                    column += old[piece.first : piece.last]
                else:
                    column.append(entry[number])
            facts[name] = column
        facts["starts"], facts["ends"] = self._places([piece for piece, _ in pieces])
        facts["contiguous"] = True
        return [piece for piece, _ in pieces], Columns(facts)

    def _pieces(
        self, put: Mapping[str, tuple[Entry, bytes]], removed: frozenset[str]
    ) -> list[tuple[OldRows | NewRow, Entry]]:
        from bisect import bisect_left

        pieces: list[tuple[OldRows | NewRow, Entry]] = []
        done = 0
        for bead_id in sorted({*put, *removed}):
            here = bisect_left(self.ids, bead_id, done)
            if here > done:
                pieces.append((OldRows(done, here), ()))
            done = here + (here < len(self.ids) and self.ids[here] == bead_id)
            if bead_id in put:
                entry, line = put[bead_id]
                pieces.append((NewRow(line), entry))
        if done < len(self.ids):
            pieces.append((OldRows(done, len(self.ids)), ()))
        return pieces

    def _places(self, pieces: list[OldRows | NewRow]) -> tuple[list[int], list[int]]:
        starts: list[int] = []
        ends: list[int] = []
        position = 0
        for piece in pieces:
            if isinstance(piece, NewRow):
                starts.append(position)
                ends.append(position + len(piece.line))
            elif self.contiguous:
                shift = position - self.starts[piece.first]
                starts += [start + shift for start in self.starts[piece.first : piece.last]]
                ends += [end + shift for end in self.ends[piece.first : piece.last]]
            else:
                for n in range(piece.first, piece.last):
                    starts.append(position)
                    position += self.ends[n] - self.starts[n] + 1
                    ends.append(position - 1)
            position = ends[-1] + 1
        return starts, ends


def _grouped(links: Iterable[tuple[str, ...]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for n, names in enumerate(links):
        for name in names:
            if name:
                found.setdefault(name, []).append(n)
    return found
