"""How each step of a run changes how far it has come (S-5 to S-13)."""

from __future__ import annotations

from typing import Any

import pytest

from ddx.base.values import changed
from helix.passes.reply import CheckAnswer, CheckResult, UnreadableTrailer
from helix.passes.review_pass import CleanReview, ReviewFinding, ReviewFindings, Severity
from helix.run.aftermath import (
    AwaitLanding,
    BlockBead,
    Completed,
    Follow,
    Guide,
    Park,
    Polish,
    Retry,
    RunAlone,
    Skip,
    StopRun,
    after_align,
    after_check,
    after_cycle,
    after_epic,
    after_pass,
    after_recovery,
    after_review,
    ask_person,
    begun,
    focus_on,
    forgo_review,
    not_begun,
    owe_review,
    release,
    skipped,
    stop,
)
from helix.run.model import (
    Action,
    BuildCandidate,
    Decision,
    Gap,
    Progress,
    RequestBead,
    RequestKind,
    RoutingRules,
    RunView,
)

BEAD = BuildCandidate("hx-1", parent="E", revision="r2")
OTHER = BuildCandidate("hx-2", parent="E", revision="r5")
VIEW = RunView(ready=(BEAD, OTHER), epics_with_work=frozenset({"E"}), state="s1")
BUILD = Decision(Action.BUILD, "hx-1", ("hx-1",))
LANDED = Completed("it landed", needs_review=True)
SPENT = Progress(attempted=3, completed=1, passes=9, idle_passes=1, aligns=1, recovered=True)
FOUND = ReviewFindings((ReviewFinding(Severity.HIGH, "a bug"),))


def cycled(
    progress: Progress, follow: Follow, *beads: BuildCandidate, reviews: bool = True
) -> Progress:
    return after_cycle(progress, follow, beads or (BEAD,), attempt="at-1", reviews=reviews)


# Counting (S-9, D-10, D-11)


def test_a_cycle_is_attempted_when_its_attempt_starts() -> None:  # S-9
    found = begun(Progress(), BUILD, VIEW)
    assert (found.attempted, found.completed) == (1, 0)


def test_a_batch_is_one_cycle() -> None:  # S-8
    assert begun(Progress(), changed(BUILD, beads=("hx-1", "hx-2")), VIEW).attempted == 1


def test_what_landed_is_completed_only_by_a_clean_review() -> None:  # D-11, S-16
    landed = cycled(SPENT, LANDED)
    assert (landed.completed, landed.pending_review) == (1, "at-1")
    clean = after_review(landed, CleanReview())
    assert (clean.completed, clean.pending_review) == (2, "")


def test_a_cycle_with_findings_is_not_completed() -> None:  # D-10
    found = after_review(cycled(SPENT, LANDED), FOUND)
    assert (found.completed, found.pending_review) == (1, "")


def test_a_review_that_cannot_be_read_is_still_owed() -> None:  # D-10, S-17
    found = after_review(cycled(SPENT, LANDED), UnreadableTrailer("no status"))
    assert (found.completed, found.pending_review) == (1, "at-1")


def test_a_review_that_nobody_can_make_completes_nothing_and_the_next_is_owed() -> None:  # D-11
    owed = changed(cycled(SPENT, LANDED), owed_reviews=("at-2",))
    found = forgo_review(owed)
    assert (found.completed, found.pending_review, found.owed_reviews) == (1, "at-2", ())


def test_reviews_are_owed_one_after_the_other() -> None:  # S-38
    progress = Progress(attempted=3)
    for attempt in ("at-1", "at-2", "at-3"):
        progress = after_cycle(progress, LANDED, [BEAD], attempt=attempt, reviews=True)
    owed = []
    while progress.pending_review:
        owed.append(progress.pending_review)
        progress = after_review(progress, FOUND if len(owed) == 2 else CleanReview())
    assert owed == ["at-1", "at-2", "at-3"]
    assert (progress.completed, progress.owed_reviews) == (2, ())


@pytest.mark.parametrize(
    ("follow", "reviews"),
    [(LANDED, False), (Completed("there already", needs_review=False), True)],
)
def test_without_a_review_it_is_completed_at_once(
    follow: Follow, reviews: bool
) -> None:  # D-24, X-15
    found = cycled(SPENT, follow, reviews=reviews)
    assert (found.completed, found.pending_review) == (2, "")


def test_a_review_owed_by_an_earlier_run_is_no_cycle_of_this_one() -> None:  # S-17, S-9
    found = after_review(Progress(pending_review="at-0"), CleanReview())
    assert (found.attempted, found.completed, found.pending_review) == (0, 0, "")


@pytest.mark.parametrize(
    "follow",
    [
        Retry("", 5),
        BlockBead("", 4),
        Polish(""),
        Skip(""),
        Guide("", "?"),
        AwaitLanding("", by_person=False),
        AwaitLanding("", by_person=True),
        Park(""),
        RunAlone(""),
        StopRun(""),
    ],
)
def test_no_other_ending_completes_a_cycle_or_owes_a_review(follow: Follow) -> None:  # S-9
    found = cycled(SPENT, follow)
    assert (found.completed, found.pending_review, found.passes) == (1, "", 9)


