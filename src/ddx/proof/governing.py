"""What governs the beads of one attempt: documents, required executions, ratchets (X-11, D-6).

Everything is read from the base, never from what an agent left behind. A bead is governed by the
documents that it names (spec-id and refs) and all that is upstream of them. An execution or a
metric belongs to the documents that it depends on or proves; one that belongs to none is for every
bead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import value
from ddx.documents import (
    NOTHING,
    UNKNOWN,
    Definitions,
    DocumentRank,
    identity,
    numbered_id,
    parse,
    read_documents,
    resolve,
    type_of,
)
from ddx.git import history as trees
from ddx.tracker import links_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ddx.documents import Execution, Graph, Metric
    from ddx.project import Project, Settings
    from ddx.tracker import Bead, BeadId

_PROVING_TYPES = ("exec", "metric")
_LOST = ("unreadable", "too-large", "front-matter")
_MOST_ERRORS = 20


@value
class GoverningDocument:
    """A document as the base has it; tier None: it has no authority, or nobody can tell."""

    id: str
    path: str
    tier: int | None
    type: str
    content_hash: str


@value
class BeadDocuments:
    """What one bead names: every document that it may edit, and the tier that it works at."""

    documents: tuple[str, ...] = ()
    tier: int | None = None
    is_governed: bool = False


@value
class Governance:
    """All of it for the beads of one attempt."""

    base: str = ""
    documents: tuple[GoverningDocument, ...] = ()
    """Those that the beads name first, then what is upstream of them."""
    definitions: Definitions = NOTHING.definitions
    required: tuple[Execution, ...] = ()
    ratchets: tuple[Metric, ...] = ()
    errors: tuple[str, ...] = ()
    """Why nobody can say what must be proven: each is a failed check."""
    files: Mapping[str, DocumentRank] = {}
    """Every document and metric file of the base."""
    named: Mapping[BeadId, BeadDocuments] = {}

    @classmethod
    def read(
        cls,
        project: Project,
        beads: Sequence[Bead],
        *,
        checkout: str,
        base: str,
        settings: Settings,
    ) -> Governance:
        """What governs the beads at `base`, which `checkout` holds as nobody has touched it yet."""
        found = read_documents(project, settings.document_roots, checkout=checkout, commit=base)
        if found is NOTHING:
            return cls(base)
        return cls.decide(found.graph, beads, found.definitions, base=base, files=found.files)

    @classmethod
    def decide(
        cls,
        graph: Graph,
        beads: Sequence[Bead],
        definitions: Definitions = NOTHING.definitions,
        *,
        base: str = "",
        files: Mapping[str, DocumentRank] | None = None,
    ) -> Governance:
        """What governs the beads by a graph; without `definitions`, by its documents alone."""
        errors: list[str] = []
        named: dict[BeadId, BeadDocuments] = {}
        own: dict[int, None] = {}
        for bead in beads:
            specs = _places(graph, bead, "spec-id", errors)
            refs = _places(graph, bead, "refs", errors)
            own |= dict.fromkeys((*specs, *refs))
            named[bead.id] = BeadDocuments(
                tuple(dict.fromkeys(graph.ids[n] for n in (*specs, *refs))),
                _tier(graph, specs or refs),
                is_governed=bool(specs or refs),
            )
        above = graph.closure(list(own), down=False, max_depth=len(graph))
        above.sort(key=lambda item: item.distance)
        places = [*own, *(item.n for item in above if not graph.is_superseded(item.n))]
        belonging = _Belonging(graph, definitions, frozenset(places))
        errors += _doubts(graph, places)
        errors += belonging.broken()
        return cls(
            base=base,
            documents=tuple(_document(graph, n) for n in places),
            definitions=definitions,
            required=tuple(belonging.required()),
            ratchets=tuple(belonging.ratchets()),
            errors=_bounded(errors),
            files=files or {},
            named=named,
        )


def drifted_documents(
    governing: Governance, *, repository: str, tip: str, ignoring: Collection[str] = ()
) -> tuple[str, ...]:
    """The ids of governing documents whose content at `tip` is not that of the base (D-6)."""
    looked_at = [item for item in governing.documents if item.path not in ignoring]
    if tip == governing.base or not looked_at:
        return ()
    folders = sorted({item.path.rpartition("/")[0] or "." for item in looked_at})
    differing = trees.differing(repository, governing.base, tip, folders)
    return tuple(
        item.id
        for item in looked_at
        if item.path in differing and _has_changed(item, trees.content(repository, tip, item.path))
    )


def _has_changed(document: GoverningDocument, content: bytes | None) -> bool:
    """A stamp in its front matter or another line end is no change (G-8)."""
    return content is None or parse(document.path, content).content_hash != document.content_hash


def _places(graph: Graph, bead: Bead, key: str, errors: list[str]) -> list[int]:
    """The documents that a bead names under a key; a name that means none is an error."""
    found: list[int] = []
    for name in links_of(bead.row, key):
        wanted = name.partition("#")[0].strip()
        n = graph.find(wanted)
        if n is not None and graph.ids[n] != graph.paths[n]:
            found.append(n)
        elif holders := graph.holders(wanted):
            found += (graph.place[holder] for holder in holders)
        elif len(graph) and (key == "spec-id" or _is_document_id(wanted)):
            what = f"{bead.id}: no document at the base is called {name!r}, its {key}"
            errors.append(f"{what}; commit the document, or name another")
    return found


def _is_document_id(name: str) -> bool:
    """Refs may be anything, a file or an address; a name such as TD-007 is a document's."""
    return bool(numbered_id(name)) and type_of("", name, "") != UNKNOWN


