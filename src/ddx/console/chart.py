"""A line of numbers drawn in plain characters, as wide as there is room. Pure."""

from __future__ import annotations

from itertools import pairwise
from math import floor, isclose, log10

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

HEIGHT = 10
_FLAT_HEIGHT = 3
_LABEL_EVERY = 3
_NARROWEST = 8
_WIDEST_LABEL = 12
_WIDEST_STEP = 6
"""Few points stand together instead of far apart, if that leaves room for the ends' names."""

_POINT, _BETWEEN, _EMPTY = "*", ".", " "
_LARGEST_PLAIN, _MOST_DECIMALS = 1e7, 12
_ROUNDING = 1e-13


def line_chart(
    values: Sequence[float], *, width: int, first: str = "", last: str = ""
) -> list[str]:
    """Points from left to right between two axes; `first` and `last` name the ends of the lower.

    More points than columns: each that is drawn is the mean of several, and a last line says so.
    """
    points = _means(values, max(width - _WIDEST_LABEL, _NARROWEST))
    low, high = min(points), max(points)
    if isclose(low, high, rel_tol=_ROUNDING):  # means of equal numbers may differ in the last bit
        points, high = [low] * len(points), low
    height = HEIGHT if high > low else _FLAT_HEIGHT
    labels = _labels(low, high, height)
    margin = max(map(len, labels))
    room = max(width - margin - 2, _NARROWEST)
    columns = _columns(len(points), room, len(first) + len(last) + 2)
    grid = _grid([_row(number, low, high, height) for number in points], columns, height)
    lines = [
        f"{label:>{margin}} |{''.join(cells)}".rstrip()
        for label, cells in zip(labels, reversed(grid), strict=True)
    ]
    axis = f"{'':{margin}} +{'-' * columns}"
    ends = _ends(room, columns, first, last)
    if len(points) < len(values):
        ends.append(f"each point is the mean of about {len(values) / len(points):.1f} values")
    return [*lines, axis, *(f"{'':{margin + 2}}{line}" for line in ends)]


def _columns(points: int, room: int, wanted: int) -> int:
    """How wide to draw: at most the room, and one column for a single point."""
    return min(room, max((points - 1) * _WIDEST_STEP + 1, wanted)) if points > 1 else 1


def _means(values: Sequence[float], room: int) -> list[float]:
    if len(values) <= room:
        return list(values)
    edges = [place * len(values) // room for place in range(room + 1)]
    return [sum(values[start:end]) / (end - start) for start, end in pairwise(edges)]


def _row(number: float, low: float, high: float, height: int) -> float:
    return (number - low) / (high - low) * (height - 1) if high > low else height // 2


def _grid(rows: Sequence[float], columns: int, height: int) -> list[list[str]]:
    """Cells from the bottom up: the points, and the way from each to the next."""
    grid = [[_EMPTY] * columns for _ in range(height)]
    gaps = max(len(rows) - 1, 1)
    places = [place * (columns - 1) // gaps for place in range(len(rows))]
    for (start, here), (end, there) in pairwise(zip(places, rows, strict=True)):
        for column in range(start + 1, end):
            row = here + (there - here) * (column - start) / (end - start)
            grid[round(row)][column] = _BETWEEN
    for column, row in zip(places, rows, strict=True):
        grid[round(row)][column] = _POINT
    return grid


def _labels(low: float, high: float, height: int) -> list[str]:
    """From the top down; every third line has one."""
    if high == low:
        return ["", f"{low:.6g}", ""]
    decimals = max(2 - floor(log10(high - low)), 0)
    is_plain = max(abs(low), abs(high)) < _LARGEST_PLAIN and decimals <= _MOST_DECIMALS
    form = f".{decimals}f" if is_plain else ".4g"
    return [
        "" if row % _LABEL_EVERY else f"{low + (high - low) * row / (height - 1):{form}}"
        for row in reversed(range(height))
    ]


def _ends(room: int, columns: int, first: str, last: str) -> list[str]:
    """The names below the lower axis; on two lines where they would run into each other."""
    if columns == 1 or not last:
        return [first] if first else []
    gap = max(columns - len(first) - len(last), 2)
    together = f"{first}{'':{gap}}{last}"
    return [together] if len(together) <= room else [first, f"{last:>{columns}}"]
