"""How much of a line a text takes on a terminal, and what fits. Pure."""

from __future__ import annotations


def columns(text: str) -> int:
    """Many letters of the East, and most pictures, take two places."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width  # seldom needed, and a status is to be quick

    return sum(2 if east_asian_width(mark) in "WF" else 1 for mark in text)


def cut_to(text: str, room: int) -> str:
    """What was cut is marked; of a wide letter nobody sees a half."""
    if columns(text) <= room:
        return text
    return f"{_fitting(text, room - 1)}…" if room > 0 else ""


def wrapped(text: str, room: int, *, breaks_words: bool = True) -> list[str]:
    """Broken between words, and inside of one, if at all, only where it is longer than a line.

    `textwrap` alone would cost more than the whole of a status.
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if columns(longer) <= room:
            lines[-1] = longer
            continue
        lines += _pieces(word, room) if breaks_words else [word]
    return [line for line in lines if line] or [""]


def _pieces(word: str, room: int) -> list[str]:
    pieces = []
    while word:
        pieces.append(_fitting(word, room) or word[:1])
        word = word[len(pieces[-1]) :]
    return pieces


def _fitting(text: str, room: int) -> str:
    if text.isascii():
        return text[: max(room, 0)]
    kept = ""
    for mark in text:
        room -= columns(mark)
        if room < 0:
            break
        kept += mark
    return kept
