"""`ddx doc impact`"""

from __future__ import annotations

from ddx.cli.doc.closures import DEPTH
from ddx.cli.doc.rendering import (
    as_json,
    because,
    kind,
    pairs,
    reached_as_json,
    standing,
    title,
)
from ddx.cli.doc.session import load
from ddx.console.screen import answer_json, bold, dim, say, table
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.errors import UsageError
from ddx.fastjson import dumps
from ddx.graph.walk import MAX_DEPTH, impact, order
from ddx.text import listed
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ddx.graph.graph import Graph
    from ddx.graph.walk import Reached
    from ddx.project import Project

SEARCHED = "search"
"""The origin of a reason that rests on words, not on a link."""


@value
class Beginning:
    """Where a change begins, and how we know."""

    starts: Mapping[int, str]
    """Documents that are named or changed; empty: on the command line, else how we know."""
    hits: Mapping[int, Mapping[str, Any]]
    """Documents that only speak of it: the reason, its place and its terms."""
    terms: Sequence[str]
    """What was looked for."""


def run(
    *, id: tuple[str, ...], text: str | None, diff: str | None, depth: int | None, json: bool
) -> int:
    project, graph = load()
    beginning = begin(project, graph, id, text=text, diff=diff)
    starts, hits = list(beginning.starts), beginning.hits
    most = MAX_DEPTH if depth is None else depth
    found = impact(graph, starts, hits=list(hits), max_depth=most)
    above = sorted((*found.governing, *found.superseded), key=lambda item: order(graph, item))
    if json:
        why = [pairs(why=dumps(reason or None)) for reason in beginning.starts.values()]
        answer = pairs(
            starts=as_json(graph, starts, why),
            terms=dumps(beginning.terms),
            impacted=reached_as_json(graph, found.impacted, down=True, hits=hits),
            governing=reached_as_json(graph, above, down=False),
        )
        answer_json(f"{{{answer}}}")
        return 0
    _print_beginning(graph, beginning)
    if starts or found.impacted:
        _print_reached(graph, "impacted", found.impacted, down=True, hits=hits)
        _print_reached(graph, "governing", above, down=False, hits=hits)
    return 0


def begin(
    project: Project, graph: Graph, names: Sequence[str], *, text: str | None, diff: str | None
) -> Beginning:
    """From documents by name, from a text, from what changed since a commit, or from all three."""
    if not names and text is None and diff is None:
        raise UsageError(
            "nothing says where the change begins", hint="for example: ddx doc impact US-001"
        )
    starts = {graph.require(name): "" for name in names}
    reasons: list[dict[str, Any]] = []
    if text is not None:
        from ddx.cli.doc.impact_text import starts_from_text

        reasons += starts_from_text(project, graph, text)[1]
    if diff is not None:
        from ddx.cli.doc.impact_text import starts_from_diff

        reasons += starts_from_diff(project, graph, diff)[1]
    found = [(graph.place[reason["id"]], reason) for reason in reasons if "id" in reason]
    for n, reason in found:
        if reason["origin"] != SEARCHED:
            starts.setdefault(n, reason["why"])
    return Beginning(
        starts,
        {n: reason for n, reason in found if reason["origin"] == SEARCHED},
        [term for reason in reasons if "id" not in reason for term in reason["terms"]],
    )


def _print_beginning(graph: Graph, beginning: Beginning) -> None:
    for n, why in beginning.starts.items():
        say(bold(graph.ids[n]), f"  {title(graph, n)}", dim(f"  {why}" if why else ""))
    if beginning.terms:
        say(f"looked for {listed(beginning.terms)}")
    if not beginning.starts and not beginning.hits:
        say("no document is touched")


def _print_reached(
    graph: Graph,
    head: str,
    found: Sequence[Reached],
    *,
    down: bool,
    hits: Mapping[int, Mapping[str, Any]],
) -> None:
    say()
    if not found:
        say(f"{head}: nothing")
        return
    table(
        (head, "type", "status", "title", "because"),
        [
            (
                graph.ids[item.n],
                kind(graph, item.n),
                standing(graph, item.n),
                title(graph, item.n),
                because(graph, item, down=down, hits=hits),
            )
            for item in found
        ],
    )


COMMAND = Command(
    "doc impact",
    "Say what a change touches and what governs it, in the order of authority, and why.",
    run,
    "ddx doc impact US-001 --json",
    arguments=(Argument("id", "documents that change", many=True, required=False),),
    flags=(
        Flag("--text", "a change in words: begin at the documents that speak of it"),
        Flag("--diff", "begin at the documents that changed since this commit"),
        DEPTH,
        JSON,
    ),
    schema="doc-impact",
)
