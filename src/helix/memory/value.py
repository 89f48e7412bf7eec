"""Whether memory helps: success with and without it, and no claim beyond the data (M-9). Pure."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Sequence

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
class Rate:
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
    rate: Rate
    base: Rate
    """All attempts that were held out, whatever they were about: no claim on what it causes."""

    @property
    def lift(self) -> float | None:
        """None while nothing was held out."""
        return difference(self.rate, self.base)

    @property
    def interval(self) -> Interval | None:
        return newcombe(self.rate, self.base) if self.base.total else None


@value
class Value:
    """The whole answer of `helix memory value`."""

    injected: Rate
    withheld: Rate
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


@value
class Trial:
    """One attempt for which there was something to inject."""

    attempt: str
    held_out: bool
    passed: bool | None
    names: tuple[str, ...]


def value_of(trials: Sequence[Trial]) -> Value:
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
    return Value(injected, withheld, len(trials) - len(judged), tuple(ranked))


def _rate(trials: Sequence[Trial]) -> Rate:
    return Rate(sum(trial.passed is True for trial in trials), len(trials))


def difference(one: Rate, other: Rate) -> float | None:
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


def newcombe(one: Rate, other: Rate) -> Interval:
    """Of the difference of two independent shares, from the Wilson intervals of both."""
    if one.share is None or other.share is None:
        return Interval(-1.0, 1.0)
    first, second, difference = one.interval, other.interval, one.share - other.share
    below = sqrt((one.share - first.low) ** 2 + (second.high - other.share) ** 2)
    above = sqrt((first.high - one.share) ** 2 + (other.share - second.low) ** 2)
    return Interval(max(difference - below, -1.0), min(difference + above, 1.0))
