"""What one drain was asked to do, and what it does next. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from ddx.execution.health import Health
from ddx.execution.model import Limits
from ddx.harnesses.base import Usage
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ended(StrEnum):
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
class Orders:
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
class Standing:
    """How far a drain has come."""

    harness: str
    begun: int = 0
    running: int = 0
    usage: Usage = Usage()
    health: Mapping[str, Health] = {}
    winding_down: bool = False
    stop_asked: bool = False


@value
class Begin:
    """Another attempt, with this harness."""

    harness: str


@value
class Wait:
    """Nothing to begin now: until an instant, or until something else ends."""

    reason: str
    until: str = ""


@value
class Stop:
    ended: Ended
    reason: str


Step: TypeAlias = Begin | Wait | Stop


def next_step(orders: Orders, standing: Standing, *, now: str) -> Step:
    """Begin, wait or stop: decided from what has happened, never from what somebody said."""
    if standing.stop_asked:
        return Stop(Ended.INTERRUPTED, Ended.INTERRUPTED)
    if standing.winding_down:
        return Stop(Ended.WOUND_DOWN, Ended.WOUND_DOWN)
    if is_spent(orders, standing.usage):
        return Stop(Ended.BUDGET, f"the budget is spent: {spoken_usage(standing.usage)}")
    if orders.most and standing.begun >= orders.most:
        return Stop(Ended.COUNTED, Ended.COUNTED)
    health = standing.health.get(standing.harness, Health()).awake(now)
    if not (health.is_denied or health.is_broken or health.is_parked):
        return Begin(standing.harness)
    other = _alternate(orders, standing, now=now)
    complaint = health.complaint(standing.harness)
    if health.is_denied:
        return Stop(Ended.DENIED, complaint)
    if health.is_broken:
        return Begin(other) if other else Stop(Ended.BROKEN, complaint)
    if orders.on_limit == "switch" and other:
        return Begin(other)
    if orders.on_limit == "stop":
        return Stop(Ended.PARKED, complaint)
    return Wait(complaint, health.parked_until)


def is_spent(orders: Orders, usage: Usage) -> bool:
    """Has the run used up its budget? An unknown cost is no number to compare (X-7)."""
    too_dear = (
        orders.max_cost_usd is not None
        and usage.cost_usd is not None
        and usage.cost_usd >= orders.max_cost_usd
    )
    return too_dear or (orders.max_tokens is not None and usage.tokens >= orders.max_tokens)


def tightened(orders: Orders, usage: Usage, *, spent: Usage, usd: float, tokens: float) -> Limits:
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


def spoken_usage(usage: Usage) -> str:
    """Tokens and cost for a person; an unknown cost is not 0 (X-7)."""
    if not usage.tokens and usage.cost_usd is None:
        return "usage unknown"
    cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{usage.tokens:,} tokens, {cost}"


def _alternate(orders: Orders, standing: Standing, *, now: str) -> str:
    other = orders.alternate
    if not other or other == standing.harness:
        return ""
    health = standing.health.get(other, Health()).awake(now)
    return "" if health.is_broken or health.is_denied or health.is_parked else other
