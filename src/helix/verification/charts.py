"""Bars, rates and trends as small pictures for the page, in its own colours (V-3). Pure.

Every picture has the same width and grows with its card: letters stay readable from a phone's
width to a screen's. What a mark means in full stands in its title, for whoever points at it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ddx.base import value
from ddx.documents import Drawing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH, HEIGHT = 380.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 10.0, 16.0, 26.0
_ROW = 44.0
_KIND = "chart"
_LETTER = 12.0
_MOST_LABELS = 6
_WIDEST_BAR = 34.0
_STEPS = (1, 2, 2.5, 5, 10)
_ALIKE = 1e-9
"""Numbers so close to each other are drawn as the same."""


@value
class Bar:
    label: str
    number: float
    about: str = ""
    """In full, for whoever points at it."""


@value
class Share:
    """So many of so many."""

    label: str
    part: int
    whole: int
    about: str = ""


def bars(bars: Sequence[Bar], *, title: str, spoken: Callable[[float], str]) -> str:
    """Upright bars from zero; their numbers stand above them while there are few."""
    top = max((bar.number for bar in bars), default=0.0)
    ticks = scale(0.0, top, whole=all(bar.number == int(bar.number) for bar in bars))
    drawing = _gridded(ticks, spoken)
    room = (WIDTH - _LEFT - _RIGHT) / max(len(bars), 1)
    wide = min(room * 0.72, _WIDEST_BAR)
    every = max(math.ceil(len(bars) / _MOST_LABELS), 1)
    for place, bar in enumerate(bars):
        middle = _LEFT + room * (place + 0.5)
        y = _y(bar.number, ticks)
        high = HEIGHT - _BOTTOM - y
        with drawing.described(bar.about or f"{bar.label}: {spoken(bar.number)}"):
            if bar.number > 0:
                x = middle - wide / 2
                drawing.shape("rect", class_="bar", x=x, y=y, width=wide, height=high, rx=2)
            if len(bars) <= 12 and bar.number > 0:
                drawing.text("value", middle, y - 4, words=spoken(bar.number))
        if place % every == 0:
            drawing.text("label", middle, HEIGHT - 8, words=bar.label)
    if not top:
        drawing.text("none", (_LEFT + WIDTH) / 2, HEIGHT / 2, words="nothing yet")
    return drawing.finish(title, width=WIDTH, height=HEIGHT)


def shares(rows: Sequence[Share], *, title: str) -> str:
    """One level bar each, filled as far as it went well, with the counts beside it."""
    drawing = Drawing(_KIND, letter=_LETTER)
    for place, row in enumerate(rows):
        y = place * _ROW + 20
        part = row.part / row.whole if row.whole else 0.0
        said = f"{row.part:,} of {row.whole:,}, {100 * part:.0f}%"
        with drawing.described(row.about or f"{row.label}: {said}"):
            room = WIDTH - drawing.width_of(said) - 12
            drawing.text("name", 0, y, words=row.label, room=room)
            drawing.text("count", WIDTH, y, words=said)
            drawing.shape("rect", class_="track", y=y + 7, width=WIDTH, height=9, rx=4.5)
            if part:
                filled = max(WIDTH * part, 9)
                drawing.shape("rect", class_="part", y=y + 7, width=filled, height=9, rx=4.5)
    return drawing.finish(title, width=WIDTH, height=max(len(rows), 1) * _ROW)


def trend(
    points: Sequence[tuple[str, float]],
    *,
    title: str,
    spoken: Callable[[float], str],
    floor: float | None = None,
) -> str:
    """A line through the values, oldest first, and the floor that they must hold."""
    numbers = [number for _, number in points]
    held = [] if floor is None else [floor]
    ticks = scale(min([*numbers, *held], default=0.0), max([*numbers, *held], default=1.0))
    drawing = _gridded(ticks, spoken)
    if floor is not None:
        y = _y(floor, ticks)
        drawing.level("floor", y, left=_LEFT, right=WIDTH - _RIGHT)
        drawing.text("floor-name", WIDTH - _RIGHT, y - 4, words=f"floor {spoken(floor)}")
    room = WIDTH - _LEFT - _RIGHT
    gap = room / max(len(points) - 1, 1)
    places = [
        (_LEFT + (gap * n if len(points) > 1 else room / 2), _y(number, ticks))
        for n, number in enumerate(numbers)
    ]
    if len(places) > 1:
        drawing.line("line", places)
    radius = 3.5 if len(places) <= 40 else 1.8
    for (label, number), (x, y) in zip(points, places, strict=True):
        with drawing.described(f"{label}: {spoken(number)}"):
            drawing.shape("circle", class_="dot", cx=x, cy=y, r=radius)
    if points:
        drawing.text("label first", _LEFT, HEIGHT - 8, words=points[0][0])
        if len(points) > 1:
            drawing.text("label last", WIDTH - _RIGHT, HEIGHT - 8, words=points[-1][0])
    else:
        drawing.text("none", (_LEFT + WIDTH) / 2, HEIGHT / 2, words="no values yet")
    return drawing.finish(title, width=WIDTH, height=HEIGHT)


def scale(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Three to six round numbers that reach from below the lowest to above the highest."""
    if high - low <= max(abs(low), abs(high)) * _ALIKE:
        high = low + (abs(low) * 0.1 or 1.0)
    rough = (high - low) / 4
    size = 10.0 ** math.floor(math.log10(rough))
    step = next((size * each for each in _STEPS if size * each >= rough * 0.999), rough)
    if whole:
        step = max(math.ceil(step), 1)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return [step * n for n in range(first, last + 1)]


def _gridded(ticks: Sequence[float], spoken: Callable[[float], str]) -> Drawing:
    """A picture with nothing in it yet but its scale."""
    drawing = Drawing(_KIND, letter=_LETTER)
    for tick in ticks:
        y = _y(tick, ticks)
        kind = "axis" if tick == ticks[0] else "grid"
        drawing.level(kind, y, left=_LEFT, right=WIDTH - _RIGHT)
        drawing.text("tick", _LEFT - 6, y + 4, words=spoken(tick))
    return drawing


def _y(number: float, ticks: Sequence[float]) -> float:
    share = (number - ticks[0]) / (ticks[-1] - ticks[0])
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)
