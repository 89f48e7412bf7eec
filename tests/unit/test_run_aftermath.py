"""What follows each way in which an attempt may end (S-35, S-10, D-7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.attempts.outcome import CHARGED, AttemptStatus
from helix.run.aftermath import (
    WAYS,
    AwaitLanding,
    BlockBead,
    Completed,
    Guide,
    Park,
    Polish,
    Retry,
    RunAlone,
    Skip,
    StopRun,
    delay_s,
    follow,
)
from helix.run.model import RoutingRules

RULES = RoutingRules()


def test_no_status_is_missing() -> None:  # S-35
    assert set(WAYS) == set(AttemptStatus)


@pytest.mark.parametrize(
    ("status", "alone", "in_batch"),
    [
        (AttemptStatus.SUCCESS, Completed, Completed),
        (AttemptStatus.ALREADY_SATISFIED, Completed, Completed),
        (AttemptStatus.CHECK_FAILED, Retry, RunAlone),
        (AttemptStatus.RATCHET_FAILED, Retry, RunAlone),
        (AttemptStatus.NOTHING_DONE, Retry, RunAlone),
        (AttemptStatus.AGENT_FAILED, Retry, RunAlone),
        (AttemptStatus.TIMEOUT, Retry, RunAlone),
        (AttemptStatus.LAND_CONFLICT, Retry, RunAlone),
        (AttemptStatus.AUTHORITY, Guide, RunAlone),
        (AttemptStatus.DRIFT, Polish, RunAlone),
        (AttemptStatus.OPERATOR_EDITS, AwaitLanding, AwaitLanding),
        (AttemptStatus.UNMERGED, AwaitLanding, AwaitLanding),
        (AttemptStatus.HARNESS_FAULT, Park, Park),
        (AttemptStatus.INTERRUPTED, StopRun, StopRun),
    ],
)
def test_each_status_has_what_follows(  # S-35, S-8, S-23, X-13, X-27
    status: AttemptStatus, alone: type, in_batch: type
) -> None:
    found = follow(status, 1, RULES)
    assert type(found) is alone
    assert found.reason
    assert type(follow(status, 1, RULES, was_batch=True)) is in_batch


@pytest.mark.parametrize("status", sorted(CHARGED - {AttemptStatus.AUTHORITY}))
def test_what_is_charged_is_retried_and_then_blocked(status: AttemptStatus) -> None:  # D-7, S-10
    steps = [follow(status, attempts, RULES) for attempts in (1, 2, 3, 4)]
    rests = [step.after_s for step in steps if isinstance(step, Retry)]
    assert rests == [5, 10, 20]
    assert isinstance(steps[3], BlockBead)
    assert steps[3].attempts == 4


def test_an_overreach_asks_each_time_and_is_blocked_the_last_time() -> None:  # X-27, S-10
    steps = [follow(AttemptStatus.AUTHORITY, attempts, RULES) for attempts in (1, 2, 3, 4)]
    assert [type(step) for step in steps] == [Guide, Guide, Guide, BlockBead]
    assert all(step.question for step in steps if isinstance(step, Guide | BlockBead))


@pytest.mark.parametrize("status", sorted(set(AttemptStatus) - CHARGED))
def test_what_is_not_charged_never_blocks(status: AttemptStatus) -> None:
    assert not isinstance(follow(status, 99, RULES), BlockBead | Retry)


def test_a_higher_limit_reaches_the_longest_rest() -> None:  # D-7
    rules = RoutingRules(max_attempts=7)
    found = [follow(AttemptStatus.TIMEOUT, attempts, rules) for attempts in (3, 4, 5, 6, 7)]
    assert [step.after_s for step in found if isinstance(step, Retry)] == [20, 40, 40, 40]
    assert isinstance(found[-1], BlockBead)


def test_the_defaults_are_four_attempts_and_no_batch() -> None:  # D-7, S-8
    assert (RoutingRules().max_attempts, RoutingRules().batch) == (4, 1)


def test_a_limit_of_one_blocks_at_once() -> None:
    assert isinstance(follow(AttemptStatus.TIMEOUT, 1, RoutingRules(max_attempts=1)), BlockBead)


@pytest.mark.parametrize("rest_s", [0.0, 0.01, 7.0])
def test_a_setting_replaces_every_wait(rest_s: float) -> None:  # D-7
    rules = RoutingRules(backoff_s=rest_s)
    for attempts in (1, 2, 3):
        found = follow(AttemptStatus.CHECK_FAILED, attempts, rules)
        assert isinstance(found, Retry)
        assert found.after_s == rest_s


def test_an_attempt_that_could_not_be_charged_rests_like_the_first() -> None:
    found = follow(AttemptStatus.CHECK_FAILED, 0, RULES)
    assert isinstance(found, Retry)
    assert found.after_s == 5


def test_only_what_landed_needs_a_review() -> None:
    assert follow(AttemptStatus.SUCCESS, 0, RULES) == Completed("it landed", needs_review=True)
    done = follow(AttemptStatus.ALREADY_SATISFIED, 0, RULES)
    assert done == Completed("every check passes already", needs_review=False)


@pytest.mark.parametrize("status", [AttemptStatus.SUCCESS, AttemptStatus.ALREADY_SATISFIED])
def test_a_bead_that_was_left_open_is_not_completed(status: AttemptStatus) -> None:  # D-11, X-18
    found = follow(status, 0, RULES, left_open="hx-1 changed meanwhile: parent")
    assert isinstance(found, Skip)
    assert "parent" in found.reason


def test_a_changed_bead_is_left_alone_and_a_changed_document_is_looked_at() -> None:  # S-6, S-23
    assert isinstance(follow(AttemptStatus.DRIFT, 0, RULES, documents_drifted=False), Skip)
    assert isinstance(follow(AttemptStatus.DRIFT, 0, RULES, documents_drifted=True), Polish)


def test_what_was_not_to_be_merged_waits_for_a_person() -> None:
    kept = follow(AttemptStatus.UNMERGED, 0, RULES)
    waiting = follow(AttemptStatus.OPERATOR_EDITS, 0, RULES)
    assert isinstance(kept, AwaitLanding)
    assert isinstance(waiting, AwaitLanding)
    assert (kept.by_person, waiting.by_person) == (True, False)


@given(
    st.sampled_from([*AttemptStatus]),
    st.integers(0, 20),
    st.integers(1, 20),
    st.fixed_dictionaries(
        {
            "was_batch": st.booleans(),
            "left_open": st.sampled_from(["", "changed"]),
            "documents_drifted": st.booleans(),
        }
    ),
)
def test_a_batch_is_never_charged_and_the_last_attempt_is_never_repeated(  # S-8, S-10
    status: AttemptStatus, attempts: int, most: int, how: dict[str, Any]
) -> None:
    found = follow(status, attempts, RoutingRules(max_attempts=most), **how)
    if how["was_batch"]:
        assert not isinstance(found, BlockBead | Retry | Guide | Polish)
    if isinstance(found, Retry):
        assert attempts < most
    if isinstance(found, BlockBead):
        assert attempts >= most


@pytest.mark.parametrize(
    ("failed", "seconds"), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 40), (9, 40), (10**9, 40)]
)
def test_backoff_doubles_and_stops_at_forty(failed: int, seconds: float) -> None:  # D-7
    assert delay_s(failed) == seconds


@pytest.mark.parametrize("failed", [0, -1])
def test_no_rest_before_a_failure(failed: int) -> None:
    with pytest.raises(ValueError, match="no attempt"):
        delay_s(failed)
