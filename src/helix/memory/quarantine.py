"""Texts that must not reach an agent as advice: orders to it, hidden marks, secrets (M-2). Pure.

It is a net, not a wall: what is injected is quoted as data in any case (X-26). A text is looked at
as it is and as it can be read: without accents and lookalikes, letters that stand apart put
together, and whatever is wrapped in an encoding taken out of it.
"""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from typing import TYPE_CHECKING
from unicodedata import category, normalize
from urllib.parse import unquote

from helix.memory.model import slug_of
from helix.memory.suspicious import ELSEWHERE, SECRETS, SUSPICIOUS
from helix.policy.trailers import trailer_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.masking import Masker
    from helix.memory.model import Draft

IGNORES = next(iter(SUSPICIOUS))
_MASKED = "[masked]"
_SHORTEST_WRAPPED = 24
_MOST_WRAPPED = 20

_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u0501\u04bb\u0578\u051b\u051d"
    "\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c4\u03c5\u0131",
    "aeopcyxisjdhnqwoaeikvptui",
)
"""Letters of other scripts that look like ours, by which words hide."""
_FIGURES = str.maketrans("0134578@$", "oieastbas")
_INVISIBLE = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
"""Some scripts need them between letters; elsewhere they only hide something."""
_APART = re.compile(r"(?<!\w)(?:\w[ .*-]){3,40}\w(?!\w)")
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})|\\x([0-9a-f]{2})")
_WRAPPED = re.compile(rf"[A-Za-z0-9+/]{{{_SHORTEST_WRAPPED},8000}}={{0,2}}")
_SENTENCE = re.compile(r"[.!?\n\u3002\uff01\uff1f]+")
_SECRET = re.compile("|".join(SECRETS))


def suspicion(draft: Draft, masker: Masker, *, like: str = "") -> str:
    """Why a person must look at it first; empty if nothing is wrong with it.

    The name that is wished for it is judged too: agents see it beside the memory.
    """
    name = slug_of(like) if like else ""
    text = f"{draft.trigger}\n{draft.resolution}\n{draft.source}\n{name}"
    if hidden := _hidden(text):
        return f"it holds a character that nobody sees: U+{ord(hidden):04X}"
    if without_secrets(text, masker) != text:
        return "it holds what looks like a secret"
    if lines := trailer_lines(text):
        return f"it holds a line that is an answer to helix: {lines[0].strip()[:40]!r}"
    plain = "\n".join(dict.fromkeys(_readings(text)))
    for pattern, reason in _PATTERNS.items():
        if pattern.search(plain):
            return reason
    return IGNORES if any(map(_ignores, _SENTENCE.split(plain))) else ""


def without_secrets(text: str, masker: Masker) -> str:
    """The text with all that looks like a secret masked (X-24)."""

    def shown(match: re.Match[str]) -> str:
        begin, end = match.span(match.lastindex or 0)
        return f"{text_of[match.start() : begin]}{_MASKED}{text_of[end : match.end()]}"

    text_of = masker.mask(text)
    return _SECRET.sub(shown, text_of)


def _hidden(text: str) -> str:
    for place, mark in enumerate(text):
        if mark.isascii():
            continue
        joins = mark in _JOINERS and 0 < place < len(text) - 1 and not text[place - 1].isascii()
        if (category(mark) in ("Cf", "Co", "Cn") or mark in _INVISIBLE) and not joins:
            return mark
    return ""


def folded(text: str) -> str:
    """As it reads: one case, no accents, and no letter that only looks like another."""
    bare = "".join(mark for mark in normalize("NFKD", text) if category(mark) != "Mn")
    return normalize("NFC", bare).casefold().translate(_LOOKALIKES)


def _readings(text: str) -> Iterator[str]:
    """The text in every way in which an agent could read it."""
    for each in (text, *_unwrapped(text)):
        plain = folded(each)
        yield plain
        yield plain.replace("_", " ")
        yield plain.translate(_FIGURES)
        if _APART.search(plain):
            yield _APART.sub(lambda found: re.sub(r"\W", "", found[0]), plain)


def _unwrapped(text: str) -> Iterator[str]:
    """What is written in escapes or in base64 in it."""
    yield unescape(text)
    yield unquote(text)
    yield _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    for _, wrapped in zip(range(_MOST_WRAPPED), _WRAPPED.finditer(text), strict=False):
        whole = wrapped[0].rstrip("=")
        try:
            told = b64decode(whole + "=" * (-len(whole) % 4)).decode("utf-8")
        except ValueError:
            continue
        if told.isprintable():
            yield told


_PATTERNS = {
    re.compile("|".join(forms), re.IGNORECASE | re.MULTILINE): reason
    for reason, forms in SUSPICIOUS.items()
}
_ELSEWHERE = tuple(tuple(re.compile(folded(words)) for words in row) for row in ELSEWHERE)


def _ignores(sentence: str) -> bool:
    return any(all(words.search(sentence) for words in row) for row in _ELSEWHERE)
