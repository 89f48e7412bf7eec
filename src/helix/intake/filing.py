"""The beads of requests: filed all or none, nothing twice, closed when they are over (I-5, I-6).

Each bead knows its request and which part of it it is. So the same request once more finds its
beads as long as they are open, and adds only what has come since (I-9).

Conflicts and gaps that are over are closed with the proof on record. Only what is committed counts,
and only beads that are as intake wrote them: one that somebody has changed or spoken on is theirs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.base import ConcurrentChange, Refused, changed, listed, value
from ddx.documents import numbered_id
from ddx.git import Repository
from ddx.tracker import BeadClosure, BeadPatch, id_prefix
from helix.intake.conflicts.detection import REQUEST as BY_REQUEST
from helix.intake.conflicts.detection import ConflictKind, find_conflicts, statement_of_request
from helix.intake.conflicts.statements import read_statements
from helix.intake.parts import ESCALATION, GAP, NEW, REQUEST
from helix.intake.questions import CONFLICT_REQUEST, conflict_key, gap_key
from helix.passes import basis_of, file_drafts, is_spoken_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ddx.documents import Graph
    from ddx.project import Project
    from ddx.tracker import Bead, Snapshot, Tracker, TrackerEdit
    from helix.intake.decision import IntakePlan
    from helix.intake.intake import IntakeContext
    from helix.intake.parts import RequestPart
    from helix.intake.request import ParsedRequest

REQUEST_KEY, PART_KEY, ANSWER_KEY = "intake-request", "intake-part", "intake-answer"
"""On a bead: which request it belongs to, which part of it it is, what a person answered."""

CONFLICT = "conflict:"
SHARED = (CONFLICT, "gap:")
"""Parts that are the same whichever request met them."""
_DISAGREEMENTS = frozenset({f"kind:{ESCALATION}", f"kind:{GAP}"})
"""Labels of beads on which a conflict, a gap or a question waits for a person."""
BASIS = "intake-basis"
"""On the bead of such a part: a mark of what it said when it was filed."""


class NameTaken(ConcurrentChange):
    """Another request took a name for its document after this one had looked."""


@value
class FiledBeads:
    """What came of a request: by part, the bead; and what happened to which."""

    beads: Mapping[str, Bead] = {}
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    """Escalations that a person has answered."""
    remarks: tuple[str, ...] = ()


def file_request(context: IntakeContext, wish: ParsedRequest, settled: IntakePlan) -> FiledBeads:
    """Everything that was settled, in one write; where one bead is refused, none is filed."""
    return context.tracker.edit(lambda edit: _Filing(context, edit, wish).carry_out(settled))


class _Filing:
    """The changes for one request on the tracker as it stands."""

    def __init__(self, context: IntakeContext, edit: TrackerEdit, wish: ParsedRequest) -> None:
        self._edit = edit
        self._wish = wish
        self._prefix = id_prefix(context.settings.bead_prefix or context.project.name)
        self._doubts = {f"kind:{ESCALATION}", context.slider.speculation_label}
        self._known = known_parts(edit.before, wish.key)
        self._promised = _promised(edit.before, wish.key)
        self._created: list[str] = []
        self._updated: list[str] = []

    def carry_out(self, settled: IntakePlan) -> FiledBeads:
        above = ""
        if settled.request is not None:
            self._file([settled.request])
            above = self._known[REQUEST]
        earlier = [part for part in settled.parts if part.key in self._known]
        self._file([_below(part, above) for part in settled.parts])
        self._file(settled.opened)
        for part in earlier:
            self._update(self._known[part.key], part, above)
        closed = [it for key, said in settled.answered.items() if (it := self._answer(key, said))]
        return FiledBeads(
            {part.key: self._edit.bead(self._known[part.key]) for part in settled.all_parts},
            tuple(self._created),
            tuple(self._updated),
            closed=tuple(closed),
            remarks=self._edit.remarks,
        )

    def _file(self, parts: Sequence[RequestPart]) -> None:
        """Those that are not there yet; every bead and every link must hold."""
        fresh = [part for part in parts if part.key not in self._known]
        for name in (name for part in fresh if part.key.startswith(NEW) for name in part.about):
            if name in self._promised:
                raise NameTaken(f"{name} was taken by another request", hint="give it once more")
        drafts = [
            changed(
                part.draft,
                depends_on=tuple(self._known.get(key, key) for key in part.draft.depends_on),
                marks={**part.draft.marks, REQUEST_KEY: self._wish.key, PART_KEY: part.key},
            )
            for part in fresh
        ]
        filed = file_drafts(self._edit, drafts, draw_id=self._draw_id)
        if filed.refusals:
            raise Refused(f"nothing was filed: {listed(it.sentence for it in filed.refusals)}")
        self._created += filed.beads.values()
        self._known |= filed.beads
        for bead_id in (bead for key, bead in filed.beads.items() if key.startswith(SHARED)):
            patch = BeadPatch({BASIS: said_by(self._edit.bead(bead_id))})
            self._edit.update(bead_id, patch)

    def _draw_id(self) -> str:
        return f"{self._prefix}-{os.urandom(4).hex()}"

    def _update(self, bead_id: str, part: RequestPart, above: str) -> None:
        """What an open bead has not yet: its place, its order, and that nobody doubts it now."""
        before = self._edit.bead(bead_id)
        if before.status != "open" or bead_id not in self._edit:
            return
        had, has = (self._doubts & set(it) for it in (before.labels, part.draft.labels))
        is_free = part.draft.is_executable and not part.draft.held
        # Who reviewed it took the label away: only one doubt takes the place of another.
        is_other = bool(had) and had != has
        patch = BeadPatch(
            {"execution-eligible": is_free, "execution-skip-reason": part.draft.held}
            if is_other
            else {},
            add_labels=tuple(sorted(has - had)) if is_other else (),
            remove_labels=tuple(sorted(had - has)),
            parent=above if above and not before.parent else None,
        )
        self._edit.update(bead_id, patch)
        for key in part.draft.depends_on:
            wanted = self._known.get(key, key)
            if wanted not in self._edit.waits_for(bead_id):
                self._edit.add_dependency(bead_id, wanted)
        if self._edit.bead(bead_id) != before:
            self._updated.append(bead_id)

    def _answer(self, key: str, said: bool) -> str:
        """The escalation is closed by its answer; a refused conflict stays for a person."""
        part = key if key.startswith(SHARED) else f"question:{key}"
        bead_id = self._known.get(part, "")
        if not bead_id or (part == key and not said):
            return ""
        if self._edit.is_finished(bead_id):
            return ""
        word = "yes" if said else "no"
        patch = BeadPatch({ANSWER_KEY: word})
        self._edit.update(bead_id, patch)
        ending = BeadClosure(f"a person answered: {word}")
        self._edit.close(bead_id, ending)
        return bead_id


def _below(part: RequestPart, above: str) -> RequestPart:
    return changed(part, draft=changed(part.draft, parent=above)) if above else part


def said_by(bead: Bead) -> str:
    """A mark of what the bead says, however urgent somebody finds it."""
    return basis_of(bead, besides=("priority",))


def known_parts(snapshot: Snapshot, request: str) -> dict[str, str]:
    """By part, the bead that says it: open, below an open request, or a conflict long settled."""
    found: dict[str, str] = {}
    for bead in snapshot.unfinished():
        part = bead.text(PART_KEY)
        if part and (bead.text(REQUEST_KEY) == request or part.startswith(SHARED)):
            found.setdefault(part, bead.id)
    for child in snapshot.children(found.get(REQUEST, "")) if REQUEST in found else ():
        bead = snapshot.bead(child)
        if bead.text(REQUEST_KEY) == request and bead.status != "cancelled":
            found.setdefault(bead.text(PART_KEY), child)
    for bead in answered(snapshot):
        if bead.text(PART_KEY).startswith(CONFLICT) and bead.text(ANSWER_KEY) == "yes":
            found.setdefault(bead.text(PART_KEY), bead.id)
    return found


def disagreements(snapshot: Snapshot, status: str) -> Iterator[Bead]:
    """The beads in this status on which a conflict, a gap or a question of intake may stand."""
    columns = snapshot.columns
    for n, labels in enumerate(columns.labels):
        if columns.statuses[n] == status and not _DISAGREEMENTS.isdisjoint(labels):
            yield snapshot.bead(columns.ids[n])


def answered(snapshot: Snapshot) -> Iterator[Bead]:
    """The escalations that a person's answer has closed."""
    return (bead for bead in disagreements(snapshot, "closed") if bead.text(ANSWER_KEY))


