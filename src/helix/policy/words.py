"""The words of a statement that mean something, each reduced to its stem. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from helix.policy.quantities import singular
from helix.policy.technologies import CLOSE, OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WORD = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|[^\W\d_][^\W_]*(?:[-'][^\W_]+)*")
_EMPTY_WORDS = """
    a able about adopt adopted all allow allowed allows already also always an and any anything
    app application applications applies apply apps are as at avoid be became become becomes
    been being both by called can choose chosen completely component components could currently
    did do does done each either else employ employs enable enabled enables ensure ensures
    entire ever every everything exclusively existing few for forbidden from fully get gets got
    had has have having how i if in include included includes including into is it its itself
    just let made make makes mandatory may me might mine module modules more most much must my n
    need needed needs never new no nor not nothing now of off on once one only onto or other
    others ought our ours out over own per permit permitted platform possible prefer preferred
    product products program project projects provide provided provides purely recommended
    relies rely require required requires service services shall she should simple simply since
    so software solely solution some something such support supported supporting supports system
    systems than that the their theirs them then these they this those through thus to too tool
    tools toward under up upon us use used useful user's uses using utilise utilize version very
    via want wants was we were what when where whether which who whole whom whose why will with
    within without would yet you your yours
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
_IRREGULAR = {
    "kept": "keep",
    "sent": "send",
    "written": "writ",
    "wrote": "writ",
    "ran": "run",
    "built": "build",
    "held": "hold",
    "shown": "show",
    "taken": "tak",
    "stored": "stor",
    "storage": "stor",
    "made": "mak",
    "data": "data",
    "licence": "licens",
    "indices": "index",
    "told": "tell",
    "paid": "pay",
    "read": "read",
    "hidden": "hid",
}
_ENDINGS = (
    *("ations", "ation", "ements", "ement", "ments", "ment", "ings", "ing", "ions", "ion"),
    *("edly", "ied", "ies", "ed", "ers", "es", "ly", "s", "e", "y"),
)
_SHORTEST = 3
_IDLE_WORDS = """
    act after amount appear arriv averag big carr com complet current deliver done drop exact
    exist expect finish get giv given go guarante handl happen hav high hold large larg last
    least let limit long look low main manag maximum mean measur minimum normal number occur
    overall perform primar put reach remain requir return run see serv set show singl siz small
    stay sustain tak tim total typic usual valu work
"""
IDLE = frozenset(_IDLE_WORDS.split())
"""Stems that say nothing of what a quantity or a property belongs to."""
SAME_MEASURE = {
    "latenc": "respons",
    "respond": "respons",
    "answer": "respons",
    "repl": "respons",
    "keep": "retent",
    "retain": "retent",
    "retention": "retent",
    "delet": "retent",
    "purg": "retent",
    "eras": "retent",
    "remov": "retent",
    "stor": "retent",
    "availabl": "uptim",
    "availabilit": "uptim",
    "ram": "memor",
    "rat": "throughput",
}
"""How long something is kept is when it is deleted; both are one measure."""


def stems(text: str) -> Iterator[str]:
    """Of a text in lower case; names of technologies stay as they are."""
    for match in _WORD.finditer(text):
        word = match[0]
        if word[0] == OPEN:
            yield word.strip(OPEN + CLOSE)
        elif word not in _EMPTY and len(word) > 1:
            yield _stem(word.removesuffix("'s"))


def as_said(found: Iterable[str], text: str) -> list[str]:
    """Stems as the words that a text has for them, for a person to read."""
    words = {_measured(_stem(word)): word for word in reversed(_WORD.findall(text.lower()))}
    return sorted({words.get(_measured(stem), stem) for stem in found})


def _measured(stem: str) -> str:
    return SAME_MEASURE.get(stem, stem)


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """What is left without the ending: process, processing and processed are one word."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    word = singular(word) if len(word) > _SHORTEST else word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST and word[-2:] != "ss":
            word = word.removesuffix(ending)
            break
    if len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word
