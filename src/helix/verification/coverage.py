"""How far each requirement is carried: to a design, to a test, to evidence (V-3). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ddx.documents import ExecutionLog, Graph
    from ddx.tracker import Bead
    from helix.verification.attempt_history import TestedFile

REQUIREMENTS = ("feat", "us")
"""A product's own page is one only where nothing below it is."""
PRODUCT = "prd"
DESIGNS = ("adr", "architecture", "contract", "api", "sd", "td")
TESTS = ("tp", "test", "exec")
DESIGN, TEST, EVIDENCE = "design", "test", "evidence"
_DEEPEST = 50
"""Epics in epics; a ring of them must come to an end."""


@value
class RequirementEvidence:
    """What shows that a requirement holds, or that it does not."""

    kind: str
    """A `bead` that landed, the last `run` of a definition, a file with a `test`."""
    id: str
    passed: bool
    at: str = ""


@value
class Coverage:
    """One requirement and what there is of it, each list in the order of authority."""

    id: str
    title: str
    type: str
    path: str
    designs: tuple[str, ...]
    tests: tuple[str, ...]
    evidence: tuple[RequirementEvidence, ...]

    @property
    def missing(self) -> str:
        """The first step that nothing has been made for; empty: none is missing."""
        steps = ((DESIGN, self.designs), (TEST, self.tests), (EVIDENCE, self.passed))
        asked = steps[1:] if self.type in TESTS else steps  # a test plan needs no design of its own
        return next((name for name, found in asked if not found), "")

    @property
    def gap(self) -> str:
        """What keeps it from being covered, in words; empty: nothing does."""
        if self.missing:
            return f"no {self.missing}"
        return "failing" if self.failed else ""

    @property
    def passed(self) -> tuple[RequirementEvidence, ...]:
        return tuple(proof for proof in self.evidence if proof.passed)

    @property
    def failed(self) -> tuple[RequirementEvidence, ...]:
        return tuple(proof for proof in self.evidence if not proof.passed)


def cover(
    graph: Graph, wanted: Callable[[str], bool], proofs: Mapping[int, Sequence[RequirementEvidence]]
) -> tuple[Coverage, ...]:
    """The requirements among the documents that are wanted, highest authority first.

    Where none of those is a requirement, those that nothing wanted is upstream of stand for them.
    """
    places = [n for n, doc_id in enumerate(graph.ids) if wanted(doc_id) and _counts(graph, n)]
    rows = [n for n in places if graph.types[n] in REQUIREMENTS]
    rows += [n for n in places if graph.types[n] == PRODUCT and not _is_divided(graph, n)]
    if not rows:
        among = set(places)
        rows = [n for n in places if among.isdisjoint(graph.ups[n])]
    return tuple(_coverage(graph, n, proofs) for n in sorted(rows, key=graph.rank))


def proofs_by_document(
    finder: DocumentFinder,
    landed: Iterable[tuple[Bead, str]],
    executions: ExecutionLog,
    tested: Iterable[TestedFile] = (),
) -> dict[int, list[RequirementEvidence]]:
    """What each document has to show: landed beads, the last runs, and the tests about it."""
    found: dict[int, list[RequirementEvidence]] = {}
    for bead, at in landed:
        for n in finder.governing(bead):
            found.setdefault(n, []).append(RequirementEvidence("bead", bead.id, True, at=at))
    for record in executions.last_runs:
        proof = RequirementEvidence("run", record.definition_id, record.ok, at=record.finished_at)
        for n in finder.named(record.definition_id, *record.artifact_ids):
            found.setdefault(n, []).append(proof)
    for test in tested:
        for n in finder.named(test.file, *test.specs):
            found.setdefault(n, []).append(
                RequirementEvidence("test", test.file, test.passed, at=test.at)
            )
    return found


class DocumentFinder:
    """Which documents a bead means; a name is looked up once."""

    def __init__(self, graph: Graph, beads: Mapping[str, Bead] | None = None) -> None:
        self._graph = graph
        self._beads = beads or {}
        self._known: dict[str, int | None] = {}

    def governing(self, bead: Bead) -> list[int]:
        """Its own, or else those of the nearest bead above it that names any."""
        for _ in range(_DEEPEST):
            found = self.of(bead)
            above = self._beads.get(bead.parent)
            if found or above is None:
                return found
            bead = above
        return []

    def of(self, bead: Bead) -> list[int]:
        """What it names in spec-id and refs, in this order, each once."""
        return self.named(*bead.documents)

    def written(self, bead: Bead) -> list[int]:
        """The documents at the paths that it names; tests and code are no documents."""
        return [n for n in self.named(*bead.paths) if self._graph.hashes[n]]

    def named(self, *names: str) -> list[int]:
        found = dict.fromkeys(self._find(name) for name in names)
        return [n for n in found if n is not None]

    def _find(self, name: str) -> int | None:
        if name not in self._known:
            self._known[name] = self._graph.find(name.partition("#")[0])
        return self._known[name]


def _coverage(
    graph: Graph, n: int, proofs: Mapping[int, Sequence[RequirementEvidence]]
) -> Coverage:
    below = [item.n for item in graph.closure([n], down=True, max_depth=len(graph))]
    evidence = dict.fromkeys(proof for place in (n, *below) for proof in proofs.get(place, ()))
    return Coverage(
        id=graph.ids[n],
        title=graph.titles[n],
        type=graph.types[n],
        path=graph.paths[n],
        designs=tuple(_of_types(graph, (n, *below), DESIGNS)),
        tests=tuple(_of_types(graph, (n, *below), TESTS)),
        evidence=tuple(evidence),
    )


def _of_types(graph: Graph, places: Iterable[int], types: Sequence[str]) -> Iterator[str]:
    return (graph.ids[n] for n in places if graph.types[n] in types and not graph.is_superseded(n))


def _counts(graph: Graph, n: int) -> bool:
    """Only what carries authority can be covered; files are what covers."""
    is_file = graph.types[n] in ("test", "code", "exec", "metric")
    return graph.tiers[n] is not None and not is_file and not graph.is_superseded(n)


def _is_divided(graph: Graph, n: int) -> bool:
    below = graph.closure([n], down=True, max_depth=len(graph))
    return any(
        graph.types[item.n] in REQUIREMENTS and not graph.is_superseded(item.n) for item in below
    )
