"""What the links of a tracker alone tell of what is wrong: linear, for `status` too. Pure."""

from __future__ import annotations

from ddx.base import WARNING, Finding
from ddx.tracker.columns import SUPERSEDED
from ddx.tracker.queue import unfinished
from ddx.tracker.row import typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ddx.tracker.columns import Columns
    from ddx.tracker.snapshot import Snapshot

AT_WORK = frozenset({"open", "in_progress"})
_LONGEST_RING = 12


def health(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Links that lead nowhere or in a ring, and epics without a child."""
    archive = snapshot.archive()
    return link_findings(snapshot.columns, archive.columns if archive else None)


def link_findings(columns: Columns, archived: Columns | None) -> tuple[Finding, ...]:
    """Finished beads are left out: their links hold nobody back."""
    alive = unfinished(columns)
    return (
        *_dangling(columns, archived, alive),
        *_rings(columns, alive),
        *_childless(columns, archived, alive),
    )


def _dangling(columns: Columns, archived: Columns | None, alive: list[int]) -> Iterator[Finding]:
    known = columns.place
    elsewhere = archived.place if archived else {}
    for n in alive:
        bead_id, parent = columns.ids[n], columns.parents[n]
        for wanted in columns.waits_for[n]:
            if wanted not in known and wanted not in elsewhere:
                what = f"waits for {wanted}, which exists nowhere; so it is never ready (D-14)"
                command = f"ddx bead dep remove {typed(bead_id)} {typed(wanted)}"
                cure = f"find that bead again, or if it is not needed: {command}"
                yield Finding("dangling-edge", WARNING, bead_id, what=what, cure=cure)
        if parent and parent not in known and parent not in elsewhere:
            what = f"is part of {parent}, which exists nowhere"
            command = f"ddx bead update {typed(bead_id)} --parent ..."
            cure = f"name the bead that it is part of: {command}"
            yield Finding("dangling-parent", WARNING, bead_id, what=what, cure=cure)


def _childless(columns: Columns, archived: Columns | None, alive: list[int]) -> Iterator[Finding]:
    for n in alive:
        bead_id = columns.ids[n]
        if (
            columns.types[n] == "epic"
            and columns.statuses[n] in AT_WORK
            and not columns.marks[n] & SUPERSEDED
            and bead_id not in columns.children
            and (archived is None or bead_id not in archived.children)
        ):
            what = "is an epic without a child, so nobody ever works on it"
            cure = (
                f"file its parts: ddx bead create ... --parent {typed(bead_id)}; "
                f"or make it work of its own: ddx bead update {typed(bead_id)} --type task"
            )
            yield Finding("epic-without-children", WARNING, bead_id, what=what, cure=cure)


def _rings(columns: Columns, alive: list[int]) -> Iterator[Finding]:
    """A bead is held up by what it waits for and, since it closes last, by its own parts."""
    held_up_by: dict[str, list[str]] = {columns.ids[n]: [] for n in alive}
    for n in alive:
        bead_id, parent = columns.ids[n], columns.parents[n]
        held_up_by[bead_id] += [other for other in columns.waits_for[n] if other in held_up_by]
        if parent in held_up_by and not columns.marks[n] & SUPERSEDED:
            held_up_by[parent].append(bead_id)
    for ring in find_rings(held_up_by):
        yield _ring_finding(columns, ring)


def find_rings(held_up_by: Mapping[str, list[str]]) -> Iterator[tuple[str, ...]]:
    """Rings that share no bead, at least one of every knot; linear, and without recursion.

    A walk into the depth. A ring that it closes is taken out of the path as a whole, so that
    every bead is entered once and every link followed once.
    """
    entered: set[str] = set()
    for start in held_up_by:
        if start in entered:
            continue
        path, ways = [start], [iter(held_up_by[start])]
        place = {start: 0}
        entered.add(start)
        while path:
            other = next(ways[-1], None)
            if other in place:
                first = place[other]
                ring = path[first:]
                least = ring.index(min(ring))
                yield (*ring[least:], *ring[:least])
                for bead_id in ring:
                    del place[bead_id]
                del path[first:], ways[first:]
            elif other is None:
                del place[path.pop()]
                ways.pop()
            elif other not in entered:
                entered.add(other)
                place[other] = len(path)
                path.append(other)
                ways.append(iter(held_up_by[other]))


def _ring_finding(columns: Columns, ring: tuple[str, ...]) -> Finding:
    steps = list(zip(ring, (*ring[1:], ring[0]), strict=True))
    said = [
        f"{bead_id} {'waits for' if _waits(columns, bead_id, other) else 'has the part'} {other}"
        for bead_id, other in steps[:_LONGEST_RING]
    ]
    if len(ring) > _LONGEST_RING:
        said.append(f"and {len(ring) - _LONGEST_RING} more up to {ring[0]} again")
    waiting = next((step for step in reversed(steps) if _waits(columns, *step)), None)
    if waiting:
        undo = f"ddx bead dep remove {' '.join(map(typed, waiting))}"
    else:
        undo = f"ddx bead update {typed(ring[0])} --parent ..."
    what = f"is held up by itself, so no bead of this ring can be closed: {', '.join(said)}"
    cure = f"undo the link that is wrong, for example: {undo}"
    return Finding("cyclic-edge", WARNING, ring[0], what=what, cure=cure)


def _waits(columns: Columns, bead_id: str, other: str) -> bool:
    return other in columns.waits_for[columns.place[bead_id]]
