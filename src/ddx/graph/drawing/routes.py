"""Which way each arrow of a picture goes. Pure.

Arrows bend between the rows and pass a row between two of its columns, never through a box; those
that share a lane or a side of a box keep apart.
"""

from __future__ import annotations

from collections import defaultdict

from ddx.graph.drawing.layout import BOX_HEIGHT, BOX_WIDTH, spaced
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from ddx.graph.drawing.layout import Layout, Point
    from ddx.graph.drawing.scene import Arrow, Scene

    Port: TypeAlias = tuple[int, str]

UPRIGHT, LEVEL, ARCH = "upright", "level", "arch"
OUTSIDE = 26.0
"""How far beyond the columns an arrow may pass a row."""

_TOP, _BOTTOM = "top", "bottom"
_PORT_DISTANCE = 16.0
_CORNER = 16.0
_LANE_DISTANCE = 6.0
_LANE_MARGIN = 8.0


@value
class Route:
    """An arrow by its points: upright ones are entered and left upright at each of them."""

    arrow: Arrow
    points: tuple[Point, ...]
    course: str = UPRIGHT


@value
class _Stop:
    """Where a box stands: which band, which line of it, which column."""

    band: int
    line: int
    column: int


@value
class _Passage:
    """Lines of a band that an arrow has to pass between two columns, and where it would like to."""

    band: int
    top: float
    bottom: float
    wish: float


def routes(scene: Scene, layout: Layout) -> tuple[Route, ...]:
    """A way for every arrow, the same for the same scene."""
    return _Router(scene, layout).routes()


class _Router:
    def __init__(self, scene: Scene, layout: Layout) -> None:
        self._arrows = scene.arrows
        self._layout = layout
        self._stops = {
            box: _Stop(number, index % band.lines, index // band.lines)
            for number, band in enumerate(layout.bands)
            for index, box in enumerate(band.members)
        }

    def routes(self) -> tuple[Route, ...]:
        courses = [self._course(arrow) for arrow in self._arrows]
        passages = [
            list(self._passages(arrow)) if course == UPRIGHT else []
            for arrow, course in zip(self._arrows, courses, strict=True)
        ]
        lanes = self._lanes(passages)
        ends = self._ports(courses, lanes)
        found = []
        for number, arrow in enumerate(self._arrows):
            if courses[number] == LEVEL:
                found.append(Route(arrow, self._sides(arrow), LEVEL))
                continue
            start, end = ends[number, arrow.start], ends[number, arrow.end]
            between = [
                point
                for passage, x in zip(passages[number], lanes[number], strict=True)
                for point in ((x, passage.top), (x, passage.bottom))
            ]
            if self._is_above(arrow.end, arrow.start):
                between.reverse()
            found.append(Route(arrow, (start, *between, end), courses[number]))
        return tuple(found)

    def _course(self, arrow: Arrow) -> str:
        start, end = self._stops[arrow.start], self._stops[arrow.end]
        if (start.band, start.line) != (end.band, end.line):
            return UPRIGHT
        return LEVEL if abs(start.column - end.column) == 1 else ARCH

    def _is_above(self, box: int, other: int) -> bool:
        one, two = self._stops[box], self._stops[other]
        return (one.band, one.line) < (two.band, two.line)

    def _passages(self, arrow: Arrow) -> Iterator[_Passage]:
        """From the upper box to the lower one, whichever way the arrow points."""
        high, low = arrow.start, arrow.end
        if self._is_above(low, high):
            high, low = low, high
        upper, lower = self._stops[high], self._stops[low]
        from_x, from_y = self._middle(high)
        to_x, to_y = self._middle(low)
        for number in range(upper.band, lower.band + 1):
            band = self._layout.bands[number]
            first = upper.line + 1 if number == upper.band else 0
            last = lower.line - 1 if number == lower.band else band.lines - 1
            if first <= last:
                top, bottom = band.line_top(first), band.line_top(last) + BOX_HEIGHT
                part = ((top + bottom) / 2 - from_y) / (to_y - from_y)
                yield _Passage(number, top, bottom, from_x + part * (to_x - from_x))

    def _lanes(self, passages: list[list[_Passage]]) -> list[list[float]]:
        """Where each arrow passes, between the columns nearest to its wish."""
        found = [[passage.wish for passage in mine] for mine in passages]
        shared: dict[tuple[int, float, float], list[tuple[float, int, int]]] = defaultdict(list)
        for number, mine in enumerate(passages):
            for index, passage in enumerate(mine):
                low, high = self._lane(passage)
                shared[passage.band, low, high].append((passage.wish, number, index))
        for (_, low, high), users in shared.items():
            users.sort()
            wishes = [wish for wish, _, _ in users]
            for (_, number, index), x in zip(
                users, spaced(wishes, _LANE_DISTANCE, low, high), strict=True
            ):
                found[number][index] = x
        return found

    def _lane(self, passage: _Passage) -> tuple[float, float]:
        columns = self._layout.bands[passage.band].columns
        rights = [-OUTSIDE - _LANE_MARGIN, *(left + BOX_WIDTH for left in columns)]
        lefts = [*columns, self._layout.width + OUTSIDE + _LANE_MARGIN]
        lanes = [
            (right + _LANE_MARGIN, left - _LANE_MARGIN)
            for right, left in zip(rights, lefts, strict=True)
        ]
        return min(
            (lane for lane in lanes if lane[0] <= lane[1]),
            key=lambda lane: max(lane[0] - passage.wish, passage.wish - lane[1], 0.0),
        )

    def _ports(self, courses: list[str], lanes: list[list[float]]) -> dict[tuple[int, int], Point]:
        """Where each arrow touches its boxes, in the order of where they go from there."""
        users: dict[Port, list[tuple[float, int]]] = defaultdict(list)
        for number, arrow in enumerate(self._arrows):
            if courses[number] == LEVEL:
                continue
            upward = self._is_above(arrow.end, arrow.start)
            way = lanes[number][::-1] if upward else lanes[number]
            towards_end = way[0] if way else self._middle(arrow.end)[0]
            towards_start = way[-1] if way else self._middle(arrow.start)[0]
            out, into = (_TOP, _BOTTOM) if upward else (_BOTTOM, _TOP)
            if courses[number] == ARCH:
                out = into = _TOP
            users[arrow.start, out].append((towards_end, number))
            users[arrow.end, into].append((towards_start, number))
        found = {}
        for (box, side), mine in users.items():
            left, top = self._layout.corners[box]
            wishes = [left + BOX_WIDTH / 2] * len(mine)
            low, high = left + _CORNER, left + BOX_WIDTH - _CORNER
            y = top if side == _TOP else top + BOX_HEIGHT
            for (_, number), x in zip(
                sorted(mine), spaced(wishes, _PORT_DISTANCE, low, high), strict=True
            ):
                found[number, box] = (x, y)
        return found

    def _sides(self, arrow: Arrow) -> tuple[Point, Point]:
        (start, y), (end, _) = (self._layout.corners[box] for box in (arrow.start, arrow.end))
        middle = y + BOX_HEIGHT / 2
        if start < end:
            return (start + BOX_WIDTH, middle), (end, middle)
        return (start, middle), (end + BOX_WIDTH, middle)

    def _middle(self, box: int) -> Point:
        left, top = self._layout.corners[box]
        return left + BOX_WIDTH / 2, top + BOX_HEIGHT / 2
