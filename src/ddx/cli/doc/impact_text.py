"""Where an impact begins when no id is given: in a text, or in what changed since a commit."""

from __future__ import annotations

from ddx import git
from ddx.cli.place import CLOCK, tell
from ddx.errors import NotFound
from ddx.graph.mentions import named_in, related
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


def starts_from_text(project: Project, graph: Graph, text: str) -> Starts:
    """The documents that a text names, then those that it seems to be about, each with why."""
    named, rest = named_in(graph, text)
    reasons: list[dict[str, object]] = [
        {"id": graph.ids[n], "origin": NAMED, "why": f"the text names {name}"}
        for n, name in named.items()
    ]
    found = search(project, graph, terms_of(rest), clock=CLOCK, telling=True)
    if found.note:
        tell(found.note)
    hits = related(found, named=named)
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
