"""Credit by checks alone, once for each bead and name, and what it proves (D-18, M-6, M-9)."""

from __future__ import annotations

from math import comb

import pytest
from tests.support.memory import Bench

from ddx.attempts.outcome import AttemptFacts, AttemptStatus, Failed, Landed, NoChanges, Preserved
from ddx.proof.evidence import Check
from helix.memory.credits import (
    SuccessRate,
    Trial,
    all_trials,
    credit,
    credit_report,
    newcombe,
    value_of,
    wilson,
)
from helix.memory.injection import begin_trial, end_trial, verdict_of

PASSED = Check("unit", "pytest", "verify", passed=True)
FAILED = Check("unit", "pytest", "verify", passed=False)


@pytest.fixture
def bench(tmp_path):
    with Bench(tmp_path) as found:
        found.keep("the login test fails")
        yield found


NAME = "the-login-test-fails"


@pytest.mark.parametrize(
    ("outcomes", "helped", "failed"),
    [
        ([("a", True)], 0.5, 0.0),
        ([("a", False)], 0.0, 0.5),
        ([("a", True), ("a", True)], 0.5, 0.0),
        ([("a", False), ("a", True)], 0.5, 0.0),
        ([("a", True), ("a", False)], 0.0, 0.5),
        ([("a", False), ("a", True), ("a", False), ("b", True)], 0.5, 0.5),
        ([("a", True), ("b", True), ("c", False)], 1.0, 0.5),
    ],
)
def test_the_last_outcome_of_a_bead_is_the_one_that_counts(bench, outcomes, helped, failed):  # D-18
    for bead, passed in outcomes:
        credit(bench.store, bead, [NAME, NAME], passed=passed, now=bench.now)
    memory = bench.memory(NAME)
    assert (memory.helped, memory.failed) == (helped, failed)


def test_only_a_credited_pass_moves_last_used(bench):  # M-3a
    credit(bench.store, "a", [NAME], passed=False, now=bench.now)
    assert bench.memory(NAME).last_used == ""
    bench.clock.advance(60)
    at = bench.now
    credit(bench.store, "a", [NAME], passed=True, now=at)
    bench.clock.advance(60)
    credit(bench.store, "a", [NAME], passed=True, now=bench.now)
    assert bench.memory(NAME).last_used == at


def test_unknown_names_are_reported_and_change_nothing(bench):  # M-6
    done = credit(bench.store, "a", ["nobody", NAME], passed=True, now=bench.now)
    assert (done.credited, done.unknown) == ((NAME,), ("nobody",))
    again = credit(bench.store, "a", [NAME], passed=True, now=bench.now)
    assert (again.credited, again.unchanged) == ((), (NAME,))


def test_a_builders_own_word_counts_no_more_than_a_check(bench):  # M-6
    done = credit_report(bench.store, ["nobody"], [NAME, NAME])
    assert (done.helped, done.unhelpful, done.missing) == (0, 1, ("nobody",))
    assert bench.memory(NAME).failed == 0.5
    credit_report(bench.store, [NAME], [NAME])
    assert (bench.memory(NAME).helped, bench.memory(NAME).last_used) == (0.5, "")


# -- the verdict of an outcome ---------------------------------------------------------------


def facts(*checks: Check) -> AttemptFacts:
    return AttemptFacts(
        attempt="20260102T030405-abc",
        beads=("app-1",),
        harness="script",
        model="",
        base="base",
        target="main",
        checks=checks,
    )


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Landed(facts(PASSED), "c"), True),
        (Preserved(facts(PASSED, FAILED), AttemptStatus.CHECK_FAILED, "r"), False),
        (Preserved(facts(PASSED), AttemptStatus.LAND_CONFLICT, "r"), True),
        (Preserved(facts(), AttemptStatus.TIMEOUT, "r"), None),
        (Failed(facts(), AttemptStatus.AGENT_FAILED), None),
        (Failed(facts(PASSED), AttemptStatus.HARNESS_FAULT), None),
        (NoChanges(facts(FAILED), AttemptStatus.NOTHING_DONE), False),
        (NoChanges(facts(PASSED), AttemptStatus.ALREADY_SATISFIED), None),
    ],
)
def test_credit_is_given_only_where_checks_ran_on_work(outcome, verdict):  # D-18
    assert verdict_of(outcome) is verdict


