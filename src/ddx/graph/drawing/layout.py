"""Where each box of a picture stands. Pure.

Rows follow authority. A row of many boxes wraps into lines, filled column by column, so that a box
stays near the boxes it is linked with.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from ddx.graph.drawing.scene import REPLACED, ROW_NAMES
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from ddx.graph.drawing.scene import Arrow, Scene

    Point: TypeAlias = tuple[float, float]

BOX_WIDTH, BOX_HEIGHT = 190.0, 62.0
NARROW_GAP, WIDE_GAP = 30.0, 58.0
MANY_ARROWS = 120
"""From here on, arrows need more room between the columns."""

MOST_COLUMNS = 12
FEWEST_COLUMNS = 3
LINE_PITCH = BOX_HEIGHT + 34.0
BAND_PADDING = 22.0
BAND_DISTANCE = 28.0
_SWEEPS = 6


@value
class Band:
    """A row: its boxes line by line, and the left edges of its columns."""

    row: int
    members: tuple[int, ...]
    lines: int
    columns: tuple[float, ...]
    top: float

    @property
    def height(self) -> float:
        return 2 * BAND_PADDING + (self.lines - 1) * LINE_PITCH + BOX_HEIGHT

    def line_top(self, line: int) -> float:
        return self.top + BAND_PADDING + line * LINE_PITCH


@value
class Layout:
    width: float
    height: float
    bands: tuple[Band, ...]
    corners: tuple[Point, ...]
    """The upper left corner of each box."""


def lay_out(scene: Scene) -> Layout:
    """Everything at its place, the same for the same scene."""
    orders = _ordered(scene)
    widest = max((_columns_of(len(order)) for order in orders.values()), default=1)
    gap = WIDE_GAP if len(scene.arrows) > MANY_ARROWS else NARROW_GAP
    width = max(widest, FEWEST_COLUMNS) * (BOX_WIDTH + gap)
    bands = _banded(orders, _columns(scene, orders, width, gap))
    corners: list[Point] = [(0.0, 0.0)] * len(scene.boxes)
    for band in bands:
        for index, box in enumerate(band.members):
            column, line = divmod(index, band.lines)
            corners[box] = (band.columns[column], band.line_top(line))
    height = bands[-1].top + bands[-1].height if bands else 0.0
    return Layout(width, height, tuple(bands), tuple(corners))


def spaced(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Places in this order, at least `distance` apart and as near to the wanted ones as can be.

    Neighbours that want to be too close share the mean of their wishes (isotonic regression).
    """
    distance = min(distance, (high - low) / max(len(wanted) - 1, 1))
    pools: list[tuple[float, int]] = []
    for index, wish in enumerate(wanted):
        total, count = wish - index * distance, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before, members = pools.pop()
            total, count = total + before, count + members
        pools.append((total, count))
    shifts = [total / count for total, count in pools for _ in range(count)]
    highest = high - distance * max(len(wanted) - 1, 0)
    return [min(max(shift, low), highest) + index * distance for index, shift in enumerate(shifts)]


