"""The project at one instant, as far as the next action depends on it (S-1).

One snapshot of the tracker and one look at the documents; everything in the view comes from these.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from ddx.base import Instant
from ddx.documents import load_graph
from ddx.git import Repository
from ddx.tracker import Bead, Blocker
from helix.passes import UpstreamDocuments, is_supervisory
from helix.run.model import BuildCandidate, CoolingBead, Gap, RequestBead, RequestKind, RunView

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from ddx.attempts import AttemptContext
    from ddx.documents import Graph
    from ddx.tracker import Snapshot, WorkQueue
    from helix.passes import Scope, UpstreamCache
    from helix.project import PassContext

MOST_GAPS = 20
_INTENT = "intent:"
_PHYSICS = "conflict:physics"
_ESCALATION = "kind:escalation"
_NO_DOCUMENTS = frozenset({"code", "test"})
_DESIGNS = frozenset({"sd", "td", "adr", "contract", "design"})


class ProjectSnapshot:
    """One look at the project: the snapshot, the documents, and what holds beads back."""

    def __init__(
        self,
        desk: PassContext,
        scope: Scope,
        *,
        busy: Collection[str] = (),
        edited: Callable[[str], Collection[str]] | None = None,
        memory: UpstreamCache | None = None,
    ) -> None:
        site = desk.site
        self.site: AttemptContext = site
        self.snapshot: Snapshot = site.tracker.snapshot()
        self.graph: Graph = load_graph(site.project, site.settings.document_roots, clock=site.clock)
        self.upstream = UpstreamDocuments(self.graph, memory)
        self.now = site.clock.stamp()
        self._busy = frozenset(busy)
        self.beads: dict[str, Bead] = {
            bead.id: bead
            for bead in self.snapshot.unfinished()
            if not is_supervisory(bead) and scope.holds(bead)
        }
        """Everything unfinished that is in scope."""
        self._edited_in = edited or edited_in

    @cached_property
    def queue(self) -> WorkQueue:
        """Readiness as of this look; a question that does without it is spared a `git status`."""
        site = self.site
        queue = site.tracker.queue(
            self.snapshot, now=self.now, has_default_checks=bool(site.settings.default_checks)
        )
        return queue.holding({**self._ungoverned(), **self._edited()})

    def bead(self, bead_id: str) -> Bead:
        """The bead of that id, in scope or not; where it is gone, one that says nothing."""
        return self.snapshot.find_bead(bead_id) or Bead.of({})

    def _edited(self) -> dict[str, Blocker]:
        """Beads whose governing document has edits that no commit holds (S-23)."""
        edited = set(self._edited_in(self.site.project.root)) if len(self.graph) else set()
        found: dict[str, Blocker] = {}
        for bead_id, bead in self.beads.items() if edited else ():
            if touched := sorted(edited & self.upstream.paths(bead)):
                reason = f"{touched[0]} governs it and has edits that are not committed"
                found[bead_id] = Blocker("document-uncommitted", reason=reason)
        return found

    def _ungoverned(self) -> dict[str, Blocker]:
        """Beads whose source of truth does not exist: no attempt on one could be proven (S-3)."""
        return {
            bead_id: Blocker("document-missing", reason=f"there is no document {name}")
            for bead_id, bead in self.beads.items()
            if (name := self.upstream.missing(bead))
        }

    # -- what the view is made of ----------------------------------------------------------

    def ready(self) -> Iterator[BuildCandidate]:
        """For execution, in the queue's order; what shares paths with running work waits."""
        running = [
            paths
            for bead_id, bead in self.beads.items()
            if bead.status == "in_progress" or bead_id in self._busy
            if (paths := bead.paths)
        ]
        for bead_id in self.queue.ready_for_execution():
            if bead_id not in self.beads or bead_id in self._busy:
                continue
            bead = self.beads[bead_id]
            if not any(bead.overlaps(paths) for paths in running):
                yield self.candidate(bead_id)

    def candidate(self, bead_id: str) -> BuildCandidate:
        bead = self.beads.get(bead_id) or self.snapshot.bead(bead_id)
        return BuildCandidate(
            id=bead_id,
            title=bead.title,
            parent=bead.parent,
            spec_id=bead.spec_id,
            labels=bead.labels,
            is_epic=bead.type == "epic",
            has_acceptance=self.snapshot.has_criterion(bead_id),
            priority=bead.priority,
            rank=bead.rank,
            created_at=f"{Instant(bead.created_at).sort_key}Z",
            revision=bead.revision,
            attempts=bead.attempts,
        )

    def cooling(self) -> Iterator[CoolingBead]:
        resting = frozenset(self.queue.cooling())
        for bead_id, bead in self.beads.items():
            held = self.queue.blocker(bead_id) if bead_id in resting else None
            if held and held.kind == "retry-cooldown" and held.next_eligible_at:
                yield CoolingBead(bead_id, held.next_eligible_at, bead.parent)

    def worn_out(self, most: int) -> list[BuildCandidate]:
        """Tried so often, and nothing but other beads between them and one more attempt."""
        tried = (it for it in map(self.candidate, self.beads) if it.attempts >= most)
        return [
            bead
            for bead in tried
            if {it.kind for it in self.queue.blockers(bead.id)} <= {"dependency"}
        ]

    def epics(self) -> list[str]:
        """Those with children: they are done through these."""
        return [
            bead_id
            for bead_id, bead in self.beads.items()
            if bead.type == "epic" and self.snapshot.children(bead_id)
        ]

    def finished_epics(self) -> list[str]:
        """Open epics whose children are all closed, the deepest first (S-11)."""
        found = [it for it in self.epics() if self.beads[it].status == "open"]
        done = [it for it in found if self._is_done(it)]
        return sorted(done, key=lambda it: (-self._depth(it), it))

    def _is_done(self, epic: str) -> bool:
        children = self.snapshot.children(epic)
        over = all(
            self.snapshot.is_finished(child) or self.snapshot.bead(child).superseded_by
            for child in children
        )
        statuses = [self.snapshot.status(child) for child in children]
        waits = (self.snapshot.status(it) for it in self.snapshot.waits_for(epic))
        return over and "closed" in statuses and all(status == "closed" for status in waits)

    def _depth(self, bead_id: str) -> int:
        seen = {bead_id}
        while (bead_id := self.snapshot.parent(bead_id)) and bead_id not in seen:
            seen.add(bead_id)
        return len(seen)

    def blocked(self) -> list[str]:
        """Blocked by status, or waiting for what is, or for what never comes (D-14)."""
        epics = set(self.epics())
        found = {
            bead_id
            for bead_id, bead in self.beads.items()
            if bead.status == "blocked" and bead_id not in epics
        }
        waiting = {
            bead_id: [
                it
                for it in self.snapshot.waits_for(bead_id)
                if self.snapshot.status(it) != "closed"
            ]
            for bead_id, bead in self.beads.items()
            if bead.status == "open" and bead_id not in epics
        }
        grew = True
        while grew:
            more = {
                bead_id
                for bead_id, wanted in waiting.items()
                if bead_id not in found
                if wanted and all(it in found or self._never_comes(it) for it in wanted)
            }
            found |= more
            grew = bool(more)
        return [bead_id for bead_id in self.beads if bead_id in found]

    def _never_comes(self, bead_id: str) -> bool:
        return self.snapshot.status(bead_id) in ("", "cancelled")

    def to_polish(self) -> Iterator[str]:
        """Open beads whose documents changed since somebody looked (S-3)."""
        for bead_id, bead in self.beads.items():
            is_held = bead_id in self.queue.held or bead_id in self._busy
            if bead.status != "open" or is_held or not self.upstream.has_moved(bead):
                continue
            if self.upstream.has_moved(bead, awaited=self._awaited(bead_id)):
                yield bead_id

    def _awaited(self, bead_id: str) -> frozenset[str]:
        """Documents of the finished beads before it or below it, whatever is open in between."""
        found: set[str] = set()
        unseen, seen = [bead_id], {bead_id}
        while unseen:
            it = unseen.pop()
            for before in (*self.snapshot.waits_for(it), *self.snapshot.children(it)):
                bead = self.snapshot.find_bead(before)
                if before in seen or bead is None:
                    continue
                seen.add(before)
                unseen.append(before)
                if bead.is_finished:
                    found |= self.upstream.named(bead)
        return frozenset(found)

    def requests(self) -> Iterator[RequestBead]:
        known = {str(intent): intent for intent in RequestKind}
        for bead_id, bead in self.beads.items():
            words = [label.removeprefix(_INTENT) for label in bead.labels]
            intent = next((known[word] for word in words if word in known), None)
            if intent is None or bead.status != "open":
                continue
            own = [self.graph.find(it) for it in bead.documents]
            has_design = any(n is not None and self.graph.types[n] in _DESIGNS for n in own)
            target = bead.spec_id
            document = target if target and self.graph.find(target) is not None else ""
            yield RequestBead(
                bead_id, intent, document, has_design=has_design, revision=bead.revision
            )

    # -- what only a person can settle -------------------------------------------------------

    def gaps(self, *, can_go_on: bool) -> Iterator[Gap]:
        """`can_go_on`: there is work that nothing stands in the way of."""
        for bead_id, bead in self.beads.items():
            if _ESCALATION in bead.labels:
                is_physics = _PHYSICS in bead.labels
                what = "a conflict that no authority settles" if is_physics else "an open question"
                yield Gap(
                    f"{bead_id} is {what}",
                    bead.title,
                    bead_id,
                    is_physics=is_physics,
                    is_ambiguity=not is_physics,
                )
            if bead.superseded_by and (problem := self._unattributed(bead_id)):
                yield Gap(
                    f"{bead_id} {problem}",
                    f"what takes the place of {bead_id}? "
                    f"ddx bead supersede {bead_id} --by ID --reason WHY",
                    bead_id,
                )
        if not can_go_on:
            yield from self._decisions()
            yield from self._missing_authority()

    def _decisions(self) -> Iterator[Gap]:
        for bead_id, bead in self.beads.items():
            if bead.type != "decision":
                continue
            waiting = [it for it in self.snapshot.dependents(bead_id) if it in self.beads]
            if waiting:
                reason = f"{bead_id} is to be decided, and {waiting[0]} waits for it"
                yield Gap(reason, bead.title, bead_id)

    def _missing_authority(self) -> Iterator[Gap]:
        for bead_id, bead in self.beads.items():
            name = self.upstream.missing(bead)
            if name and bead.status == "open" and bead.is_eligible:
                yield Gap(
                    f"{bead_id} rests on {name}, and there is no such document",
                    f"what governs {bead_id}? write {name}, "
                    f"or: ddx bead update {bead_id} --spec-id ID",
                    name,
                )

    def _unattributed(self, bead_id: str) -> str:
        """Why nobody can tell what took a bead's place; empty if one can (S-22)."""
        heirs = self.beads[bead_id].superseded_by
        for heir in heirs:
            bead = self.snapshot.find_bead(heir)
            if bead is None:
                return f"is superseded by {heir}, and there is no such bead"
            if bead_id not in bead.replaces:
                return f"is superseded by {heir}, which does not say that it replaces it"
        seen: set[str] = set()
        unseen = list(heirs)
        while unseen:
            heir = unseen.pop()
            if heir == bead_id:
                return "is superseded by what it supersedes itself"
            if heir not in seen:
                seen.add(heir)
                unseen += self.bead(heir).superseded_by
        return ""


