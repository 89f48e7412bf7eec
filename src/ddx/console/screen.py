"""Results on stdout: JSON that is exactly one value, and tables that fit the screen (C-1, C-5)."""

from __future__ import annotations

import os
import sys

from ddx import environment
from ddx.fastjson import dumps, encoded
from ddx.instants import in_words, parse, seconds_between
from ddx.text import cut, harmless, shown, shown_on_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_NARROWEST = 10
_GAP = "  "
_BREAK = f"\n{_GAP}"
_USUAL_WIDTH = 80
_LONGEST_EXCERPT = 20_000
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Styled(str):
    """Text that is safe already and may carry our own marks for the terminal."""


def say(*parts: str) -> None:
    """A line for a person; what came from outside cannot steer the terminal."""
    print("".join(part if isinstance(part, Styled) else shown(part) for part in parts))


def answer(anything: Any) -> None:
    """One JSON value and a newline."""
    answer_json(dumps(anything))


def answer_json(text: str) -> None:
    """The same, put together as text: raw UTF-8, but nothing in it can steer a terminal."""
    write(harmless(encoded(text)), b"\n")


def write(*parts: bytes) -> None:
    sys.stdout.flush()
    try:
        sys.stdout.buffer.writelines(parts)
    except OSError as problem:
        problem.filename = "stdout"  # a full disk does not say whose write it refused
        raise


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
    """Columns as wide as they need; on a terminal the longest ones are cut until all fit.

    Where even that is too wide, a row goes on below, indented.
    """
    texts = [_clean_column(column) for column in zip(heads, *rows, strict=True)]
    measure, shorten = _ruler(texts)
    widths = [max(map(measure, column)) for column in texts]
    gaps = [_GAP] * (len(texts) - 1)
    if on_terminal():
        widths, gaps = _fitted(widths, screen_width())
        texts = [
            [shorten(cell, width) for cell in column]
            for column, width in zip(texts, widths, strict=True)
        ]
    last = [*(gap == _BREAK for gap in gaps), True]  # of its line: spaces after it would be idle
    if measure is not len:  # a wide letter takes up a space of those that would follow
        texts = [
            column if ends else [cell + " " * (width - measure(cell)) for cell in column]
            for column, width, ends in zip(texts, widths, last, strict=True)
        ]
        widths = [0] * len(texts)
    cells = ["%s" if ends else f"%-{width}s" for width, ends in zip(widths, last, strict=True)]
    form = cells[0] + "".join(f"{gap}{cell}" for gap, cell in zip(gaps, cells[1:], strict=True))
    first, *lines = [form % cells for cells in zip(*texts, strict=True)]
    if _BREAK in gaps:
        lines = [line.rstrip() for line in lines]  # an empty cell needs no line of its own
    print("\n".join([dim(first), *lines]))


def _ruler(
    texts: Sequence[Sequence[str]],
) -> tuple[Callable[[str], int], Callable[[str, int], str]]:
    """How a text is measured and made to fit; only letters that may be wide need the slow way."""
    if all("".join(column).isascii() for column in texts):
        return len, cut
    from ddx.console.columns import columns, cut_to

    return columns, cut_to


def _fitted(widths: list[int], room: int) -> tuple[list[int], list[str]]:
    """Widths, and what stands between; the first column, the one to copy from, stays whole."""
    first, *rest = widths
    free = room - len(_GAP) * len(rest)
    while rest and first + sum(rest) > free and max(rest) > _NARROWEST:
        rest[rest.index(max(rest))] -= 1
    if first + sum(rest) <= free:
        return [first, *rest], [_GAP] * len(rest)
    rest = [min(width, room - len(_GAP)) for width in widths[1:]]
    gaps, used = [], first
    for width in rest:
        used += len(_GAP) + width
        gaps.append(_GAP if used <= room else _BREAK)
        used = used if used <= room else len(_GAP) + width
    return [first, *rest], gaps


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
