"""A terminal's screen: what a program wrote to it, as lines of styled text, and as a picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

PLAIN = ""
Cell = tuple[str, str]
"""A style, in the terminal's own numbers, and one character."""

_TOKEN = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+|\x1b")

_LETTER, _LINE, _EDGE, _HEAD, _BASE = 8.4, 19.0, 18.0, 34.0, 14.0
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_GROUND, _TEXT, _BAR = "#16181d", "#d6d9e0", "#23262e"
_COLOURS = {"31": "#ef6b73", "32": "#7fc97f", "33": "#e5c07b"}
_DIM = "#868c99"


class Screen:
    """As much of a terminal as our programs ask for; it never runs out of lines."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[list[Cell]] = [[]]
        self._row = self._column = 0
        self._style = PLAIN
        self._wraps = True

    def write(self, text: str) -> None:
        for token in _TOKEN.finditer(text):
            if token[2]:
                self._steer(token[1], token[2])
            elif token[0] == "\r":
                self._column = 0
            elif token[0] == "\n":
                self._next_line()
            else:
                self._print(token[0])

    def lines(self) -> list[str]:
        """Each with the marks that style it, and without blanks at its end."""
        lines = ["".join(map(_marked, _runs(line))).rstrip() for line in self._lines]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _steer(self, numbers: str, order: str) -> None:
        match order, numbers:
            case "m", _:
                self._style = PLAIN if numbers in ("", "0") else numbers
            case "A", _:
                self._row = max(self._row - int(numbers or 1), 0)
            case "J", "" | "0":
                del self._lines[self._row + 1 :]
                del self._lines[self._row][self._column :]
            case "h" | "l", "?7":
                self._wraps = order == "h"
            case "h" | "l", "?25":
                pass  # the cursor is not in the picture
            case _:
                raise ValueError(f"this screen does not know CSI {numbers}{order}")

    def _print(self, text: str) -> None:
        for mark in text:
            if self._column >= self._width:
                if not self._wraps:
                    return
                self._next_line()
                self._column = 0
            line = self._lines[self._row]
            line.extend([(PLAIN, " ")] * (self._column + 1 - len(line)))
            line[self._column] = (self._style, mark)
            self._column += 1

    def _next_line(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append([])


def plain(line: str) -> str:
    """The same without its marks."""
    return "".join(text for _, text in styled(line))


def styled(line: str) -> Iterator[tuple[str, str]]:
    """The parts of a line, each in one style."""
    style = PLAIN
    for token in _TOKEN.finditer(line):
        if token[2]:
            style = PLAIN if token[1] in ("", "0") else token[1]
        else:
            yield style, token[0]


def _runs(line: list[Cell]) -> Iterator[tuple[str, str]]:
    for style, cells in groupby(line, key=lambda cell: cell[0]):
        yield style, "".join(mark for _, mark in cells)


def _marked(run: tuple[str, str]) -> str:
    style, text = run
    return f"\x1b[{style}m{text}\x1b[0m" if style else text


# -- the picture ------------------------------------------------------------------------------


def svg(lines: list[str], *, width: int, title: str) -> str:
    """The screen as one SVG without scripts, fonts or anything else from elsewhere."""
    across = _number(width * _LETTER + 2 * _EDGE)
    down = _number(_HEAD + len(lines) * _LINE + _EDGE)
    text = "\n".join(element for row, line in enumerate(lines) for element in _texts(row, line))
    dots = "".join(
        f'<circle cx="{_number(_EDGE + 18 * n)}" cy="17" r="5.5" fill="{colour}"/>'
        for n, colour in enumerate(_COLOURS[number] for number in ("31", "33", "32"))
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" role="img">
<title>{escape(title)}</title>
<style>text{{font:14px {_FONT};fill:{_TEXT};white-space:pre}}{_styles()}</style>
<rect width="{across}" height="{down}" rx="9" fill="{_GROUND}"/>
<path d="M0 34V9a9 9 0 0 1 9-9H{_number(float(across) - 9)}a9 9 0 0 1 9 9v25z" fill="{_BAR}"/>
{dots}
<g xml:space="preserve">
{text}
</g>
</svg>
"""


def _styles() -> str:
    colours = "".join(f".c{number}{{fill:{colour}}}" for number, colour in _COLOURS.items())
    return f".c1{{font-weight:bold;fill:#fff}}.c2{{fill:{_DIM}}}{colours}"


def _texts(row: int, line: str) -> Iterator[str]:
    """One element a style; each is told how wide it is, so that every font keeps the columns."""
    column = 0
    base = _number(_HEAD + row * _LINE + _BASE + 4)
    for style, text in styled(line):
        if text.strip():
            lead = len(text) - len(text.lstrip())
            kept = text.strip()
            x = _number(_EDGE + (column + lead) * _LETTER)
            size = _number(len(kept) * _LETTER)
            mark = f' class="c{style}"' if style else ""
            yield f'<text x="{x}" y="{base}" textLength="{size}"{mark}>{escape(kept)}</text>'
        column += len(text)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
