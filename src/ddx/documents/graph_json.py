"""Documents of the graph as JSON, for every command and program that answers with them.

It is put together as text, column by column: ten thousand documents as dicts would take longer
than all the rest of a question (G-9).
"""

from __future__ import annotations

from _json import encode_basestring as quoted

from ddx.base import Clock, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from ddx.documents.full_text import SearchHit
    from ddx.documents.graph import Graph, ReachedNode
    from ddx.documents.impact_start import ImpactStart
    from ddx.documents.model import DocumentEdge

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
    found: Sequence[ReachedNode],
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


def linked_as_json(graph: Graph, edges: Sequence[tuple[int, DocumentEdge]]) -> str:
    """Documents at the other end of links, with where each link is written."""
    more = [_WRITTEN % (quoted(edge.origin), quoted(edge.path), edge.line) for _, edge in edges]
    return as_json(graph, [n for n, _ in edges], more)


def _spelled(column: Sequence[Any], places: Sequence[int]) -> Iterator[str]:
    """A column of few values, each spelled once; what is unknown is null."""
    spelling = {found: "null" if found in ("", None) else dumps(found) for found in set(column)}
    return map(spelling.__getitem__, map(column.__getitem__, places))


def successors(graph: Graph, n: int) -> list[str]:
    """What took its place, by id where there is such a document."""
    places = [(name, graph.find(name)) for name in graph.successors[n]]
    return [name if place is None else graph.ids[place] for name, place in places]


def impact_as_json(
    graph: Graph,
    start: ImpactStart,
    impacted: Sequence[ReachedNode],
    governing: Sequence[ReachedNode],
) -> str:
    """What a change touches and what governs it, as `ddx doc impact --json` prints it."""
    why = [pairs(why=dumps(reason or None)) for reason in start.starts.values()]
    inside = pairs(
        starts=as_json(graph, list(start.starts), why),
        terms=dumps(start.terms),
        impacted=reached_as_json(graph, impacted, down=True, hits=start.hits),
        governing=reached_as_json(graph, governing, down=False),
    )
    return f"{{{inside}}}"


def hit_row(graph: Graph, hit: SearchHit) -> dict[str, object]:
    """A document that a search found, as `ddx doc search --json` prints it."""
    return {
        "id": graph.ids[hit.n],
        "title": graph.titles[hit.n],
        "type": graph.types[hit.n] or None,
        "status": graph.statuses[hit.n] or None,
        "path": graph.paths[hit.n],
        "line": hit.excerpt.line,
        "snippet": hit.excerpt.text,
        "marks": [list(mark) for mark in hit.excerpt.marks],
        "terms": list(hit.terms),
        "score": hit.score,
    }


class DocumentRows:
    """The documents as they are now; each answer is what the command prints with `--json`."""

    def __init__(self, folder: str, roots: Sequence[str]) -> None:
        from ddx.documents.cache import load_graph
        from ddx.project import find_checkout

        self._clock = Clock()
        self._checkout = find_checkout(folder)
        self._graph = load_graph(self._checkout, roots, clock=self._clock)

    def impact(
        self, ids: Sequence[str], *, text: str | None, tell: Callable[[str], None]
    ) -> dict[str, Any]:
        """What a change of these documents, or one that a text describes, touches."""
        from ddx.documents.impact_start import find_impact_start

        start = find_impact_start(
            self._checkout, self._graph, ids, text=text, diff=None, clock=self._clock, tell=tell
        )
        found = self._graph.impact(list(start.starts), hits=list(start.hits))
        above = self._graph.ordered((*found.governing, *found.superseded))
        return dict(loads(impact_as_json(self._graph, start, found.impacted, above)))

    def search(self, text: str, *, limit: int) -> list[dict[str, object]]:
        """The documents that hold the words of a text, best first."""
        from ddx.documents.full_text import search
        from ddx.documents.terms import terms_of, words_of

        words = terms_of(text) or words_of(text)
        found = search(self._checkout, self._graph, words, clock=self._clock, limit=limit)
        return [hit_row(self._graph, hit) for hit in found.hits]
