"""The machine of an objective: every transition, every guard, every reason (O-1 to O-4)."""

# @requirement TC-701

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.objectives import ANY_EVENT, ANY_TOLD, EXPLORATION, PLAN, TO_BUILDING

from helix.objective.machine import (
    CHECKPOINTS,
    MOSTLY_BLOCKED,
    TERMINAL,
    TRANSITIONS,
    VELOCITY_DECAY,
    failure_class,
    step,
)
from helix.objective.model import (
    MOST_CYCLES,
    ErrorReason,
    Event,
    ObjectiveProgress,
    State,
    TaskResult,
    check_stalled,
    detect_cycles,
    get_ready_tasks,
)


def after(
    *events: tuple[str, dict[str, Any]], of: ObjectiveProgress | None = None
) -> ObjectiveProgress:
    standing = of or ObjectiveProgress()
    for event, told in events:
        standing, _ = step(standing, event, told)
    return standing


def ended(task: str, status: str = "delivered", **told: Any) -> tuple[str, dict[str, Any]]:
    return "task_complete", {"task_id": task, "status": status, **told}


def building(*events: tuple[str, dict[str, Any]], **plan: Any) -> ObjectiveProgress:
    events_so_far = [
        (name, {**told, **plan} if name == "tasks_created" else told) for name, told in TO_BUILDING
    ]
    return after(*events_so_far, *events)


def stalled() -> ObjectiveProgress:
    return building(ended("t1", "blocked"), ended("t3"), ("stalled", {}))


STANDING = {
    State.INIT: after(),
    State.EXPLORING: after(*TO_BUILDING[:1]),
    State.EXPLORED: after(*TO_BUILDING[:2]),
    State.PLANNING: after(*TO_BUILDING[:3]),
    State.PLANNED: after(*TO_BUILDING[:4]),
    State.BUILDING: building(),
    State.STALLED: stalled(),
    State.BUILT: after(("skip", {}), of=stalled()),
    State.OBSERVING: after(("skip", {}), ("start_observing", {}), of=stalled()),
    State.DONE: after(
        ("skip", {}), ("start_observing", {}), ("observation_complete", {}), of=stalled()
    ),
    State.ERROR: after(("abort", {}), of=stalled()),
}
TOLD: dict[str, dict[str, Any]] = {
    "exploration_complete": EXPLORATION,
    "tasks_created": PLAN,
    "task_complete": {"task_id": "t1", "status": "delivered"},
    "clarify_needed": {"questions": ["Which one?"]},
    "unblocked": {"task_ids": ["t1"]},
}
READY_FOR = {
    (State.BUILDING, "all_complete"): building(ended("t1"), ended("t2"), ended("t3")),
    (State.BUILDING, "stalled"): building(ended("t1", "blocked"), ended("t3")),
    (State.BUILDING, "unblocked"): building(ended("t1", "blocked")),
}


def test_every_state_can_be_reached() -> None:
    assert {state: standing.state for state, standing in STANDING.items()} == {
        state: state for state in State
    }


@pytest.mark.parametrize(("state", "event"), TRANSITIONS, ids=str)
def test_a_known_event_leads_where_the_table_says(state: State, event: Event) -> None:  # O-1
    before = READY_FOR.get((state, event), STANDING[state])
    standing, result = step(before, event, TOLD.get(event, {}))
    assert standing.state is TRANSITIONS[state, event]
    assert (result.from_state, result.to_state) == (state, standing.state)
    assert result.success is (event is not Event.ABORT)


UNKNOWN = [
    (state, event)
    for state in State
    for event in (*Event, "", "fly", "START")
    if (state, event) not in TRANSITIONS
]


@pytest.mark.parametrize(("state", "event"), UNKNOWN, ids=str)
def test_an_event_that_the_state_does_not_know_changes_nothing(state: State, event: str) -> None:
    before = STANDING[state]  # O-1
    standing, result = step(before, event, TOLD.get(event, {}))
    assert standing is before
    assert not result.success
    assert result.error_reason is ErrorReason.INVALID_TRANSITION
    assert result.error_context == {"current_state": str(state), "event": event}


def test_nothing_leaves_the_last_states() -> None:
    assert not [state for state, _ in TRANSITIONS if state in TERMINAL]
    assert set(CHECKPOINTS) == {State.EXPLORED, State.PLANNED, State.BUILT}


