"""From a requirement down to commits, and from a commit up to what justifies it (V-4). Pure.

Both ways go along the same links, so they meet: a document and what is downstream of it, the beads
that name it or are below those that do, their attempts, and the commits that these have made. What
a person committed by hand hangs on the tagged files that it touched.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from ddx.base import Instant, changed, value
from helix.verification.attempt_history import LAND, LANDED, PRESERVED
from helix.verification.coverage import PRODUCT, REQUIREMENTS, DocumentFinder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from ddx.documents import Graph
    from ddx.git import HistoryCommit
    from ddx.tracker import Bead
    from helix.verification.attempt_history import PastAttempt

    Links: TypeAlias = dict[str, dict[str, None]]
    """From one id to others, in order and each once."""

DOCUMENT, PART, BEAD, ATTEMPT, COMMIT = "document", "part", "bead", "attempt", "commit"
FILE = "file"
"""One that says nothing of documents."""
FILES = ("test", "code")
JUSTIFYING = (*REQUIREMENTS, PRODUCT, "vision")
DEEPEST = 50
_MOST_TOUCHING = 10


@value
class TraceNode:
    """One thing on the way; `note` says in words what is to be known of it."""

    kind: str
    id: str
    title: str = ""
    note: str = ""
    at: str = ""
    children: tuple[TraceNode, ...] = ()
    is_repeated: bool = False
    """What follows from it stands elsewhere in the same tree."""
    is_gone: bool = False
    """A commit that git no longer has."""


@value
class TraceInput:
    """All that a trace is made of."""

    graph: Graph
    beads: Mapping[str, Bead]
    attempts: Sequence[PastAttempt]
    commits: Mapping[str, HistoryCommit]
    """By full id: those that name a bead, and those that a bead was closed with."""


class TraceLinks:
    """The links of one project, in both directions."""

    def __init__(self, known: TraceInput) -> None:
        self._known = known
        self._graph = known.graph
        self._forerunners: dict[int, list[int]] = {}
        for old, names in enumerate(known.graph.successors):
            for n in known.graph.heirs(old) if names else ():
                self._forerunners.setdefault(n, []).append(old)
        finder = DocumentFinder(known.graph)
        self._documents = {
            bead_id: list(dict.fromkeys((*finder.of(bead), *finder.written(bead))))
            for bead_id, bead in known.beads.items()
        }
        self._parts: dict[str, list[str]] = {}
        for bead_id, bead in known.beads.items():
            self._parts.setdefault(bead.parent, []).append(bead_id)
        self._attempts = {it.id: it for it in known.attempts if it.action != LAND}
        self._made = _made_by_attempt(known)
        self._makers = _turned(self._made)
        self._tried = _attempts_by_bead(known)
        self._workers = _turned(self._tried)
        self._named = _commits_by_bead(known)
        self._namers = _turned(self._named)

    # -- down ------------------------------------------------------------------------------

    def below_document(
        self, n: int, *, by_hand: Mapping[str, Sequence[HistoryCommit]] | None = None
    ) -> tuple[TraceNode, ...]:
        """`by_hand`: of each tagged file the commits that touched it."""
        graph = self._graph
        reached = graph.closure([n], down=True, max_depth=DEEPEST)
        under: dict[int, list[int]] = {}
        for item in reached:
            under.setdefault(item.path[-2], []).append(item.n)
        beads = self._placed({n, *(item.n for item in reached)})
        hung = {bead for found in beads.values() for bead in found}

        def descend(place: int) -> tuple[TraceNode, ...]:
            touching = (by_hand or {}).get(graph.paths[place], ())
            only_by_file = [item for item in touching if not self.is_explained(item)]
            return (
                *(self.document_node(child, descend(child)) for child in under.get(place, ())),
                *(self._bead_down(bead, hung) for bead in beads.get(place, ())),
                *self.touching(only_by_file),
            )

        return descend(n)

    def below_bead(self, bead: str) -> tuple[TraceNode, ...]:
        return self._bead_down(bead, {bead}).children

    def below_attempt(self, attempt: str) -> tuple[TraceNode, ...]:
        return tuple(map(self.commit_node, self._made.get(attempt, ())))

    # -- up --------------------------------------------------------------------------------

    def above_document(self, n: int) -> tuple[TraceNode, ...]:
        return _Ascent(self, {n}).documents(self.ups(n))

    def above_bead(self, bead: str) -> tuple[TraceNode, ...]:
        return _Ascent(self).bead(bead).children

    def above_attempt(self, attempt: str) -> tuple[TraceNode, ...]:
        return _Ascent(self).attempt(attempt).children

    def above_commit(self, told: HistoryCommit, files: Iterable[int]) -> tuple[TraceNode, ...]:
        """By the attempt and the beads that made it; else by the files that it touched."""
        ascent = _Ascent(self)
        found = self._asked_for(told, ascent)
        return found if self.is_explained(told) else (*found, *ascent.documents(files))

    def above_file(self, told: Sequence[HistoryCommit]) -> tuple[TraceNode, ...]:
        """The commits that touched it, and who asked for each of them."""
        ascent = _Ascent(self)
        return tuple(
            changed(node, children=self._asked_for(item, ascent))
            for item, node in zip(told, self.touching(told), strict=False)
        )

    def _asked_for(self, told: HistoryCommit, ascent: _Ascent) -> tuple[TraceNode, ...]:
        """The attempts that made a commit, and the beads that it names besides."""
        attempts = self._makers.get(told.commit, {})
        spoken_for = {bead for it in attempts for bead in self.beads_of_attempt(it)}
        named = {**dict.fromkeys(told.beads), **self._namers.get(told.commit, {})}
        return (
            *map(ascent.attempt, attempts),
            *(ascent.bead(bead) for bead in named if bead not in spoken_for),
        )

    # -- questions -------------------------------------------------------------------------

    def is_explained(self, told: HistoryCommit) -> bool:
        """Does a bead lead from it to a document?"""
        attempts = self._makers.get(told.commit, {})
        beads = (bead for it in attempts for bead in self.beads_of_attempt(it))
        named = (*beads, *told.beads, *self._namers.get(told.commit, {}))
        return any(map(self._is_governed, named))

    def beads_of_attempt(self, attempt: str) -> tuple[str, ...]:
        return tuple(self._workers.get(attempt, {}))

    def files_below(self, n: int) -> list[str]:
        """The tagged tests and sources among what follows from a document, itself included."""
        reached = [n, *(it.n for it in self._graph.closure([n], down=True, max_depth=DEEPEST))]
        return [self._graph.paths[it] for it in reached if self._graph.types[it] in FILES]

    # -- single nodes ----------------------------------------------------------------------

    def bead_node(self, bead_id: str) -> TraceNode:
        bead = self._known.beads.get(bead_id)
        if bead is None:
            return TraceNode(BEAD, bead_id, note="the tracker does not know it")
        return TraceNode(BEAD, bead_id, bead.title, note=bead.status, at=bead.created_at)

    def attempt_node(self, attempt: str) -> TraceNode:
        found = self._attempts.get(attempt)
        if found is None:
            return TraceNode(ATTEMPT, attempt, note="its record is no longer kept")
        return TraceNode(ATTEMPT, attempt, note=self._ending(found), at=found.at)

    def commit_node(self, commit: str) -> TraceNode:
        told = self._known.commits.get(commit)
        if told is None:
            return TraceNode(COMMIT, commit, note="no branch holds it any more", is_gone=True)
        return TraceNode(COMMIT, commit, told.subject, note=f"by {told.author}", at=told.at)

    def touching(self, told: Sequence[HistoryCommit]) -> Iterator[TraceNode]:
        """The newest commits on one file."""
        for item in told[:_MOST_TOUCHING]:
            is_asked_for = item.beads or item.commit in self._makers or item.commit in self._namers
            alone = "" if is_asked_for else ", without a bead"
            yield TraceNode(
                COMMIT, item.commit, item.subject, note=f"by {item.author}{alone}", at=item.at
            )

    def parent_of(self, bead_id: str) -> str:
        bead = self._known.beads.get(bead_id)
        parent = bead.parent if bead else ""
        return parent if parent in self._known.beads else ""

    def documents_of(self, bead: str) -> list[int]:
        return self._documents.get(bead, [])

    def ups(self, n: int) -> list[int]:
        """What a document follows from, and what it took the place of: that led here as well."""
        return [*self._graph.ups[n], *self._graph.heirs(n), *self._forerunners.get(n, ())]

    def _placed(self, places: set[int]) -> dict[int, list[str]]:
        """Each bead below the document that it names first, of those that are there."""
        found: dict[int, list[str]] = {}
        for bead, documents in self._documents.items():
            for here in [n for n in documents if n in places][:1]:
                found.setdefault(here, []).append(bead)
        return found

    def _bead_down(self, bead: str, hung: set[str]) -> TraceNode:
        """With its attempts and, unless they hang elsewhere, the beads that are parts of it."""
        parts = [part for part in self._parts.get(bead, ()) if part not in hung]
        hung.update(parts)
        tried = self._tried.get(bead, {})
        made = {commit for attempt in tried for commit in self._made.get(attempt, {})}
        others = (commit for commit in self._named.get(bead, {}) if commit not in made)
        return changed(
            self.bead_node(bead),
            children=(
                *(changed(self.attempt_node(it), children=self.below_attempt(it)) for it in tried),
                *map(self.commit_node, others),
                *(self._bead_down(part, hung) for part in parts),
            ),
        )

    def document_node(self, n: int, children: tuple[TraceNode, ...] = ()) -> TraceNode:
        graph = self._graph
        kind = graph.types[n] if graph.types[n] in FILES else DOCUMENT
        words = graph.types[n] if kind == DOCUMENT else ""
        if graph.is_superseded(n):
            words = f"{words}, superseded".lstrip(", ")
        title = "" if graph.titles[n] == graph.ids[n] else graph.titles[n]
        return TraceNode(kind, graph.ids[n], title, note=words, children=children)

    def _ending(self, attempt: PastAttempt) -> str:
        if not attempt.outcome:
            return f"by {attempt.harness}; it runs, or was cut off"
        said = f"{attempt.outcome.replace('_', ' ')} by {attempt.harness}"
        if attempt.outcome == PRESERVED and self._made.get(attempt.id):
            return f"{said}, landed later"
        why = attempt.reason or attempt.status.replace("_", " ")
        return said if attempt.outcome == LANDED else f"{said}: {why}"

    def _is_governed(self, bead: str) -> bool:
        for _ in range(DEEPEST):
            if self._documents.get(bead):
                return True
            bead = self.parent_of(bead)
        return False


class _Ascent:
    """One way up; what was climbed once is not climbed again."""

    def __init__(self, threads: TraceLinks, below: Iterable[int] = ()) -> None:
        self._threads = threads
        self._climbed: set[tuple[str, str]] = set()
        for n in below:
            self._is_climbed(threads.document_node(n))

    def attempt(self, attempt: str) -> TraceNode:
        beads = self._threads.beads_of_attempt(attempt)
        node = self._threads.attempt_node(attempt)
        return changed(node, children=tuple(map(self.bead, beads)))

    def bead(self, bead: str, depth: int = 0) -> TraceNode:
        node = self._threads.bead_node(bead)
        if self._is_climbed(node):
            return changed(node, is_repeated=True)
        documents = self.documents(self._threads.documents_of(bead))
        parent = self._threads.parent_of(bead)
        above = (self.bead(parent, depth + 1),) if parent and depth < DEEPEST else ()
        return changed(node, children=(*documents, *above))

    def documents(self, places: Iterable[int], depth: int = 0) -> tuple[TraceNode, ...]:
        return tuple(self._document(n, depth) for n in places)

    def _document(self, n: int, depth: int) -> TraceNode:
        node = self._threads.document_node(n)
        if self._is_climbed(node):
            return changed(node, is_repeated=True)
        above = self._threads.ups(n) if depth < DEEPEST else []
        return changed(node, children=self.documents(above, depth + 1))

    def _is_climbed(self, node: TraceNode) -> bool:
        key = (node.kind, node.id)
        if key in self._climbed:
            return True
        self._climbed.add(key)
        return False


def walk(nodes: Iterable[TraceNode]) -> Iterator[TraceNode]:
    """Every node once for each place that it has, nearest first."""
    level = list(nodes)
    while level:
        yield from level
        level = [child for node in level for child in node.children]


def requirements_in(graph: Graph, nodes: Iterable[TraceNode]) -> tuple[str, ...]:
    """The documents of a tree that justify work: the nearest first."""
    found = dict.fromkeys(node.id for node in walk(nodes) if node.kind == DOCUMENT)
    return tuple(doc_id for doc_id in found if graph.types[graph.place[doc_id]] in JUSTIFYING)


def commits_in(nodes: Iterable[TraceNode]) -> tuple[str, ...]:
    """Those that git still has."""
    here = (node for node in walk(nodes) if node.kind == COMMIT and not node.is_gone)
    return tuple(dict.fromkeys(node.id for node in here))


def _attempts_by_bead(known: TraceInput) -> Links:
    """In the order in which they began; one whose record is gone lives on in its commit."""
    found: Links = {}
    for it in known.attempts:
        for bead in it.beads:
            found.setdefault(bead, {})[it.lands or it.id] = None
    for told in sorted(known.commits.values(), key=lambda told: Instant(told.at).sort_key):
        for bead in told.beads if told.attempt else ():
            found.setdefault(bead, {})[told.attempt] = None
    return found


def _commits_by_bead(known: TraceInput) -> Links:
    """Those that a bead was closed with, whoever closed it, and those that name it."""
    ids = sorted(known.commits)
    found: Links = {}
    for bead in known.beads.values():
        if said := bead.closing_commit:
            place = bisect_left(ids, said)
            is_there = place < len(ids) and ids[place].startswith(said)
            found.setdefault(bead.id, {})[ids[place] if is_there else said] = None
    for told in known.commits.values():
        for bead_id in told.beads:
            found.setdefault(bead_id, {})[told.commit] = None
    return found


def _turned(links: Links) -> Links:
    found: Links = {}
    for one, others in links.items():
        for other in others:
            found.setdefault(other, {})[one] = None
    return found


def _made_by_attempt(known: TraceInput) -> Links:
    """What landed of each attempt, by its records and by what the commits say of themselves."""
    found: Links = {}
    for it in known.attempts:
        if it.outcome == LANDED:
            for commit in filter(None, (it.result, it.commit)):
                found.setdefault(it.lands or it.id, {})[commit] = None
    for told in known.commits.values():
        if told.attempt:
            found.setdefault(told.attempt, {})[told.commit] = None
    return found