def test_a_completed_cycle_gives_everything_back() -> None:  # S-12, S-13
    found = cycled(SPENT, LANDED, reviews=False)
    assert (found.passes, found.idle_passes, found.aligns, found.recovered) == (0, 0, 0, False)


def test_an_attempt_breaks_a_row_of_idle_passes_and_gives_no_pass_back() -> None:  # S-13
    found = begun(SPENT, BUILD, VIEW)
    assert (found.passes, found.idle_passes, found.aligns, found.recovered) == (9, 0, 1, False)


def test_harness_faults_are_counted_apart() -> None:  # S-9
    assert cycled(SPENT, Park("")).harness_faults == 1


# What follows an attempt


def test_a_retry_changes_nothing_here() -> None:  # D-7: its wait is the bead's
    assert cycled(SPENT, Retry("", 5)) == SPENT


@pytest.mark.parametrize("follow", [Polish(""), Skip(""), AwaitLanding("", by_person=True)])
def test_a_bead_is_skipped_as_the_attempt_left_it(follow: Follow) -> None:  # S-6, S-23
    found = cycled(Progress(skipped={"hx-9": "r1"}), follow, BEAD, OTHER)
    assert found.skipped == {"hx-9": "r1", "hx-1": "r2", "hx-2": "r5"}


def test_a_pending_landing_needs_no_skip() -> None:  # X-13: the tracker holds it back
    assert cycled(SPENT, AwaitLanding("", by_person=False)) == SPENT


def test_members_of_a_failed_batch_run_alone_until_they_are_done() -> None:  # S-8
    apart = cycled(Progress(attempted=1), RunAlone(""), BEAD, OTHER)
    assert apart.alone == {"hx-1", "hx-2"}
    assert cycled(apart, Retry("", 5), BEAD).alone == {"hx-1", "hx-2"}
    assert cycled(apart, LANDED, BEAD).alone == {"hx-2"}


def test_what_only_a_person_can_settle_is_kept_once() -> None:  # X-27
    once = cycled(Progress(), Guide("above its authority", "may it?"))
    assert once.gaps == (Gap("above its authority", "may it?"),)
    assert ask_person(once, once.gaps[0]) == once


def test_a_block_may_come_with_a_question() -> None:  # X-27, S-10
    silent = cycled(Progress(focus="E"), BlockBead("tried often enough", 4))
    asking = cycled(Progress(focus="E"), BlockBead("above its authority", 4, "may it?"))
    assert (silent.gaps, silent.focus, silent.unfocused) == ((), "", {"E"})
    assert asking.gaps == (Gap("above its authority", "may it?"),)
    assert asking.unfocused == {"E"}


def test_what_was_lost_before_its_claim_was_never_attempted() -> None:  # S-6, S-9
    found = not_begun(begun(SPENT, BUILD, VIEW), [BEAD])
    assert found.attempted == SPENT.attempted
    assert found.skipped == {"hx-1": "r2"}


def test_a_review_is_owed_once() -> None:  # S-17
    progress = owe_review(owe_review(Progress(), "at-1"), "at-2")
    assert owe_review(owe_review(progress, "at-2"), "at-1") == progress


def test_an_interrupted_attempt_asks_for_a_stop() -> None:  # S-21
    assert cycled(Progress(), StopRun("")).stop_asked
    assert stop(Progress()).stop_asked


# Focus (S-5, S-10, S-11)


def test_the_epic_of_the_picked_bead_becomes_the_focus() -> None:  # S-5
    view = changed(VIEW, ready=(BuildCandidate("hx-0"), BEAD, BuildCandidate("hx-9")))
    assert begun(Progress(), BUILD, view).focus == "E"
    assert begun(Progress(focus="F"), BUILD, VIEW).focus == "E"


@pytest.mark.parametrize("bead", [BuildCandidate("hx-1"), BuildCandidate("hx-1", parent="hx-7")])
def test_a_bead_without_an_epic_releases_the_focus(bead: BuildCandidate) -> None:  # S-5
    assert focus_on(Progress(focus="E"), bead, VIEW).focus == ""
    assert release(Progress(focus="E")).focus == ""


def test_a_blocked_child_releases_the_focus_for_good() -> None:  # S-10
    found = cycled(Progress(focus="E"), BlockBead("", 4))
    assert (found.focus, found.unfocused) == ("", {"E"})
    assert begun(found, changed(BUILD, target="hx-2"), VIEW).focus == ""


def test_a_blocked_bead_elsewhere_leaves_the_focus() -> None:  # S-10, S-38
    found = cycled(Progress(focus="F"), BlockBead("", 4))
    assert (found.focus, found.unfocused) == ("F", {"E"})
    assert (
        cycled(Progress(focus="F"), BlockBead("", 4), BuildCandidate("hx-8")).unfocused
        == frozenset()
    )