@pytest.mark.parametrize("reason", ErrorReason)
def test_every_reason_says_what_can_be_done(reason: ErrorReason) -> None:  # O-2
    assert reason.recovery.endswith(".")
    assert reason == reason.name.lower()


# -- what somebody has seen to by hand ---------------------------------------------------------


def test_a_task_that_is_unblocked_is_pending_again_and_its_stall_is_over() -> None:  # O-3
    standing, result = step(stalled(), "unblocked", {"task_ids": ["t1"]})
    assert (standing.state, standing.pending) == (State.BUILDING, ("t1", "t2"))
    assert (standing.error_reason, standing.error_context) == (None, {})
    assert result.data == {"task_ids": ["t1"], "ready": []}


def test_a_stall_is_over_too_where_a_pending_task_can_begin_after_all() -> None:  # O-3
    standing, _ = step(stalled(), "unblocked", {"task_ids": [], "ready": ["t2"]})
    assert (standing.state, standing.ended_as(TaskResult.BLOCKED)) == (State.BUILDING, ("t1",))


@pytest.mark.parametrize(
    "told",
    [{}, {"task_ids": ["t3"]}, {"task_ids": ["t2"]}, {"task_ids": ["t1", "t9"]}, {"ready": ["t3"]}],
)
def test_what_was_not_blocked_cannot_be_unblocked(told: dict[str, Any]) -> None:  # O-3
    before = stalled()
    standing, result = step(before, "unblocked", told)
    assert standing is before
    assert result.error_reason is ErrorReason.INVALID_TRANSITION


def test_failures_before_somebody_saw_to_it_make_none_systemic() -> None:  # O-4
    same = {"check": "pytest", "error": "no such port"}
    plan = {"task_ids": ["t1", "t2", "t3", "t4"], "dependencies": {}}
    twice = building(ended("t1", "blocked", **same), ended("t2", "blocked", **same), **plan)
    freed, _ = step(twice, "unblocked", {"task_ids": ["t1"]})
    assert step(freed, *ended("t3", "blocked", **same))[0].state is State.BUILDING
    assert step(twice, *ended("t3", "blocked", **same))[0].state is State.ERROR


# -- guards ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told", [{}, {"targets": {}}, {"targets": {"files": []}}, {"targets": None}, {"targets": []}]
)
def test_an_exploration_without_files_is_an_error(told: dict[str, Any]) -> None:  # O-2
    standing, result = step(STANDING[State.EXPLORING], "exploration_complete", told)
    assert standing.state is State.ERROR
    assert result.error_reason is standing.error_reason is ErrorReason.EMPTY_EXPLORATION


@pytest.mark.parametrize("told", [{}, {"task_ids": []}, {"task_ids": None}, {"task_ids": {}}])
def test_a_plan_without_tasks_is_an_error(told: dict[str, Any]) -> None:  # O-2
    standing, result = step(STANDING[State.PLANNING], "tasks_created", told)
    assert (standing.state, result.error_reason) == (State.ERROR, ErrorReason.NO_TASKS)


def test_a_plan_with_a_ring_is_an_error_that_names_it() -> None:  # O-2
    told = {"task_ids": ["a", "b"], "dependencies": {"a": ["b"], "b": ["a"]}}
    standing, result = step(STANDING[State.PLANNING], "tasks_created", told)
    assert (standing.state, result.error_reason) == (State.ERROR, ErrorReason.CYCLES_DETECTED)
    assert standing.error_context == result.error_context == {"cycles": [["a", "b", "a"]]}


@pytest.mark.parametrize("edges", [["a"], "a", 7])
def test_dependencies_of_another_form_are_not_taken(edges: Any) -> None:
    before = STANDING[State.PLANNING]
    standing, result = step(before, "tasks_created", {"task_ids": ["a"], "dependencies": edges})
    assert standing is before
    assert "mappings" in result.error_context["problem"]


def test_building_is_over_only_when_every_task_has_ended() -> None:  # O-2
    before = building(ended("t1"))
    standing, result = step(before, "all_complete")
    assert standing is before
    assert (result.success, result.error_context["pending"]) == (False, ["t2", "t3"])


@pytest.mark.parametrize("status", ["unknown", "completed", "DELIVERED", "", None, 1])
def test_a_result_that_nobody_can_read_is_blocked(status: Any) -> None:  # O-2
    standing = building(ended("t1", status))
    assert standing.outcomes == {"t1": TaskResult.BLOCKED}


