"""From a requirement down to commits, and from a commit up to what justifies it (V-4). Pure.

Both ways go along the same links, so they meet: a document and what is downstream of it, the beads
that name it or are below those that do, their attempts, and the commits that these have made. What
a person committed by hand hangs on the tagged files that it touched.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from ddx.graph.walk import closure
from ddx.instants import sort_key
from ddx.tracker.model import link_of, status_of, text_of
from ddx.values import changed, value
from helix.verification.attempts import LAND, LANDED, PRESERVED
from helix.verification.coverage import PRODUCT, REQUIREMENTS, DocumentFinder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from ddx.git.history import Told
    from ddx.graph.graph import Graph
    from ddx.tracker.model import Row
    from helix.verification.attempts import Attempt

    Links: TypeAlias = dict[str, dict[str, None]]
    """From one id to others, in order and each once."""

DOCUMENT, PART, BEAD, ATTEMPT, COMMIT = "document", "part", "bead", "attempt", "commit"
FILE = "file"
"""One that says nothing of documents."""
FILES = ("test", "code")
JUSTIFYING = (*REQUIREMENTS, PRODUCT, "vision")
DEEPEST = 50
_GONE = "no branch holds it any more"
_MOST_TOUCHING = 10


@value
class Node:
    """One thing on the way; `note` says in words what is to be known of it."""

    kind: str
    id: str
    title: str = ""
    note: str = ""
    at: str = ""
    children: tuple[Node, ...] = ()
    is_repeated: bool = False
    """What follows from it stands elsewhere in the same tree."""


@value
class Known:
    """All that a trace is made of."""

    graph: Graph
    beads: Mapping[str, Row]
    attempts: Sequence[Attempt]
    commits: Mapping[str, Told]
    """By full id: those that name a bead, and those that a bead was closed with."""


class Threads:
    """The links of one project, in both directions."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._graph = known.graph
        self._forerunners: dict[int, list[int]] = {}
        for old, names in enumerate(known.graph.successors):
            for n in known.graph.heirs(old) if names else ():
                self._forerunners.setdefault(n, []).append(old)
        finder = DocumentFinder(known.graph)
        self._documents = {
            bead: list(dict.fromkeys((*finder.of(row), *finder.written(row))))
            for bead, row in known.beads.items()
        }
        self._parts: dict[str, list[str]] = {}
        for bead, row in known.beads.items():
            self._parts.setdefault(link_of(row, "parent"), []).append(bead)
        self._attempts = {it.id: it for it in known.attempts if it.action != LAND}
        self._made = _made_by_attempt(known)
        self._makers = _turned(self._made)
        self._tried = _attempts_by_bead(known)
        self._workers = _turned(self._tried)
        self._named = _commits_by_bead(known)
        self._namers = _turned(self._named)

    # -- down ------------------------------------------------------------------------------

    def below_document(
        self, n: int, *, by_hand: Mapping[str, Sequence[Told]] | None = None
    ) -> tuple[Node, ...]:
        """`by_hand`: of each tagged file the commits that touched it."""
        graph = self._graph
        reached = closure(graph, [n], down=True, max_depth=DEEPEST)
        under: dict[int, list[int]] = {}
        for item in reached:
            under.setdefault(item.path[-2], []).append(item.n)
        beads = self._placed({n, *(item.n for item in reached)})
        hung = {bead for found in beads.values() for bead in found}

        def descend(place: int) -> tuple[Node, ...]:
            path = graph.paths[place]
            return (
                *(self._document(child, descend(child)) for child in under.get(place, ())),
                *(self._bead_down(bead, hung) for bead in beads.get(place, ())),
                *self._by_hand((by_hand or {}).get(path, ())),
            )

        return descend(n)

    def below_bead(self, bead: str) -> tuple[Node, ...]:
        return self._bead_down(bead, {bead}).children

    def below_attempt(self, attempt: str) -> tuple[Node, ...]:
        return tuple(self._commits(self._made.get(attempt, ())))

    # -- up --------------------------------------------------------------------------------

    def above_document(self, n: int) -> tuple[Node, ...]:
        return _Ascent(self, {n}).documents(self.ups(n))

    def above_bead(self, bead: str) -> tuple[Node, ...]:
        return _Ascent(self).bead(bead).children

    def above_attempt(self, attempt: str) -> tuple[Node, ...]:
        return _Ascent(self).attempt(attempt).children

    def above_commit(self, told: Told, files: Iterable[int]) -> tuple[Node, ...]:
        """By the attempt and the beads that made it; else by the files that it touched."""
        ascent = _Ascent(self)
        found = self._asked_for(told, ascent)
        return found if self.is_explained(told) else (*found, *ascent.documents(files))

    def above_file(self, told: Sequence[Told]) -> tuple[Node, ...]:
        """The commits that touched it, and who asked for each of them."""
        ascent = _Ascent(self)
        return tuple(
            changed(node, children=self._asked_for(item, ascent))
            for item, node in zip(told, self.touching(told), strict=False)
        )

    def _asked_for(self, told: Told, ascent: _Ascent) -> tuple[Node, ...]:
        """The attempts that made a commit, and the beads that it names besides."""
        attempts = self._makers.get(told.commit, {})
        spoken_for = {bead for it in attempts for bead in self.beads_of_attempt(it)}
        named = {**dict.fromkeys(told.beads), **self._namers.get(told.commit, {})}
        return (
            *map(ascent.attempt, attempts),
            *(ascent.bead(bead) for bead in named if bead not in spoken_for),
        )

    # -- questions -------------------------------------------------------------------------

    def is_explained(self, told: Told) -> bool:
        """Does a bead lead from it to a document?"""
        attempts = self._makers.get(told.commit, {})
        beads = (bead for it in attempts for bead in self.beads_of_attempt(it))
        named = (*beads, *told.beads, *self._namers.get(told.commit, {}))
        return any(map(self._is_governed, named))

    def beads_of_attempt(self, attempt: str) -> tuple[str, ...]:
        return tuple(self._workers.get(attempt, {}))

    def files_below(self, n: int) -> list[str]:
        """The tagged tests and sources among what follows from a document, itself included."""
        reached = [n, *(it.n for it in closure(self._graph, [n], down=True, max_depth=DEEPEST))]
        return [self._graph.paths[it] for it in reached if self._graph.types[it] in FILES]

    # -- single nodes ----------------------------------------------------------------------

    def document_node(self, n: int) -> Node:
        return self._document(n, ())

    def bead_node(self, bead: str) -> Node:
        row = self._known.beads.get(bead)
        if row is None:
            return Node(BEAD, bead, note="the tracker does not know it")
        return Node(BEAD, bead, text_of(row, "title"), status_of(row), text_of(row, "created_at"))

    def attempt_node(self, attempt: str) -> Node:
        found = self._attempts.get(attempt)
        if found is None:
            return Node(ATTEMPT, attempt, note="its record is no longer kept")
        return Node(ATTEMPT, attempt, note=self._ending(found), at=found.at)

    def commit_node(self, commit: str) -> Node:
        told = self._known.commits.get(commit)
        if told is None:
            return Node(COMMIT, commit, note=_GONE)
        return Node(COMMIT, commit, told.subject, f"by {told.author}", told.at)

    def touching(self, told: Sequence[Told]) -> Iterator[Node]:
        """The newest commits on one file."""
        for item in told[:_MOST_TOUCHING]:
            is_asked_for = item.beads or item.commit in self._makers or item.commit in self._namers
            alone = "" if is_asked_for else ", without a bead"
            yield Node(COMMIT, item.commit, item.subject, f"by {item.author}{alone}", item.at)

    def parent_of(self, bead: str) -> str:
        parent = link_of(self._known.beads.get(bead, {}), "parent")
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
            here = next((n for n in documents if n in places), None)
            if here is not None:
                found.setdefault(here, []).append(bead)
        return found

    def _bead_down(self, bead: str, hung: set[str]) -> Node:
        """With its attempts and, unless they hang elsewhere, the beads that are parts of it."""
        parts = [part for part in self._parts.get(bead, ()) if part not in hung]
        hung.update(parts)
        tried = self._tried.get(bead, {})
        made = {commit for attempt in tried for commit in self._made.get(attempt, {})}
        others = (commit for commit in self._named.get(bead, {}) if commit not in made)
        return changed(
            self.bead_node(bead),
            children=(
                *(self._attempt_down(attempt) for attempt in tried),
                *self._commits(others),
                *(self._bead_down(part, hung) for part in parts),
            ),
        )

    def _attempt_down(self, attempt: str) -> Node:
        return changed(self.attempt_node(attempt), children=self.below_attempt(attempt))

    def _commits(self, commits: Iterable[str]) -> Iterator[Node]:
        return map(self.commit_node, commits)

    def _by_hand(self, told: Sequence[Told]) -> Iterator[Node]:
        """Commits that only the file explains."""
        return self.touching([item for item in told if not self.is_explained(item)])

    def _document(self, n: int, children: tuple[Node, ...]) -> Node:
        graph = self._graph
        kind = graph.types[n] if graph.types[n] in FILES else DOCUMENT
        words = graph.types[n] if kind == DOCUMENT else ""
        if graph.is_superseded(n):
            words = f"{words}, superseded".lstrip(", ")
        title = "" if graph.titles[n] == graph.ids[n] else graph.titles[n]
        return Node(kind, graph.ids[n], title, words, children=children)

    def _ending(self, attempt: Attempt) -> str:
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

    def __init__(self, threads: Threads, below: Iterable[int] = ()) -> None:
        self._threads = threads
        self._climbed: set[tuple[str, str]] = set()
        for n in below:
            self._is_climbed(threads.document_node(n))

    def attempt(self, attempt: str) -> Node:
        beads = self._threads.beads_of_attempt(attempt)
        node = self._threads.attempt_node(attempt)
        return changed(node, children=tuple(map(self.bead, beads)))

    def bead(self, bead: str, depth: int = 0) -> Node:
        node = self._threads.bead_node(bead)
        if self._is_climbed(node):
            return changed(node, is_repeated=True)
        documents = self.documents(self._threads.documents_of(bead))
        parent = self._threads.parent_of(bead)
        above = (self.bead(parent, depth + 1),) if parent and depth < DEEPEST else ()
        return changed(node, children=(*documents, *above))

    def documents(self, places: Iterable[int], depth: int = 0) -> tuple[Node, ...]:
        return tuple(self._document(n, depth) for n in places)

    def _document(self, n: int, depth: int) -> Node:
        node = self._threads.document_node(n)
        if self._is_climbed(node):
            return changed(node, is_repeated=True)
        above = self._threads.ups(n) if depth < DEEPEST else []
        return changed(node, children=self.documents(above, depth + 1))

    def _is_climbed(self, node: Node) -> bool:
        key = (node.kind, node.id)
        if key in self._climbed:
            return True
        self._climbed.add(key)
        return False


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """Every node once for each place that it has, nearest first."""
    level = list(nodes)
    while level:
        yield from level
        level = [child for node in level for child in node.children]


