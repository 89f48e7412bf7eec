"""`ddx doc deps`, `dependents` and `impact`: what follows from what, and from a change."""

from __future__ import annotations

from ddx.base import dumps, listed
from ddx.cli.context import CLOCK, load_documents, tell
from ddx.cli.doc.output import ID, NOTHING, kind, print_links, standing, title
from ddx.console import JSON, Argument, Command, Flag, answer_json, bold, dim, say
from ddx.documents import MAX_DEPTH, find_impact_start, impact_as_json, pairs, reached_as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ddx.documents import Graph, ImpactStart, ReachedNode

DEPTH = Flag("--depth", f"at most this many steps; {MAX_DEPTH} if not given", kind="number")


def _closure(word: str, *, down: bool, summary: str, example: str, none: str) -> Command:
    """All that follows from a document, or all that it follows from."""

    def run(*, id: str, depth: int | None, json: bool) -> int:
        _, graph = load_documents()
        start = graph.require(id)
        most = MAX_DEPTH if depth is None else depth
        found = graph.closure([start], down=down, max_depth=most)
        if json:
            answer = pairs(
                root=dumps(graph.ids[start]),
                depth=str(most),
                documents=reached_as_json(graph, found, down=down),
            )
            answer_json(f"{{{answer}}}")
            return 0
        for line in _tree(graph, start, found):
            say(line)
        if not found:
            say(f"  {none}")
        return 0

    return Command(
        summary=summary,
        run=run,
        example=f"ddx doc {word} {example}",
        arguments=(ID,),
        flags=(DEPTH, JSON),
        schema="doc-closure",
    )


def _tree(graph: Graph, start: int, found: Sequence[ReachedNode]) -> Iterator[str]:
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


@Command.of(
    example="ddx doc impact US-001 --json",
    arguments=(Argument("id", "documents that change", many=True, required=False),),
    flags=(
        Flag("--text", "a change in words: begin at the documents that speak of it"),
        Flag("--diff", "begin at the documents that changed since this commit"),
        DEPTH,
        JSON,
    ),
    schema="doc-impact",
)
def impact(
    *, id: tuple[str, ...], text: str | None, diff: str | None, depth: int | None, json: bool
) -> int:
    """Say what a change touches and what governs it, in the order of authority, and why."""
    project, graph = load_documents()
    beginning = find_impact_start(project, graph, id, text=text, diff=diff, clock=CLOCK, tell=tell)
    starts, hits = list(beginning.starts), beginning.hits
    most = MAX_DEPTH if depth is None else depth
    found = graph.impact(starts, hits=list(hits), max_depth=most)
    above = graph.ordered((*found.governing, *found.superseded))
    if json:
        answer_json(impact_as_json(graph, beginning, found.impacted, above))
        return 0
    _print_beginning(graph, beginning)
    if starts or found.impacted:
        _print_reached(graph, "impacted", found.impacted, down=True, hits=hits)
        _print_reached(graph, "governing", above, down=False, hits=hits)
    return 0


def _print_beginning(graph: Graph, beginning: ImpactStart) -> None:
    for n, why in beginning.starts.items():
        say(bold(graph.ids[n]), f"  {title(graph, n)}", dim(f"  {why}" if why else ""))
    if beginning.terms:
        say(f"looked for {listed(beginning.terms)}")
    if not beginning.starts and not beginning.hits:
        say("no document is touched")


def _print_reached(
    graph: Graph,
    head: str,
    found: Sequence[ReachedNode],
    *,
    down: bool,
    hits: Mapping[int, Mapping[str, Any]],
) -> None:
    say()
    if not found:
        say(f"{head}: nothing")
        return
    links = [(item.n, _because(graph, item, down=down, hits=hits)) for item in found]
    print_links(graph, (head, "because"), links)


def _because(
    graph: Graph, item: ReachedNode, *, down: bool, hits: Mapping[int, Mapping[str, Any]]
) -> str:
    """The declared path, or what a search found; an arrow points at what follows."""
    if not item.distance:
        return str(hits[item.n]["why"])
    return (" -> " if down else " <- ").join([graph.ids[n] for n in item.path])


DEPS = _closure(
    "deps",
    down=False,
    summary="Draw what a document follows from, directly or not.",
    example="TD-001 --depth 2",
    none="it follows from nothing",
)
DEPENDENTS = _closure(
    "dependents",
    down=True,
    summary="Draw what follows from a document, directly or not: designs, plans, tests, code.",
    example="US-001",
    none="nothing follows from it",
)
