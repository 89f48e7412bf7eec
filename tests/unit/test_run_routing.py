"""The next action: each question, and which comes before which (S-1 to S-14)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.base.values import changed
from helix.passes.reply import CheckAnswer, CheckResult
from helix.project.settings import Autonomy
from helix.run.model import (
    Action,
    BuildCandidate,
    CoolingBead,
    Decision,
    Gap,
    Progress,
    RequestBead,
    RequestKind,
    RoutingRules,
    RunView,
    is_skipped,
)
from helix.run.routing import MOST_IDLE_PASSES, MOST_PASSES, is_alignment_due, next_action

NOW = "2026-01-02T12:00:00Z"
SOON = "2026-01-02T12:00:10Z"
LATER = "2026-01-02T12:00:40Z"
RULES = RoutingRules()
DRAINED = RunView(unfinished=1, documents=3, state="s1", now=NOW)
BEAD = BuildCandidate("hx-1", parent="E", revision="r1")


def answered(
    answer: CheckAnswer, *, state: str = "s1", reason: str = "so it is", **more: Any
) -> Progress:
    return Progress(
        checked=CheckResult(state, answer, reason, question=more.pop("question", "")), **more
    )


# One view that holds an answer to every question; each is taken away in its turn.

EVERYTHING = RunView(
    ready=(BEAD,),
    cooling=(CoolingBead("hx-2", SOON),),
    claimed=2,
    unfinished=2,
    documents=3,
    to_polish=("hx-3",),
    requests=(RequestBead("hx-4", RequestKind.FUNCTIONALITY),),
    gaps=(Gap("which?", "this or that?", "FEAT-1"),),
    finished_epics=("E",),
    state="s1",
    now=NOW,
)


def test_the_questions_are_asked_in_their_order() -> None:  # S-1
    rules = RoutingRules(review_every=2, max_cycles=3)
    view, progress = (
        EVERYTHING,
        Progress(stop_asked=True, failures=2, pending_review="at-1", completed=3),
    )
    steps: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
        ({}, {"stop_asked": False}, "stop", ""),
        ({}, {"failures": 1}, "guidance", ""),
        ({}, {"pending_review": ""}, "review", "at-1"),
        ({"finished_epics": ()}, {}, "review", "E"),
        ({}, {"completed": 2}, "stop", ""),
        ({"gaps": ()}, {}, "guidance", ""),
        ({}, {"aligned_at": 2}, "align", "repo"),
        ({"to_polish": ()}, {}, "polish", "hx-3"),
        ({"requests": ()}, {}, "design", "hx-4"),
        ({"ready": ()}, {}, "build", "hx-1"),
        ({"cooling": ()}, {}, "wait", "hx-2"),
        ({"claimed": 1}, {}, "wait", ""),
        ({}, {"checked": CheckResult("s1", CheckAnswer.STOP)}, "check", "repo"),
        ({}, {}, "stop", ""),
    ]
    for without, done, action, target in steps:
        found = next_action(view, progress, rules)
        assert (found.action, found.target) == (action, target)
        assert found.least_power_explanation
        view, progress = changed(view, **without), changed(progress, **done)


# Stop


@pytest.mark.parametrize(
    ("most", "completed", "stops"), [(0, 99, False), (3, 2, False), (3, 3, True), (3, 4, True)]
)
def test_a_run_stops_after_the_completed_cycles_that_were_asked_for(  # S-9
    most: int, completed: int, stops: bool
) -> None:
    view = changed(EVERYTHING, finished_epics=())
    progress = Progress(attempted=50, completed=completed, aligned_at=completed)
    found = next_action(view, progress, RoutingRules(max_cycles=most))
    assert (found.action is Action.STOP) is stops


def test_what_is_owed_comes_before_the_last_cycle_ends_the_run() -> None:  # S-11, S-17
    done = Progress(attempted=3, completed=3, pending_review="at-3")
    rules = RoutingRules(max_cycles=3)
    assert next_action(EVERYTHING, done, rules).target == "at-3"
    assert next_action(EVERYTHING, changed(done, pending_review=""), rules).target == "E"
    asked = changed(done, stop_asked=True)
    assert next_action(EVERYTHING, asked, rules).action is Action.STOP


# Review


def test_an_epic_that_could_not_be_closed_is_not_tried_again_in_that_state() -> None:  # S-11, S-13
    view = RunView(finished_epics=("E", "F"), ready=(BEAD,), state="s1")
    once = Progress(skipped={"E": "s1"})
    assert next_action(view, once, RULES).target == "F"
    twice = Progress(skipped={"E": "s1", "F": "s1"})
    assert next_action(view, twice, RULES).action is Action.BUILD
    assert next_action(changed(view, state="s2"), twice, RULES).target == "E"


# Guidance


def test_a_gap_is_put_to_a_person_with_what_stands_above() -> None:  # S-3, S-22
    found = next_action(EVERYTHING, Progress(skipped={"E": "s1"}), RULES)
    assert found == Decision(
        Action.GUIDANCE,
        least_power_explanation="which?",
        blocking_authority="FEAT-1",
        question="this or that?",
    )


def test_what_the_run_itself_came_upon_is_asked_first() -> None:
    progress = Progress(skipped={"E": "s1"}, gaps=(Gap("authority", "may it?"),))
    assert next_action(EVERYTHING, progress, RULES).question == "may it?"


@pytest.mark.parametrize(
    ("autonomy", "action"),
    [(Autonomy.LOW, "guidance"), (Autonomy.MEDIUM, "guidance"), (Autonomy.HIGH, "build")],
)
def test_high_autonomy_goes_on_past_what_is_only_unclear(
    autonomy: Autonomy, action: str
) -> None:  # S-34
    view = RunView(ready=(BEAD,), gaps=(Gap("unclear", "which?", is_ambiguity=True),))
    assert next_action(view, Progress(), RoutingRules(autonomy=autonomy)).action == action


def test_high_autonomy_still_stops_at_the_next_gap() -> None:
    gaps = (Gap("unclear", "which?", is_ambiguity=True), Gap("physics", "how?", is_physics=True))
    found = next_action(
        RunView(ready=(BEAD,), gaps=gaps), Progress(), RoutingRules(autonomy=Autonomy.HIGH)
    )
    assert found.question == "how?"


# Alignment


@pytest.mark.parametrize(
    ("every", "completed", "aligned_at", "due"),
    [
        (0, 5, 0, False),
        (5, 0, 0, False),
        (5, 4, 0, False),
        (5, 5, 0, True),
        (5, 5, 5, False),
        (5, 7, 0, True),
        (5, 9, 7, False),
        (5, 10, 7, True),
        (1, 1, 0, True),
        (1, 1, 1, False),
    ],
)
def test_alignment_is_due_once_for_each_count(  # S-9
    every: int, completed: int, aligned_at: int, due: bool
) -> None:
    progress = Progress(completed=completed, aligned_at=aligned_at)
    assert is_alignment_due(progress, RoutingRules(review_every=every)) is due
    assert not is_alignment_due(progress, RoutingRules(review_every=every, auto_align=False))


def test_failed_attempts_bring_no_second_alignment() -> None:  # S-9, the old loop made five (4.11)
    rules = RoutingRules(review_every=1)
    view = RunView(ready=(BEAD,), unfinished=1)
    for attempted in range(1, 6):
        progress = Progress(attempted=attempted, completed=1, aligned_at=1)
        assert next_action(view, progress, rules).action is Action.BUILD


# Polish


def test_changed_documents_are_looked_at_before_anything_is_built() -> None:  # S-3
    view = RunView(ready=(BEAD,), to_polish=("hx-3", "hx-5"), state="s1")
    assert next_action(view, Progress(), RULES) == Decision(
        Action.POLISH,
        target="hx-3",
        beads=("hx-3", "hx-5"),
        least_power_explanation="documents changed under open beads: "
        "those beads are looked at before they are built",
        queue_drift_reason="governing documents changed",
    )


def test_a_polish_that_leads_nowhere_ends_in_guidance_and_not_in_a_build() -> None:  # S-3, S-13
    view = RunView(ready=(BEAD,), to_polish=("hx-3",))
    assert next_action(view, Progress(idle_passes=1), RULES).action is Action.POLISH
    found = next_action(view, Progress(idle_passes=MOST_IDLE_PASSES), RULES)
    assert found.action is Action.GUIDANCE
    assert "2 times in a row" in found.least_power_explanation


# Requests


@pytest.mark.parametrize(
    ("request_", "action", "target"),
    [
        (RequestBead("hx-4", RequestKind.FUNCTIONALITY), "design", "hx-4"),
        (RequestBead("hx-4", RequestKind.FUNCTIONALITY, "FEAT-1"), "evolve", "FEAT-1"),
        (
            RequestBead("hx-4", RequestKind.FUNCTIONALITY, "FEAT-1", has_design=True),
            "build",
            "hx-1",
        ),
        (RequestBead("hx-4", RequestKind.ARTIFACT, "PRD"), "evolve", "PRD"),
        (RequestBead("hx-4", RequestKind.REVIEW, "FEAT-1"), "review", "FEAT-1"),
        (RequestBead("hx-4", RequestKind.EXECUTION), "build", "hx-1"),
        (RequestBead("hx-4", RequestKind.METRIC), "build", "hx-1"),
    ],
)
def test_a_request_is_answered_by_the_smallest_action(  # S-1, S-3
    request_: RequestBead, action: str, target: str
) -> None:
    found = next_action(RunView(ready=(BEAD,), requests=(request_,)), Progress(), RULES)
    assert (found.action, found.target) == (action, target)
    if action != "build":
        assert found.beads == ("hx-4",)
        assert found.blocking_authority == request_.target


def test_a_request_is_answered_once_until_it_changes() -> None:  # S-13
    request = RequestBead("hx-4", RequestKind.ARTIFACT, "PRD", revision="r1")
    view = RunView(ready=(BEAD,), requests=(request,))
    done = Progress(skipped={"hx-4": "r1"})
    assert next_action(view, done, RULES).action is Action.BUILD
    edited = changed(view, requests=(changed(request, revision="r2"),))
    assert next_action(edited, done, RULES).action is Action.EVOLVE


def test_too_many_passes_end_in_guidance() -> None:  # S-13
    view = RunView(requests=(RequestBead("hx-4", RequestKind.ARTIFACT, "PRD"),))
    assert next_action(view, Progress(passes=MOST_PASSES - 1), RULES).action is Action.EVOLVE
    found = next_action(view, Progress(passes=MOST_PASSES), RULES)
    assert found.action is Action.GUIDANCE
    assert str(MOST_PASSES) in found.least_power_explanation


def test_idle_designs_do_not_hold_up_an_evolution() -> None:  # S-13: design or polish
    view = RunView(requests=(RequestBead("hx-4", RequestKind.ARTIFACT, "PRD"),))
    assert next_action(view, Progress(idle_passes=2), RULES).action is Action.EVOLVE


# Build


def test_a_build_outside_of_the_focus_does_not_claim_to_be_in_it() -> None:
    for focus in ("", "F"):
        for bead in (BEAD, BuildCandidate("hx-1")):
            found = next_action(RunView(ready=(bead,)), Progress(focus=focus), RULES)
            assert found.least_power_explanation == "hx-1 is the first ready bead"


def test_a_build_names_its_batch_and_its_focus() -> None:  # S-5, S-8
    second = BuildCandidate("hx-2", parent="E")
    view = RunView(ready=(BEAD, second, BuildCandidate("hx-0", priority=0)), unfinished=3)
    found = next_action(view, Progress(focus="E"), RoutingRules(batch=3))
    assert found == Decision(
        Action.BUILD,
        target="hx-1",
        beads=("hx-1", "hx-2"),
        least_power_explanation="hx-1 is the first ready bead in the focused epic E",
    )


def test_a_batch_does_not_reach_out_of_the_focus() -> None:  # S-5, S-8
    kin = BuildCandidate("hx-2", spec_id="S")
    view = RunView(ready=(changed(BEAD, spec_id="S"), kin))
    assert next_action(view, Progress(focus="E"), RoutingRules(batch=3)).beads == ("hx-1",)
    assert next_action(view, Progress(), RoutingRules(batch=3)).beads == ("hx-1", "hx-2")


def test_the_decision_says_which_beads_are_left_alone() -> None:  # S-4, S-6
    ready = tuple(BuildCandidate(f"hx-{n}", revision="r") for n in range(8))
    skipped = {f"hx-{n}": "r" for n in range(7)}
    found = next_action(RunView(ready=ready), Progress(skipped=skipped), RULES)
    assert found.target == "hx-7"
    assert found.queue_drift_reason == (
        "left alone until they change: hx-0, hx-1, hx-2, hx-3, hx-4 and 2 more"
    )


def test_few_beads_are_all_named() -> None:
    ready = tuple(BuildCandidate(f"hx-{n}") for n in range(6))
    found = next_action(
        RunView(ready=ready), Progress(skipped={f"hx-{n}": "" for n in range(5)}), RULES
    )
    assert found.queue_drift_reason.endswith(": hx-0, hx-1, hx-2, hx-3 and hx-4")


def test_what_a_decision_says_itself_is_not_overwritten() -> None:
    view = RunView(ready=(BEAD,), to_polish=("hx-3",))
    found = next_action(view, Progress(skipped={"hx-1": "r1"}), RULES)
    assert found.queue_drift_reason == "governing documents changed"


# Wait


def test_a_run_waits_for_the_first_that_has_rested() -> None:  # D-7
    view = RunView(
        cooling=(CoolingBead("hx-2", LATER), CoolingBead("hx-3", SOON)), unfinished=2, now=NOW
    )
    found = next_action(view, Progress(), RULES)
    assert (found.action, found.target, found.until) == (Action.WAIT, "hx-3", SOON)


def test_within_a_focus_only_its_own_children_are_waited_for() -> None:  # D-7, S-5
    view = RunView(
        ready=(BuildCandidate("hx-0", priority=0),),
        cooling=(CoolingBead("hx-2", LATER, "E"), CoolingBead("hx-3", SOON)),
        now=NOW,
    )
    assert next_action(view, Progress(focus="E"), RULES).until == LATER
    assert next_action(view, Progress(), RULES).target == "hx-0"


def test_a_rest_that_is_over_is_not_waited_for() -> None:
    view = changed(DRAINED, cooling=(CoolingBead("hx-2", NOW),))
    assert next_action(view, Progress(), RULES).action is Action.CHECK


# State alone (S-14)


@pytest.mark.parametrize(
    ("view", "action"),
    [
        (RunView(), "guidance"),
        (RunView(documents=1), "check"),
        (RunView(unfinished=1), "check"),
        (RunView(unfinished=2, claimed=2), "wait"),
        (RunView(unfinished=3, claimed=2, epics=1), "wait"),
        (RunView(unfinished=3, claimed=2), "check"),
        (RunView(unfinished=1, epics=1), "check"),
        (RunView(unfinished=2, blocked=("hx-1", "hx-2"), documents=1), "check"),
    ],
)
def test_state_alone_decides_only_two_cases(view: RunView, action: str) -> None:  # S-14
    assert next_action(view, Progress(), RULES).action == action
    assert next_action(view, Progress(), RoutingRules(always_ask=True)).action is Action.CHECK


# What check says (S-12)


def test_check_is_asked_once_a_state() -> None:  # S-14
    assert next_action(DRAINED, Progress(), RULES).action is Action.CHECK
    assert (
        next_action(DRAINED, answered(CheckAnswer.STOP, state="s0"), RULES).action is Action.CHECK
    )
    assert next_action(DRAINED, answered(CheckAnswer.STOP), RULES).action is Action.STOP
    earlier = Progress(
        checked=CheckResult("s2", CheckAnswer.WAIT),
        answers={"s1": CheckResult("s1", CheckAnswer.STOP)},
    )
    assert next_action(DRAINED, earlier, RULES).action is Action.STOP
    assert (
        next_action(DRAINED, answered(CheckAnswer.STOP), RoutingRules(always_ask=True)).action
        is Action.STOP
    )


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (CheckAnswer.DESIGN, "design"),
        (CheckAnswer.POLISH, "polish"),
        (CheckAnswer.ALIGN, "align"),
        (CheckAnswer.BACKFILL, "backfill"),
        (CheckAnswer.WAIT, "wait"),
        (CheckAnswer.GUIDANCE, "guidance"),
        (CheckAnswer.STOP, "stop"),
        (CheckAnswer.BUILD, "check"),
    ],
)
def test_the_answer_is_obeyed_exactly(answer: CheckAnswer, action: str) -> None:  # S-12, D-8, D-9
    found = next_action(DRAINED, answered(answer), RULES)
    assert found.action == action
    assert "so it is" in found.least_power_explanation
    assert found.recovers is (answer is CheckAnswer.BUILD)
    assert found.until == ""


@pytest.mark.parametrize("answer", [*CheckAnswer])
def test_an_answer_without_a_reason_still_has_an_explanation(answer: CheckAnswer) -> None:
    found = next_action(DRAINED, answered(answer, reason=""), RULES)
    assert found.least_power_explanation.startswith(f"check says {answer}")


def test_backfill_prints_its_command() -> None:  # D-8
    found = next_action(DRAINED, answered(CheckAnswer.BACKFILL), RoutingRules(scope="FEAT-1"))
    assert found.question == "run: helix backfill FEAT-1"


def test_guidance_shows_the_question_or_at_least_the_reason() -> None:  # S-12
    asked = next_action(DRAINED, answered(CheckAnswer.GUIDANCE, question="red or blue?"), RULES)
    assert asked.question == "red or blue?"
    assert next_action(DRAINED, answered(CheckAnswer.GUIDANCE), RULES).question == "so it is"


def test_align_runs_once_and_then_its_command_is_printed() -> None:  # S-12
    found = next_action(DRAINED, answered(CheckAnswer.ALIGN, aligns=1), RoutingRules(scope="hx-9"))
    assert found.action is Action.GUIDANCE
    assert found.question == "alignment is asked for again; run: helix align hx-9"


def test_align_is_a_persons_where_it_is_not_automatic() -> None:  # S-12, C-2
    found = next_action(DRAINED, answered(CheckAnswer.ALIGN), RoutingRules(auto_align=False))
    assert found.action is Action.GUIDANCE
    assert "run: helix align repo" in found.question


@pytest.mark.parametrize("answer", [CheckAnswer.DESIGN, CheckAnswer.POLISH])
@pytest.mark.parametrize(
    ("spent", "goes_on"),
    [
        ({"idle_passes": 1, "passes": 1}, True),
        ({"idle_passes": 2, "passes": 2}, False),
        ({"passes": MOST_PASSES}, False),
    ],
)
def test_passes_that_lead_nowhere_end(  # S-13
    answer: CheckAnswer, spent: dict[str, int], goes_on: bool
) -> None:
    found = next_action(DRAINED, answered(answer, **spent), RULES)
    assert (found.action is Action.GUIDANCE) is not goes_on
    if not goes_on:
        assert "so it is" in found.question


def test_build_with_nothing_to_build_looks_for_orphans_and_then_stops() -> None:  # S-13
    first = next_action(DRAINED, answered(CheckAnswer.BUILD), RULES)
    assert (first.action, first.recovers) == (Action.CHECK, True)
    last = next_action(DRAINED, answered(CheckAnswer.BUILD, recovered=True), RULES)
    assert last.action is Action.GUIDANCE
    assert "ddx bead blocked" in last.question


@pytest.mark.parametrize("answer", [CheckAnswer.STOP, CheckAnswer.WAIT])
@pytest.mark.parametrize(
    ("counts", "all_blocked"),
    [
        ({"unfinished": 2}, True),
        ({"unfinished": 3, "claimed": 1}, True),
        ({"unfinished": 3, "epics": 1}, True),
        ({"unfinished": 3}, False),
        ({"unfinished": 4, "claimed": 1}, False),
    ],
)
def test_that_everything_left_is_blocked_beats_wait_and_stop(  # C-2
    answer: CheckAnswer, counts: dict[str, int], all_blocked: bool
) -> None:
    view = changed(DRAINED, blocked=("hx-7", "hx-8"), **counts)
    found = next_action(view, answered(answer), RULES)
    assert (found.action is Action.GUIDANCE) is all_blocked
    if all_blocked:
        assert found.beads == ("hx-7", "hx-8")


def test_a_decision_can_be_written_down() -> None:  # S-4
    row = next_action(EVERYTHING, Progress(), RULES).as_row()
    assert {"action", "target", "least_power_explanation", "blocking_authority"} <= row.keys()
    assert row["queue_drift_reason"] == ""
    assert type(row["action"]) is str


# Laws

ids = st.sampled_from([f"hx-{n}" for n in range(6)])
revisions = st.sampled_from(["r1", "r2"])
views = st.builds(
    RunView,
    ready=st.lists(
        st.builds(
            BuildCandidate,
            ids,
            parent=st.sampled_from(["", "E"]),
            spec_id=st.sampled_from(["", "S"]),
            is_epic=st.booleans(),
            priority=st.integers(0, 4),
            revision=revisions,
        ),
        max_size=4,
        unique_by=lambda each: each.id,
    ).map(tuple),
    cooling=st.lists(
        st.builds(
            CoolingBead, ids, st.sampled_from([NOW, SOON, LATER]), st.sampled_from(["", "E"])
        ),
        max_size=2,
    ).map(tuple),
    claimed=st.integers(0, 2),
    unfinished=st.integers(0, 6),
    epics=st.integers(0, 1),
    blocked=st.sampled_from([(), ("hx-5",)]),
    documents=st.integers(0, 1),
    to_polish=st.sampled_from([(), ("hx-3",)]),
    requests=st.lists(
        st.builds(
            RequestBead,
            ids,
            st.sampled_from([*RequestKind]),
            st.sampled_from(["", "PRD"]),
            has_design=st.booleans(),
            revision=revisions,
        ),
        max_size=2,
    ).map(tuple),
    gaps=st.lists(
        st.builds(Gap, st.just("r"), st.just("q"), is_ambiguity=st.booleans()), max_size=1
    ).map(tuple),
    finished_epics=st.sampled_from([(), ("E",)]),
    state=st.sampled_from(["s1", "s2"]),
    now=st.just(NOW),
)
journeys = st.builds(
    Progress,
    focus=st.sampled_from(["", "E"]),
    completed=st.integers(0, 4),
    skipped=st.dictionaries(
        st.sampled_from(["E", "hx-0", "hx-1", "hx-2"]), st.sampled_from(["r1", "s1"])
    ),
    checked=st.none() | st.builds(CheckResult, st.just("s1"), st.sampled_from([*CheckAnswer])),
    recovered=st.booleans(),
    passes=st.integers(0, MOST_PASSES),
    idle_passes=st.integers(0, 2),
    aligns=st.integers(0, 1),
    alone=st.frozensets(ids, max_size=2),
)
orders = st.builds(
    RoutingRules,
    autonomy=st.sampled_from([*Autonomy]),
    max_cycles=st.integers(0, 4),
    review_every=st.integers(0, 3),
    auto_align=st.booleans(),
    batch=st.integers(1, 3),
    always_ask=st.booleans(),
)


@given(views, journeys, orders)
def test_every_decision_keeps_the_laws(
    view: RunView, progress: Progress, rules: RoutingRules
) -> None:  # S-1
    found = next_action(view, progress, rules)
    assert found == next_action(view, progress, rules)
    assert found.least_power_explanation
    beads = {bead.id: bead for bead in view.ready}
    match found.action:
        case Action.BUILD:  # S-2, S-6, S-8: ready work only, and nothing that was skipped
            assert found.beads[0] == found.target
            assert len(found.beads) <= rules.batch
            for each in found.beads:
                assert not is_skipped(progress, each, beads[each].revision)
            assert not any(beads[each].is_epic for each in found.beads[1:])
        case Action.GUIDANCE | Action.BACKFILL:
            assert found.question
        case Action.WAIT if found.until:
            assert found.until > NOW
        case Action.CHECK:
            assert found.recovers is (progress.answer_to(view.state) is not None)
        case Action.ALIGN:
            assert rules.auto_align
    if view.to_polish or (view.gaps and rules.autonomy is not Autonomy.HIGH):
        assert found.action is not Action.BUILD  # S-3


@given(views, journeys, orders)
def test_work_that_nobody_can_select_is_never_built(  # S-2
    view: RunView, progress: Progress, rules: RoutingRules
) -> None:
    nothing_ready = changed(view, ready=())
    assert next_action(nothing_ready, progress, rules).action is not Action.BUILD
