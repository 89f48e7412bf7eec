"""Where an impact begins: at documents by name, in a text, or in what changed since a commit."""

from __future__ import annotations

from ddx.base import NotFound, UsageError, listed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from ddx.base import Clock
    from ddx.documents.full_text import SearchHit
    from ddx.documents.graph import Graph
    from ddx.project import Project

    Starts: TypeAlias = tuple[list[int], list[dict[str, object]]]
    """Nodes, and why: each reason has `origin` and `why`, and an `id` unless it speaks for all."""

NAMED, SEARCHED, CHANGED = "named", "search", "diff"


@value
class ImpactStart:
    """Where a change begins, and how we know."""

    starts: Mapping[int, str]
    """Documents that are named or changed; empty: on the command line, else how we know."""
    hits: Mapping[int, Mapping[str, Any]]
    """Documents that only speak of it: the reason, its place and its terms."""
    terms: Sequence[str]
    """What was looked for."""


def find_impact_start(
    project: Project,
    graph: Graph,
    names: Sequence[str],
    *,
    text: str | None,
    diff: str | None,
    clock: Clock,
    tell: Callable[[str], None],
) -> ImpactStart:
    """From documents by name, from a text, from what changed since a commit, or from all three."""
    if not names and text is None and diff is None:
        raise UsageError(
            "nothing says where the change begins", hint="for example: ddx doc impact US-001"
        )
    starts = {graph.require(name): "" for name in names}
    reasons: list[dict[str, Any]] = []
    if text is not None:
        reasons += starts_from_text(project, graph, text, clock=clock, tell=tell)[1]
    if diff is not None:
        reasons += starts_from_diff(project, graph, diff)[1]
    found = [(graph.place[reason["id"]], reason) for reason in reasons if "id" in reason]
    for n, reason in found:
        if reason["origin"] != SEARCHED:
            starts.setdefault(n, reason["why"])
    return ImpactStart(
        starts,
        {n: reason for n, reason in found if reason["origin"] == SEARCHED},
        [term for reason in reasons if "id" not in reason for term in reason["terms"]],
    )


def starts_from_text(
    project: Project, graph: Graph, text: str, *, clock: Clock, tell: Callable[[str], None]
) -> Starts:
    """The documents that a text names, then those that it seems to be about, each with why."""
    from ddx.documents.full_text import search
    from ddx.documents.terms import terms_of

    named, rest = graph.named_in(text)
    reasons: list[dict[str, object]] = [
        {"id": graph.ids[n], "origin": NAMED, "why": f"the text names {name}"}
        for n, name in named.items()
    ]
    found = search(project, graph, terms_of(rest), clock=clock, telling=True)
    if found.note:
        tell(found.note)
    hits = found.related(named=named)
    if found.terms:
        why = f"looked for {listed(found.terms)}"
        reasons.append({"origin": SEARCHED, "why": why, "terms": list(found.terms)})
    reasons += [_search_reason(graph, hit) for hit in hits]
    return [*named, *(hit.n for hit in hits)], reasons


def starts_from_diff(project: Project, graph: Graph, rev: str) -> Starts:
    """The documents, tests and code whose files differ between a commit and the working tree."""
    from ddx.git import Repository

    repository = Repository(project.root)
    commit = repository.commit_id(rev)
    if not commit:
        raise NotFound(
            f"{project.root} has no commit {rev!r}",
            hint="for example: ddx doc impact --diff HEAD~1",
        )
    places = {path: n for n, path in enumerate(graph.paths)}
    changed = repository.changed_since(commit)
    starts = sorted(places[path] for path in changed if path in places)
    return starts, [
        {"id": graph.ids[n], "origin": CHANGED, "why": f"{graph.paths[n]} changed since {rev}"}
        for n in starts
    ]


def _search_reason(graph: Graph, hit: SearchHit) -> dict[str, object]:
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
