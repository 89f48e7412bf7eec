"""Bars, rates and trends as small pictures for the page, in its own colours (V-3). Pure.

Every picture has the same width and grows with its card: letters stay readable from a phone's
width to a screen's. What a mark means in full stands in its title, for whoever points at it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ddx.graph.drawing.lettering import cut_to, width_of
from ddx.graph.drawing.markup import element, inert, length, text
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WIDTH, HEIGHT = 380.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 10.0, 16.0, 26.0
_ROW = 44.0
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
    parts = [*_grid(ticks, spoken)]
    room = (WIDTH - _LEFT - _RIGHT) / max(len(bars), 1)
    wide = min(room * 0.72, _WIDEST_BAR)
    every = max(math.ceil(len(bars) / _MOST_LABELS), 1)
    for place, bar in enumerate(bars):
        middle = _LEFT + room * (place + 0.5)
        y = _y(bar.number, ticks)
        high = HEIGHT - _BOTTOM - y
        about = bar.about or f"{bar.label}: {spoken(bar.number)}"
        parts.append(f"<g><title>{inert(about)}</title>")
        if bar.number > 0:
            parts.append(
                element(
                    "rect", class_="bar", x=middle - wide / 2, y=y, width=wide, height=high, rx=2
                )
            )
        if len(bars) <= 12 and bar.number > 0:
            parts.append(text("value", middle, y - 4, spoken(bar.number)))
        parts.append("</g>")
        if place % every == 0:
            parts.append(text("label", middle, HEIGHT - 8, bar.label))
    if not top:
        parts.append(text("none", (_LEFT + WIDTH) / 2, HEIGHT / 2, "nothing yet"))
    return _picture(parts, title, HEIGHT)


def shares(rows: Sequence[Share], *, title: str) -> str:
    """One level bar each, filled as far as it went well, with the counts beside it."""
    parts: list[str] = []
    for place, row in enumerate(rows):
        y = place * _ROW + 20
        part = row.part / row.whole if row.whole else 0.0
        said = f"{row.part:,} of {row.whole:,}, {100 * part:.0f}%"
        room = WIDTH - width_of(said, _LETTER) - 12
        parts.append(f"<g><title>{inert(row.about or f'{row.label}: {said}')}</title>")
        parts.append(text("name", 0, y, cut_to(row.label, room, _LETTER)))
        parts.append(text("count", WIDTH, y, said))
        parts.append(element("rect", class_="track", y=y + 7, width=WIDTH, height=9, rx=4.5))
        if part:
            filled = max(WIDTH * part, 9)
            parts.append(element("rect", class_="part", y=y + 7, width=filled, height=9, rx=4.5))
        parts.append("</g>")
    return _picture(parts, title, max(len(rows), 1) * _ROW)


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
    parts = [*_grid(ticks, spoken)]
    if floor is not None:
        y = _y(floor, ticks)
        parts.append(_level("floor", y))
        parts.append(text("floor-name", WIDTH - _RIGHT, y - 4, f"floor {spoken(floor)}"))
    room = WIDTH - _LEFT - _RIGHT
    gap = room / max(len(points) - 1, 1)
    places = [
        (_LEFT + (gap * n if len(points) > 1 else room / 2), _y(number, ticks))
        for n, number in enumerate(numbers)
    ]
    if len(places) > 1:
        way = "L".join(f"{length(x)} {length(y)}" for x, y in places)
        parts.append(element("path", class_="line", d=f"M{way}"))
    radius = 3.5 if len(places) <= 40 else 1.8
    for (label, number), (x, y) in zip(points, places, strict=True):
        dot = element("circle", class_="dot", cx=x, cy=y, r=radius)
        parts.append(f"<g><title>{inert(f'{label}: {spoken(number)}')}</title>{dot}</g>")
    if points:
        parts.append(text("label first", _LEFT, HEIGHT - 8, points[0][0]))
        if len(points) > 1:
            parts.append(text("label last", WIDTH - _RIGHT, HEIGHT - 8, points[-1][0]))
    else:
        parts.append(text("none", (_LEFT + WIDTH) / 2, HEIGHT / 2, "no values yet"))
    return _picture(parts, title, HEIGHT)


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


def _grid(ticks: Sequence[float], spoken: Callable[[float], str]) -> Iterator[str]:
    for tick in ticks:
        y = _y(tick, ticks)
        kind = "axis" if tick == ticks[0] else "grid"
        yield _level(kind, y)
        yield text("tick", _LEFT - 6, y + 4, spoken(tick))


def _level(kind: str, y: float) -> str:
    """A line across the whole picture."""
    return element("path", class_=kind, d=f"M{length(_LEFT)} {length(y)}H{length(WIDTH - _RIGHT)}")


def _y(number: float, ticks: Sequence[float]) -> float:
    share = (number - ticks[0]) / (ticks[-1] - ticks[0])
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def _picture(parts: Sequence[str], title: str, height: float) -> str:
    box = f"0 0 {length(WIDTH)} {length(height)}"
    head = f'<svg class="chart" role="img" viewBox="{box}"><title>{inert(title)}</title>'
    return "".join([head, *parts, "</svg>"])
