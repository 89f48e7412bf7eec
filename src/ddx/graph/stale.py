"""Which documents were reviewed before what they follow from changed (G-8). Pure."""

from __future__ import annotations

from ddx.graph.authority import LAST, WITHOUT_AUTHORITY
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ddx.graph.graph import Graph

_HISTORICAL = frozenset({"superseded", "deprecated", "archived", "historical"})
_NOT_REVIEWED = frozenset({"test", "code", *WITHOUT_AUTHORITY})
_HASH_LENGTH = 32


@value
class Stamp:
    """A review: what the document's upstream looked like then."""

    id: str
    at: str
    by: str
    deps: Mapping[str, str]


@value
class Stale:
    """A document to look at again, and why; `cause` is where the change began."""

    n: int
    reasons: tuple[str, ...]
    cause: str = ""
    """Empty: its own upstream changed. Else: stale only because this document is."""


@value
class Staleness:
    stale: tuple[Stale, ...]
    unreviewed: tuple[int, ...]


def staleness(
    graph: Graph, stamps: Mapping[str, Stamp], *, among: Iterable[int] | None = None
) -> Staleness:
    """Stale documents in the order of authority, consequences included; and those never stamped.

    `among`: only these; they must hold all that is upstream of them, for that decides.
    """
    stale: dict[int, Stale] = {}
    unreviewed = []
    for n in range(len(graph)) if among is None else among:
        if not is_reviewable(graph, n):
            continue
        stamp = stamps.get(graph.ids[n]) or _own_stamp(graph, n)
        if stamp is None:
            unreviewed.append(n)
        elif reasons := _changes_since(graph, n, stamp):
            stale[n] = Stale(n, reasons)
    _spread(graph, stale)
    return Staleness(
        tuple(sorted(stale.values(), key=lambda item: _order(graph, item.n))),
        tuple(sorted(unreviewed, key=lambda n: _order(graph, n))),
    )


def is_reviewable(graph: Graph, n: int) -> bool:
    """Tests and code are proven, not reviewed; records of a day and what is history stay as is."""
    return (
        graph.types[n] not in _NOT_REVIEWED
        and graph.statuses[n] not in _HISTORICAL
        and not graph.is_superseded(n)
    )


def stamp_for(graph: Graph, n: int, *, at: str, by: str) -> Stamp:
    """A review of the document against its upstream as it is now."""
    deps = {graph.ids[up]: graph.hashes[up] for up in graph.ups[n]}
    return Stamp(graph.ids[n], at, by, deps)


def _own_stamp(graph: Graph, n: int) -> Stamp | None:
    """The `review` block of its front matter, unless its hashes are another tool's."""
    deps = graph.reviews.get(graph.ids[n])
    if deps is None or any(len(found) != _HASH_LENGTH for found in deps.values()):
        return None
    return Stamp(graph.ids[n], "", "", deps)


def _changes_since(graph: Graph, n: int, stamp: Stamp) -> tuple[str, ...]:
    upstream = {graph.ids[up]: graph.hashes[up] for up in graph.ups[n]}
    reasons = [
        f"{name} changed since the review" if name in stamp.deps else f"{name} is new upstream"
        for name, found in upstream.items()
        if stamp.deps.get(name) != found
    ]
    reasons += [f"{name} is no longer upstream" for name in stamp.deps if name not in upstream]
    return tuple(reasons)


def _spread(graph: Graph, stale: dict[int, Stale]) -> None:
    """Everything downstream of a stale document is stale by consequence."""
    causes = {n: graph.ids[n] for n in sorted(stale)}
    border = list(causes)
    for n in border:  # grows as it goes
        for down in graph.downs[n]:
            if down not in causes and is_reviewable(graph, down):
                causes[down] = causes[n]
                border.append(down)
    for n in border[len(stale) :]:
        reasons = tuple(
            f"{graph.ids[up]}, which it follows from, is stale"
            for up in graph.ups[n]
            if up in causes
        )
        stale[n] = Stale(n, reasons, causes[n])


def _order(graph: Graph, n: int) -> tuple[int, str]:
    tier = graph.tiers[n]
    return (LAST if tier is None else tier, graph.ids[n])
