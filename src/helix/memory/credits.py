"""Credit: what the checks said of work that a memory was shown to, and whether it helps (M-6, M-9).

Once for each bead and memory; a later outcome of the same bead takes the place of the earlier one
(D-18). Each change happens in one transaction, so that any number of processes count exactly.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from ddx.base import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection

    from helix.memory.store import MemoryStore

CREDIT = 0.5
_EARLIER = "SELECT passed FROM outcome WHERE bead = ? AND name = ?"
_KNOWN = "SELECT 1 FROM memory WHERE name = ?"
_SET = """
    INSERT INTO outcome (bead, name, passed, created_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (bead, name) DO UPDATE SET
        passed = excluded.passed, created_at = excluded.created_at
"""
_COUNT = """
    UPDATE memory SET helped = max(helped + ?, 0), failed = max(failed + ?, 0),
                      last_used = coalesce(?, last_used)
    WHERE name = ?
"""


@value
class CreditResult:
    """What one outcome changed."""

    bead: str
    passed: bool
    credited: tuple[str, ...]
    unchanged: tuple[str, ...]
    """This bead has said the same of them before."""
    unknown: tuple[str, ...]


def credit(
    store: MemoryStore, bead: str, names: Iterable[str], *, passed: bool, now: str
) -> CreditResult:
    """A pass helps, a failure counts against, and the last word of a bead stands."""
    credited, unchanged, unknown = [], [], []
    with store.writing() as db:
        for name in dict.fromkeys(names):
            if db.execute(_KNOWN, (name,)).fetchone() is None:
                unknown.append(name)
            elif _credit(db, bead, name, passed=passed, now=now):
                credited.append(name)
            else:
                unchanged.append(name)
    return CreditResult(
        bead, passed, tuple(credited), unchanged=tuple(unchanged), unknown=tuple(unknown)
    )


def _credit(db: Connection, bead: str, name: str, *, passed: bool, now: str) -> bool:
    earlier = db.execute(_EARLIER, (bead, name)).fetchone()
    before = None if earlier is None else bool(earlier[0])
    if before == passed:
        return False
    helped = CREDIT * (passed - (before is True))
    failed = CREDIT * ((not passed) - (before is False))
    db.execute(_SET, (bead, name, int(passed), now))
    db.execute(_COUNT, (helped, failed, now if passed else None, name))
    return True


@value
class BuilderReport:
    """What a builder said of itself; the numbers of memories that it moved (deprecated)."""

    helped: int
    unhelpful: int
    missing: tuple[str, ...]


def credit_report(
    store: MemoryStore, utilized: Iterable[str], injected: Iterable[str]
) -> BuilderReport:
    """By the builder's own word: no more than one outcome each, and no proof of being used."""
    used = dict.fromkeys(utilized)
    shown = dict.fromkeys((*used, *injected))
    missing = []
    counts = {True: 0, False: 0}
    with store.writing() as db:
        for name in shown:
            helped = name in used
            given = (CREDIT * helped, CREDIT * (not helped), None, name)
            if db.execute(_COUNT, given).rowcount:
                counts[helped] += 1
            else:
                missing.append(name)
    return BuilderReport(counts[True], counts[False], tuple(missing))


# -- the trials of M-9 -----------------------------------------------------------------------


@value
class Trial:
    """One attempt for which there was something to inject."""

    attempt: str
    held_out: bool
    passed: bool | None
    names: tuple[str, ...]


def all_trials(store: MemoryStore) -> list[Trial]:
    """Oldest first."""
    with store.reading() as db:
        rows = db.execute(
            "SELECT attempt, held_out, passed FROM trial ORDER BY created_at, attempt"
        )
        trials = rows.fetchall()
        names: dict[str, list[str]] = {}
        for attempt, name in db.execute("SELECT attempt, name FROM injection ORDER BY name"):
            names.setdefault(attempt, []).append(name)
    return [
        Trial(
            attempt,
            bool(held_out),
            None if passed is None else bool(passed),
            names=tuple(names.get(attempt, ())),
        )
        for attempt, held_out, passed in trials
    ]


# -- success with and without memories, and no claim beyond the data (M-9) -------------------

Z_95 = 1.959964
"""How many standard errors hold 95 % of a normal distribution."""
FEWEST = 5
"""Attempts that each side needs before the two are compared at all."""


@value
class Interval:
    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        return self.low <= 0.0 <= self.high


@value
class SuccessRate:
    """So many of so many passed; the interval holds the true share in 95 of 100 cases."""

    passed: int
    total: int

    @property
    def share(self) -> float | None:
        return self.passed / self.total if self.total else None

    @property
    def interval(self) -> Interval:
        return wilson(self.passed, self.total)


@value
class Lift:
    """How attempts that saw one memory ended, against the base rate."""

    name: str
    rate: SuccessRate
    base: SuccessRate
    """All attempts that were held out, whatever they were about: no claim on what it causes."""

    @property
    def lift(self) -> float | None:
        """None while nothing was held out."""
        return difference(self.rate, self.base)

    @property
    def interval(self) -> Interval | None:
        return newcombe(self.rate, self.base) if self.base.total else None


@value
class MemoryValue:
    """The whole answer of `helix memory value`."""

    injected: SuccessRate
    withheld: SuccessRate
    open: int
    """Attempts whose checks have not spoken."""
    memories: tuple[Lift, ...]

    @property
    def difference(self) -> float | None:
        return difference(self.injected, self.withheld)

    @property
    def interval(self) -> Interval | None:
        """Newcombe's, of the difference; None while one side is empty."""
        if not self.injected.total or not self.withheld.total:
            return None
        return newcombe(self.injected, self.withheld)

    @property
    def verdict(self) -> str:
        """What may be said, and not more."""
        fewest = min(self.injected.total, self.withheld.total)
        if self.interval is None or fewest < FEWEST:
            return (
                "too few attempts to compare: "
                f"{self.injected.total} with memories, {self.withheld.total} without, "
                f"{FEWEST} of each are needed"
            )
        if self.interval.holds_zero:
            return "no difference can be told from chance yet"
        more = "more" if self.interval.low > 0 else "less"
        return (
            f"attempts with memories pass {more} often than attempts without; "
            "where there is no difference, one look in twenty says so all the same"
        )


def value_of(trials: Sequence[Trial]) -> MemoryValue:
    """From the record of all trials to what it shows."""
    judged = [trial for trial in trials if trial.passed is not None]
    injected = _rate([trial for trial in judged if not trial.held_out])
    withheld = _rate([trial for trial in judged if trial.held_out])
    seen: dict[str, list[Trial]] = {}
    for trial in judged:
        if not trial.held_out:
            for name in trial.names:
                seen.setdefault(name, []).append(trial)
    lifts = [Lift(name, _rate(found), withheld) for name, found in seen.items()]
    ranked = sorted(lifts, key=lambda one: (-one.rate.interval.low, -one.rate.total, one.name))
    return MemoryValue(injected, withheld, len(trials) - len(judged), memories=tuple(ranked))


def _rate(trials: Sequence[Trial]) -> SuccessRate:
    return SuccessRate(sum(trial.passed is True for trial in trials), len(trials))


def difference(one: SuccessRate, other: SuccessRate) -> float | None:
    """Of two shares; None while one side is empty."""
    if one.share is None or other.share is None:
        return None
    return one.share - other.share


def wilson(passed: int, total: int) -> Interval:
    """The score interval: honest for few attempts, and never outside of 0 to 1."""
    if not total:
        return Interval(0.0, 1.0)
    share, z2 = passed / total, Z_95 * Z_95
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    spread = Z_95 * sqrt(share * (1 - share) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    low = 0.0 if passed == 0 else max(middle - spread, 0.0)
    high = 1.0 if passed == total else min(middle + spread, 1.0)
    return Interval(low, high)


def newcombe(one: SuccessRate, other: SuccessRate) -> Interval:
    """Of the difference of two independent shares, from the Wilson intervals of both."""
    if one.share is None or other.share is None:
        return Interval(-1.0, 1.0)
    first, second, difference = one.interval, other.interval, one.share - other.share
    below = sqrt((one.share - first.low) ** 2 + (second.high - other.share) ** 2)
    above = sqrt((first.high - one.share) ** 2 + (other.share - second.low) ** 2)
    return Interval(max(difference - below, -1.0), min(difference + above, 1.0))
