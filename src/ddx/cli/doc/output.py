"""How documents are shown: in words, and in a table."""

from __future__ import annotations

from ddx.base import row_of
from ddx.console import Argument, table
from ddx.documents import LAST, successors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ddx.base import Finding
    from ddx.documents import Graph

ID = Argument("id", "the document's id, in any case, or its path")
UNKNOWN = "unknown"
NOTHING = "-"


def finding_row(finding: Finding) -> dict[str, Any]:
    """A finding in a document as it stands in a JSON answer."""
    return dict(zip(("kind", "severity", "path", "line", "what"), row_of(finding), strict=True))


def is_document(graph: Graph, n: int) -> bool:
    """Or is it a test or source file, which goes by its path?"""
    return graph.ids[n] != graph.paths[n]


def kind(graph: Graph, n: int) -> str:
    return graph.types[n] or UNKNOWN


def tier_of(graph: Graph, n: int) -> str:
    """Empty: it has none."""
    found = graph.tiers[n]
    return "" if found is None else str(found)


def standing(graph: Graph, n: int) -> str:
    """Its status; one without authority says so, and what to read instead."""
    if not graph.is_superseded(n):
        return graph.statuses[n] or NOTHING
    heirs = successors(graph, n)
    return f"superseded by {', '.join(heirs)}" if heirs else "superseded"


def title(graph: Graph, n: int) -> str:
    """Empty where the title would only repeat the id."""
    return graph.titles[n] if graph.titles[n] != graph.ids[n] else ""


def print_links(graph: Graph, heads: tuple[str, str], links: Iterable[tuple[int, str]]) -> None:
    """Documents in a table, each with what leads to it."""
    first, last = heads
    table(
        (first, "type", "status", "title", last),
        [
            (graph.ids[n], kind(graph, n), standing(graph, n), title(graph, n), link)
            for n, link in links
        ],
    )


def in_authority_order(graph: Graph, places: Iterable[int]) -> list[int]:
    """By tier, then id; what has no tier comes last (G-4)."""
    tiers = graph.tiers
    return sorted(places, key=lambda n: (LAST if tiers[n] is None else tiers[n], n))
