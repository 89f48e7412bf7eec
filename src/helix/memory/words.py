"""Memories by their words: FTS5 with Porter stems, stop words dropped, nothing read as syntax."""

from __future__ import annotations

import re
from math import log
from typing import TYPE_CHECKING

from ddx.graph.terms import STOP_WORDS, terms_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection

MOST_TERMS = 24
MOST_ROWS = 500
AT_LEAST = 100
"""How rare a word is can be told among so many memories; fewer are taken for so many."""

_JOINED = re.compile(r"[-._'\u2019]")
_SCORES = """
    SELECT rowid, -bm25(memory_text) AS score FROM memory_text
    WHERE memory_text MATCH ? ORDER BY score DESC LIMIT ?
"""
_HOLDERS = "SELECT rowid FROM memory_text WHERE memory_text MATCH ?"


def question_terms(query: str) -> tuple[str, ...]:
    """What a question is about: its first words but for stop words, joined ones taken apart."""
    found: dict[str, None] = {}
    for word in terms_of(query):
        for part in _JOINED.split(word):
            plain = part.casefold()
            if len(plain) > 1 and plain not in STOP_WORDS:
                found.setdefault(plain)
    return tuple(found)[:MOST_TERMS]


def bm25_scores(db: Connection, terms: Sequence[str]) -> dict[int, float]:
    """By id, the best rows that hold at least one of the terms; positive, more is better."""
    if not terms:
        return {}
    rows = db.execute(_SCORES, (" OR ".join(map(_phrase, terms)), MOST_ROWS))
    return {number: max(score, 0.0) for number, score in rows}


def coverages(db: Connection, terms: Sequence[str], memories: int) -> dict[int, float]:
    """By id, the share of the question that a memory holds, rare words counting more.

    Where words are all there is, bm25 will not do: among few memories it is nearly 0 for all.
    """
    weights, held = [], []
    memories = max(memories, AT_LEAST)
    for term in terms:
        rows = [number for (number,) in db.execute(_HOLDERS, (_phrase(term),))]
        weights.append(log(1.0 + (memories - len(rows) + 0.5) / (len(rows) + 0.5)))
        held.append(rows)
    whole = sum(weights)
    found: dict[int, float] = {}
    for weight, rows in zip(weights, held, strict=True):
        for number in rows:
            found[number] = found.get(number, 0.0) + weight / whole
    return found


def _phrase(word: str) -> str:
    """A word as FTS5 reads it when it shall be no operator; terms hold letters and digits alone."""
    return f'"{word}"'
