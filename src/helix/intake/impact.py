"""What a request touches: declared links first, search only where they tell too little. Pure.

Search is for three cases (I-2): no document was named, what was named has nothing downstream, or
links lead nowhere. What it finds is marked, and never outweighs a declared link.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from ddx.base import changed, listed, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ddx.base import Finding
    from ddx.documents import Graph
    from helix.intake.request import ParsedRequest
    from helix.project import AutonomySettings

TEST, CODE = "test", "code"
NAMED, DECLARED, SEARCHED = "named", "declared", "search"


@value
class TouchedFile:
    """A document, a test or a source file that the request reaches, and how we know."""

    id: str
    path: str
    type: str
    tier: int | None
    title: str
    origin: str
    why: str
    above: tuple[str, ...] = ()
    """What of the touched it follows from."""
    hit: str = ""
    """The document that search found and that leads here; empty: declared links alone do."""


@value
class MissingName:
    """A name that leads nowhere, and where it stands; without a path: in the request."""

    what: str
    path: str = ""
    line: int = 0


class SearchCause(Enum):
    """What the declared links leave open, so that search is needed besides (I-2)."""

    UNKNOWN_NAME = "there is no document {names}"
    NO_NAME = "the request names no document"
    NOTHING_FOLLOWS = "nothing follows from {names}"
    BROKEN_LINKS = "links lead to documents that do not exist"


@value
class SearchReason:
    """Why search is needed, and the names that it is about."""

    cause: SearchCause
    names: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return self.cause.value.format(names=listed(self.names))


@value
class RequestStart:
    """Where a request begins: what it names, what it names in vain, and why to search besides."""

    named: Mapping[int, str]
    unknown: tuple[str, ...] = ()
    superseded: Mapping[str, tuple[str, ...]] = {}
    """What it names and has no say any more, and what took its place."""
    search_because: SearchReason | None = None
    """None: the declared links tell enough."""


@value
class RequestImpact:
    """All that a request touches, each list in the order of authority."""

    named: tuple[TouchedFile, ...] = ()
    documents: tuple[TouchedFile, ...] = ()
    """What follows from the named ones, or what search has found."""
    tests: tuple[TouchedFile, ...] = ()
    code: tuple[TouchedFile, ...] = ()
    governing: tuple[str, ...] = ()
    missing: tuple[MissingName, ...] = ()
    rings: tuple[str, ...] = ()
    related: tuple[TouchedFile, ...] = ()
    """What search has found, where it is only worth a look and no reason to change it."""
    left_out: tuple[str, ...] = ()
    """Impacted, but history or a record: nobody changes it."""
    searched: SearchReason | None = None
    """Why search was needed; None: it was not."""
    superseded: Mapping[str, tuple[str, ...]] = {}
    is_greenfield: bool = False


def begin(graph: Graph, wish: ParsedRequest, slider: AutonomySettings) -> RequestStart:
    """What the request names, and whether the declared links tell enough about it."""
    named = dict(graph.named_in(wish.text)[0]) | _plain_names(graph, wish.text)
    named = {n: name for n, name in named.items() if _is_document(graph, n)}
    superseded = {
        graph.ids[n]: tuple(graph.ids[heir] for heir in graph.heirs(n))
        for n in named
        if graph.is_superseded(n)
    }
    unknown = graph.unknown_in(wish.text)
    named = _with_heirs(graph, named)
    because = _search_because(graph, named, unknown, slider)
    return RequestStart(named, unknown, superseded, search_because=because)


def reach(
    graph: Graph, start: RequestStart, hits: Mapping[int, str], slider: AutonomySettings
) -> RequestImpact:
    """Everything touched; `hits` are the nodes that search found, each with why."""
    starts = list(start.named)
    found = graph.impact(starts, hits=list(hits), max_depth=slider.max_depth)
    led_by = _led_by(graph, starts, hits, slider)
    reached = [item for item in found.impacted if item.n not in start.named]
    if not slider.authority_ordering:
        reached.sort(key=lambda item: (item.distance, graph.ids[item.n]))
    touched = [_touched(graph, item.path, hits=hits, led_by=led_by) for item in reached]
    kept = [it for it in touched if not _is_history(graph, it.id)]
    places = [*starts, *(item.n for sets in found.__dict__.values() for item in sets)]
    named = [
        _document(graph, n, NAMED, why=f"the request names {name}")
        for n, name in sorted(start.named.items(), key=lambda item: graph.rank(item[0]))
    ]
    kept = _linked(graph, [*named, *kept])
    followers = [it for it in kept if it.origin != NAMED]
    unknown = [f"the request names {name}, which does not exist" for name in start.unknown]
    rings = _findings(graph, "cycle", places) if slider.cycle_detection else ()
    return RequestImpact(
        named=tuple(it for it in kept if it.origin == NAMED),
        documents=tuple(it for it in followers if it.type not in (TEST, CODE)),
        tests=tuple(it for it in followers if it.type == TEST),
        code=tuple(it for it in followers if it.type == CODE),
        governing=tuple(graph.ids[item.n] for item in found.governing),
        missing=(*map(MissingName, unknown), *_gaps(graph, places)),
        rings=tuple(f"{it.where}:{it.line}: {it.what}" for it in rings),
        left_out=tuple(
            f"{it.id} ({it.type or graph.statuses[graph.place[it.id]]})"
            for it in touched
            if _is_history(graph, it.id)
        ),
        searched=start.search_because,
        superseded=start.superseded,
        is_greenfield=not any(_is_document(graph, n) for n in range(len(graph))),
    )


def declared_only(impact: RequestImpact) -> RequestImpact:
    """The same, where what only search leads to is no reason to change anything."""
    documents, tests, code = (
        tuple(it for it in touched if not it.hit)
        for touched in (impact.documents, impact.tests, impact.code)
    )
    related = tuple(it for it in impact.documents if it.hit == it.id)
    return changed(impact, documents=documents, tests=tests, code=code, related=related)


def downstream(graph: Graph, names: Iterable[str], slider: AutonomySettings) -> frozenset[str]:
    """These documents and all that follows from them: the path that a conflict affects (I-5)."""
    places = [graph.place[name] for name in names if name in graph.place]
    below = graph.closure(places, down=True, max_depth=slider.max_depth)
    return frozenset(graph.ids[n] for n in (*places, *(item.n for item in below)))


# -- where it begins -----------------------------------------------------------------------


def _plain_names(graph: Graph, text: str) -> dict[int, str]:
    """`prd` and `helix.prd` are words that can only mean a document."""
    words = (word.strip("`\"'()[],;:!?").rstrip(".") for word in text.split())
    known = [word for word in words if word.casefold() in graph.known]
    clear = [word for word in known if "." in word or word.casefold() == "prd"]
    return {graph.place[graph.known[word.casefold()]]: word for word in clear}


def _with_heirs(graph: Graph, named: Mapping[int, str]) -> dict[int, str]:
    """What took the place of a superseded document is what is meant (G-6)."""
    found: dict[int, str] = {}
    for n, name in named.items():
        heirs = graph.heirs(n)
        found |= dict.fromkeys(heirs, f"{name}, which it replaces") if heirs else {n: name}
    return found


def _search_because(
    graph: Graph, named: Mapping[int, str], unknown: Sequence[str], slider: AutonomySettings
) -> SearchReason | None:
    if not len(graph):
        return None
    if unknown:
        return SearchReason(SearchCause.UNKNOWN_NAME, tuple(unknown))
    if not named:
        return SearchReason(SearchCause.NO_NAME)
    below = graph.closure(list(named), down=True, max_depth=slider.max_depth)
    if not below:
        return SearchReason(SearchCause.NOTHING_FOLLOWS, tuple(named.values()))
    if any(_gaps(graph, [*named, *(item.n for item in below)])):
        return SearchReason(SearchCause.BROKEN_LINKS)
    return None


# -- what is touched -----------------------------------------------------------------------


def _is_document(graph: Graph, n: int) -> bool:
    """Tests and code have no content hash of their own."""
    return bool(graph.hashes[n])


def _is_history(graph: Graph, doc_id: str) -> bool:
    return not graph.has_authority(graph.place[doc_id])


def _document(graph: Graph, n: int, origin: str, *, why: str, hit: str = "") -> TouchedFile:
    return TouchedFile(
        id=graph.ids[n],
        path=graph.paths[n],
        type=graph.types[n],
        tier=graph.tiers[n],
        title=graph.titles[n],
        origin=origin,
        why=why,
        hit=hit,
    )


def _touched(
    graph: Graph, path: Sequence[int], *, hits: Mapping[int, str], led_by: Mapping[int, int]
) -> TouchedFile:
    """The last node of a path, which begins at a start or is nothing but a search hit."""
    end = path[-1]
    if end in hits and len(path) == 1:
        return _document(graph, end, SEARCHED, why=hits[end], hit=graph.ids[end])
    way = " -> ".join(graph.ids[n] for n in path)
    hit = led_by.get(end)
    origin = DECLARED if hit is None else SEARCHED
    return _document(graph, end, origin, why=way, hit="" if hit is None else graph.ids[hit])


def _led_by(
    graph: Graph, starts: Sequence[int], hits: Mapping[int, str], slider: AutonomySettings
) -> dict[int, int]:
    """By node, the search hit that alone leads to it: a declared way from a start comes first."""
    declared = {item.n for item in graph.closure(starts, down=True, max_depth=slider.max_depth)}
    found: dict[int, int] = {}
    for hit in hits:
        for item in graph.closure([hit], down=True, max_depth=slider.max_depth):
            if item.n not in declared and item.n not in hits:
                found.setdefault(item.n, hit)
    return found


def _linked(graph: Graph, kept: Sequence[TouchedFile]) -> list[TouchedFile]:
    """Each with the nearest of the others that it follows from, whatever lies between."""
    wanted = {graph.place[it.id] for it in kept}
    return [
        changed(it, above=tuple(graph.ids[n] for n in _nearest_above(graph, it.id, wanted)))
        for it in kept
    ]


def _nearest_above(graph: Graph, doc_id: str, wanted: set[int]) -> list[int]:
    """The wanted nodes upstream of it; of those in a ring with it only what is first by rank."""
    own = graph.place[doc_id]
    found: list[int] = []
    seen = {own}
    unseen = list(graph.ups[own])
    while unseen:
        n = unseen.pop()
        if n in seen:
            continue
        seen.add(n)
        if n not in wanted:
            unseen += graph.ups[n]
        elif graph.rank(n) < graph.rank(own) or not _follows(graph, n, own):
            found.append(n)
    return sorted(found)


def _follows(graph: Graph, n: int, other: int) -> bool:
    return any(item.n == other for item in graph.closure([n], down=False, max_depth=len(graph)))


# -- what is missing -----------------------------------------------------------------------


def _gaps(graph: Graph, places: Iterable[int]) -> list[MissingName]:
    return [MissingName(it.what, it.where, it.line) for it in _findings(graph, "gap", places)]


def _findings(graph: Graph, kind: str, places: Iterable[int]) -> list[Finding]:
    paths = {graph.paths[n] for n in places}
    return [it for it in graph.findings() if it.kind == kind and it.where in paths]
