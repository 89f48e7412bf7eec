"""`ddx doc list`"""

from __future__ import annotations

from ddx.base import UsageError, listed
from ddx.cli.context import load_documents
from ddx.cli.doc.output import (
    NOTHING,
    UNKNOWN,
    in_authority_order,
    is_document,
    kind,
    standing,
    tier_of,
)
from ddx.console import JSON, Command, Flag, answer_json, say, table
from ddx.documents import TIERS, WITHOUT_AUTHORITY, as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias

    from ddx.documents import Graph

    Words: TypeAlias = Sequence[str]

HEADS = ("id", "type", "tier", "status", "title")
NO_TIER = "none"
_STATUSES = (
    "draft",
    "approved",
    "superseded",
    "partially-superseded",
    "needs-rework",
    "deprecated",
)


@Command.of(
    example="ddx doc list --type td,tp --status draft",
    flags=(
        Flag("--type", "of this type; several by commas", many=True),
        Flag("--status", "with this status; several by commas", many=True),
        Flag("--tier", "of this tier, 0 to 10 or none; several by commas", many=True),
        Flag("--search", "whose title holds this text"),
        JSON,
    ),
    schema="doc-list",
)
def run(*, json: bool, **wanted: Any) -> int:
    """List documents in the order of their authority."""
    _, graph = load_documents()
    places = in_authority_order(graph, matching(graph, **wanted))
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
    graph: Graph, *, type: Words, status: Words, tier: Words, search: str | None
) -> list[int]:
    """The places that pass every filter; tests and code only where type or tier asks for them."""
    places: Iterable[int] = range(len(graph))
    if type:
        types = _known("type", type, (*TIERS, *WITHOUT_AUTHORITY, UNKNOWN))
        places = [n for n in places if kind(graph, n) in types]
    if tier:
        tiers = _known("tier", tier, (*map(str, sorted(set(TIERS.values()))), NO_TIER))
        places = [n for n in places if (tier_of(graph, n) or NO_TIER) in tiers]
    if not type and not tier:
        places = [n for n in places if is_document(graph, n)]
    if status:
        statuses = _known("status", status, dict.fromkeys((*_STATUSES, *graph.statuses)))
        places = [n for n in places if graph.statuses[n] in statuses]
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