def test_a_trial_credits_whom_it_saw_and_nobody_if_it_was_held_out(bench):  # M-9
    begin_trial(bench.store, "t1", [NAME], held_out=False, now=bench.now)
    begin_trial(bench.store, "t2", [NAME], held_out=True, now=bench.now)
    assert end_trial(bench.store, "t2", ("b",), passed=True, now=bench.now) == ()
    assert bench.memory(NAME).helped == 0.0
    (done,) = end_trial(bench.store, "t1", ("a",), passed=True, now=bench.now)
    assert done.credited == (NAME,)
    assert end_trial(bench.store, "never begun", ("a",), passed=True, now=bench.now) == ()
    assert all_trials(bench.store) == [
        Trial("t1", False, True, names=(NAME,)),
        Trial("t2", True, True, names=(NAME,)),
    ]


# -- what it is worth (M-9) ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilsons_interval_is_the_published_one(passed, total, low, high):  # M-9
    found = wilson(passed, total)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_newcombes_interval_is_the_published_one():  # M-9: his example of 56/70 and 48/80
    found = newcombe(SuccessRate(56, 70), SuccessRate(48, 80))
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def trials(
    held_out: bool, passed: int, failed: int, names: tuple[str, ...] = ("m",)
) -> list[Trial]:
    return [
        Trial(f"{held_out}{n}", held_out, n < passed, names=names) for n in range(passed + failed)
    ]


@pytest.mark.parametrize(
    ("injected", "withheld", "verdict"),
    [
        ((0, 0), (0, 0), "too few attempts"),
        ((90, 10), (4, 0), "too few attempts"),
        ((6, 4), (5, 5), "no difference can be told"),
        ((90, 10), (5, 15), "more often"),
        ((10, 90), (18, 2), "less often"),
    ],
)
def test_nothing_is_claimed_beyond_the_data(injected, withheld, verdict):  # M-9
    found = value_of([*trials(False, *injected), *trials(True, *withheld)])
    assert verdict in found.verdict


def test_the_lift_of_a_memory_is_its_share_over_that_of_held_out_attempts():  # M-9
    open_one = Trial("open", False, None, names=("good",))
    found = value_of(
        [
            *trials(False, 9, 1, ("good",)),
            *trials(False, 1, 3, ("bad",)),
            *trials(True, 2, 2, ("good", "bad")),
            open_one,
        ]
    )
    lifts = {one.name: one.lift for one in found.memories}
    assert lifts == {"good": pytest.approx(0.4), "bad": pytest.approx(-0.25)}
    assert [one.name for one in found.memories] == ["good", "bad"]
    assert found.open == 1
    good, bad = found.memories
    assert good.interval is not None
    assert bad.interval is not None
    assert good.interval.low < 0.4 < good.interval.high  # ten against four: it may be nothing
    assert good.interval.holds_zero
    alone = value_of(trials(False, 3, 0)).memories[0]
    assert (alone.lift, alone.interval) == (None, None)


@pytest.mark.parametrize("passing", [0.3, 0.5, 0.8, 0.95])
@pytest.mark.parametrize(("injected", "withheld"), [(45, 5), (90, 10), (270, 30)])
def test_where_nothing_differs_a_claim_is_made_about_once_in_twenty_looks(  # M-9
    injected, withheld, passing
):
    """Exact: every outcome that two groups can have, by how likely it is."""
    wrong = sum(
        chance(one, injected, passing) * chance(other, withheld, passing)
        for one in range(injected + 1)
        for other in range(withheld + 1)
        if not newcombe(SuccessRate(one, injected), SuccessRate(other, withheld)).holds_zero
    )
    assert wrong < 0.075


def chance(passed: int, of: int, share: float) -> float:
    return float(comb(of, passed)) * share**passed * (1 - share) ** (of - passed)
