"""Which documents a text names, and which it only seems to be about. Pure."""

from __future__ import annotations

import re

from ddx.graph.authority import UNKNOWN, numbered_id, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ddx.graph.graph import Graph
    from ddx.graph.search import Found, Hit

LEAST_SCORE = 0.25
"""A hit this far below the best one shares only a word or two with the text by chance."""
LEAST_SHARE = 0.25
"""Of the terms that a document must hold, unless one of them stands in its headings."""

# An id, a path or a name in brackets; a plain word is no name, or `architecture` would be one.
_NAME = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]|[A-Za-z][\w.]*(?:[-/][\w.-]+)+")


def named_in(graph: Graph, text: str) -> tuple[dict[int, str], str]:
    """By node, the name it goes by in the text; and the text without those names."""
    found: dict[int, str] = {}
    rest: list[str] = []
    position = 0
    for match in _NAME.finditer(text):
        nodes = {n: name for name in _names(match) for n in _nodes(graph, name)}
        if nodes:
            found |= {n: name for n, name in nodes.items() if n not in found}
            rest.append(text[position : match.start()])
            position = match.end()
    return found, " ".join([*rest, text[position:]])


def unknown_in(graph: Graph, text: str) -> tuple[str, ...]:
    """What is written like the id of a document and is none here, each once."""
    names = [name for match in _NAME.finditer(text) for name in _names(match)]
    lost = (numbered_id(name) for name in names if not _nodes(graph, name))
    return tuple(dict.fromkeys(it for it in lost if it and type_of("", it, "") != UNKNOWN))


def related(found: Found, *, named: Collection[int] = ()) -> list[Hit]:
    """The hits of a search that have enough in common with the text, best first."""
    is_all = len(found.terms) == 1 and not named
    needed = 1 if is_all else max(2, LEAST_SHARE * len(found.terms))
    return [hit for hit in found.hits if hit.n not in named and _is_related(hit, needed)]


def _names(match: re.Match[str]) -> Iterator[str]:
    inside = (match[1] or match[0].rstrip(".-")).partition("|")[0]
    return (part.partition("#")[0].strip() for part in inside.split(","))


def _nodes(graph: Graph, name: str) -> list[int]:
    """The document of that id or path, or those that hold the part of that id, as TC-001."""
    n = graph.at_path[name] if name in graph.at_path else graph.find(name)
    if n is not None:
        return [n]
    return [graph.place[doc_id] for doc_id in graph.holders(name)]


def _is_related(hit: Hit, needed: float) -> bool:
    """A floor: enough terms, or one where the document says what it is about."""
    return hit.score >= LEAST_SCORE and (hit.in_heading or len(hit.terms) >= needed)
