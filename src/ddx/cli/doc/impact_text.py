"""Where an impact begins when no id is given: in a text, or in what changed since a commit."""

from __future__ import annotations

import re

from ddx import git
from ddx.cli.place import CLOCK, tell
from ddx.errors import NotFound
from ddx.graph.authority import numbered_id
from ddx.graph.search import search
from ddx.graph.terms import terms_of
from ddx.text import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from ddx.graph.graph import Graph
    from ddx.graph.search import Hit
    from ddx.project import Project

    Starts: TypeAlias = tuple[list[int], list[dict[str, object]]]
    """Nodes, and why: each reason has `origin` and `why`, and an `id` unless it speaks for all."""

NAMED, SEARCHED, CHANGED = "named", "search", "diff"
LEAST_SCORE = 0.25
"""A hit this far below the best one shares only a word or two with the text by chance."""
LEAST_SHARE = 0.25
"""Of the terms that a document must hold, unless one of them stands in its headings."""

# An id, a path or a name in brackets; a plain word is no name, or `architecture` would be one.
_NAME = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]|[A-Za-z][\w.]*(?:[-/][\w.-]+)+")


def starts_from_text(project: Project, graph: Graph, text: str) -> Starts:
    """The documents that a text names, then those that it seems to be about, each with why."""
    named, rest = _named(graph, text)
    reasons: list[dict[str, object]] = [
        {"id": graph.ids[n], "origin": NAMED, "why": f"the text names {name}"}
        for n, name in named.items()
    ]
    found = search(project, graph, terms_of(rest), clock=CLOCK, telling=True)
    if found.note:
        tell(found.note)
    is_all = len(found.terms) == 1 and not named
    needed = 1 if is_all else max(2, LEAST_SHARE * len(found.terms))
    hits = [hit for hit in found.hits if hit.n not in named and _is_related(hit, needed)]
    if found.terms:
        why = f"looked for {listed(found.terms)}"
        reasons.append({"origin": SEARCHED, "why": why, "terms": list(found.terms)})
    reasons += [_search_reason(graph, hit) for hit in hits]
    return [*named, *(hit.n for hit in hits)], reasons


def starts_from_diff(project: Project, graph: Graph, rev: str) -> Starts:
    """The documents, tests and code whose files differ between a commit and the working tree."""
    commit = git.commit_id(project.root, rev)
    if not commit:
        raise NotFound(
            f"{project.root} has no commit {rev!r}",
            hint="for example: ddx doc impact --diff HEAD~1",
        )
    places = {path: n for n, path in enumerate(graph.paths)}
    changed = git.changed_since(project.root, commit)
    starts = sorted(places[path] for path in changed if path in places)
    return starts, [
        {"id": graph.ids[n], "origin": CHANGED, "why": f"{graph.paths[n]} changed since {rev}"}
        for n in starts
    ]


def _named(graph: Graph, text: str) -> tuple[dict[int, str], str]:
    """By node, the name it goes by in the text; and the text without those names."""
    paths = {path: n for n, path in enumerate(graph.paths)}
    found: dict[int, str] = {}
    rest: list[str] = []
    position = 0
    for match in _NAME.finditer(text):
        inside = (match[1] or match[0].rstrip(".-")).partition("|")[0]
        names = [part.partition("#")[0].strip() for part in inside.split(",")]
        nodes = {n: name for name in names for n in _nodes(graph, paths, name)}
        if nodes:
            found |= {n: name for n, name in nodes.items() if n not in found}
            rest.append(text[position : match.start()])
            position = match.end()
    return found, " ".join([*rest, text[position:]])


def _nodes(graph: Graph, paths: dict[str, int], name: str) -> list[int]:
    """The document of that id or path, or those that hold the part of that id, as TC-001."""
    n = graph.find(name) if name not in paths else paths[name]
    if n is not None:
        return [n]
    return [graph.place[doc_id] for doc_id in graph.aliases.get(numbered_id(name).casefold(), ())]


def _is_related(hit: Hit, needed: float) -> bool:
    """A floor: enough terms, or one where the document says what it is about."""
    return hit.score >= LEAST_SCORE and (hit.in_heading or len(hit.terms) >= needed)


def _search_reason(graph: Graph, hit: Hit) -> dict[str, object]:
    line = hit.excerpt.line
    return {
        "id": graph.ids[hit.n],
        "origin": SEARCHED,
        "why": f"holds {listed(hit.terms)} (line {line})",
        "terms": list(hit.terms),
        "path": graph.paths[hit.n],
        "line": line,
        "snippet": hit.excerpt.text,
    }
