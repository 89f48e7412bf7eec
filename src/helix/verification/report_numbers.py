"""What came of what was asked, in numbers: beads, days, tries, harnesses, memory (V-3). Pure.

Two kinds of numbers: what *happened* counts since the given time, what *stands* is as it is now.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.base import Instant, value
from helix.verification.attempt_history import LANDED, Spending, cost_in, local_day

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ddx.tracker import Bead
    from helix.verification.attempt_history import AttemptHistory, PastAttempt

WITH, WITHOUT = "with memories", "without"
MOST_BARS = 62
_WRITING = ("kind:planning", "kind:document")
_MOST_TRIES = 5
"""Beads that took more are counted together."""


class BeadPhase(StrEnum):
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


ENDED = frozenset({BeadPhase.LANDED, BeadPhase.CLOSED, BeadPhase.CANCELLED})


@value
class BeadLine:
    """One bead of the report."""

    id: str
    title: str
    type: str
    spec: str
    standing: BeadPhase
    asked_at: str
    ended_at: str = ""
    commit: str = ""
    attempts: int = 0
    """That came to an end since the given time."""
    spent: Spending = Spending("")
    kept: str = ""
    """The attempt whose work is kept for it, if it is preserved."""
    ref: str = ""
    reason: str = ""


@value
class DayNumbers:
    """What happened in a day, or in the span that begins with it."""

    day: str
    landed: int = 0
    attempts: int = 0
    tokens: int = 0
    cost_usd: float | None = None

    def plus(self, other: DayNumbers) -> DayNumbers:
        """Both together, with the name of this one; a cost that nobody said stays unknown."""
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return DayNumbers(
            self.day,
            self.landed + other.landed,
            self.attempts + other.attempts,
            tokens=self.tokens + other.tokens,
            cost_usd=sum(costs) if costs else None,
        )


@value
class HarnessRate:
    """How often it went well."""

    key: str
    attempts: int
    completed: int
    spent: Spending

    @property
    def share(self) -> float:
        return self.completed / self.attempts if self.attempts else 0.0


@value
class AttemptCounts:
    """How many beads took so many attempts."""

    attempts: int
    beads: int
    is_more: bool = False

    @property
    def label(self) -> str:
        return f"{self.attempts}{'+' if self.is_more else ''}"


def lines_of(
    beads: Iterable[Bead], attempts: AttemptHistory, *, kept: Collection[str] = (), since: str = ""
) -> tuple[BeadLine, ...]:
    """Every bead that is no mere roof over others, in the order in which they were asked for.

    `kept` are the attempts whose work still has a ref (X-14).
    """
    known = list(beads)
    roofs = {bead.parent for bead in known} - {""}
    tried: dict[str, list[PastAttempt]] = {}
    for attempt in attempts.all:
        for bead_id in attempt.beads:
            tried.setdefault(bead_id, []).append(attempt)
    found = [
        _line(bead, tried.get(bead.id, []), kept, since)
        for bead in known
        if not (bead.type == "epic" and bead.id in roofs)
    ]
    return tuple(sorted(found, key=lambda line: (Instant(line.asked_at).sort_key, line.id)))


def is_planning(bead: Bead) -> bool:
    """A bead that writes documents: what it lands proves no requirement (A-4)."""
    return any(it in _WRITING or it.startswith("action:") for it in bead.labels)


def counts(lines: Sequence[BeadLine], *, since: str = "") -> dict[str, int]:
    """Asked and ended since then; all others as they stand now."""
    found = {"asked": sum(is_since(line.asked_at, since) for line in lines)}
    for standing in BeadPhase:
        of_it = [line for line in lines if line.standing is standing]
        if standing in ENDED:
            of_it = [line for line in of_it if is_since(line.ended_at, since)]
        found[str(standing)] = len(of_it)
    return found


def is_since(at: str, since: str) -> bool:
    """What has no time is old; without a time to begin with, everything counts."""
    moment = Instant(at)
    return not since or (moment.is_known and Instant(since).sort_key <= moment.sort_key)


def days_of(
    lines: Sequence[BeadLine], attempts: Sequence[PastAttempt], *, since: str = ""
) -> tuple[DayNumbers, ...]:
    """Every day on which something landed or was tried, oldest first."""
    happened = [
        DayNumbers(local_day(line.ended_at), landed=1)
        for line in lines
        if line.standing is BeadPhase.LANDED and is_since(line.ended_at, since)
    ]
    for it in attempts:
        day, spent = local_day(it.at), Spending("").plus(it.usage)
        one = DayNumbers(day, 0, int(it.is_work), tokens=spent.tokens, cost_usd=cost_in(it.usage))
        happened.append(one)
    found: dict[str, DayNumbers] = {}
    for one in happened:
        found[one.day] = found.get(one.day, DayNumbers(one.day)).plus(one)
    found.pop("unknown", None)
    return tuple(found[day] for day in sorted(found))


def spans_of(days: Sequence[DayNumbers]) -> tuple[str, tuple[DayNumbers, ...]]:
    """The days without holes; too many of them for a picture become weeks, then months."""
    if not days:
        return "day", ()
    first, last = (date.fromisoformat(each.day) for each in (days[0], days[-1]))
    length = (last - first).days + 1
    unit = "day" if length <= MOST_BARS else "week" if length <= 7 * MOST_BARS else "month"
    found: dict[str, DayNumbers] = {}
    for number in range(length):
        begin = _begin(first + timedelta(days=number), unit)
        found.setdefault(begin, DayNumbers(begin))
    for day in days:
        begin = _begin(date.fromisoformat(day.day), unit)
        found[begin] = found[begin].plus(day)
    return unit, tuple(found.values())[-MOST_BARS:]


def tries_of(lines: Sequence[BeadLine]) -> tuple[AttemptCounts, ...]:
    """From one attempt to the most that a bead took."""
    found = Counter(min(line.attempts, _MOST_TRIES) for line in lines if line.attempts)
    highest = max(found, default=0)
    is_open = any(line.attempts > _MOST_TRIES for line in lines)
    return tuple(
        AttemptCounts(number, found[number], is_open and number == _MOST_TRIES)
        for number in range(1, highest + 1)
    )


def rates_by_harness(
    attempts: Sequence[PastAttempt], later: frozenset[str] = frozenset()
) -> tuple[HarnessRate, ...]:
    """The most used first."""
    found = _rates(((it.harness or "unknown", it) for it in attempts if it.is_work), later)
    return tuple(sorted(found.values(), key=lambda rate: (-rate.attempts, rate.key)))


def rates_by_memory(
    attempts: Sequence[PastAttempt], later: frozenset[str] = frozenset()
) -> tuple[HarnessRate, ...]:
    """With and without; nothing to compare until the first attempt had a memory."""
    work = [it for it in attempts if it.is_work]
    if not any(it.memories for it in work):
        return ()
    found = _rates(((WITH if it.memories else WITHOUT, it) for it in work), later)
    return tuple(found[key] for key in (WITH, WITHOUT) if key in found)


def total_of(attempts: Iterable[PastAttempt]) -> Spending:
    spent = Spending("total")
    for attempt in attempts:
        spent = spent.plus(attempt.usage) if attempt.is_call else spent
    return spent


def _rates(
    keyed: Iterable[tuple[str, PastAttempt]], later: frozenset[str]
) -> dict[str, HarnessRate]:
    found: dict[str, HarnessRate] = {}
    for key, attempt in keyed:
        held = found.get(key, HarnessRate(key, 0, 0, spent=Spending(key)))
        is_good = attempt.completed or attempt.id in later
        found[key] = HarnessRate(
            key, held.attempts + 1, held.completed + is_good, spent=held.spent.plus(attempt.usage)
        )
    return found


def _line(
    bead: Bead, tried: Sequence[PastAttempt], kept_ids: Collection[str], since: str
) -> BeadLine:
    work = [it for it in tried if it.is_work]
    counted = [it for it in work if is_since(it.at, since)]
    spent = Spending(bead.id)
    for attempt in counted:
        spent = spent.plus(_shared(attempt))
    kept = next((it for it in reversed(work) if it.id in kept_ids), None)
    landed = (it.commit for it in tried if it.id == bead.session and it.outcome == LANDED)
    commit = bead.closing_commit or next(landed, "")
    standing = _standing(bead, commit, kept)
    preserved = kept if standing is BeadPhase.PRESERVED else None
    return BeadLine(
        bead.id,
        bead.title,
        bead.type,
        spec=bead.spec_id,
        standing=standing,
        asked_at=bead.created_at,
        ended_at=bead.closed_at or bead.updated_at if standing in ENDED else "",
        commit=commit if standing is BeadPhase.LANDED else "",
        attempts=len(counted),
        spent=spent,
        kept=preserved.id if preserved else "",
        ref=preserved.ref if preserved else "",
        reason=_reason(bead, standing, work),
    )


def _standing(bead: Bead, commit: str, kept: PastAttempt | None) -> BeadPhase:
    match bead.status:
        case "closed":
            return BeadPhase.LANDED if commit else BeadPhase.CLOSED
        case "cancelled" | "blocked" | "in_progress" | "proposed" as status:
            return BeadPhase(status)
        case _:
            return BeadPhase.PRESERVED if kept is not None else BeadPhase.OPEN


def _reason(bead: Bead, standing: BeadPhase, work: Sequence[PastAttempt]) -> str:
    last = work[-1].reason if work else ""
    match standing:
        case BeadPhase.BLOCKED:
            return bead.blocked_reason or last
        case BeadPhase.PRESERVED | BeadPhase.OPEN:
            return last
        case BeadPhase.CLOSED | BeadPhase.CANCELLED:
            return bead.close_reason
        case _:
            return ""


def _shared(attempt: PastAttempt) -> Mapping[str, object]:
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
