"""What a change touches, and what governs it (G-6). Pure."""

from __future__ import annotations

from ddx.graph.authority import LAST
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.graph.graph import Graph

MAX_DEPTH = 10


@value
class Reached:
    """A node on the way from a start: how far, and by which path of nodes."""

    n: int
    distance: int
    path: tuple[int, ...]


@value
class Impact:
    impacted: tuple[Reached, ...]
    governing: tuple[Reached, ...]
    superseded: tuple[Reached, ...]
    """Upstream as well, but without authority any more: for a person to see."""


def impact(
    graph: Graph,
    starts: Sequence[int],
    *,
    hits: Sequence[int] = (),
    max_depth: int = MAX_DEPTH,
) -> Impact:
    """Impacted: all that follows from the starts. Governing: all that these follow from.

    Up and then down again is never gone, else every sibling would be impacted. `hits` were found
    by search: each is impacted itself, at distance 0, unless it is in one of the two sets already.
    """
    found = _impact(graph, starts, (), max_depth=max_depth)
    known = {*starts, *(item.n for sets in found.__dict__.values() for item in sets)}
    fresh = [n for n in dict.fromkeys(hits) if n not in known]
    return _impact(graph, starts, fresh, max_depth=max_depth) if fresh else found


def _impact(graph: Graph, starts: Sequence[int], hits: Sequence[int], *, max_depth: int) -> Impact:
    below = closure(graph, [*starts, *hits], down=True, max_depth=max_depth)
    impacted = [*below, *(Reached(n, 0, (n,)) for n in hits)]
    touched = [*starts, *(item.n for item in impacted)]
    above = closure(graph, touched, down=False, max_depth=max_depth)
    return Impact(
        tuple(sorted(impacted, key=lambda item: order(graph, item))),
        tuple(item for item in above if not graph.is_superseded(item.n)),
        tuple(item for item in above if graph.is_superseded(item.n)),
    )


def closure(
    graph: Graph, starts: Sequence[int], *, down: bool, max_depth: int = MAX_DEPTH
) -> list[Reached]:
    """Breadth first from the starts; ordered by authority, then distance, then id."""
    steps = graph.downs if down else graph.ups
    found: list[Reached] = []
    seen = set(starts)
    border = [Reached(n, 0, (n,)) for n in starts]
    while border:
        beyond = []
        for reached in border:
            if reached.distance == max_depth:
                continue
            # A superseded document leads to its replacement as well.
            for n in (*steps[reached.n], *graph.heirs(reached.n)):
                if n not in seen:
                    seen.add(n)
                    beyond.append(Reached(n, reached.distance + 1, (*reached.path, n)))
        found += beyond
        border = beyond
    return sorted(found, key=lambda item: order(graph, item))


def order(graph: Graph, reached: Reached) -> tuple[int, int, str]:
    tier = graph.tiers[reached.n]
    return (LAST if tier is None else tier, reached.distance, graph.ids[reached.n])
