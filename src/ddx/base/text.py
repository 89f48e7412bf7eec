"""What text may come in, and how it is shown (T-12, T-23)."""

from __future__ import annotations

from ddx.base.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
