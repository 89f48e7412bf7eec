"""Results on stdout: JSON that is exactly one value, and tables that fit the screen (C-1, C-5)."""

from __future__ import annotations

import os
import sys

from ddx import environment
from ddx.fastjson import to_bytes
from ddx.instants import in_words, parse, seconds_between
from ddx.text import cut, shown, shown_on_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_NARROWEST = 10
_USUAL_WIDTH = 80
_LONGEST_EXCERPT = 20_000
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Styled(str):
    """Text that is safe already and may carry our own marks for the terminal."""


def say(*parts: str) -> None:
    """A line for a person; what came from outside cannot steer the terminal."""
    print("".join(part if isinstance(part, Styled) else shown(part) for part in parts))


def answer(anything: Any) -> None:
    """One JSON value, raw UTF-8 and a newline."""
    write(to_bytes(anything), b"\n")


def write(*parts: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.writelines(parts)


def when(text: str, *, now: str) -> str:
    """A time for a person: local, and how long ago (C-4); what is no time stays as it is."""
    moment, elapsed_s = parse(text), seconds_between(text, now)
    if moment is None or elapsed_s is None:
        return text
    local = f"{moment.astimezone():%Y-%m-%d %H:%M}"
    return f"{in_words(elapsed_s)} ago ({local})" if elapsed_s >= 0 else local


def excerpt(text: str) -> str:
    """Long text from outside as far as a person would read it (T-23)."""
    if len(text) <= _LONGEST_EXCERPT:
        return text
    more = len(text) - _LONGEST_EXCERPT
    return f"{text[:_LONGEST_EXCERPT]}\n... {more} more characters; --json gives them all"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need; on a terminal the longest ones are cut until all fit."""
    columns = [_clean_column(column) for column in zip(heads, *rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    if on_terminal():
        widths = _fitted(widths, screen_width() - 2 * (len(widths) - 1))
        columns = [
            [cut(cell, width) for cell in column]
            for column, width in zip(columns, widths, strict=True)
        ]
    form = "  ".join([*(f"%-{width}s" for width in widths[:-1]), "%s"])
    first, *lines = [form % cells for cells in zip(*columns, strict=True)]
    print("\n".join([dim(first), *lines]))


def _fitted(widths: list[int], room: int) -> list[int]:
    """The first column, the one to copy from, stays whole."""
    first, *rest = widths
    while rest and first + sum(rest) > room and max(rest) > _NARROWEST:
        rest[rest.index(max(rest))] -= 1
    return [first, *rest]


def _clean_column(cells: Sequence[str]) -> list[str]:
    if "".join(cells).isprintable():
        return list(cells)
    return [shown_on_one_line(cell) for cell in cells]


def on_terminal() -> bool:
    return sys.stdout.isatty()


def screen_width() -> int:
    try:
        return os.get_terminal_size(1).columns or _USUAL_WIDTH  # a terminal may not know its own
    except OSError:
        return _USUAL_WIDTH


def bold(text: str) -> Styled:
    return _styled(_BOLD, text)


def dim(text: str) -> Styled:
    return _styled(_DIM, text)


def _styled(mark: str, text: str) -> Styled:
    return Styled(f"{mark}{shown(text)}{_PLAIN}" if _coloured() else shown(text))


def _coloured() -> bool:
    if environment.variable("NO_COLOR"):
        return False
    return bool(environment.variable("FORCE_COLOR")) or on_terminal()
