"""What came of what was asked, in numbers: beads, days, tries, harnesses, memory (V-3). Pure.

Two kinds of numbers: what *happened* counts since the given time, what *stands* is as it is now.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.instants import LAST, sort_key
from ddx.tracker.model import labels_of, link_of, status_of, text_of, type_of
from ddx.values import changed, value
from helix.verification.attempts import LANDED
from helix.verification.spending import Spent, cost_in, local_day

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ddx.tracker.model import Row
    from helix.verification.attempts import Attempt, Attempts

WITH, WITHOUT = "with memories", "without"
MOST_BARS = 62
_WRITING = ("kind:planning", "kind:document")
_MOST_TRIES = 5
"""Beads that took more are counted together."""


class Standing(StrEnum):
    """Where a bead is now; each is in exactly one."""

    LANDED = "landed"
    CLOSED = "closed"
    """Without a commit: it was there already, or a person closed it."""
    PRESERVED = "preserved"
    BLOCKED = "blocked"
    CLAIMED = "in_progress"
    OPEN = "open"
    PROPOSED = "proposed"
    CANCELLED = "cancelled"


ENDED = frozenset({Standing.LANDED, Standing.CLOSED, Standing.CANCELLED})


@value
class Line:
    """One bead of the report."""

    id: str
    title: str
    type: str
    spec: str
    standing: Standing
    asked_at: str
    ended_at: str = ""
    commit: str = ""
    attempts: int = 0
    """That came to an end since the given time."""
    spent: Spent = Spent("")
    kept: str = ""
    """The attempt whose work is kept for it, if it is preserved."""
    ref: str = ""
    reason: str = ""


@value
class Day:
    """What happened in a day, or in the span that begins with it."""

    day: str
    landed: int = 0
    attempts: int = 0
    tokens: int = 0
    cost_usd: float | None = None


@value
class Rate:
    """How often it went well."""

    key: str
    attempts: int
    completed: int
    spent: Spent

    @property
    def share(self) -> float:
        return self.completed / self.attempts if self.attempts else 0.0


@value
class Tries:
    """How many beads took so many attempts."""

    attempts: int
    beads: int
    is_more: bool = False

    @property
    def label(self) -> str:
        return f"{self.attempts}{'+' if self.is_more else ''}"


def lines_of(
    rows: Iterable[Row],
    attempts: Attempts,
    *,
    kept: Collection[str] = (),
    since: str = "",
) -> tuple[Line, ...]:
    """Every bead that is no mere roof over others, in the order in which they were asked for.

    `kept` are the attempts whose work still has a ref (X-14).
    """
    known = list(rows)
    roofs = {link_of(row, "parent") for row in known} - {""}
    tried: dict[str, list[Attempt]] = {}
    for attempt in attempts.all:
        for bead in attempt.beads:
            tried.setdefault(bead, []).append(attempt)
    found = [
        _line(row, tried.get(str(row["id"]), []), kept, since)
        for row in known
        if not (type_of(row) == "epic" and row["id"] in roofs)
    ]
    return tuple(sorted(found, key=lambda line: (sort_key(line.asked_at), line.id)))


def is_planning(row: Row) -> bool:
    """A bead that writes documents: what it lands proves no requirement (A-4)."""
    return any(it in _WRITING or it.startswith("action:") for it in labels_of(row))


def counts(lines: Sequence[Line], *, since: str = "") -> dict[str, int]:
    """Asked and ended since then; all others as they stand now."""
    found = {"asked": sum(is_since(line.asked_at, since) for line in lines)}
    for standing in Standing:
        of_it = [line for line in lines if line.standing is standing]
        if standing in ENDED:
            of_it = [line for line in of_it if is_since(line.ended_at, since)]
        found[str(standing)] = len(of_it)
    return found


def is_since(at: str, since: str) -> bool:
    """What has no time is old; without a time to begin with, everything counts."""
    return not since or sort_key(since) <= sort_key(at) < LAST


def days_of(
    lines: Sequence[Line], attempts: Sequence[Attempt], *, since: str = ""
) -> tuple[Day, ...]:
    """Every day on which something landed or was tried, oldest first."""
    found: dict[str, Day] = {}
    for line in lines:
        if line.standing is Standing.LANDED and is_since(line.ended_at, since):
            day = local_day(line.ended_at)
            held = found.get(day, Day(day))
            found[day] = changed(held, landed=held.landed + 1)
    for attempt in attempts:
        day = local_day(attempt.at)
        held = found.get(day, Day(day))
        spent, cost = Spent("").plus(attempt.usage), cost_in(attempt.usage)
        found[day] = changed(
            held,
            attempts=held.attempts + attempt.is_work,
            tokens=held.tokens + spent.tokens,
            cost_usd=held.cost_usd if cost is None else (held.cost_usd or 0.0) + cost,
        )
    found.pop("unknown", None)
    return tuple(found[day] for day in sorted(found))


def spans_of(days: Sequence[Day]) -> tuple[str, tuple[Day, ...]]:
    """The days without holes; too many of them for a picture become weeks, then months."""
    if not days:
        return "day", ()
    first, last = (date.fromisoformat(each.day) for each in (days[0], days[-1]))
    length = (last - first).days + 1
    unit = "day" if length <= MOST_BARS else "week" if length <= 7 * MOST_BARS else "month"
    found: dict[str, Day] = {}
    for number in range(length):
        begin = _begin(first + timedelta(days=number), unit)
        found.setdefault(begin, Day(begin))
    for day in days:
        begin = _begin(date.fromisoformat(day.day), unit)
        held = found[begin]
        costs = [cost for cost in (held.cost_usd, day.cost_usd) if cost is not None]
        found[begin] = Day(
            begin,
            held.landed + day.landed,
            held.attempts + day.attempts,
            held.tokens + day.tokens,
            sum(costs) if costs else None,
        )
    return unit, tuple(found.values())[-MOST_BARS:]


def tries_of(lines: Sequence[Line]) -> tuple[Tries, ...]:
    """From one attempt to the most that a bead took."""
    found = Counter(min(line.attempts, _MOST_TRIES) for line in lines if line.attempts)
    highest = max(found, default=0)
    is_open = any(line.attempts > _MOST_TRIES for line in lines)
    return tuple(
        Tries(number, found[number], is_open and number == _MOST_TRIES)
        for number in range(1, highest + 1)
    )


def rates_by_harness(
    attempts: Sequence[Attempt], later: frozenset[str] = frozenset()
) -> tuple[Rate, ...]:
    """The most used first."""
    found = _rates(((it.harness or "unknown", it) for it in attempts if it.is_work), later)
    return tuple(sorted(found.values(), key=lambda rate: (-rate.attempts, rate.key)))


def rates_by_memory(
    attempts: Sequence[Attempt], later: frozenset[str] = frozenset()
) -> tuple[Rate, ...]:
    """With and without; nothing to compare until the first attempt had a memory."""
    work = [it for it in attempts if it.is_work]
    if not any(it.memories for it in work):
        return ()
    found = _rates(((WITH if it.memories else WITHOUT, it) for it in work), later)
    return tuple(found[key] for key in (WITH, WITHOUT) if key in found)


def total_of(attempts: Iterable[Attempt]) -> Spent:
    spent = Spent("total")
    for attempt in attempts:
        spent = spent.plus(attempt.usage) if attempt.is_call else spent
    return spent


def _rates(keyed: Iterable[tuple[str, Attempt]], later: frozenset[str]) -> dict[str, Rate]:
    found: dict[str, Rate] = {}
    for key, attempt in keyed:
        held = found.get(key, Rate(key, 0, 0, Spent(key)))
        is_good = attempt.completed or attempt.id in later
        found[key] = Rate(
            key, held.attempts + 1, held.completed + is_good, held.spent.plus(attempt.usage)
        )
    return found


def _line(row: Row, tried: Sequence[Attempt], kept_ids: Collection[str], since: str) -> Line:
    work = [it for it in tried if it.is_work]
    counted = [it for it in work if is_since(it.at, since)]
    spent = Spent(str(row["id"]))
    for attempt in counted:
        spent = spent.plus(_shared(attempt))
    kept = next((it for it in reversed(work) if it.id in kept_ids), None)
    commit = text_of(row, "closing_commit_sha") or _landed_by(row, tried)
    standing = _standing(row, commit, kept)
    is_kept = standing is Standing.PRESERVED and kept is not None
    ended = text_of(row, "closed_at") or text_of(row, "updated_at") if standing in ENDED else ""
    return Line(
        str(row["id"]),
        text_of(row, "title"),
        type_of(row),
        link_of(row, "spec-id"),
        standing,
        text_of(row, "created_at"),
        ended,
        commit if standing is Standing.LANDED else "",
        len(counted),
        spent,
        kept.id if is_kept and kept else "",
        kept.ref if is_kept and kept else "",
        _reason(row, standing, work),
    )


def _landed_by(row: Row, tried: Sequence[Attempt]) -> str:
    """By the record of the attempt that closed it, where the bead itself names no commit."""
    session = text_of(row, "session_id")
    return next((it.commit for it in tried if it.id == session and it.outcome == LANDED), "")


def _standing(row: Row, commit: str, kept: Attempt | None) -> Standing:
    match status_of(row):
        case "closed":
            return Standing.LANDED if commit else Standing.CLOSED
        case "cancelled":
            return Standing.CANCELLED
        case "blocked":
            return Standing.BLOCKED
        case "in_progress":
            return Standing.CLAIMED
        case "proposed":
            return Standing.PROPOSED
        case _:
            return Standing.PRESERVED if kept is not None else Standing.OPEN


def _reason(row: Row, standing: Standing, work: Sequence[Attempt]) -> str:
    last = work[-1].reason if work else ""
    match standing:
        case Standing.BLOCKED:
            return text_of(row, "blocked-reason") or last
        case Standing.PRESERVED | Standing.OPEN:
            return last
        case Standing.CLOSED | Standing.CANCELLED:
            return text_of(row, "close_reason")
        case _:
            return ""


def _shared(attempt: Attempt) -> Mapping[str, object]:
    """A batch's cost is borne by its beads alike."""
    share = len(attempt.beads)
    if share <= 1:
        return attempt.usage
    cost = cost_in(attempt.usage)
    counts = {key: given // share for key, given in attempt.usage.items() if isinstance(given, int)}
    return {**counts, "cost_usd": None if cost is None else cost / share}


def _begin(day: date, unit: str) -> str:
    if unit == "week":
        day -= timedelta(days=day.weekday())
    return (day.replace(day=1) if unit == "month" else day).isoformat()
