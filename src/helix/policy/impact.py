"""What a request touches: declared links first, search only where they tell too little. Pure.

Search is for three cases (I-2): no document was named, what was named has nothing downstream, or
links lead nowhere. What it finds is marked, and never outweighs a declared link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.graph.authority import LAST, WITHOUT_AUTHORITY
from ddx.graph.mentions import named_in, unknown_in
from ddx.graph.walk import closure, impact
from ddx.text import listed
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ddx.graph.graph import Graph
    from ddx.graph.walk import Reached
    from helix.policy.request import Wish

TEST, CODE = "test", "code"
NAMED, DECLARED, SEARCHED = "named", "declared", "search"


@value
class Rules:
    """The part of the slider that traversal depends on (I-3)."""

    max_depth: int = 10
    authority_ordering: bool = True
    cycle_detection: bool = True


@value
class Touched:
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
class Missing:
    """A name that leads nowhere, and where it stands; without a path: in the request."""

    what: str
    path: str = ""
    line: int = 0


@value
class Start:
    """Where a request begins: what it names, what it names in vain, and why to search besides."""

    named: Mapping[int, str]
    unknown: tuple[str, ...] = ()
    superseded: Mapping[str, tuple[str, ...]] = {}
    """What it names and has no say any more, and what took its place."""
    search_because: str = ""


@value
class Impact:
    """All that a request touches, each list in the order of authority."""

    named: tuple[Touched, ...] = ()
    documents: tuple[Touched, ...] = ()
    """What follows from the named ones, or what search has found."""
    tests: tuple[Touched, ...] = ()
    code: tuple[Touched, ...] = ()
    governing: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    rings: tuple[str, ...] = ()
    related: tuple[Touched, ...] = ()
    """What search has found, where it is only worth a look and no reason to change it."""
    left_out: tuple[str, ...] = ()
    """Impacted, but history or a record: nobody changes it."""
    searched: str = ""
    """Why search was needed; empty: it was not."""
    superseded: Mapping[str, tuple[str, ...]] = {}
    is_greenfield: bool = False


def begin(graph: Graph, wish: Wish, *, rules: Rules) -> Start:
    """What the request names, and whether the declared links tell enough about it."""
    named = dict(named_in(graph, wish.text)[0]) | _plain_names(graph, wish.text)
    named = {n: name for n, name in named.items() if _is_document(graph, n)}
    superseded = {
        graph.ids[n]: tuple(graph.ids[heir] for heir in graph.heirs(n))
        for n in named
        if graph.is_superseded(n)
    }
    unknown = unknown_in(graph, wish.text)
    named = _with_heirs(graph, named)
    because = _search_because(graph, named, unknown, rules)
    return Start(named, unknown, superseded, because)


def reach(graph: Graph, start: Start, hits: Mapping[int, str], *, rules: Rules) -> Impact:
    """Everything touched; `hits` are the nodes that search found, each with why."""
    starts = list(start.named)
    found = impact(graph, starts, hits=list(hits), max_depth=rules.max_depth)
    led_by = _led_by(graph, starts, hits, rules)
    touched = [
        _touched(graph, item, hits=hits, led_by=led_by)
        for item in _ordered(graph, found.impacted, rules)
        if item.n not in start.named
    ]
    kept = [it for it in touched if not _is_history(graph, it.id)]
    places = [*starts, *(item.n for sets in found.__dict__.values() for item in sets)]
    named = [
        Touched(*_facts(graph, n), NAMED, f"the request names {name}")
        for n, name in sorted(start.named.items(), key=lambda item: _rank(graph, item[0]))
    ]
    kept = _linked(graph, [*named, *kept])
    return Impact(
        tuple(it for it in kept if it.origin == NAMED),
        tuple(it for it in kept if it.origin != NAMED and it.type not in (TEST, CODE)),
        tuple(it for it in kept if it.origin != NAMED and it.type == TEST),
        tuple(it for it in kept if it.origin != NAMED and it.type == CODE),
        tuple(graph.ids[item.n] for item in found.governing),
        (*_unknown(start), *_gaps(graph, places)),
        tuple(_rings(graph, places)) if rules.cycle_detection else (),
        (),
        tuple(
            f"{it.id} ({it.type or graph.statuses[graph.place[it.id]]})"
            for it in touched
            if _is_history(graph, it.id)
        ),
        start.search_because,
        start.superseded,
        not any(_is_document(graph, n) for n in range(len(graph))),
    )


def declared_only(impact: Impact) -> Impact:
    """The same, where what only search leads to is no reason to change anything."""
    documents, tests, code = (
        tuple(it for it in touched if not it.hit)
        for touched in (impact.documents, impact.tests, impact.code)
    )
    related = tuple(it for it in impact.documents if it.hit == it.id)
    return changed(impact, documents=documents, tests=tests, code=code, related=related)


def downstream(graph: Graph, names: Iterable[str], *, rules: Rules) -> frozenset[str]:
    """These documents and all that follows from them: the path that a conflict affects (I-5)."""
    places = [graph.place[name] for name in names if name in graph.place]
    below = closure(graph, places, down=True, max_depth=rules.max_depth)
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
    graph: Graph, named: Mapping[int, str], unknown: Sequence[str], rules: Rules
) -> str:
    if not len(graph):
        return ""
    if unknown:
        return f"there is no document {listed(unknown)}"
    if not named:
        return "the request names no document"
    below = closure(graph, list(named), down=True, max_depth=rules.max_depth)
    if not below:
        return f"nothing follows from {listed(named.values())}"
    if any(_gaps(graph, [*named, *(item.n for item in below)])):
        return "links lead to documents that do not exist"
    return ""


# -- what is touched -----------------------------------------------------------------------


def _is_document(graph: Graph, n: int) -> bool:
    """Tests and code have no content hash of their own."""
    return bool(graph.hashes[n])


def _is_history(graph: Graph, doc_id: str) -> bool:
    n = graph.place[doc_id]
    return graph.is_superseded(n) or graph.types[n] in WITHOUT_AUTHORITY


def _facts(graph: Graph, n: int) -> tuple[str, str, str, int | None, str]:
    return graph.ids[n], graph.paths[n], graph.types[n], graph.tiers[n], graph.titles[n]


def _touched(
    graph: Graph, item: Reached, *, hits: Mapping[int, str], led_by: Mapping[int, int]
) -> Touched:
    facts = _facts(graph, item.n)
    if item.n in hits and item.distance == 0:
        return Touched(*facts, SEARCHED, hits[item.n], hit=graph.ids[item.n])
    way = " -> ".join(graph.ids[n] for n in item.path)
    hit = led_by.get(item.n)
    origin = DECLARED if hit is None else SEARCHED
    return Touched(*facts, origin, way, hit="" if hit is None else graph.ids[hit])


def _led_by(
    graph: Graph, starts: Sequence[int], hits: Mapping[int, str], rules: Rules
) -> dict[int, int]:
    """By node, the search hit that alone leads to it: a declared way from a start comes first."""
    declared = {item.n for item in closure(graph, starts, down=True, max_depth=rules.max_depth)}
    found: dict[int, int] = {}
    for hit in hits:
        for item in closure(graph, [hit], down=True, max_depth=rules.max_depth):
            if item.n not in declared and item.n not in hits:
                found.setdefault(item.n, hit)
    return found


def _ordered(graph: Graph, found: Sequence[Reached], rules: Rules) -> list[Reached]:
    if rules.authority_ordering:
        return list(found)
    return sorted(found, key=lambda item: (item.distance, graph.ids[item.n]))


def _linked(graph: Graph, kept: Sequence[Touched]) -> list[Touched]:
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
        elif _rank(graph, n) < _rank(graph, own) or not _follows(graph, n, own):
            found.append(n)
    return sorted(found)


def _follows(graph: Graph, n: int, other: int) -> bool:
    return any(item.n == other for item in closure(graph, [n], down=False, max_depth=len(graph)))


def _rank(graph: Graph, n: int) -> tuple[int, str]:
    tier = graph.tiers[n]
    return (LAST if tier is None else tier, graph.ids[n])


# -- what is missing -----------------------------------------------------------------------


def _unknown(start: Start) -> list[Missing]:
    return [Missing(f"the request names {name}, which does not exist") for name in start.unknown]


def _gaps(graph: Graph, places: Iterable[int]) -> list[Missing]:
    paths = {graph.paths[n] for n in places}
    return [
        Missing(it.what, it.path, it.line)
        for it in graph.findings()
        if it.kind == "gap" and it.path in paths
    ]


def _rings(graph: Graph, places: Iterable[int]) -> list[str]:
    paths = {graph.paths[n] for n in places}
    return [
        f"{it.path}:{it.line}: {it.what}"
        for it in graph.findings()
        if it.kind == "cycle" and it.path in paths
    ]
