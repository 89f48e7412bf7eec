"""Conflicts and gaps that are over are closed, with the proof on record (I-5).

Only what is committed counts, and only beads that are as intake wrote them: one that somebody has
changed or spoken on is theirs to close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import Refused
from ddx.git import changed_since, commit_id
from ddx.graph.model import ERROR
from ddx.text import listed
from ddx.tracker.codec import decode
from ddx.tracker.lifecycle import Ending, close
from ddx.tracker.model import FINISHED, RUNNER, labels_of, links_of, text_of, texts_of
from ddx.tracker.working import Changes
from ddx.values import value
from helix.actions.requests import BASIS, CONFLICT, PART_KEY, SHARED, said_by
from helix.policy.conflicts import REQUEST as BY_REQUEST
from helix.policy.conflicts import Clash, find_conflicts, statement_of_request
from helix.policy.open_parts import CONFLICT_REQUEST, gap_key
from helix.policy.parts import ESCALATION, GAP
from helix.policy.questions import conflict_key
from helix.policy.speculation import is_spoken_of
from helix.statements import read_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.graph.graph import Graph
    from ddx.project import Project
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Tracker

_KINDS = frozenset({f"kind:{ESCALATION}", f"kind:{GAP}"})
_HELD_BACK = "; what it held back is filed once its request is given again"


@value
class Reconciled:
    """A bead that was closed, or could not be, and why, in words for a person."""

    bead: str
    reason: str
    is_closed: bool = True

    @property
    def sentence(self) -> str:
        return f"{self.bead} {'is closed' if self.is_closed else 'stays open'}: {self.reason}"


@value
class _Over:
    """A bead about something that the documents do not say any more."""

    row: Row
    places: tuple[int, ...]
    """The documents that it is about."""
    rests_on: frozenset[str]
    """The files that must be as the commit has them."""
    reason: str
    left: frozenset[str] = frozenset()
    """The keys of other conflicts between the same documents."""


def close_settled(project: Project, tracker: Tracker, graph: Graph) -> tuple[Reconciled, ...]:
    """Every conflict and gap that is over; what is left of it must stand on other beads."""
    over = [
        found
        for row in _untouched(tracker.snapshot())
        if (found := _judged(project, graph, row)) is not None
    ]
    commit = commit_id(project.root, "HEAD") if over else ""
    edited = frozenset(changed_since(project.root, commit)) if commit else frozenset()
    proven = [it for it in over if commit and edited.isdisjoint(it.rests_on)]
    return tuple(filter(None, (_close(tracker, graph, it, commit) for it in proven)))


def _close(tracker: Tracker, graph: Graph, over: _Over, commit: str) -> Reconciled | None:
    """None: somebody was there just now, or it has only been put in other words."""
    bead_id = text_of(over.row, "id")
    done: Reconciled | None = None

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal done
        done = None
        others = {key: bead for key, bead in _told(snapshot) if bead != bead_id}
        if snapshot.find(bead_id) != over.row or not over.left <= others.keys():
            return Changes({})
        rest = listed(sorted(others[key] for key in over.left))
        reason = f"{over.reason} about this; {rest} tells the rest" if rest else over.reason
        is_physics = f"{CONFLICT}{Clash.PHYSICS}" in labels_of(over.row)
        done = Reconciled(bead_id, reason + (_HELD_BACK if is_physics else ""))
        ending = Ending(reason, commit, evidence=_evidence(graph, over.places))
        return close(snapshot, bead_id, ending, actor=RUNNER, now=now)

    try:
        tracker.change(decide)
    except Refused as problem:  # other beads come first, or the project's own say is against it
        return Reconciled(bead_id, problem.message, is_closed=False)
    return done


def _untouched(snapshot: Snapshot) -> Iterator[Row]:
    """Open ones that say what intake wrote, and that nobody has spoken on."""
    columns = snapshot.columns
    for n, labels in enumerate(columns.labels):
        if columns.statuses[n] != "open" or _KINDS.isdisjoint(labels):
            continue
        row = decode(snapshot.line(n))
        is_ours = text_of(row, BASIS) == said_by(row) and not is_spoken_of(row)
        if is_ours and not links_of(row, "superseded-by"):
            yield row


def _told(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """The parts of requests that beads stand for which are not finished."""
    columns = snapshot.columns
    for n, labels in enumerate(columns.labels):
        if columns.statuses[n] not in FINISHED and not _KINDS.isdisjoint(labels):
            part = text_of(decode(snapshot.line(n)), PART_KEY)
            if part.startswith(SHARED):
                yield part, columns.ids[n]


def _judged(project: Project, graph: Graph, row: Row) -> _Over | None:
    """None: it is not over, or nobody can tell, for a document is missing or broken."""
    is_conflict = text_of(row, PART_KEY).startswith(CONFLICT)
    names = (*links_of(row, "spec-id"), *links_of(row, "refs"))
    found = [graph.find(name) for name in (names if is_conflict else texts_of(row, "paths"))]
    places = tuple(dict.fromkeys(n for n in found if n is not None))
    paths = {graph.paths[n] for n in places}
    if not found or None in found:
        return None
    findings = graph.findings()
    if any(it.severity == ERROR and it.kind != GAP and it.path in paths for it in findings):
        return None
    if is_conflict:
        return _judged_conflict(project, graph, row, places)
    gaps = {gap_key(it.path, it.what) for it in findings if it.kind == GAP}
    is_open = text_of(row, PART_KEY) in gaps
    reason = f"{graph.ids[places[0]]} has no such gap now"
    return None if is_open else _Over(row, places, frozenset(graph.paths), reason)


def _judged_conflict(
    project: Project, graph: Graph, row: Row, places: tuple[int, ...]
) -> _Over | None:
    own = [graph.ids[n] for n in places]
    sides = set(own)
    statements = read_statements(project, graph, own)
    reason = f"{listed(own)} agree again"
    if len(own) == 1:
        reason = f"{own[0]} no longer contradicts itself"
    if asked := text_of(row, CONFLICT_REQUEST):
        statements = (*statements, statement_of_request(asked))
        sides.add(BY_REQUEST)
        reason = f"{listed(own)} no longer stands against the request"
    left = frozenset(
        conflict_key(it)
        for it in find_conflicts(statements)
        if {it.one.document, it.other.document} == sides
    )
    if text_of(row, PART_KEY) in left:
        return None
    return _Over(row, places, frozenset(graph.paths[n] for n in places), reason, left)


def _evidence(graph: Graph, places: Sequence[int]) -> str:
    """What was looked at: each document with the hash of what it says now."""
    return "\n".join(f"{graph.ids[n]} ({graph.paths[n]}): {graph.hashes[n]}" for n in places)