def promised_files(snapshot: Snapshot, *, but: str) -> dict[str, str]:
    """By file, the open bead that names it, except for those of one request."""
    found: dict[str, str] = {}
    for bead in snapshot.unfinished():
        if bead.text(REQUEST_KEY) != but:
            found |= dict.fromkeys(bead.paths, bead.id)
    return found


def _promised(snapshot: Snapshot, request: str) -> frozenset[str]:
    """The ids of documents that beads of other requests are about to write."""
    names = map(file_stem, promised_files(snapshot, but=request))
    return frozenset(numbered_id(name) or name for name in names)


def file_stem(path: str) -> str:
    """The name of a file without its folder and its ending."""
    return path.rpartition("/")[2].rpartition(".")[0]


# -- what is over --------------------------------------------------------------------------

_HELD_BACK = "; what it held back is filed once its request is given again"


@value
class ConflictResolution:
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

    told: Bead
    places: tuple[int, ...]
    """The documents that it is about."""
    rests_on: frozenset[str]
    """The files that must be as the commit has them."""
    reason: str
    left: frozenset[str] = frozenset()
    """The keys of other conflicts between the same documents."""


def close_settled(
    project: Project, tracker: Tracker, graph: Graph
) -> tuple[ConflictResolution, ...]:
    """Every conflict and gap that is over; what is left of it must stand on other beads."""
    over = [
        found
        for row in _untouched(tracker.snapshot())
        if (found := _judged(project, graph, row)) is not None
    ]
    repository = Repository(project.root)
    commit = repository.commit_id() if over else ""
    edited = frozenset(repository.changed_since(commit)) if commit else frozenset()
    proven = [it for it in over if commit and edited.isdisjoint(it.rests_on)]
    return tuple(filter(None, (_close(tracker, graph, it, commit) for it in proven)))