def edited_in(root: str) -> Collection[str]:
    """Files of a project whose edits no commit holds; git names them from its own root."""
    repository = Repository(root)
    edited = repository.uncommitted()
    prefix = repository.prefix if edited else ""
    return {path.removeprefix(prefix) for path in edited}


def read_view(look: ProjectSnapshot, *, state: str) -> RunView:
    """What routing sees."""
    ready, cooling = tuple(look.ready()), tuple(look.cooling())
    epics = frozenset(look.epics())
    return RunView(
        ready,
        cooling,
        claimed=sum(
            bead.status == "in_progress" and bead_id not in epics
            for bead_id, bead in look.beads.items()
        ),
        finished=len(look.snapshot.finished()),
        unfinished=len(look.beads),
        epics=len(epics),
        blocked=tuple(look.blocked()),
        documents=sum(kind not in _NO_DOCUMENTS for kind in look.graph.types),
        to_polish=tuple(look.to_polish()),
        requests=tuple(look.requests()),
        gaps=tuple(islice(look.gaps(can_go_on=bool(ready or cooling)), MOST_GAPS)),
        finished_epics=tuple(look.finished_epics()),
        epics_with_work=epics & {*(it.parent for it in ready), *(it.parent for it in cooling)},
        state=state,
        now=look.now,
    )