def _tier(graph: Graph, places: Iterable[int]) -> int | None:
    """The least authority among the documents; None as soon as one of them has none."""
    tiers = [graph.tiers[n] for place in places for n in _in_force(graph, place)]
    known = [tier for tier in tiers if tier is not None]
    return max(known) if known and len(known) == len(tiers) else None


def _in_force(graph: Graph, n: int) -> set[int]:
    """The document, or what took its place if it is superseded."""
    found: set[int] = set()
    seen = {n}
    border = [n]
    while border:
        place = border.pop()
        if not graph.is_superseded(place):
            found.add(place)
        fresh = [heir for heir in graph.heirs(place) if heir not in seen]
        seen.update(fresh)
        border += fresh
    return found


def _document(graph: Graph, n: int) -> GoverningDocument:
    return GoverningDocument(
        graph.ids[n],
        graph.paths[n],
        graph.tiers[n],
        type=graph.types[n],
        content_hash=graph.hashes[n],
    )


def _doubts(graph: Graph, places: Sequence[int]) -> Iterator[str]:
    """What may hide something upstream, and files that may hold something required."""
    for n in places:
        yield from graph.doubts.get(graph.ids[n], ())
    for kind, _, path, line, what in graph.finding_rows:
        if kind in _LOST and type_of(path, identity(path, ""), "") in _PROVING_TYPES:
            yield f"{path}:{line}: {what}"


class _Belonging:
    """Which executions and metrics are those of the governing documents."""

    def __init__(self, graph: Graph, definitions: Definitions, governing: frozenset[int]) -> None:
        self._graph = graph
        self._definitions = definitions
        self._governing = governing
        metrics = definitions.metrics.values()
        self._metrics = {name.casefold(): name for it in metrics for name in (it.name, it.id)}

    def required(self) -> Iterator[Execution]:
        for execution in self._definitions.executions.values():
            if execution.required and self._applies(execution):
                yield execution

    def ratchets(self) -> Iterator[Metric]:
        for metric in self._definitions.metrics.values():
            run = self._definitions.runs[metric.name]
            is_over = self._is_superseded(metric) or self._is_superseded(run)
            if metric.is_ratchet and not is_over and self._applies(run):
                yield metric

    def broken(self) -> Iterator[str]:
        """Definitions that cannot be read and may well be ours; never a skip (X-11)."""
        for item in self._definitions.broken:
            finding = item.finding
            place = _Place(item.id, finding.where, item.artifact_ids)
            if item.may_bind and not self._is_superseded(place) and self._applies(place):
                yield f"{finding.where}:{finding.line}: {finding.what}"

    def _applies(self, it: Execution | _Place) -> bool:
        home = self._home(it)
        if home is not None and home in self._governing:
            return True
        belongs_to = self._documents_of(home, it.artifact_ids)
        return not belongs_to or not belongs_to.isdisjoint(self._governing)

    def _documents_of(self, home: int | None, artifact_ids: Iterable[str]) -> frozenset[int]:
        """What it depends on or proves; empty: nothing in particular, or nobody can tell."""
        graph = self._graph
        found: set[int] = set() if home is None else set(graph.ups[home])
        for name in artifact_ids:
            n = graph.find(name)
            if n is not None and n == home:
                continue
            if resolve(name, self._metrics):
                found.update(() if n is None else graph.ups[n])
            elif n is not None:
                found.add(n)
            else:
                return frozenset()
        return frozenset(found.union(*(_in_force(graph, n) for n in found)))

    def _is_superseded(self, it: Execution | Metric | _Place) -> bool:
        home = self._home(it)
        return home is not None and self._graph.is_superseded(home)

    def _home(self, it: Execution | Metric | _Place) -> int | None:
        """Its document; a metric may have a file of its own, whatever documents are called."""
        n = self._graph.place.get(it.id)
        return n if n is not None and self._graph.paths[n] == it.path else None


@value
class _Place:
    """Where a broken definition stands."""

    id: str
    path: str
    artifact_ids: tuple[str, ...]


def _bounded(errors: Sequence[str]) -> tuple[str, ...]:
    said = tuple(dict.fromkeys(errors))
    more = len(said) - _MOST_ERRORS
    return said if more <= 0 else (*said[:_MOST_ERRORS], f"... and {more} more")
