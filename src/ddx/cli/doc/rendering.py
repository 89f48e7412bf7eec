"""How documents are shown: as JSON, as cells of a table, as a tree."""

from __future__ import annotations

from _json import encode_basestring as quoted

from ddx.fastjson import dumps
from ddx.graph.authority import LAST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ddx.graph.graph import Graph
    from ddx.graph.model import Edge
    from ddx.graph.walk import Reached

UNKNOWN = "unknown"
NOTHING = "-"
SUCCESSION = "superseded_by"
"""The origin of a step from a superseded document to its replacement."""

_ROW = (
    '{"id":%s,"type":%s,"tier":%s,"status":%s,"title":%s,"path":%s,'
    '"superseded":%s,"superseded_by":%s%s}'
)
_SENTENCES = {
    True: "follows from %s",
    False: "%s follows from it",
    SUCCESSION: "takes the place of %s",
}
_NO_HITS: Mapping[int, Mapping[str, Any]] = {}
_WRITTEN = '"written":{"origin":%s,"path":%s,"line":%d}'
_REACHED = f'"distance":%d,"why":%s,"via":[%s],{_WRITTEN}'


# -- JSON --------------------------------------------------------------------------------------
# Put together as text, column by column: ten thousand documents as dicts would take longer than
# all the rest of a question (G-9).


def as_json(graph: Graph, places: Sequence[int], more: Sequence[str] = ()) -> str:
    """An array of documents, a document a line, each with the `pairs` that `more` has for it."""
    columns = (
        map(quoted, map(graph.ids.__getitem__, places)),
        _spelled(graph.types, places),
        _spelled(graph.tiers, places),
        _spelled(graph.statuses, places),
        map(quoted, map(graph.titles.__getitem__, places)),
        map(quoted, map(graph.paths.__getitem__, places)),
        ["true" if graph.is_superseded(n) else "false" for n in places],
        [dumps(successors(graph, n)) if graph.successors[n] else "[]" for n in places],
        [f",{text}" for text in more] or [""] * len(places),
    )
    rows = ",\n".join([_ROW % cells for cells in zip(*columns, strict=True)])
    return f"[{rows}]"


def pairs(**texts: str) -> str:
    """The inside of an object whose values are JSON already."""
    return ",".join([f'"{name}":{text}' for name, text in texts.items()])


def reached_as_json(
    graph: Graph,
    found: Sequence[Reached],
    *,
    down: bool,
    hits: Mapping[int, Mapping[str, Any]] = _NO_HITS,
) -> str:
    """Documents on the way from a start: why, the way, and where its last step is written."""
    ids = {graph.ids[n] for item in found for n in item.path}
    written = {
        (up, down): (origin, path, line)
        for up, down, origin, path, line in graph.edge_rows
        if up in ids and down in ids
    }
    names = {n: quoted(graph.ids[n]) for item in found for n in item.path}
    more = []
    for item in found:
        if not item.distance:
            hit = hits[item.n]
            why, origin, path, line = hit["why"], hit["origin"], hit["path"], hit["line"]
        else:
            before, here = item.path[-2:]
            pair = (graph.ids[before], graph.ids[here])
            step = written.get(pair if down else pair[::-1])
            origin, path, line = step or (SUCCESSION, graph.paths[before], 1)
            why = _SENTENCES[SUCCESSION if step is None else down] % pair[0]
        via = ",".join([names[n] for n in item.path])
        place = (quoted(origin), quoted(path), line)
        more.append(_REACHED % (item.distance, quoted(why), via, *place))
    return as_json(graph, [item.n for item in found], more)


def linked_as_json(graph: Graph, edges: Sequence[tuple[int, Edge]]) -> str:
    """Documents at the other end of links, with where each link is written."""
    more = [_WRITTEN % (quoted(edge.origin), quoted(edge.path), edge.line) for _, edge in edges]
    return as_json(graph, [n for n, _ in edges], more)


def _spelled(column: Sequence[Any], places: Sequence[int]) -> Iterator[str]:
    """A column of few values, each spelled once; what is unknown is null."""
    spelling = {found: "null" if found in ("", None) else dumps(found) for found in set(column)}
    return map(spelling.__getitem__, map(column.__getitem__, places))


# -- words -------------------------------------------------------------------------------------


def is_document(graph: Graph, n: int) -> bool:
    """Or is it a test or source file, which goes by its path?"""
    return graph.ids[n] != graph.paths[n]


def kind(graph: Graph, n: int) -> str:
    return graph.types[n] or UNKNOWN


def tier_of(graph: Graph, n: int) -> str:
    """Empty: it has none."""
    found = graph.tiers[n]
    return "" if found is None else str(found)


def standing(graph: Graph, n: int) -> str:
    """Its status; one without authority says so, and what to read instead."""
    if not graph.is_superseded(n):
        return graph.statuses[n] or NOTHING
    heirs = successors(graph, n)
    return f"superseded by {', '.join(heirs)}" if heirs else "superseded"


def successors(graph: Graph, n: int) -> list[str]:
    """What took its place, by id where there is such a document."""
    places = [(name, graph.find(name)) for name in graph.successors[n]]
    return [name if place is None else graph.ids[place] for name, place in places]


def title(graph: Graph, n: int) -> str:
    """Empty where the title would only repeat the id."""
    return graph.titles[n] if graph.titles[n] != graph.ids[n] else ""


def because(
    graph: Graph,
    item: Reached,
    *,
    down: bool,
    hits: Mapping[int, Mapping[str, Any]] = _NO_HITS,
) -> str:
    """The declared path, or what a search found; an arrow points at what follows."""
    if not item.distance:
        return str(hits[item.n]["why"])
    return (" -> " if down else " <- ").join([graph.ids[n] for n in item.path])


def in_authority_order(graph: Graph, places: Iterable[int]) -> list[int]:
    """By tier, then id; what has no tier comes last (G-4)."""
    tiers = graph.tiers
    return sorted(places, key=lambda n: (LAST if tiers[n] is None else tiers[n], n))


def tree(graph: Graph, start: int, found: Sequence[Reached]) -> Iterator[str]:
    """Each document below the one that led to it, so that the indentation is the way there."""
    below: dict[int, list[int]] = {}
    for item in found:
        below.setdefault(item.path[-2], []).append(item.n)
    unseen = [(start, "", "")]
    while unseen:  # without recursion: a chain may be long
        n, lead, rail = unseen.pop()
        words = [kind(graph, n), *([said] if (said := standing(graph, n)) != NOTHING else [])]
        yield f"{lead}{graph.ids[n]} [{', '.join(words)}] {title(graph, n)}".rstrip()
        for place, child in enumerate(reversed(below.get(n, []))):
            branch, onward = ("└─ ", "   ") if place == 0 else ("├─ ", "│  ")
            unseen.append((child, rail + branch, rail + onward))
