"""What every picture of ours is drawn with: elements, inert text, how much text fits. Pure."""

from __future__ import annotations

import unicodedata
from contextlib import contextmanager
from html import escape

from ddx.base import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NARROW = frozenset(" !',.:;|()[]fijlrtI1")
_BROAD = frozenset("mwMW@%&")
_CUT = "…"


class Drawing:
    """A picture that is made part by part; `letter` is the size of its words."""

    def __init__(self, kind: str, *, letter: float) -> None:
        self._kind = kind
        self._letter = letter
        self._parts: list[str] = []

    def shape(self, name: str, **attributes: str | float) -> None:
        """An element without content; a name that Python has taken ends in `_`."""
        self._parts.append(element(name, **attributes))

    def text(self, kind: str, x: float, y: float, *, words: str, room: float | None = None) -> None:
        """A line of words that begins at this place, cut to the room that it has."""
        fitting = words if room is None else cut_to(words, room, self._letter)
        self._parts.append(text(kind, x, y, fitting))

    def level(self, kind: str, y: float, *, left: float, right: float) -> None:
        """A line from one side to the other."""
        self.shape("path", class_=kind, d=f"M{length(left)} {length(y)}H{length(right)}")

    def line(self, kind: str, points: Sequence[tuple[float, float]]) -> None:
        """A line through all of the points."""
        way = "L".join(f"{length(x)} {length(y)}" for x, y in points)
        self.shape("path", class_=kind, d=f"M{way}")

    @contextmanager
    def described(self, about: str) -> Iterator[None]:
        """What is drawn inside belongs together; whoever points at it reads what it is."""
        self._parts.append(f"<g><title>{inert(about)}</title>")
        yield
        self._parts.append("</g>")

    def width_of(self, words: str) -> float:
        """How much room a line needs, rather too much than too little."""
        return width_of(words, self._letter)

    def finish(self, title: str, *, width: float, height: float) -> str:
        """The whole picture, which takes the size of whatever shows it."""
        box = f"0 0 {length(width)} {length(height)}"
        head = f'<svg class="{self._kind}" role="img" viewBox="{box}"><title>{inert(title)}</title>'
        return "".join([head, *self._parts, "</svg>"])


def element(name: str, **attributes: str | float) -> str:
    """An empty element; a name that Python has taken ends in `_`."""
    written = "".join(
        f' {key.rstrip("_")}="{inert(given) if isinstance(given, str) else length(given)}"'
        for key, given in attributes.items()
    )
    return f"<{name}{written}/>"


def text(kind: str, x: float, y: float, words: str) -> str:
    """A line of words that begins at this place."""
    return f'<text class="{kind}" x="{length(x)}" y="{length(y)}">{inert(words)}</text>'


def inert(words: str) -> str:
    """Without markup in XML, and without the characters that it forbids or that hide others."""
    return escape(shown(words)).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def length(number: float) -> str:
    """A length to a tenth of a pixel, in as few letters as it needs."""
    return f"{round(number, 1) + 0.0:.1f}".removesuffix(".0")  # + 0.0: no minus before zero


def width_of(words: str, size: float) -> float:
    """An estimate, rather too wide than too narrow: a viewer brings its own font."""
    return sum(map(_share, words)) * size


def cut_to(words: str, room: float, size: float) -> str:
    """As much of the beginning as fits; what was cut is marked."""
    if width_of(words, size) <= room:
        return words
    kept = _fitting(words, room - width_of(_CUT, size), size)
    return words[:kept].rstrip() + _CUT if kept else ""


def wrapped(words: str, room: float, size: float, *, lines: int) -> list[str]:
    """At most this many lines, between words where there are any; the last one is cut."""
    found: list[str] = []
    rest = " ".join(words.split())
    while rest and len(found) < lines - 1 and width_of(rest, size) > room:
        fitting = max(_fitting(rest, room, size), 1)
        end = rest.rfind(" ", 0, fitting + 1)
        end = end if end > 0 else fitting
        found.append(rest[:end])
        rest = rest[end:].lstrip()
    return [*found, cut_to(rest, room, size)] if rest else found


def _fitting(words: str, room: float, size: float) -> int:
    """How many letters of the beginning fit."""
    for count, mark in enumerate(words):
        room -= _share(mark) * size
        if room < 0:
            return count
    return len(words)


def _share(mark: str) -> float:
    """Of the size, how wide a letter is about."""
    if mark in _NARROW:
        return 0.36
    if mark in _BROAD:
        return 0.9
    if mark.isascii():
        return 0.68 if mark.isupper() else 0.58
    if unicodedata.combining(mark):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(mark) in "WF" else 0.68
