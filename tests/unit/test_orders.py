"""What a drain does next: begin, wait or stop."""

from __future__ import annotations

from typing import Any

import pytest

from ddx.agents.harness import CallEnd, Reply, Usage
from ddx.attempts.limits import (
    BeginAttempt,
    EngineEnd,
    EngineOptions,
    EngineProgress,
    HarnessHealth,
    StopEngine,
    WaitUntil,
    next_step,
    tightened,
)
from ddx.attempts.outcome import (
    AttemptFacts,
    AttemptStatus,
    Failed,
    Landed,
    NoChanges,
    Outcome,
    Preserved,
)

NOW = "2026-01-02T03:00:00.000000Z"
LATER = "2026-01-02T04:00:00.000000Z"
ORDERS = EngineOptions("claude")
PARKED = {"claude": HarnessHealth(is_parked=True, parked_until=LATER)}
BROKEN = {"claude": HarnessHealth(faults=3, reason="no program")}
DENIED = {"claude": HarnessHealth(denials=2, wanted=("Bash",))}


def step(orders: EngineOptions = ORDERS, **standing: Any) -> BeginAttempt | WaitUntil | StopEngine:
    return next_step(orders, EngineProgress("claude", **standing), now=NOW)


def orders(**fields: Any) -> EngineOptions:
    return EngineOptions("claude", **fields)


def test_a_healthy_harness_begins() -> None:
    assert step() == BeginAttempt("claude")


@pytest.mark.parametrize(
    ("given", "standing", "ended"),
    [
        (orders(most=2), {"begun": 2}, EngineEnd.COUNTED),
        (orders(max_tokens=100), {"usage": Usage(input=100)}, EngineEnd.BUDGET),
        (orders(max_cost_usd=1.0), {"usage": Usage(1, cost_usd=1.0)}, EngineEnd.BUDGET),
        (orders(), {"health": BROKEN}, EngineEnd.BROKEN),
        (orders(), {"health": DENIED}, EngineEnd.DENIED),
        (orders(alternate="codex"), {"health": DENIED}, EngineEnd.DENIED),
        (orders(on_limit="stop"), {"health": PARKED}, EngineEnd.PARKED),
    ],
)
def test_a_drain_stops_for_a_reason(
    given: EngineOptions, standing: dict[str, Any], ended: EngineEnd
) -> None:
    found = step(given, **standing)
    assert isinstance(found, StopEngine)
    assert found.ended is ended


def test_an_unknown_cost_spends_no_budget_in_dollars() -> None:
    assert step(orders(max_cost_usd=0.01), usage=Usage(input=10**9)) == BeginAttempt("claude")


def test_a_parked_harness_waits_until_its_limit_ends() -> None:
    found = step(health=PARKED)
    assert isinstance(found, WaitUntil)
    assert found.until == LATER
    assert next_step(ORDERS, EngineProgress("claude", health=PARKED), now=LATER) == BeginAttempt(
        "claude"
    )


@pytest.mark.parametrize("health", [PARKED, BROKEN])
def test_another_harness_takes_over_where_one_is_named(
    health: dict[str, HarnessHealth],
) -> None:
    given = orders(on_limit="switch", alternate="codex")
    assert step(given, health=health) == BeginAttempt("codex")
    worse = {**health, "codex": HarnessHealth(faults=3)}
    assert not isinstance(step(given, health=worse), BeginAttempt)


def outcome(status: AttemptStatus, end: CallEnd = CallEnd.COMPLETED, **fields: Any) -> Outcome:
    reply = Reply(end, **fields)
    facts = AttemptFacts(
        attempt="a1",
        beads=("app-1",),
        harness="claude",
        model="",
        base="base",
        target="main",
        reply=reply,
        reason="why",
    )
    match status:
        case AttemptStatus.SUCCESS:
            return Landed(facts, "c0ffee")
        case AttemptStatus.NOTHING_DONE:
            return NoChanges(facts, status)
        case AttemptStatus.CHECK_FAILED:
            return Preserved(facts, status, "refs/x")
        case _:
            return Failed(facts, status)


FAULT = outcome(AttemptStatus.HARNESS_FAULT, CallEnd.AUTH)


def after(*outcomes: Outcome) -> HarnessHealth:
    health = HarnessHealth()
    for each in outcomes:
        health = health.after(each, or_until=LATER)
    return health


def test_three_faults_in_a_row_open_the_breaker() -> None:
    assert not after(FAULT, FAULT).is_broken
    assert after(FAULT, FAULT, FAULT).is_broken
    assert "why" in after(FAULT, FAULT, FAULT).complaint("claude")


@pytest.mark.parametrize(
    "good", [AttemptStatus.SUCCESS, AttemptStatus.CHECK_FAILED, AttemptStatus.NOTHING_DONE]
)
def test_work_that_was_done_closes_it_again(good: AttemptStatus) -> None:
    assert not after(FAULT, FAULT, outcome(good), FAULT).is_broken


def test_an_interruption_says_nothing_of_the_harness() -> None:
    interrupted = outcome(AttemptStatus.INTERRUPTED, CallEnd.INTERRUPTED)
    assert after(FAULT, FAULT, interrupted, FAULT).is_broken


def test_two_denials_in_a_row_name_what_to_allow() -> None:
    denied = outcome(AttemptStatus.HARNESS_FAULT, CallEnd.DENIED, denied=("Bash",))
    health = after(denied, denied)
    assert health.is_denied
    assert "Bash" in health.complaint("claude")
    assert not after(denied, outcome(AttemptStatus.SUCCESS), denied).is_denied


def test_a_usage_limit_parks_and_counts_as_no_fault() -> None:
    limited = outcome(
        AttemptStatus.HARNESS_FAULT, CallEnd.RATE_LIMITED, until="2026-01-02T05:00:00Z"
    )
    health = after(FAULT, FAULT, limited)
    assert health.is_parked
    assert not health.is_broken
    assert health.parked_until == "2026-01-02T05:00:00Z"
    assert after(outcome(AttemptStatus.HARNESS_FAULT, CallEnd.RATE_LIMITED)).parked_until == LATER


@pytest.mark.parametrize(
    ("run", "used", "spent", "bead", "expected"),
    [
        ((None, None), Usage(), Usage(), (0, 0), (None, None)),
        ((5.0, None), Usage(9, cost_usd=3.0), Usage(), (0, 0), (2.0, None)),
        ((None, 100), Usage(input=40), Usage(), (0, 0), (None, 60)),
        ((5.0, 100), Usage(), Usage(10, cost_usd=0.5), (1.0, 30), (0.5, 20)),
        ((5.0, None), Usage(9, cost_usd=9.0), Usage(), (0, 0), (0.0, None)),
    ],
)
def test_an_attempt_may_use_what_is_left(
    run: tuple[float | None, int | None],
    used: Usage,
    spent: Usage,
    bead: tuple[float, int],
    expected: tuple[float | None, int | None],
) -> None:
    given = orders(max_cost_usd=run[0], max_tokens=run[1])
    limits = tightened(given, used, spent=spent, usd=bead[0], tokens=bead[1])
    assert (limits.max_cost_usd, limits.max_tokens) == expected


def test_whose_budget_it_is_decides_who_is_to_blame() -> None:
    given = orders(max_tokens=100)
    of_run = tightened(given, Usage(input=60), spent=Usage(), usd=0, tokens=50)
    of_bead = tightened(given, Usage(input=10), spent=Usage(), usd=0, tokens=50)
    assert of_run.is_of_run
    assert of_run.max_tokens == 40
    assert not of_bead.is_of_run
    assert of_bead.max_tokens == 50
