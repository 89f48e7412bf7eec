"""`ddx doc stale`"""

from __future__ import annotations

from ddx.cli.doc.rendering import as_json, pairs
from ddx.cli.doc.session import load
from ddx.console.screen import answer_json, say, table
from ddx.console.spec import JSON, Command
from ddx.fastjson import dumps
from ddx.graph.reviews import read_stamps
from ddx.graph.stale import is_reviewable, staleness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.graph.graph import Graph
    from ddx.graph.stale import Stale, Staleness

_UNREVIEWED_SHOWN = 20


def run(*, json: bool) -> int:
    project, graph = load()
    found = staleness(graph, read_stamps(project))
    counts = _counts(graph, found)
    if json:
        answer = pairs(
            stale=_as_json(graph, found.stale),
            unreviewed=as_json(graph, found.unreviewed),
            counts=dumps(counts),
        )
        answer_json(f"{{{answer}}}")
    else:
        _print(graph, found, counts)
    return 0


def _as_json(graph: Graph, stale: Sequence[Stale]) -> str:
    more = [
        pairs(
            reasons=dumps(item.reasons),
            by_consequence=dumps(bool(item.cause)),
            cause=dumps(item.cause or None),
        )
        for item in stale
    ]
    return as_json(graph, [item.n for item in stale], more)


def _counts(graph: Graph, found: Staleness) -> dict[str, int]:
    """A document that was never stamped may be stale by consequence too: it is counted twice."""
    reviewable = sum(is_reviewable(graph, n) for n in range(len(graph)))
    waiting = {*found.unreviewed, *(item.n for item in found.stale)}
    return {
        "stale": len(found.stale),
        "by_consequence": sum(bool(item.cause) for item in found.stale),
        "unreviewed": len(found.unreviewed),
        "up_to_date": reviewable - len(waiting),
    }


def _print(graph: Graph, found: Staleness, counts: dict[str, int]) -> None:
    if found.stale:
        table(
            ("stale", "how", "because", "title"),
            [
                (
                    graph.ids[item.n],
                    "by consequence" if item.cause else "upstream",
                    "; ".join(item.reasons),
                    graph.titles[item.n],
                )
                for item in found.stale
            ],
        )
        say()
    if found.unreviewed:
        names = ", ".join(graph.ids[n] for n in found.unreviewed[:_UNREVIEWED_SHOWN])
        more = len(found.unreviewed) - _UNREVIEWED_SHOWN
        say(f"never reviewed: {names}{f' and {more} more' if more > 0 else ''}")
    say(
        f"{counts['stale']} stale ({counts['by_consequence']} by consequence), "
        f"{counts['unreviewed']} never reviewed, {counts['up_to_date']} up to date"
    )


COMMAND = Command(
    "doc stale",
    "List documents whose upstream changed since their review, and those never reviewed.",
    run,
    "ddx doc stale",
    flags=(JSON,),
    schema="doc-stale",
)