def test_a_task_without_a_result_is_blocked() -> None:  # O-2
    standing, _ = step(building(), "task_complete", {"task_id": "t1"})
    assert standing.ended_as(TaskResult.BLOCKED) == ("t1",)


@pytest.mark.parametrize("task", ["t9", "", None])
def test_a_task_that_is_not_in_the_plan_is_not_taken(task: Any) -> None:
    before = building()
    standing, result = step(before, "task_complete", {"task_id": task, "status": "delivered"})
    assert standing is before
    assert result.error_reason is ErrorReason.INVALID_TRANSITION


def test_the_last_result_of_a_task_counts() -> None:
    standing = building(ended("t1", "blocked"), ended("t2"), ended("t1"))
    assert standing.outcomes == {"t2": TaskResult.DELIVERED, "t1": TaskResult.DELIVERED}


def test_a_stall_with_work_that_could_be_begun_is_not_taken() -> None:  # O-3
    for before in (building(), building(ended("t1", "blocked")), building(ended("t1"))):
        standing, result = step(before, "stalled", {"pending_count": 1, "blocked_by_blocked": []})
        assert standing is before
        assert result.error_reason is ErrorReason.INVALID_TRANSITION
        assert result.error_context["ready"]


def test_there_is_no_stall_when_all_has_ended() -> None:
    before = READY_FOR[State.BUILDING, "all_complete"]
    standing, _ = step(before, "stalled")
    assert standing is before


def test_a_stall_behind_blocked_tasks_says_so_and_can_be_left() -> None:  # O-2
    standing, result = step(READY_FOR[State.BUILDING, "stalled"], "stalled", {"pending_count": 1})
    assert (result.success, standing.state) == (True, State.STALLED)
    assert result.error_reason is standing.error_reason is ErrorReason.ALL_BLOCKED
    assert result.error_context["pending"] == ["t2"]
    assert [after((way, {}), of=standing).state for way in ("replan", "skip", "abort")] == [
        State.PLANNING,
        State.BUILT,
        State.ERROR,
    ]


def test_a_stall_behind_a_task_that_nobody_knows_is_not_all_blocked() -> None:
    before = building(ended("t1"), ended("t3"), dependencies={"t2": ["elsewhere"]})
    standing, result = step(before, "stalled", {})
    assert (standing.state, result.error_reason) == (State.STALLED, None)


def test_a_stall_that_somebody_saw_in_the_task_list_is_believed() -> None:
    before = building(ended("t1", "blocked"), ended("t3"), dependencies={})
    seen = {"blocked_by_blocked": [{"task_id": "t2", "blocked_by": ["t1"]}]}
    assert after(("stalled", seen), of=before).state is State.STALLED
    assert after(("stalled", {}), of=before).state is State.BUILDING


def test_a_partial_result_lets_nobody_go_on() -> None:
    standing = building(ended("t1", "partial"), ended("t3"), ("stalled", {}))
    assert standing.state is State.STALLED


def test_a_new_plan_inherits_no_outcome() -> None:  # O-5
    standing = after(("replan", {}), of=stalled())
    assert standing == ObjectiveProgress(State.PLANNING, standing.exploration)
    again = after(("tasks_created", PLAN), ("start_building", {}), of=standing)
    assert again.pending == ("t1", "t2", "t3")


def test_what_is_skipped_is_named() -> None:
    standing, result = step(stalled(), "skip")
    assert standing.skipped == ("t2",)
    assert result.data == {"completed": ["t3"], "partial": [], "blocked": ["t1"], "skipped": ["t2"]}
    assert standing.error_reason is None


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        *((reason.value, reason) for reason in ErrorReason),
        (None, ErrorReason.USER_ABORT),
        ("tired", ErrorReason.USER_ABORT),
        (3, ErrorReason.USER_ABORT),
    ],
)
def test_an_abort_takes_a_reason_of_ours(said: Any, reason: ErrorReason) -> None:  # O-2
    standing, result = step(stalled(), "abort", {"reason": said})
    assert (standing.state, result.error_reason) == (State.ERROR, reason)


def test_questions_are_handed_on_and_forgotten_with_the_plan() -> None:
    standing, result = step(STANDING[State.PLANNING], "clarify_needed", {"questions": ["Which?"]})
    assert (standing.state, standing.questions) == (State.PLANNING, ("Which?",))
    assert result.data == {"questions": ["Which?"]}
    assert after(("tasks_created", PLAN), of=standing).questions == ()


