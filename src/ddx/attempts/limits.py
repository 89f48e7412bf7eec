"""The gate before every call: what a run has used, and how its harnesses do (X-7, X-8).

Begin, wait or stop is decided by limits, denials and a circuit breaker; `UsageMeter` keeps count.
"""

from __future__ import annotations

import threading
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.agents import CallEnd, CostSource, Usage
from ddx.attempts.context import Limits
from ddx.attempts.outcome import AttemptFacts, AttemptStatus, Failed, Outcome, Preserved
from ddx.attempts.record import USAGE
from ddx.attempts.records import earlier_attempts, read_attempts
from ddx.base import NotFound, changed, listed, sort_key, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.agents import Reply
    from ddx.attempts.context import AttemptContext
    from ddx.attempts.outcome import Outcome
    from ddx.attempts.record import AttemptEvent
    from ddx.base import Clock
    from ddx.project import Project
    from ddx.tracker import Bead


MOST_FAULTS = 3
MOST_DENIALS = 2
PARKED_S = 300.0
"""How long a harness rests whose usage limit names no end."""


def is_parked(outcome: Outcome) -> bool:
    """Did it meet a usage limit? Then nothing was tried at all."""
    reply = outcome.facts.reply
    return reply is not None and reply.end is CallEnd.RATE_LIMITED


@value
class HarnessHealth:
    """What a harness did lately."""

    faults: int = 0
    """In a row, each the harness's own."""
    denials: int = 0
    parked_until: str = ""
    """RFC 3339 in UTC: it has told us so."""
    is_parked: bool = False
    reason: str = ""
    wanted: tuple[str, ...] = ()
    """The tools it was denied."""

    def after(self, outcome: Outcome, *, or_until: str) -> HarnessHealth:
        """The same harness, one attempt later; `or_until` where a limit names no end."""
        reply = outcome.facts.reply
        reason = outcome.facts.reason
        if reply is not None and is_parked(outcome):
            until = reply.until or or_until
            return changed(self, is_parked=True, parked_until=until, reason=reason)
        if reply is not None and reply.end is CallEnd.DENIED:
            wanted = tuple(dict.fromkeys((*self.wanted, *reply.denied)))
            return changed(self, denials=self.denials + 1, wanted=wanted, reason=reason, faults=0)
        match outcome:
            case (
                Failed(status=AttemptStatus.HARNESS_FAULT)
                | Preserved(status=AttemptStatus.HARNESS_FAULT)
            ):
                return changed(self, faults=self.faults + 1, denials=0, reason=reason)
            case (
                Failed(status=AttemptStatus.INTERRUPTED)
                | Preserved(status=AttemptStatus.INTERRUPTED)
            ):
                return self
            case _:
                return HarnessHealth()

    def awake(self, now: str) -> HarnessHealth:
        """The same with its limit over, if it is."""
        over = self.is_parked and sort_key(self.parked_until) <= sort_key(now)
        return changed(self, is_parked=False, parked_until="") if over else self

    @property
    def is_broken(self) -> bool:
        return self.faults >= MOST_FAULTS

    @property
    def is_denied(self) -> bool:
        return self.denials >= MOST_DENIALS

    @property
    def is_fit(self) -> bool:
        """More may be given to it."""
        return not (self.is_denied or self.is_broken or self.is_parked)

    def complaint(self, harness: str) -> str:
        """Why nothing more is given to it, for a person."""
        if self.is_denied:
            wanted = listed(self.wanted) or "what it asked for"
            return f"{harness} was denied twice in a row; it needs {wanted}"
        if self.is_broken:
            return f"{harness} failed {self.faults} times in a row by its own fault: {self.reason}"
        if self.is_parked:
            return f"{harness} has reached its usage limit; it may go on at {self.parked_until}"
        return ""


