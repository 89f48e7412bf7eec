"""How much of a text fits, estimated without a font: a viewer brings its own. Pure."""

from __future__ import annotations

import unicodedata

_NARROW = frozenset(" !',.:;|()[]fijlrtI1")
_BROAD = frozenset("mwMW@%&")
_CUT = "…"


def width_of(text: str, size: float) -> float:
    """Rather too wide than too narrow, in the unit of the letters' size."""
    return sum(map(_share, text)) * size


def cut_to(text: str, room: float, size: float) -> str:
    """As much of the beginning as fits; what was cut is marked."""
    if width_of(text, size) <= room:
        return text
    kept = _fitting(text, room - width_of(_CUT, size), size)
    return text[:kept].rstrip() + _CUT if kept else ""


def cut_front_to(text: str, room: float, size: float) -> str:
    """As much of the end as fits: of a path, that says the most."""
    return cut_to(text[::-1], room, size)[::-1]


def wrapped(text: str, room: float, size: float, *, lines: int) -> list[str]:
    """At most so many lines, between words where there are any; the last one is cut."""
    found: list[str] = []
    rest = " ".join(text.split())
    while rest and len(found) < lines - 1 and width_of(rest, size) > room:
        fitting = max(_fitting(rest, room, size), 1)
        end = rest.rfind(" ", 0, fitting + 1)
        end = end if end > 0 else fitting
        found.append(rest[:end])
        rest = rest[end:].lstrip()
    return [*found, cut_to(rest, room, size)] if rest else found


def _fitting(text: str, room: float, size: float) -> int:
    """How many letters of the beginning fit."""
    for count, mark in enumerate(text):
        room -= _share(mark) * size
        if room < 0:
            return count
    return len(text)


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