def _lines_of(count: int) -> int:
    return max(-(-count // MOST_COLUMNS), 1)


def _columns_of(count: int) -> int:
    return -(-count // _lines_of(count))


def _ordered(scene: Scene) -> dict[int, list[int]]:
    """The boxes of each row from left to right: near to what they are linked with.

    Each sweep puts a row in the order of the mean places of its neighbours above, then below,
    then both; the sweep with the fewest crossings and the shortest arrows wins.
    """
    orders: dict[int, list[int]] = {row: [] for row in ROW_NAMES}
    for box in sorted(range(len(scene.boxes)), key=lambda box: scene.boxes[box].name):
        orders[scene.boxes[box].row].append(box)
    orders = {row: order for row, order in orders.items() if order}
    above, below = _neighbours(scene)
    both = {box: [*above[box], *below[box]] for box in range(len(scene.boxes))}
    lead = _leads(scene)
    best, least = orders, _cost(scene, _places(orders))
    for _ in range(_SWEEPS):
        for neighbours, rows in ((above, [*orders]), (below, [*orders][::-1]), (both, [*orders])):
            orders = dict(orders)
            places = _places(orders)
            for row in rows:
                orders[row] = _sorted_row(scene, orders[row], neighbours, places, lead)
                places |= _places({row: orders[row]})
            cost = _cost(scene, places)
            if cost < least:
                best, least = orders, cost
    return best


def _cost(scene: Scene, places: dict[int, float]) -> tuple[int, float]:
    """How often arrows between the same two rows cross, and how far aside all arrows go."""
    between: dict[tuple[int, int], list[Point]] = defaultdict(list)
    for arrow in scene.arrows:
        high, low = _from_above(scene, arrow)
        between[scene.boxes[high].row, scene.boxes[low].row].append((places[high], places[low]))
    crossings = 0
    for (upper, lower), ends in between.items():
        seen: list[float] = []
        for _, low_place in sorted(ends if upper != lower else ()):
            at = bisect_right(seen, low_place)
            crossings += len(seen) - at
            seen.insert(at, low_place)
    aside = sum(abs(one - other) for ends in between.values() for one, other in ends)
    return crossings, aside


def _sorted_row(
    scene: Scene,
    order: Sequence[int],
    neighbours: dict[int, list[int]],
    places: dict[int, float],
    lead: dict[int, int],
) -> list[int]:
    wishes = {
        box: _mean([places[other] for other in neighbours[box]] or [places[box]]) for box in order
    }

    def key(box: int) -> tuple[float, str, bool, str]:
        first = lead.get(box, box)
        return (wishes[first], scene.boxes[first].name, first != box, scene.boxes[box].name)

    return sorted(order, key=key)


def _neighbours(scene: Scene) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Of each box: those linked with it in the rows above, and in the rows below."""
    above: dict[int, list[int]] = defaultdict(list)
    below: dict[int, list[int]] = defaultdict(list)
    for arrow in scene.arrows:
        high, low = _from_above(scene, arrow)
        if scene.boxes[high].row != scene.boxes[low].row:
            below[high].append(low)
            above[low].append(high)
    return above, below


def _from_above(scene: Scene, arrow: Arrow) -> tuple[int, int]:
    start, end = arrow.start, arrow.end
    return (start, end) if scene.boxes[start].row <= scene.boxes[end].row else (end, start)


def _leads(scene: Scene) -> dict[int, int]:
    """A superseded box stands right behind what took its place, if that is in the same row."""
    heirs = {
        arrow.start: arrow.end
        for arrow in scene.arrows
        if arrow.look == REPLACED and scene.boxes[arrow.start].row == scene.boxes[arrow.end].row
    }
    leads = {}
    for box in heirs:
        last, seen = box, {box}
        while heirs.get(last, box) not in seen:
            last = heirs[last]
            seen.add(last)
        leads[box] = last
    return leads


def _places(orders: dict[int, list[int]]) -> dict[int, float]:
    """Columns counted from the middle of the picture."""
    found = {}
    for order in orders.values():
        lines, columns = _lines_of(len(order)), _columns_of(len(order))
        for index, box in enumerate(order):
            found[box] = index // lines - (columns - 1) / 2
    return found


def _columns(
    scene: Scene, orders: dict[int, list[int]], width: float, gap: float
) -> dict[int, list[float]]:
    """The left edges of each row's columns: where room is left, below and above their links."""
    above, below = _neighbours(scene)
    pitch = BOX_WIDTH + gap
    lefts = {
        box: width / 2 + place * pitch - BOX_WIDTH / 2 for box, place in _places(orders).items()
    }
    found: dict[int, list[float]] = {}
    for sweep in range(_SWEEPS):
        neighbours = (below, above)[sweep % 2]
        for row in list(orders)[:: -1 if sweep % 2 == 0 else 1]:
            order, lines = orders[row], _lines_of(len(orders[row]))
            stacks = [order[at : at + lines] for at in range(0, len(order), lines)]
            wishes = []
            for stack in stacks:
                linked = [lefts[other] for box in stack for other in neighbours[box]]
                wishes.append(_mean(linked or [lefts[box] for box in stack]))
            found[row] = spaced(wishes, pitch, gap / 2, width - BOX_WIDTH - gap / 2)
            for stack, left in zip(stacks, found[row], strict=True):
                lefts |= dict.fromkeys(stack, left)
    return found


def _banded(orders: dict[int, list[int]], columns: dict[int, list[float]]) -> list[Band]:
    bands = []
    top = 0.0
    for row, order in orders.items():
        band = Band(row, tuple(order), _lines_of(len(order)), tuple(columns[row]), top)
        bands.append(band)
        top += band.height + BAND_DISTANCE
    return bands


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