def test_a_finished_epic_releases_its_own_focus_only() -> None:  # S-11
    assert after_epic(Progress(focus="E"), "E", VIEW).focus == ""
    assert after_epic(Progress(focus="F"), "E", VIEW).focus == "F"
    assert after_epic(Progress(), "E", VIEW).skipped == {"E": "s1"}


# Check, passes, alignment, recovery


def test_every_answer_is_kept_by_its_state() -> None:  # S-14
    first, second = CheckResult("s1", CheckAnswer.DESIGN), CheckResult("s2", CheckAnswer.STOP)
    found = after_check(after_check(Progress(), first), second)
    assert found.answer_to("s1") == first
    assert found.answer_to("s2") == second
    assert found.answer_to("s3") is None


def test_a_later_answer_to_a_state_replaces_the_earlier_one() -> None:
    again = CheckResult("s1", CheckAnswer.STOP)
    found = after_check(after_check(Progress(), CheckResult("s1", CheckAnswer.BUILD)), again)
    assert found.answers == {"s1": again}


def test_the_kept_answers_are_bounded() -> None:  # C-9
    progress = Progress()
    for n in range(200):
        progress = after_check(progress, CheckResult(f"s{n}", CheckAnswer.DESIGN))
    assert len(progress.answers) == 64
    assert progress.answer_to("s199")
    assert progress.answer_to("s0") is None


@pytest.mark.parametrize(
    ("action", "has_changed", "idle"),
    [
        (Action.DESIGN, True, 0),
        (Action.DESIGN, False, 2),
        (Action.POLISH, True, 0),
        (Action.POLISH, False, 2),
        (Action.EVOLVE, True, 0),
        (Action.EVOLVE, False, 1),
    ],
)
def test_passes_are_counted_and_so_is_idleness(  # S-13
    action: Action, has_changed: bool, idle: int
) -> None:
    found = after_pass(SPENT, Decision(action, "repo"), VIEW, has_changed=has_changed)
    assert (found.passes, found.idle_passes) == (10, idle)
    assert found.recovered is not has_changed


def test_recovery_is_not_remembered_where_there_was_none() -> None:
    fresh = changed(SPENT, recovered=False)
    assert not after_pass(fresh, Decision(Action.DESIGN), VIEW, has_changed=False).recovered


@pytest.mark.parametrize("action", [Action.CHECK, Action.REVIEW])
def test_a_check_or_review_that_could_not_be_carried_out_is_counted(action: Action) -> None:  # S-13
    progress = Progress(attempted=1, pending_review="at-1")
    for count in (1, 2):
        progress = after_pass(progress, Decision(action, "at-1"), VIEW, has_changed=False)
        assert (progress.failures, progress.pending_review) == (count, "at-1")
    assert after_check(progress, CheckResult("s1", CheckAnswer.STOP)).failures == 0
    assert after_review(progress, CleanReview()).failures == 0
    assert begun(progress, BUILD, VIEW).failures == 0
    assert after_pass(progress, Decision(Action.DESIGN), VIEW, has_changed=True).failures == 0


def test_a_review_that_was_asked_for_is_a_pass_like_another() -> None:
    view = changed(VIEW, requests=(RequestBead("hx-4", RequestKind.REVIEW),))
    found = after_pass(Progress(), Decision(Action.REVIEW, "x", ("hx-4",)), view, has_changed=False)
    assert (found.failures, found.passes) == (0, 1)


def test_a_request_is_skipped_as_it_was_asked() -> None:
    request = RequestBead("hx-4", RequestKind.ARTIFACT, "PRD", revision="r9")
    view = changed(VIEW, requests=(request,))
    found = after_pass(
        Progress(), Decision(Action.EVOLVE, "PRD", ("hx-4",)), view, has_changed=True
    )
    assert found.skipped == {"hx-4": "r9"}


def test_polished_beads_are_not_skipped() -> None:  # S-3: they are built next
    polish = Decision(Action.POLISH, "hx-1", ("hx-1", "hx-2"))
    assert after_pass(Progress(), polish, VIEW, has_changed=True).skipped == {}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (RoutingRules(review_every=1), {"aligned_at": 1, "aligns": 1}),
        (RoutingRules(review_every=5), {"aligned_at": 0, "aligns": 2}),
        (RoutingRules(), {"aligned_at": 0, "aligns": 2}),
    ],
)
def test_a_periodic_alignment_does_not_use_up_the_one_of_check(  # S-9, S-12
    rules: RoutingRules, expected: dict[str, Any]
) -> None:
    assert after_align(SPENT, rules) == changed(SPENT, **expected)


@pytest.mark.parametrize(("freed", "recovered"), [(0, True), (1, False), (3, False)])
def test_recovery_in_vain_is_remembered(freed: int, recovered: bool) -> None:  # S-13
    assert after_recovery(Progress(), freed).recovered is recovered


def test_skipping_nothing_changes_nothing() -> None:
    assert skipped(SPENT, {}) is SPENT
