"""Results on stdout: JSON that is exactly one value, and tables that fit the screen (C-1, C-5)."""

from __future__ import annotations

import os
import sys

from ddx.base import Instant, cut, dumps, encoded, harmless, in_words, shown, variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_NARROWEST = 10
_GAP = "  "
_BREAK = f"\n{_GAP}"
USUAL_WIDTH = 80
_LONGEST_EXCERPT = 20_000
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class StyledText(str):
    """Text that is safe already and may carry our own marks for the terminal."""


def say(*parts: str) -> None:
    """A line for a person; what came from outside cannot steer the terminal."""
    print("".join(part if isinstance(part, StyledText) else shown(part) for part in parts))


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
    moment, elapsed_s = Instant(text).moment, Instant(text).seconds_until(now)
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
    if width := terminal_width():
        widths, gaps = _fitted(widths, width)
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
    return [shown(cell, one_line=True) for cell in cells]


def terminal_width() -> int:
    """How much of a line a person sees; 0 where stdout is no terminal and lines may be long."""
    if not sys.stdout.isatty():
        return 0
    try:
        return os.get_terminal_size(1).columns or USUAL_WIDTH  # a terminal may not know its own
    except OSError:
        return USUAL_WIDTH


def bold(text: str) -> StyledText:
    return _styled(_BOLD, text)


def dim(text: str) -> StyledText:
    return _styled(_DIM, text)


def _styled(mark: str, text: str) -> StyledText:
    return StyledText(f"{mark}{shown(text)}{_PLAIN}" if _coloured() else shown(text))


def _coloured() -> bool:
    if variable("NO_COLOR"):
        return False
    return bool(variable("FORCE_COLOR")) or sys.stdout.isatty()


def notice(program: str, sentence: str) -> None:
    """For the person; stdout is for the result (C-1)."""
    print(shown(f"{program}: {sentence}"), file=sys.stderr)


# -- how much of a line a text takes -----------------------------------------------------------


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
