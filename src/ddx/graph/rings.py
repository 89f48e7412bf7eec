"""Dependencies that run in a circle (G-6). Pure."""

from __future__ import annotations

from ddx.graph.model import ERROR, WARNING, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ddx.graph.model import Edge

    Downs = Mapping[str, Sequence[str]]


def rings(edges: Sequence[Edge]) -> Iterator[Finding]:
    """One finding for each knot of documents that all follow from each other.

    Pages of one tier may well name each other; only a declared dependency makes it an error.
    """
    downs: dict[str, list[str]] = {}
    for edge in edges:
        downs.setdefault(edge.up, []).append(edge.down)
    knot_of = {name: n for n, knot in enumerate(_knots(downs)) for name in knot}
    inside: dict[int, list[Edge]] = {}
    for edge in edges if knot_of else ():
        if edge.up in knot_of and knot_of[edge.up] == knot_of.get(edge.down):
            inside.setdefault(knot_of[edge.up], []).append(edge)
    for found in inside.values():
        yield _finding(found)


def _finding(knot: Sequence[Edge]) -> Finding:
    """A knot shown by its shortest ring through a dependency that somebody declared."""
    first = min(knot, key=lambda edge: (edge.origin != "depends_on", edge.path, edge.line))
    downs: dict[str, list[str]] = {}
    for edge in knot:
        downs.setdefault(edge.up, []).append(edge.down)
    ring = " -> ".join((first.up, *_way(downs, first.down, first.up)))
    if first.origin == "depends_on":
        what = f"dependencies run in a circle: {ring}"
        return Finding("cycle", ERROR, first.path, first.line, what)
    what = f"links run in a circle: {ring}; depends_on would say which page follows from which"
    return Finding("cycle", WARNING, first.path, first.line, what)


def _way(downs: Downs, start: str, end: str) -> list[str]:
    """The shortest way down from one node to another, both included."""
    came_from = {start: start}
    border = [start]
    while end not in came_from:
        beyond = []
        for node in border:
            for other in downs[node]:
                if other not in came_from:
                    came_from[other] = node
                    beyond.append(other)
        border = beyond
    way = [end]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _knots(downs: Downs) -> list[list[str]]:
    """The nodes that can all be reached from each other, found in one pass (Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}  # of the nodes whose knot is still open: how far back they lead
    unsettled: list[str] = []
    way: list[tuple[str, Iterator[str]]] = []  # no recursion: a chain may be long
    knots = []

    def enter(node: str) -> None:
        number[node] = lowest[node] = len(number)
        unsettled.append(node)
        way.append((node, iter(downs.get(node, ()))))

    for root in downs:
        if root not in number:
            enter(root)
        while way:
            node, onward = way[-1]
            for other in onward:
                if other not in number:
                    enter(other)
                    break
                if other in lowest:
                    lowest[node] = min(lowest[node], number[other])
            else:
                way.pop()
                if way:
                    above = way[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    knots.append(_settled(node, unsettled, lowest))
    return [knot for knot in knots if len(knot) > 1]


def _settled(node: str, unsettled: list[str], lowest: dict[str, int]) -> list[str]:
    """Take the node and all that came after it: they are one knot."""
    knot: list[str] = []
    while not knot or knot[-1] != node:
        knot.append(unsettled.pop())
        del lowest[knot[-1]]
    return knot
