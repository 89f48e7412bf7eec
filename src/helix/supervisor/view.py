"""The project at one instant, as far as the next action depends on it (S-1).

One snapshot of the tracker and one look at the documents; everything in the view comes from these.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ddx.execution.selecting import overlap
from ddx.git import uncommitted
from ddx.git.repository import read_repository
from ddx.graph.cache import load_graph
from ddx.instants import sort_key
from ddx.tracker.codec import decode
from ddx.tracker.columns import HAS_CRITERION, ORDER_HEAD
from ddx.tracker.model import (
    FINISHED,
    is_eligible,
    labels_of,
    link_of,
    links_of,
    rank_of,
    status_of,
    texts_of,
)
from ddx.tracker.pending import PENDING, held_by_pending
from ddx.tracker.queue import (
    Blocker,
    Surroundings,
    blocker,
    blockers,
    ready_for_execution,
    unfinished,
)
from ddx.values import changed
from helix.actions.upstream import Upstream
from helix.policy.model import Candidate, Cooling, Gap, Intent, Request, View
from helix.policy.passing import is_supervisory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from ddx.execution.work import Site
    from ddx.graph.graph import Graph
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from helix.actions.scope import Scope
    from helix.actions.upstream import Memory
    from helix.desk import Desk

MOST_GAPS = 20
_INTENT = "intent:"
_PHYSICS = "conflict:physics"
_ESCALATION = "kind:escalation"
_NO_DOCUMENTS = frozenset({"code", "test"})
_DESIGNS = frozenset({"sd", "td", "adr", "contract", "design"})


class Look:
    """One look at the project: the snapshot, the documents, and what holds beads back."""

    def __init__(
        self,
        desk: Desk,
        scope: Scope,
        *,
        busy: Collection[str] = (),
        edited: Callable[[str], Collection[str]] | None = None,
        memory: Memory | None = None,
    ) -> None:
        site = desk.site
        self.site: Site = site
        self.snapshot: Snapshot = site.tracker.snapshot()
        self.graph: Graph = load_graph(site.project, site.settings.document_roots, clock=site.clock)
        self.upstream = Upstream(self.graph, memory)
        self.now = site.clock.stamp()
        self._busy = frozenset(busy)
        columns = self.snapshot.columns
        self.rows: dict[str, Row] = {
            columns.ids[n]: row
            for n, status in enumerate(columns.statuses)
            if status not in FINISHED
            and not is_supervisory(row := decode(self.snapshot.line(n)))
            and scope.holds(row)
        }
        """Everything unfinished that is in scope."""
        self._edited_in = edited or edited_in

    @cached_property
    def around(self) -> Surroundings:
        """Readiness as of this look; a question that does without it is spared a `git status`."""
        site = self.site
        return Surroundings(
            now=sort_key(self.now),
            archived=self.snapshot.archived_status,
            has_default_checks=bool(site.settings.default_checks),
            held={
                **self._ungoverned(),
                **self._edited(),
                **held_by_pending(site.project.ddx(*PENDING)),
            },
        )

    def _edited(self) -> dict[str, Blocker]:
        """Beads whose governing document has edits that no commit holds (S-23)."""
        edited = set(self._edited_in(self.site.project.root)) if len(self.graph) else set()
        found: dict[str, Blocker] = {}
        for bead_id, row in self.rows.items() if edited else ():
            if touched := sorted(edited & self.upstream.paths(row)):
                reason = f"{touched[0]} governs it and has edits that are not committed"
                found[bead_id] = Blocker("document-uncommitted", reason=reason)
        return found

    def _ungoverned(self) -> dict[str, Blocker]:
        """Beads whose source of truth does not exist: no attempt on one could be proven (S-3)."""
        return {
            bead_id: Blocker("document-uncommitted", reason=f"there is no document {name}")
            for bead_id, row in self.rows.items()
            if (name := self.upstream.missing(row))
        }

    # -- what the view is made of ----------------------------------------------------------

    def ready(self) -> Iterator[Candidate]:
        """For execution, in the queue's order; what shares paths with running work waits."""
        running = [
            paths
            for bead_id, row in self.rows.items()
            if status_of(row) == "in_progress" or bead_id in self._busy
            if (paths := texts_of(row, "paths"))
        ]
        columns = self.snapshot.columns
        for n in ready_for_execution(columns, self.around):
            row = self.rows.get(columns.ids[n])
            if row is None or columns.ids[n] in self._busy:
                continue
            own = texts_of(row, "paths")
            if not own or not any(overlap(own, paths) for paths in running):
                yield self.candidate(columns.ids[n])

    def candidate(self, bead_id: str) -> Candidate:
        columns = self.snapshot.columns
        n = columns.place[bead_id]
        row = self.rows.get(bead_id) or self.snapshot.row(bead_id)
        attempts = row.get("attempts")
        return Candidate(
            bead_id,
            columns.titles[n],
            columns.parents[n],
            columns.specs[n],
            columns.labels[n],
            columns.types[n] == "epic",
            bool(columns.marks[n] & HAS_CRITERION),
            columns.priorities[n],
            rank_of(row),
            f"{columns.orders[n][ORDER_HEAD:]}Z",
            columns.revisions[n],
            attempts if isinstance(attempts, int) else 0,
        )

    def cooling(self) -> Iterator[Cooling]:
        columns = self.snapshot.columns
        for bead_id in self.rows:
            n = columns.place[bead_id]
            if columns.retry_after[n] <= self.around.now:
                continue
            held = blocker(columns, n, self.around)
            if held and held.kind == "retry-cooldown" and held.next_eligible_at:
                yield Cooling(bead_id, held.next_eligible_at, columns.parents[n])

    def worn_out(self, most: int) -> list[Candidate]:
        """Tried so often, and nothing but other beads between them and one more attempt."""
        columns = self.snapshot.columns
        tried = (it for it in map(self.candidate, self.rows) if it.attempts >= most)
        return [
            bead
            for bead in tried
            if {it.kind for it in blockers(columns, columns.place[bead.id], self.around)}
            <= {"dependency"}
        ]

    def epics(self) -> list[str]:
        """Those with children: they are done through these."""
        columns = self.snapshot.columns
        return [
            bead_id
            for bead_id in self.rows
            if columns.types[columns.place[bead_id]] == "epic" and bead_id in columns.children
        ]

    def finished_epics(self) -> list[str]:
        """Open epics whose children are all closed, the deepest first (S-11)."""
        found = [it for it in self.epics() if status_of(self.rows[it]) == "open"]
        done = [it for it in found if self._is_done(it)]
        return sorted(done, key=lambda it: (-self._depth(it), it))

    def _is_done(self, epic: str) -> bool:
        children = self.snapshot.children(epic)
        statuses = [self.snapshot.status(child) for child in children]
        over = all(
            status in FINISHED or links_of(self.snapshot.row(child), "superseded-by")
            for child, status in zip(children, statuses, strict=True)
        )
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
            for bead_id, row in self.rows.items()
            if status_of(row) == "blocked" and bead_id not in epics
        }
        waiting = {
            bead_id: [
                it
                for it in self.snapshot.waits_for(bead_id)
                if self.snapshot.status(it) != "closed"
            ]
            for bead_id, row in self.rows.items()
            if status_of(row) == "open" and bead_id not in epics
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
        return [bead_id for bead_id in self.rows if bead_id in found]

    def _never_comes(self, bead_id: str) -> bool:
        return self.snapshot.status(bead_id) in ("", "cancelled")

    def to_polish(self) -> Iterator[str]:
        """Open beads whose documents changed since somebody looked (S-3)."""
        for bead_id, row in self.rows.items():
            is_held = bead_id in self.around.held or bead_id in self._busy
            if status_of(row) != "open" or is_held or not self.upstream.has_moved(row):
                continue
            if self.upstream.has_moved(row, awaited=self._awaited(bead_id)):
                yield bead_id

    def _awaited(self, bead_id: str) -> frozenset[str]:
        """Documents of the finished beads before it or below it, whatever is open in between."""
        found: set[str] = set()
        unseen, seen = [bead_id], {bead_id}
        while unseen:
            it = unseen.pop()
            for before in (*self.snapshot.waits_for(it), *self.snapshot.children(it)):
                row = self.snapshot.find(before)
                if before in seen or row is None:
                    continue
                seen.add(before)
                unseen.append(before)
                if status_of(row) in FINISHED:
                    found |= self.upstream.named(row)
        return frozenset(found)

    def requests(self) -> Iterator[Request]:
        known = {str(intent): intent for intent in Intent}
        for bead_id, row in self.rows.items():
            words = [label.removeprefix(_INTENT) for label in labels_of(row)]
            intent = next((known[word] for word in words if word in known), None)
            if intent is None or status_of(row) != "open":
                continue
            own = [
                self.graph.find(it) for it in (*links_of(row, "spec-id"), *links_of(row, "refs"))
            ]
            has_design = any(n is not None and self.graph.types[n] in _DESIGNS for n in own)
            target = link_of(row, "spec-id")
            is_known = bool(target) and self.graph.find(target) is not None
            revision = self.snapshot.revision(bead_id)
            yield Request(bead_id, intent, target if is_known else "", has_design, revision)

    # -- what only a person can settle -------------------------------------------------------

    def gaps(self, *, can_go_on: bool) -> Iterator[Gap]:
        """`can_go_on`: there is work that nothing stands in the way of."""
        for bead_id, row in self.rows.items():
            if _ESCALATION in labels_of(row):
                is_physics = _PHYSICS in labels_of(row)
                what = "a conflict that no authority settles" if is_physics else "an open question"
                yield Gap(
                    f"{bead_id} is {what}",
                    _title(row),
                    bead_id,
                    is_physics=is_physics,
                    is_ambiguity=not is_physics,
                )
            if links_of(row, "superseded-by") and (problem := self._unattributed(bead_id)):
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
        columns = self.snapshot.columns
        for bead_id, row in self.rows.items():
            if columns.types[columns.place[bead_id]] != "decision":
                continue
            waiting = [it for it in self.snapshot.dependents(bead_id) if it in self.rows]
            if waiting:
                reason = f"{bead_id} is to be decided, and {waiting[0]} waits for it"
                yield Gap(reason, _title(row), bead_id)

    def _missing_authority(self) -> Iterator[Gap]:
        for bead_id, row in self.rows.items():
            name = self.upstream.missing(row)
            if name and status_of(row) == "open" and is_eligible(row):
                yield Gap(
                    f"{bead_id} rests on {name}, and there is no such document",
                    f"what governs {bead_id}? write {name}, "
                    f"or: ddx bead update {bead_id} --spec-id ID",
                    name,
                )

    def _unattributed(self, bead_id: str) -> str:
        """Why nobody can tell what took a bead's place; empty if one can (S-22)."""
        heirs = links_of(self.rows[bead_id], "superseded-by")
        for heir in heirs:
            row = self.snapshot.find(heir)
            if row is None:
                return f"is superseded by {heir}, and there is no such bead"
            if bead_id not in links_of(row, "replaces"):
                return f"is superseded by {heir}, which does not say that it replaces it"
        seen: set[str] = set()
        unseen = list(heirs)
        while unseen:
            heir = unseen.pop()
            if heir == bead_id:
                return "is superseded by what it supersedes itself"
            if heir not in seen:
                seen.add(heir)
                unseen += links_of(self.snapshot.find(heir) or {}, "superseded-by")
        return ""


def edited_in(root: str) -> Collection[str]:
    """Files of a project whose edits no commit holds; git names them from its own root."""
    edited = uncommitted(root)
    prefix = read_repository(root).prefix if edited else ""
    return {path.removeprefix(prefix) for path in edited}


def read_view(look: Look, *, state: str) -> View:
    """What routing sees."""
    ready, cooling = tuple(look.ready()), tuple(look.cooling())
    epics = frozenset(look.epics())
    view = View(
        ready,
        cooling,
        claimed=sum(
            status_of(row) == "in_progress" and bead_id not in epics
            for bead_id, row in look.rows.items()
        ),
        finished=len(look.snapshot.columns) - len(unfinished(look.snapshot.columns)),
        unfinished=len(look.rows),
        epics=len(epics),
        blocked=tuple(look.blocked()),
        documents=sum(kind not in _NO_DOCUMENTS for kind in look.graph.types),
        to_polish=tuple(look.to_polish()),
        requests=tuple(look.requests()),
        finished_epics=tuple(look.finished_epics()),
        epics_with_work=epics & {*(it.parent for it in ready), *(it.parent for it in cooling)},
        state=state,
        now=look.now,
    )
    gaps = []
    for gap in look.gaps(can_go_on=bool(ready or cooling)):
        gaps.append(gap)
        if len(gaps) == MOST_GAPS:
            break
    return changed(view, gaps=tuple(gaps))


def _title(row: Row) -> str:
    return str(row.get("title", ""))