# -- how it goes -----------------------------------------------------------------------------

MANY = {"task_ids": [f"t{n}" for n in range(1, 10)], "dependencies": {}}


def paced(*seconds: float) -> ObjectiveProgress:
    events = (ended(f"t{n}", duration_s=took) for n, took in enumerate(seconds, start=1))
    return building(*events, **MANY)


@pytest.mark.parametrize(
    ("seconds", "has_collapsed"),
    [
        ((10, 10, 10, 55, 66), True),
        ((10, 10, 10, 55, 65), False),
        ((10, 10, 55, 66), False),
        ((13, 13, 1, 65, 65), False),
        ((1, 1, 1, 60, 60), False),
        ((1, 1, 1, 60, 60.5), True),
    ],
)
def test_five_times_slower_is_a_collapse(seconds: tuple[float, ...], has_collapsed: bool) -> None:
    standing = paced(*seconds)  # O-4
    found = standing.error_reason is ErrorReason.VELOCITY_COLLAPSE
    assert found is has_collapsed
    assert standing.state is (State.ERROR if has_collapsed else State.BUILDING)
    assert len(standing.outcomes) == len(seconds)


@pytest.mark.parametrize(
    ("seconds", "warns"),
    [((16, 1, 33), True), ((16, 1, 32), False), ((10, 1, 30), False), ((10, 31), False)],
)
def test_twice_slower_is_a_warning(seconds: tuple[float, ...], warns: bool) -> None:  # O-4
    assert (VELOCITY_DECAY in paced(*seconds).warnings) is warns


def test_milliseconds_are_understood_and_nonsense_is_not_counted() -> None:
    odd: list[Any] = [-1, True, "5"]
    events = [ended("t1", duration_ms=1500), *(ended("t2", duration_s=it) for it in odd)]
    assert building(*events, **MANY).durations_s == (1.5,)


def test_the_same_failure_three_times_is_systemic() -> None:  # O-4
    events = [
        ended(f"t{n}", "blocked", check="unit", exit_code=1, error=f"no module named 'm{n}'")
        for n in (1, 2, 3)
    ]
    assert building(*events[:2], **MANY).state is State.BUILDING
    standing = building(*events, **MANY)
    assert (standing.state, standing.error_reason) == (State.ERROR, ErrorReason.SYSTEMIC_FAILURE)
    assert standing.error_context["count"] == 3


def test_a_success_begins_the_count_anew() -> None:  # O-4
    fails = [ended(f"t{n}", "blocked", error="it broke") for n in (1, 2, 4, 5)]
    standing = building(*fails[:2], ended("t3"), *fails[2:], **MANY)
    assert standing.state is State.BUILDING


def test_failures_that_nobody_can_name_are_not_the_same() -> None:
    assert building(*(ended(f"t{n}", "blocked") for n in (1, 2, 3)), **MANY).failures == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("No module named 'foo'", "no module named 'bar'", True),
        ("src/a.py:12: it broke", "lib/b.py:9: it broke", True),
        ("at 0x7f1e commit 1a2b3c4d", "at 0x99 commit 99ffee00", True),
        ("the prototype is wrong", "a type error", False),
        ("the latest one failed", "a test failed", False),
    ],
)
def test_a_class_is_what_does_not_vary(one: str, other: str, same: bool) -> None:  # O-4
    assert (failure_class({"error": one}) == failure_class({"error": other})) is same


def test_another_check_or_exit_is_another_class() -> None:
    rows: list[dict[str, Any]] = [
        {"check": "unit", "exit_code": 1},
        {"check": "unit", "exit_code": 2},
        {"check": "lint", "exit_code": 1},
    ]
    assert len({failure_class({**row, "error": "it broke"}) for row in rows}) == 3


def test_it_is_said_when_most_tasks_are_blocked() -> None:  # O-4
    two = [ended("t1", "blocked"), ended("t2", "blocked")]
    assert building(*two, **MANY).warnings == ()
    assert building(*two, ended("t3"), **MANY).warnings == (MOSTLY_BLOCKED,)
    assert building(*two, ended("t3"), ended("t4"), **MANY).warnings == ()


# -- tasks -----------------------------------------------------------------------------------


