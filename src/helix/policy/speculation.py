"""Beads that rest on an assumption: how long they may wait for somebody to look (I-10). Pure.

Whoever changes what such a bead asks for, or says anything on it, has looked; helix itself has not.
What it said when nobody had looked yet stands on the bead.
"""

from __future__ import annotations

from typing import TypeAlias

from ddx.fastjson import to_bytes
from ddx.instants import seconds_between
from ddx.tracker.codec import revision_of
from ddx.tracker.model import RUNNER, Row, events_of, labels_of, status_of, text_of
from ddx.values import value

BASIS = "speculation-basis"
"""On a bead: a mark of what it said before anybody had looked; empty: somebody has."""

_DAY_S = 86_400
_SAID = (
    *("title", "description", "design", "acceptance", "notes", "verify", "paths"),
    *("priority", "spec-id", "refs", "parent", "execution-eligible"),
)


@value
class Note:
    """Seen for the first time: this is to stand on it."""

    basis: str


@value
class Expire:
    """Nobody has looked in time: it is only proposed from now on."""

    reason: str


Judgement: TypeAlias = Note | Expire | None


def judge_assumption(row: Row, *, label: str, ttl_days: int, now: str) -> Judgement:
    """What is to be done about a bead now; None: nothing."""
    if status_of(row) != "open" or label not in labels_of(row) or is_spoken_of(row):
        return None
    known = row.get(BASIS)
    first = "" if _was_touched(row) else basis_of(row)
    basis = known if isinstance(known, str) else first
    age_s = seconds_between(text_of(row, "created_at"), now) or 0.0
    if basis == basis_of(row) and age_s >= ttl_days * _DAY_S:
        return Expire(f"it rests on an assumption that nobody looked at in {ttl_days} days")
    return None if basis == known else Note(basis)


def basis_of(row: Row) -> str:
    """A mark of all that a person who looks would change."""
    return revision_of(to_bytes({name: row[name] for name in _SAID if row.get(name)}))


def carried_over(before: Row, after: Row) -> Row:
    """The bead as helix changed it: that was nobody's look at it."""
    if before.get(BASIS) != basis_of(before):
        return after
    return {**after, BASIS: basis_of(after)}


def is_spoken_of(row: Row) -> bool:
    """Somebody besides helix has said something on it."""
    return any(text_of(it, "actor") not in ("", RUNNER) for it in events_of(row))


def _was_touched(row: Row) -> bool:
    """By somebody, between its filing and our first look."""
    is_tried = "attempts" in row or bool(events_of(row))
    return not is_tried and text_of(row, "updated_at") != text_of(row, "created_at")