def requirements_in(graph: Graph, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The documents of a tree that justify work: the nearest first."""
    found = dict.fromkeys(node.id for node in walk(nodes) if node.kind == DOCUMENT)
    return tuple(doc_id for doc_id in found if graph.types[graph.place[doc_id]] in JUSTIFYING)


def commits_in(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Those that git still has."""
    here = (node for node in walk(nodes) if node.kind == COMMIT and node.note != _GONE)
    return tuple(dict.fromkeys(node.id for node in here))


def _attempts_by_bead(known: Known) -> Links:
    """In the order in which they began; one whose record is gone lives on in its commit."""
    found: Links = {}
    for it in known.attempts:
        for bead in it.beads:
            found.setdefault(bead, {})[it.lands or it.id] = None
    for told in sorted(known.commits.values(), key=lambda told: sort_key(told.at)):
        for bead in told.beads if told.attempt else ():
            found.setdefault(bead, {})[told.attempt] = None
    return found


def _commits_by_bead(known: Known) -> Links:
    """Those that a bead was closed with, whoever closed it, and those that name it."""
    ids = sorted(known.commits)
    found: Links = {}
    for bead, row in known.beads.items():
        if said := text_of(row, "closing_commit_sha"):
            place = bisect_left(ids, said)
            is_there = place < len(ids) and ids[place].startswith(said)
            found.setdefault(bead, {})[ids[place] if is_there else said] = None
    for told in known.commits.values():
        for bead in told.beads:
            found.setdefault(bead, {})[told.commit] = None
    return found


def _turned(links: Links) -> Links:
    found: Links = {}
    for one, others in links.items():
        for other in others:
            found.setdefault(other, {})[one] = None
    return found


def _made_by_attempt(known: Known) -> Links:
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
