"""What words mean: stems, names of technologies, properties that exclude each other (I-5).

The words themselves stand in vocabulary.yaml beside this module, which is read at their first use.
They are English; of a statement in another language only its technologies are understood.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ddx.base import Nodes, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OPEN, CLOSE = "\x02", "\x03"
"""Around a known name; statements are read without these characters."""
_FILE = os.path.join(os.path.dirname(__file__), "vocabulary.yaml")
_BETWEEN = ", "


@cache
def tables() -> dict[str, Any]:
    """All that vocabulary.yaml holds."""
    with open(_FILE, encoding="utf-8") as file:
        found: dict[str, Any] = Nodes(file.read()).values()
    return found


@cache
def leaders(table: str) -> dict[str, str]:
    """Each word of a table of lines with the first one of its line, which stands for it."""
    lines = map(str.split, tables()[table].splitlines())
    return {word: first for first, *others in lines for word in others}


def _any_of(patterns: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{patterns.replace(_BETWEEN, '|')})\b")


# -- stems ---------------------------------------------------------------------------------

_WORD = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|[^\W\d_][^\W_]*(?:[-'][^\W_]+)*")
_ENDINGS = (
    *("ations", "ation", "ements", "ement", "ments", "ment", "ings", "ing", "ions", "ion"),
    *("edly", "ied", "ies", "ed", "ers", "es", "ly", "s", "e", "y"),
)
_SHORTEST = 3
_NOUN_ENDING, _SHORTEST_VERB = "al", 5
PASSED_ON = frozenset({"show", "updat"})
"""Stems of how news of something spreads: when it does says the same of each."""
ANY_PART = frozenset({"host", "instanc", "machin", "nod", "process", "replica", "server", "worker"})
"""Stems that stand for every part of a system, where all of them are meant."""


def stems(text: str) -> Iterator[str]:
    """Of a text in lower case, the words that mean something; names of technologies stay."""
    for match in _WORD.finditer(text):
        word = match[0]
        if word[0] == OPEN:
            yield word.strip(OPEN + CLOSE)
        elif word not in _empty() and len(word) > 1:
            yield _stem(word.removesuffix("'s"))


def as_said(found: Iterable[str], text: str) -> list[str]:
    """Stems as the words that a text has for them, for a person to read."""
    words = {measured(_stem(word)): word for word in reversed(_WORD.findall(text.lower()))}
    return sorted({words.get(measured(stem), stem) for stem in found})


def measured(stem: str, *, is_time: bool = False) -> str:
    """What is available for 30 days is kept for so long; for 99 % of the time it is up."""
    same = leaders("measures").get(stem, stem)
    return "retent" if is_time and same == "uptim" else same


@cache
def idle() -> frozenset[str]:
    """Stems that say nothing of what a quantity or a property belongs to."""
    return frozenset(tables()["idle"].split())


@cache
def _empty() -> frozenset[str]:
    return frozenset(tables()["empty"].split())


def _stem(word: str) -> str:
    """What is left without the ending; words for one thing have one stem."""
    return _synonyms().get(bare := _bare_stem(word), bare)


@cache
def _synonyms() -> dict[str, str]:
    return {_bare_stem(word): _bare_stem(same) for word, same in leaders("synonyms").items()}


@lru_cache(maxsize=20_000)
def _bare_stem(word: str) -> str:
    """What is left without the ending: process, processing and processed are one word."""
    if known := leaders("irregular").get(word):
        return known
    word = singular(word) if len(word) > _SHORTEST else word
    if word.endswith(_NOUN_ENDING) and len(word) >= _SHORTEST_VERB + len(_NOUN_ENDING):
        return word.removesuffix(_NOUN_ENDING)  # removal, approval
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST and word[-2:] != "ss":
            word = word.removesuffix(ending)
            break
    if len(word) > _SHORTEST and word.endswith("y"):  # copying, delayed
        word = word[:-1]
    if len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


# -- technologies --------------------------------------------------------------------------

NOT_EXCLUSIVE = frozenset({"operating system", "code host"})
"""A project that names two of these has not chosen twice, unless it says only."""
ONE_FOR_EACH = frozenset(
    {
        *("programming language", "frontend framework", "application framework"),
        *("mobile framework", "authentication", "licence", "orchestrator", "build tool"),
        *("continuous integration", "package manager", "test framework", "password hash"),
    }
)
"""Whoever uses one of these uses no other, whatever else is said of it."""
_ONE_WORLD = frozenset({"node.js", "javascript", "typescript"})
"""What is written in either of the last two may well run on the first."""
_MARKS = " *_`([\"'"
_BEFORE_A_CHOICE = re.compile(
    r"(?:\b(?:use|uses|using|used|written in|implemented in|built with|build with|instead of|"
    r"rather than|switch to|move to|migrate to|replace|language|framework|database|format|stack|"
    r"api|broker|and|or|with|from|drop|adopt|not|no)(?: is)?:? )(?:a |an |the )?\Z"
)


def marked(text: str) -> str:
    """The text with each known name in marks, spelled in one way; the rest is as it was."""
    return _pattern().sub(_mark, text)


def kinds_of(name: str) -> tuple[str, ...]:
    """What a technology may be chosen for, the usual kind first; nothing: it is not known."""
    return _technologies()[1].get(name, ())


def go_together(names: frozenset[str]) -> bool:
    """Several that make no choice between them."""
    return "node.js" in names and names <= _ONE_WORLD


@cache
def slot_of(kind: str) -> re.Pattern[str]:
    """What names this kind in a statement."""
    return _any_of(_BETWEEN.join((kind, tables()["slots"].get(kind, kind))))


def _mark(match: re.Match[str]) -> str:
    spelled = match[0]
    bare = spelled.lower()
    proper = _cased().get(bare)
    if proper is not None and not _is_meant(match, spelled, proper):
        return spelled
    return f"{OPEN}{_technologies()[0][bare]}{CLOSE}"


def _is_meant(match: re.Match[str], spelled: str, proper: str) -> bool:
    """`go` is a language where it is spelled so inside a sentence, or where a choice is named."""
    before = match.string[: match.start()].lower()
    if spelled == proper and before.strip(_MARKS):
        return not before.rstrip(_MARKS).endswith((".", "!", "?"))
    if not before.strip() and match.end() >= len(match.string.rstrip(" .!")):
        return True
    return _BEFORE_A_CHOICE.search(before) is not None


@cache
def _cased() -> dict[str, str]:
    return {name.lower(): name for name in tables()["cased"].split()}


@cache
def _technologies() -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Every spelling with its name, and every name with its kinds."""
    spellings: dict[str, str] = {}
    kinds: dict[str, tuple[str, ...]] = {}
    for kind, names in tables()["technologies"].items():
        for name, *others in (entry.split("|") for entry in names.split(_BETWEEN)):
            # Redis is a cache first: its other uses have to be named.
            found = (*kinds.get(name, ()), kind)
            kinds[name] = tuple(sorted(found, key=lambda each: each != "cache"))
            spellings |= dict.fromkeys((name, *others), name)
    return spellings, kinds