class EngineEnd(StrEnum):
    """Why a drain stopped."""

    DRAINED = "nothing is ready"
    COUNTED = "the number of attempts that was asked for is done"
    WOUND_DOWN = "stopped after the attempts that were running"
    INTERRUPTED = "interrupted"
    BUDGET = "the budget is spent"
    BROKEN = "the harness is broken"
    DENIED = "the agent needs a permission"
    PARKED = "the usage limit is reached"


@value
class EngineOptions:
    """What a person asked of one drain; `limits` are those of one attempt."""

    harness: str
    model: str = ""
    effort: str = ""
    most: int = 0
    """Attempts at all; 0: no limit."""
    workers: int = 1
    watch: bool = False
    limits: Limits = Limits()
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    on_limit: str = "wait"
    alternate: str = ""
    preface: str = ""
    from_rev: str = ""
    merge: bool = True


@value
class EngineProgress:
    """How far a drain has come."""

    harness: str
    begun: int = 0
    usage: Usage = Usage()
    health: Mapping[str, HarnessHealth] = {}

    def of(self, harness: str, now: str) -> HarnessHealth:
        """How this harness does now."""
        return self.health.get(harness, HarnessHealth()).awake(now)


@value
class BeginAttempt:
    """Another attempt, with this harness."""

    harness: str


@value
class WaitUntil:
    """Nothing to begin now: until an instant, or until something else ends."""

    reason: str
    until: str = ""


@value
class StopEngine:
    ended: EngineEnd
    reason: str


Step: TypeAlias = BeginAttempt | WaitUntil | StopEngine


def next_step(orders: EngineOptions, standing: EngineProgress, *, now: str) -> Step:
    """Begin, wait or stop: decided from what has happened, never from what somebody said."""
    if is_spent(orders, standing.usage):
        return StopEngine(EngineEnd.BUDGET, f"the budget is spent: {standing.usage.in_words}")
    if orders.most and standing.begun >= orders.most:
        return StopEngine(EngineEnd.COUNTED, EngineEnd.COUNTED)
    health = standing.of(standing.harness, now)
    if health.is_fit:
        return BeginAttempt(standing.harness)
    other = orders.alternate
    if other == standing.harness or not standing.of(other, now).is_fit:
        other = ""
    complaint = health.complaint(standing.harness)
    if health.is_denied:
        return StopEngine(EngineEnd.DENIED, complaint)
    if health.is_broken:
        return BeginAttempt(other) if other else StopEngine(EngineEnd.BROKEN, complaint)
    if orders.on_limit == "switch" and other:
        return BeginAttempt(other)
    if orders.on_limit == "stop":
        return StopEngine(EngineEnd.PARKED, complaint)
    return WaitUntil(complaint, health.parked_until)


def is_spent(orders: EngineOptions, usage: Usage) -> bool:
    """Has the run used up its budget (X-7)?"""
    return Limits(max_cost_usd=orders.max_cost_usd, max_tokens=orders.max_tokens).are_spent(usage)


def tightened(
    orders: EngineOptions, usage: Usage, *, spent: Usage, usd: float, tokens: float
) -> Limits:
    """One attempt may use what is left of the run and of its bead's own budget.

    `spent` is what earlier attempts on the bead used, `usd` and `tokens` what a bead may (0: all).
    """
    own = _least(
        orders.limits,
        usd - (spent.cost_usd or 0) if usd else None,
        tokens - spent.tokens if tokens else None,
    )
    runs = _least(
        own,
        None if orders.max_cost_usd is None else orders.max_cost_usd - (usage.cost_usd or 0),
        None if orders.max_tokens is None else orders.max_tokens - usage.tokens,
    )
    return runs if runs == own else changed(runs, is_of_run=True)


def _least(limits: Limits, usd: float | None, tokens: float | None) -> Limits:
    costs = [it for it in (limits.max_cost_usd, usd) if it is not None]
    counts = [it for it in (limits.max_tokens, tokens) if it is not None]
    return changed(
        limits,
        max_cost_usd=max(min(costs), 0.0) if costs else None,
        max_tokens=max(int(min(counts)), 0) if counts else None,
    )