def _close(tracker: Tracker, graph: Graph, over: _Over, commit: str) -> ConflictResolution | None:
    """None: somebody was there just now, or it has only been put in other words."""
    bead_id = over.told.id

    def decide(edit: TrackerEdit) -> ConflictResolution | None:
        others = {key: bead for key, bead in _told(edit.before) if bead != bead_id}
        if edit.find_bead(bead_id) != over.told or not over.left <= others.keys():
            return None
        rest = listed(sorted(others[key] for key in over.left))
        reason = f"{over.reason} about this; {rest} tells the rest" if rest else over.reason
        is_physics = f"{CONFLICT}{ConflictKind.PHYSICS}" in over.told.labels
        ending = BeadClosure(reason, commit, evidence=_evidence(graph, over.places))
        edit.close(bead_id, ending)
        return ConflictResolution(bead_id, reason + (_HELD_BACK if is_physics else ""))

    try:
        return tracker.edit(decide)
    except Refused as problem:  # other beads come first, or the project's own say is against it
        return ConflictResolution(bead_id, problem.message, is_closed=False)


def _untouched(snapshot: Snapshot) -> Iterator[Bead]:
    """Open ones that say what intake wrote, and that nobody has spoken on."""
    for bead in disagreements(snapshot, "open"):
        is_ours = bead.text(BASIS) == said_by(bead) and not is_spoken_of(bead)
        if is_ours and not bead.superseded_by:
            yield bead


def _told(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """The parts of requests that beads stand for which are not finished."""
    columns = snapshot.columns
    for n, labels in enumerate(columns.labels):
        if not snapshot.is_finished(columns.ids[n]) and not _DISAGREEMENTS.isdisjoint(labels):
            part = snapshot.bead(columns.ids[n]).text(PART_KEY)
            if part.startswith(SHARED):
                yield part, columns.ids[n]


def _judged(project: Project, graph: Graph, bead: Bead) -> _Over | None:
    """None: it is not over, or nobody can tell, for a document is missing or broken."""
    is_conflict = bead.text(PART_KEY).startswith(CONFLICT)
    names = bead.documents
    found = [graph.find(name) for name in (names if is_conflict else bead.paths)]
    places = tuple(dict.fromkeys(n for n in found if n is not None))
    paths = {graph.paths[n] for n in places}
    if not found or None in found:
        return None
    findings = graph.findings()
    if any(it.is_error and it.kind != GAP and it.where in paths for it in findings):
        return None
    if is_conflict:
        return _judged_conflict(project, graph, bead, places)
    gaps = {gap_key(it.where, it.what) for it in findings if it.kind == GAP}
    is_open = bead.text(PART_KEY) in gaps
    reason = f"{graph.ids[places[0]]} has no such gap now"
    return None if is_open else _Over(bead, places, frozenset(graph.paths), reason=reason)


def _judged_conflict(
    project: Project, graph: Graph, bead: Bead, places: tuple[int, ...]
) -> _Over | None:
    own = [graph.ids[n] for n in places]
    sides = set(own)
    statements = read_statements(project, graph, own)
    reason = f"{listed(own)} agree again"
    if len(own) == 1:
        reason = f"{own[0]} no longer contradicts itself"
    if asked := bead.text(CONFLICT_REQUEST):
        statements = (*statements, statement_of_request(asked))
        sides.add(BY_REQUEST)
        reason = f"{listed(own)} no longer stands against the request"
    left = frozenset(
        conflict_key(it)
        for it in find_conflicts(statements)
        if {it.one.document, it.other.document} == sides
    )
    if bead.text(PART_KEY) in left:
        return None
    return _Over(bead, places, frozenset(graph.paths[n] for n in places), reason=reason, left=left)


def _evidence(graph: Graph, places: Sequence[int]) -> str:
    """What was looked at: each document with the hash of what it says now."""
    return "\n".join(f"{graph.ids[n]} ({graph.paths[n]}): {graph.hashes[n]}" for n in places)
