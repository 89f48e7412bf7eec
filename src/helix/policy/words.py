"""The words of a statement that mean something, each reduced to its stem. Pure."""

from __future__ import annotations

import re
from functools import cache, lru_cache
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
_NOUN_ENDING, _SHORTEST_VERB = "al", 5
_SAME_WORDS = """
    change alter edit modify
    delete destroy erase purge remove wipe
    keep archive persist retain save store
    show display see view visible
    update refresh sync synchronise synchronize
    send deliver forward transmit
    start begin launch
    write emit output print
    stop halt
    notify inform alert
    make create generate produce
"""
_IDLE_WORDS = """
    act after amount appear arriv averag big carr com complet current deliver done drop exact
    exist expect finish get giv given go guarante handl happen hav high hold large larg last
    least let limit long look low main manag maximum mean measur minimum normal number occur
    overall perform primar put reach remain requir return run see serv set show singl siz small
    stay sustain tak tim total typic usual valu work
"""
IDLE = frozenset(_IDLE_WORDS.split())
"""Stems that say nothing of what a quantity or a property belongs to."""
PASSED_ON = frozenset({"show", "updat"})
"""Stems of how news of something spreads: when it does says the same of each."""
ANY_PART = frozenset({"host", "instanc", "machin", "nod", "process", "replica", "server", "worker"})
"""Stems that stand for every part of a system, where all of them are meant."""
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
    words = {measured(_stem(word)): word for word in reversed(_WORD.findall(text.lower()))}
    return sorted({words.get(measured(stem), stem) for stem in found})


def measured(stem: str, *, is_time: bool = False) -> str:
    """What is available for 30 days is kept for so long; for 99 % of the time it is up."""
    same = SAME_MEASURE.get(stem, stem)
    return "retent" if is_time and same == "uptim" else same


def _stem(word: str) -> str:
    """What is left without the ending; words for one thing have one stem."""
    return _same_words().get(bare := _bare_stem(word), bare)


@cache
def _same_words() -> dict[str, str]:
    """Each stem with that of the first word of its line."""
    lines = [[*map(_bare_stem, line.split())] for line in _SAME_WORDS.strip().splitlines()]
    return {stem: first for first, *others in lines for stem in others}


@lru_cache(maxsize=20_000)
def _bare_stem(word: str) -> str:
    """What is left without the ending: process, processing and processed are one word."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
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