def spent_on(project: Project, beads: Sequence[Bead]) -> Usage:
    """The sum over the attempts that the beads' events name; pruned records count nothing."""
    spent = Usage()
    for attempt in dict.fromkeys(it for bead in beads for it in earlier_attempts(bead)):
        try:
            spent += usage_of(read_attempts(project).read(attempt).file(USAGE))
        except NotFound:
            continue
    return spent


def usage_of(row: Mapping[str, Any]) -> Usage:
    """A usage as a record holds it."""
    cost = row.get("cost_usd")
    return Usage(
        input=int(row.get("input", 0)),
        cache_read=int(row.get("cache_read", 0)),
        cache_write=int(row.get("cache_write", 0)),
        output=int(row.get("output", 0)),
        cost_usd=None if cost is None else float(cost),
        cost_source=CostSource(row.get("cost_source", CostSource.UNKNOWN)),
    )


class UsageMeter:
    """Counts by what the calls themselves tell, so that no token is lost and none counted twice."""

    def __init__(self, orders: EngineOptions, clock: Clock) -> None:
        self.orders = orders
        self._clock = clock
        self._mutex = threading.Lock()
        self._standing = EngineProgress(orders.harness)

    @property
    def usage(self) -> Usage:
        return self._standing.usage

    @property
    def is_spent(self) -> bool:
        """Has the run used up its budget (X-7)?"""
        return is_spent(self.orders, self.usage)

    def hear(self, happening: AttemptEvent) -> None:
        """Every call of an agent ends with this event, whatever it was for (S-28)."""
        used = happening.data.get("usage")
        if happening.kind == "agent-ended" and isinstance(used, dict):
            with self._mutex:
                usage = self._standing.usage + usage_of(used)
                self._standing = changed(self._standing, usage=usage)

    def count(self, attempts: int) -> None:
        """So many attempts more were begun; fewer, where one was none."""
        with self._mutex:
            self._standing = changed(self._standing, begun=self._standing.begun + attempts)

    def attempted(self, harness: str, outcome: Outcome) -> None:
        """How an attempt ended, for the health of its harness."""
        or_until = self._clock.stamp(after_s=PARKED_S)
        with self._mutex:
            before = self._standing.health.get(harness, HarnessHealth())
            after = before.after(outcome, or_until=or_until)
            health = {**self._standing.health, harness: after}
            self._standing = changed(self._standing, health=health)

    def called(self, harness: str, reply: Reply) -> None:
        """The same for a call that was no attempt."""
        facts = AttemptFacts("", (), harness, model="", base="", target="")
        is_fault = reply.end.is_harness_fault
        self.attempted(
            harness,
            Failed(
                changed(facts, reply=reply, reason=reply.reason),
                AttemptStatus.HARNESS_FAULT if is_fault else AttemptStatus.AGENT_FAILED,
            ),
        )

    def step(self, harness: str) -> Step:
        """May this harness be given more to do now?"""
        with self._mutex:
            standing = changed(self._standing, harness=harness)
        return next_step(self.orders, standing, now=self._clock.stamp())

    def refusal(self, harness: str) -> str:
        """Why this harness is given nothing more; empty: it is, now or after a wait."""
        step = self.step(harness)
        return step.reason if isinstance(step, StopEngine) else ""

    def limits(self, site: AttemptContext, beads: Sequence[Bead] = ()) -> Limits:
        """What one call may use of the whole budget and, for beads, of their own (X-7)."""
        budget = site.settings.budget
        return tightened(
            self.orders,
            self.usage,
            spent=spent_on(site.project, beads),
            usd=budget.bead_usd or 0 if beads else 0,
            tokens=budget.bead_tokens or 0 if beads else 0,
        )

    def is_parked(self, harness: str) -> bool:
        """Has it met its usage limit? Then nothing was tried at all."""
        return self._standing.of(harness, self._clock.stamp()).is_parked

    def parked_until(self) -> str:
        """When the builder may go on that has reached its limit; empty: it has not."""
        return self._standing.of(self._standing.harness, self._clock.stamp()).parked_until
