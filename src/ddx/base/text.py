"""Text: what may come in, how it is shown, and which lines of Markdown are code (T-12, T-23).

A fence is opened by three or more back-quotes or tildes, and closed by a line of at least as many
of the same. Every step takes time in proportion to the text. Hot commands load this: no `re`.
"""

from __future__ import annotations

from ddx.base.errors import UsageError
from ddx.base.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Marks that reorder or hide what a person reads: a title must not be able to lie (T-23).
_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
_CONTROLS = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
_FORBIDDEN = _CONTROLS - {"\n", "\t"}

_STEERING: dict[bytes, list[tuple[bytes, bytes]]] = {}
"""Controls past ASCII and direction marks in UTF-8, by how they begin, and how JSON spells them."""
for _mark in (*map(chr, range(0x80, 0xA0)), *_BIDIRECTIONAL):
    _raw = _mark.encode()
    _STEERING.setdefault(_raw[:-1], []).append((_raw, b"\\u%04x" % ord(_mark)))
_FIRST_BYTES = tuple({begin[:1] for begin in _STEERING})


def require_clean(text: str, *, what: str) -> str:
    """The text as it came, or an error that names the first character nobody may store (T-12)."""
    if text.isprintable():
        return text
    for place, mark in enumerate(text):
        if mark in _FORBIDDEN or "\ud800" <= mark <= "\udfff":
            raise UsageError(
                f"{what} holds the character {_visible(mark)} at position {place + 1}; "
                "only newline and tab are allowed among control characters"
            )
    return text


def shown(text: str, *, one_line: bool = False) -> str:
    """Text from outside, safe on a terminal: its controls and direction marks made visible.

    On `one_line`, as a cell of a table needs it, the ends of lines are made visible as well.
    """
    if text.isprintable():
        return text
    if one_line:
        text = text.replace("\n", "\\n").replace("\t", " ")
    return "".join(map(_visible, text))


def harmless(content: bytes) -> bytes:
    """JSON that says the same and cannot steer the terminal that shows it (C-5)."""
    # A seventh of the time for text whose only marks past ASCII are letters such as é (T-19).
    if content.isascii() or not any(byte in content for byte in _FIRST_BYTES):
        return content
    if content.decode("utf-8", "replace").isprintable():
        return content
    for begin, marks in _STEERING.items():
        if begin in content:
            for raw, spelled in marks:
                content = content.replace(raw, spelled)
    return content


def _visible(mark: str) -> str:
    if mark in _FORBIDDEN:
        return f"\\x{ord(mark):02x}"
    if mark in _BIDIRECTIONAL or "\ud800" <= mark <= "\udfff":
        return f"\\u{ord(mark):04x}"
    return mark


def cut(text: str, width: int) -> str:
    """At most `width` characters; what was cut is marked."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def listed(words: Iterable[str], *, joiner: str = "and") -> str:
    """Words as a person would list them: a, b and c."""
    *rest, last = list(words) or [""]
    return f"{', '.join(rest)} {joiner} {last}" if rest else last


def word_set(text: str) -> frozenset[str]:
    """The words of a text, each once: a table of words that reads as one."""
    return frozenset(text.split())


def counted(number: int, word: str) -> str:
    """A number and its word: one check, two checks."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def quantity(number: float, unit: str = "") -> str:
    """A number for a person: four digits that count, and its unit."""
    digits = f"{number:.0f}" if abs(number) >= 1000 else f"{number:.4g}"
    return f"{digits}{'' if unit in ('', '%') else ' '}{unit}"


# -- the one reader of fences ------------------------------------------------------------------

_FENCES = ("```", "~~~")
_BULLETS = ("-", "*", "+")
_DEEPEST_INDENT = 3
_LONGEST_NUMBER = 9
_QUOTED = " \t>"


@value
class FencedBlock:
    """One fenced block: the word after its marks (`json`), its lines, whether it was closed."""

    info: str
    text: str
    is_closed: bool


class Fences:
    """Shown a text line by line, says which of the lines are code."""

    def __init__(self) -> None:
        self._fence = ""

    def is_code(self, line: str) -> bool:
        """Whether the line stands in a fenced block, or opens or closes one."""
        if self._fence:
            if closes(line, self._fence):
                self._fence = ""
            return True
        self._fence = opening(line)
        return self._fence != ""


def opening(line: str) -> str:
    """The marks that open a fence, also in a quotation or in an item of a list; else nothing."""
    places = [place for fence in _FENCES if (place := line.find(fence)) >= 0]
    if not places or not _is_begun(line[: min(places)]):
        return ""
    rest = line[min(places) :]
    after = rest.lstrip(rest[0])
    is_span = rest[0] == "`" and "`" in after
    return "" if is_span else rest[: len(rest) - len(after)]


def closes(line: str, fence: str) -> bool:
    """Whether the line closes the block that these marks opened."""
    bare = line.strip(f"{_QUOTED}\r")
    return bare.startswith(fence) and not bare.strip(fence[0])


def heading_level(line: str) -> int:
    """1 to 6 for a heading, else 0."""
    marks = len(line) - len(line.lstrip("#"))
    return marks if marks <= 6 and line[marks : marks + 1] in (" ", "\t", "") else 0


@value
class MarkdownText:
    """A whole text in Markdown, of which some lines may be code."""

    text: str

    def blocks(self) -> Iterator[FencedBlock]:
        """Every fenced block that stands for itself, so in no quotation and in no list."""
        fence, info, is_own = "", "", False
        inside: list[str] = []
        for line in self.text.split("\n"):
            if not fence:
                fence = opening(line)
                before, _, after = line.partition(fence or "\n")
                is_own = len(before) <= _DEEPEST_INDENT and not before.strip(" \t")
                info, inside = after.strip(), []
            elif not closes(line, fence):
                inside.append(line)
            else:
                if is_own:
                    yield FencedBlock(info, "\n".join(inside), is_closed=True)
                fence = ""
        if fence and is_own:
            yield FencedBlock(info, "\n".join(inside), is_closed=False)

    def sole_block(self) -> str:
        """What stands in the one closed block that the whole text is; nothing if it is not one."""
        whole = self.text.strip()
        fence = opening(whole.partition("\n")[0])
        is_block = fence and closes(whole.rpartition("\n")[2], fence)
        found = [*MarkdownText(whole).blocks()] if is_block else []
        return found[0].text if len(found) == 1 and found[0].is_closed else ""

    def unfenced_lines(self) -> list[str]:
        """Its lines without those that open or close a block, so with what stands in blocks."""
        return [line for line in self.text.splitlines() if not opening(line)]

    def section_below(self, title: str) -> list[str]:
        """The lines below the first heading that holds `title`, until one of its level or above."""
        level, fences = 0, Fences()
        found: list[str] = []
        for line in self.text.splitlines():
            if here := 0 if fences.is_code(line) else heading_level(line):
                if level and here <= level:
                    break
                if title in line.lower():
                    level = here
                    continue
            if level:
                found.append(line)
        return found


def _is_begun(before: str) -> bool:
    """Whether all of it only begins a line: indents, `>`, `-`, `12.`."""
    items = before.lstrip(_QUOTED)
    return not items or (items[-1] in " \t" and all(map(_is_item, items.split())))


def _is_item(word: str) -> bool:
    number = word[:-1]
    return word in _BULLETS or (
        word[-1] in ".)" and number.isdecimal() and len(number) <= _LONGEST_NUMBER
    )
