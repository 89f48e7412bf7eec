"""Text as the word pieces that BERT's uncased models were taught with.

A text is only ever text: `[SEP]` in it is five marks, not the token of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unicodedata import category, normalize

from helix.memory.embedders import EmbedderFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNKNOWN = "[UNK]"
BEGIN = "[CLS]"
END = "[SEP]"

_LONGEST_WORD = 100
_LONGEST_TEXT = 16_384
"""In characters: far more than fits into the tokens that are looked at."""
_MOST_KNOWN_WORDS = 50_000

_DROPPED = ("Cc", "Cf", "Co", "Cs", "Mn")
"""Controls and accents; a character that Unicode does not know yet stays, as an unknown word."""
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
"""Each stands alone; these ranges and no others, as the model was taught with them."""


class WordPieces:
    """A vocabulary, and how words are taken apart by it."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        self._longest = max(map(len, pieces), default=0)
        self._known: dict[str, tuple[int, ...]] = {}
        self._unknown, self._begin, self._end = map(self._special, (UNKNOWN, BEGIN, END))

    def tokens(self, text: str, *, most: int) -> list[int]:
        """The ids of a text between its begin and its end, at most `most` of them in all."""
        room = most - 2
        found: list[int] = []
        for word in words_of(text):
            found += self._pieces(word)
            if len(found) >= room:
                break
        return [self._begin, *found[:room], self._end]

    def _pieces(self, word: str) -> tuple[int, ...]:
        pieces = self._known.get(word)
        if pieces is None:
            pieces = tuple(self._split(word))
            if len(self._known) < _MOST_KNOWN_WORDS:
                self._known[word] = pieces
        return pieces

    def _split(self, word: str) -> list[int]:
        """The longest piece that fits, again and again; one unknown if at any place none does."""
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        found = []
        start = 0
        while start < len(word):
            for piece, end in self._candidates(word, start):
                if piece in self._ids:
                    found.append(self._ids[piece])
                    start = end
                    break
            else:
                return [self._unknown]
        return found

    def _candidates(self, word: str, start: int) -> Iterator[tuple[str, int]]:
        mark = "##" if start else ""
        for end in range(min(len(word), start + self._longest), start, -1):
            yield mark + word[start:end], end

    def _special(self, piece: str) -> int:
        if piece not in self._ids:
            raise EmbedderFailed(f"the vocabulary has no {piece}")
        return self._ids[piece]


class _Spelling(dict[int, str]):
    """What stands for a character, worked out once for each that occurs."""

    def __missing__(self, code: int) -> str:
        self[code] = spelled = _spelled(chr(code))
        return spelled


_SPELLING = _Spelling()


def words_of(text: str) -> list[str]:
    """Lower case words without accents; every punctuation mark and ideograph is one of its own."""
    return normalize("NFD", text[:_LONGEST_TEXT]).translate(_SPELLING).split()


def _spelled(mark: str) -> str:
    kind = category(mark)
    if mark in "\t\n\r" or kind.startswith("Z"):
        return " "
    if kind in _DROPPED or mark == "\ufffd":
        return ""
    if _stands_alone(mark, kind):
        return f" {mark} "
    return mark.lower()


def _stands_alone(mark: str, kind: str) -> bool:
    code = ord(mark)
    if code < 0x80:
        return not mark.isalnum()
    return kind.startswith("P") or any(first <= code <= last for first, last in _IDEOGRAPHS)
