"""`ddx doc list`"""

from __future__ import annotations

from ddx.cli.doc.rendering import (
    NOTHING,
    UNKNOWN,
    as_json,
    in_authority_order,
    is_document,
    kind,
    standing,
    tier_of,
)
from ddx.cli.doc.session import load
from ddx.console.screen import answer_json, say, table
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import UsageError
from ddx.graph.authority import TIERS, WITHOUT_AUTHORITY
from ddx.text import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ddx.graph.graph import Graph

HEADS = ("id", "type", "tier", "status", "title")
NO_TIER = "none"
_STATUSES = (
    *("draft", "approved", "superseded", "partially-superseded", "needs-rework", "deprecated"),
)


def run(
    *,
    type: tuple[str, ...],
    status: tuple[str, ...],
    tier: tuple[str, ...],
    search: str | None,
    json: bool,
) -> int:
    _, graph = load()
    places = in_authority_order(
        graph, matching(graph, types=type, statuses=status, tiers=tier, search=search)
    )
    if json:
        answer_json(as_json(graph, places))
    elif places:
        table(HEADS, [_cells(graph, n) for n in places])
    elif len(graph):
        say("no document matches")
    else:
        say('no documents yet: ddx doc new prd "What we build"')
    return 0


def matching(
    graph: Graph,
    *,
    types: Sequence[str],
    statuses: Sequence[str],
    tiers: Sequence[str],
    search: str | None,
) -> list[int]:
    """The places that pass every filter; tests and code only where type or tier asks for them."""
    places: Iterable[int] = range(len(graph))
    if types:
        known = (*TIERS, *WITHOUT_AUTHORITY, UNKNOWN)
        wanted = _known("type", types, known)
        places = [n for n in places if kind(graph, n) in wanted]
    if tiers:
        numbers = _known("tier", tiers, (*map(str, sorted(set(TIERS.values()))), NO_TIER))
        places = [n for n in places if (tier_of(graph, n) or NO_TIER) in numbers]
    if not types and not tiers:
        places = [n for n in places if is_document(graph, n)]
    if statuses:
        words = _known("status", statuses, dict.fromkeys((*_STATUSES, *graph.statuses)))
        places = [n for n in places if graph.statuses[n] in words]
    if search is not None:
        text = search.casefold()
        places = [n for n in places if text in graph.titles[n].casefold()]
    return list(places)


def _known(name: str, given: Iterable[str], known: Iterable[str]) -> set[str]:
    """The values asked for; one that no document could have is an error (C-2)."""
    wanted = {word.strip().lower() for text in given for word in text.split(",")}
    for word in sorted(wanted):
        if not word or word not in known:
            choices = listed((item for item in known if item), joiner="or")
            raise UsageError(f"no document can have the {name} {word!r}: it is {choices}")
    return wanted


def _cells(graph: Graph, n: int) -> tuple[str, ...]:
    return (
        graph.ids[n],
        kind(graph, n),
        tier_of(graph, n) or NOTHING,
        standing(graph, n),
        graph.titles[n],
    )


COMMAND = Command(
    "doc list",
    "List documents in the order of their authority.",
    run,
    "ddx doc list --type td,tp --status draft",
    flags=(
        Flag("--type", "of this type; several by commas", many=True),
        Flag("--status", "with this status; several by commas", many=True),
        Flag("--tier", "of this tier, 0 to 10 or none; several by commas", many=True),
        Flag("--search", "whose title holds this text"),
        JSON,
    ),
    schema="doc-list",
)