def task(name: str, status: str = "pending", *waits: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "subject": f"001: {name}", "status": status, "blockedBy": waits, **more}


def test_a_task_is_ready_when_all_it_waits_for_was_delivered() -> None:  # O-3
    tasks = [task("a", "completed"), task("b", "pending", "a"), task("c", "pending", "a", "b")]
    assert [it["id"] for it in get_ready_tasks(tasks)] == ["b"]
    assert get_ready_tasks(tasks, {"a": TaskResult.BLOCKED}) == []


def test_a_task_that_its_list_calls_completed_may_have_been_blocked() -> None:
    done = task("a", "completed", metadata={"helix_outcome": "blocked"})
    assert get_ready_tasks([done, task("b", "pending", "a")]) == []


@pytest.mark.parametrize(
    ("tasks", "stalls"),
    [
        ([], False),
        ([task("a")], False),
        ([task("a", "completed")], False),
        ([task("a", "blocked"), task("b", "pending", "a")], True),
        ([task("a", "in_progress"), task("b", "pending", "a")], False),
        ([task("a", "blocked"), task("b", "pending", "a"), task("c", "in_progress")], False),
        ([task("b", "pending", "nobody")], True),
    ],
)
def test_a_running_blocker_is_no_stall(tasks: list[dict[str, Any]], stalls: bool) -> None:  # O-3
    assert check_stalled(tasks)[0] is stalls


def test_a_stall_says_who_is_held_up_by_whom() -> None:  # O-3
    tasks = [task("a", "blocked"), task("b", "pending", "a", "c"), task("c", "pending", "b")]
    assert check_stalled(tasks) == (
        True,
        {
            "pending_count": 2,
            "blocked_by_blocked": [{"task_id": "b", "subject": "001: b", "blocked_by": ["a"]}],
        },
    )


@pytest.mark.parametrize(
    ("edges", "rings"),
    [
        ({"a": ["b"], "b": ["a"]}, [["a", "b", "a"]]),
        ({"a": ["a"]}, [["a", "a"]]),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, []),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, [["a", "b", "c", "a"]]),
        ({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"]}, [["a", "b", "a"], ["c", "d", "c"]]),
        ({"a": ["nobody"]}, []),
        ({}, []),
    ],
)
def test_rings_are_found(edges: dict[str, list[str]], rings: list[list[str]]) -> None:  # O-2
    assert detect_cycles(edges) == rings


def test_a_chain_of_a_hundred_thousand_tasks_is_no_trouble() -> None:  # O-2
    chain = {str(n): [str(n + 1)] for n in range(100_000)}
    assert detect_cycles(chain) == []
    (ring,) = detect_cycles({**chain, "100000": ["0"]})
    assert len(ring) == 100_002


def test_not_more_rings_are_told_than_anybody_reads() -> None:
    names = [str(n) for n in range(50)]
    assert len(detect_cycles(dict.fromkeys(names, names))) == MOST_CYCLES


@given(st.dictionaries(st.integers(0, 6), st.lists(st.integers(0, 6), max_size=4), max_size=7))
def test_there_is_a_ring_exactly_when_no_order_exists(edges: dict[int, list[int]]) -> None:
    from graphlib import CycleError, TopologicalSorter

    named = {str(task): [str(it) for it in waits] for task, waits in edges.items()}
    try:
        TopologicalSorter(named).prepare()
        has_order = True
    except CycleError:
        has_order = False
    rings = detect_cycles(named)
    assert (not rings) is has_order
    for ring in rings:
        assert ring[0] == ring[-1]
        assert all(other in named[one] for one, other in pairwise(ring))


@settings(max_examples=200)
@given(st.lists(st.tuples(ANY_EVENT, ANY_TOLD), max_size=30))
def test_whatever_happens_the_table_holds(events: list[tuple[str, dict[str, Any]]]) -> None:
    standing = ObjectiveProgress()
    for event, told in events:
        before = standing
        standing, result = step(standing, event, told)
        assert result.from_state is before.state
        if result.success:
            assert standing.state is TRANSITIONS[before.state, Event(event)]
        elif result.error_reason is ErrorReason.INVALID_TRANSITION:
            assert standing is before
        else:
            assert standing.state is State.ERROR
        assert set(standing.outcomes) <= set(standing.task_ids)
        assert (standing.state is State.ERROR) <= (standing.error_reason is not None)
