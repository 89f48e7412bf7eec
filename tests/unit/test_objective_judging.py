"""What an attempt on a task comes to: the checks decide, not the builder's words (O-2, O-4)."""

from __future__ import annotations

from typing import Any

import pytest

from ddx.agents.harness import CallEnd, Reply
from ddx.attempts.outcome import (
    AttemptFacts,
    AttemptStatus,
    Failed,
    Landed,
    NoChanges,
    Outcome,
    Preserved,
)
from ddx.base.values import changed
from ddx.proof.evidence import Check
from helix.objective.model import TaskResult
from helix.objective.task_outcome import (
    MOST_DISTURBANCES,
    Delivered,
    GivenUp,
    Interrupted,
    RetryTask,
    TaskAwaitsLanding,
    failure_of,
    judge_outcome,
    summary_of,
)
from helix.run.model import RoutingRules

FACTS = AttemptFacts(
    attempt="a-1",
    beads=("app-1",),
    harness="stub",
    model="",
    base="base",
    target="main",
    reason="it is so",
)
RULES = RoutingRules(max_attempts=2)
RED = Check(
    name="unit",
    command="pytest",
    origin="verify",
    passed=False,
    exit_code=1,
    output_tail="one\n\nE: no such port 80\n\n",
)


def kept(status: AttemptStatus, **facts: Any) -> Preserved:
    return Preserved(changed(FACTS, **facts), status, "refs/x")


def judged(outcome: Outcome, tries: int = 1, disturbances: int = 0, **more: Any) -> object:
    return judge_outcome(outcome, tries=tries, disturbances=disturbances, rules=RULES, **more)


def said(text: str) -> AttemptFacts:
    return changed(FACTS, reply=Reply(CallEnd.COMPLETED, text))


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("DELIVERED: a page", "a page"),
        ("BLOCKED: I could not", "I could not"),
        ("no mark at all", "it is so"),
        (f"DELIVERED: {'x' * 300}", f"{'x' * 199}…"),
        ("DELIVERED: a\x1b[31m page", "a\\x1b[31m page"),
    ],
)
def test_what_landed_was_delivered_whatever_its_builder_says(text: str, summary: str) -> None:
    assert judged(Landed(said(text), "c")) == Delivered(summary, needs_review=True)


def test_what_was_there_already_is_delivered_and_needs_no_review() -> None:
    found = judged(NoChanges(FACTS, AttemptStatus.ALREADY_SATISFIED))
    assert found == Delivered("it is so", needs_review=False)
    assert summary_of(NoChanges(changed(FACTS, reason=""), AttemptStatus.SUCCESS)) == "delivered"


def test_a_bead_that_stayed_open_is_partial() -> None:
    found = judged(Landed(FACTS, "c", left_open="somebody changed it"))
    assert isinstance(found, GivenUp)
    assert (found.result, found.told) == (TaskResult.PARTIAL, {"reason": "somebody changed it"})


@pytest.mark.parametrize(
    "outcome",
    [
        kept(AttemptStatus.CHECK_FAILED, checks=(RED,)),
        NoChanges(FACTS, AttemptStatus.NOTHING_DONE),
        Failed(FACTS, AttemptStatus.AGENT_FAILED),
        kept(AttemptStatus.TIMEOUT),
        kept(AttemptStatus.LAND_CONFLICT),
    ],
)
def test_a_failure_is_tried_again_until_its_attempts_are_used_up(outcome: Outcome) -> None:
    first = judged(outcome, tries=1)
    assert isinstance(first, RetryTask)
    assert (first.after_s, first.is_disturbance) == (5.0, False)
    last = judged(outcome, tries=2)
    assert isinstance(last, GivenUp)
    assert last.result is TaskResult.BLOCKED
    assert "it is so" in last.reason


def test_a_failure_is_told_by_its_check() -> None:  # O-4
    found = failure_of(kept(AttemptStatus.CHECK_FAILED, checks=(RED,)))
    assert found == {"check": "unit", "exit_code": 1, "error": "E: no such port 80"}
    assert failure_of(Failed(FACTS, AttemptStatus.TIMEOUT)) == {
        "check": "timeout",
        "error": "it is so",
    }


def test_what_left_its_delta_is_tried_again_and_then_given_up() -> None:  # O-7
    first = judged(kept(AttemptStatus.DRIFT), tries=1, outside=("etc/x",))
    assert isinstance(first, RetryTask)
    assert "etc/x" in first.reason
    last = judged(kept(AttemptStatus.DRIFT), tries=2, outside=("etc/x",))
    assert isinstance(last, GivenUp)
    assert last.told["check"] == "delta"


def test_a_disturbance_is_no_failure_but_has_an_end() -> None:
    found = judged(kept(AttemptStatus.DRIFT), tries=9)
    assert isinstance(found, RetryTask)
    assert found.is_disturbance
    last = judged(kept(AttemptStatus.DRIFT), disturbances=MOST_DISTURBANCES)
    assert isinstance(last, GivenUp)


def test_a_fault_of_the_harness_is_not_the_tasks() -> None:
    for disturbances in (0, 99):
        found = judged(
            Failed(FACTS, AttemptStatus.HARNESS_FAULT), tries=9, disturbances=disturbances
        )
        assert isinstance(found, RetryTask)
        assert found.is_disturbance


def test_what_only_a_person_can_free_waits() -> None:
    assert isinstance(judged(kept(AttemptStatus.OPERATOR_EDITS)), TaskAwaitsLanding)
    assert isinstance(judged(kept(AttemptStatus.AUTHORITY)), GivenUp)
    assert isinstance(judged(Failed(FACTS, AttemptStatus.INTERRUPTED)), Interrupted)