@cache
def _pattern() -> re.Pattern[str]:
    """All spellings, the longest first; by first letter, which is ten times as fast."""
    spellings = sorted(_technologies()[0], key=lambda each: (each[0], -len(each)))
    letters = (
        f"{re.escape(letter)}(?:{'|'.join(re.escape(each[1:]) for each in same)})"
        for letter, same in groupby(spellings, key=lambda each: each[0])
    )
    return re.compile(rf"(?<![\w./#+-])(?:{'|'.join(letters)})(?![\w#+]|-\w|\.\w)", re.IGNORECASE)


# -- opposites -----------------------------------------------------------------------------


@value
class Axis:
    """Two sides; a thing that has one of them does not have the other."""

    name: str
    one: re.Pattern[str]
    other: re.Pattern[str]
    is_of_the_whole: bool
    """A system has it altogether; otherwise each operation has a side of its own."""
    is_of_force: bool
    """Its words are those of must and may themselves."""


@value
class Side:
    """On which side of an axis a claim stands."""

    axis: Axis
    is_one: bool


def sides_of(text: str, *, is_ban: bool) -> tuple[tuple[Side, ...], str]:
    """The sides that a text takes, turned over if it forbids them, and the text without them.

    A text that names both sides of an axis takes neither.
    """
    if not _any_side().search(text):
        return (), text
    found: list[Side] = []
    taken: set[int] = set()
    for axis in _axes():
        one, other = axis.one.search(text), axis.other.search(text)
        if bool(one) == bool(other):
            continue
        found.append(Side(axis, (one is not None) != is_ban))
        for said in (axis.one if one else axis.other).finditer(text):
            taken.update(range(*said.span()))
    rest = "".join(" " if at in taken else mark for at, mark in enumerate(text))
    return tuple(found), rest


@cache
def _axes() -> tuple[Axis, ...]:
    return tuple(
        Axis(
            name,
            _any_of(row["one"]),
            _any_of(row["other"]),
            is_of_the_whole="whole" in row.get("of", ""),
            is_of_force="force" in row.get("of", ""),
        )
        for name, row in tables()["opposites"].items()
    )


@cache
def _any_side() -> re.Pattern[str]:
    return re.compile("|".join(it.pattern for axis in _axes() for it in (axis.one, axis.other)))
