"""The states of an objective and the one table of how they follow each other (O-1 to O-4). Pure.

`step` takes where an objective stands and an event, and gives where it stands then and what came
of the event. Whoever folds the events of a log through it stands where the log's writer stood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ddx.values import changed, value
from helix.objective.pace import (
    MOSTLY_BLOCKED,
    VELOCITY_DECAY,
    failure_class,
    has_collapsed,
    is_mostly_blocked,
    is_slowing,
    systemic_class,
)
from helix.objective.readiness import TaskResult, detect_cycles, is_in_the_way, result_of
from helix.objective.states import ErrorReason, Event, Result, Standing, State, built_row

TRANSITIONS: Mapping[tuple[State, Event], State] = {
    (State.INIT, Event.START): State.EXPLORING,
    (State.EXPLORING, Event.EXPLORATION_COMPLETE): State.EXPLORED,
    (State.EXPLORED, Event.START_PLANNING): State.PLANNING,
    (State.PLANNING, Event.CLARIFY_NEEDED): State.PLANNING,
    (State.PLANNING, Event.TASKS_CREATED): State.PLANNED,
    (State.PLANNED, Event.START_BUILDING): State.BUILDING,
    (State.BUILDING, Event.TASK_COMPLETE): State.BUILDING,
    (State.BUILDING, Event.ALL_COMPLETE): State.BUILT,
    (State.BUILDING, Event.UNBLOCKED): State.BUILDING,
    (State.BUILDING, Event.STALLED): State.STALLED,
    (State.STALLED, Event.UNBLOCKED): State.BUILDING,
    (State.STALLED, Event.REPLAN): State.PLANNING,
    (State.STALLED, Event.SKIP): State.BUILT,
    (State.STALLED, Event.ABORT): State.ERROR,
    (State.BUILT, Event.START_OBSERVING): State.OBSERVING,
    (State.OBSERVING, Event.OBSERVATION_COMPLETE): State.DONE,
}
TERMINAL = frozenset({State.DONE, State.ERROR})
CHECKPOINTS: Mapping[State, str] = {
    State.EXPLORED: "explored",
    State.PLANNED: "planned",
    State.BUILT: "built",
}
"""What is kept apart when a state is reached, by the name of its file (O-5)."""


@value
class Taken:
    """The event holds: what is known then, and what whoever sent it is told."""

    standing: Standing
    told: Mapping[str, Any] = {}


@value
class Failure:
    """A guard has failed: the objective ends in ERROR."""

    reason: ErrorReason
    context: Mapping[str, Any]
    standing: Standing | None = None
    """What was learned on the way; None: nothing."""


@value
class Untimely:
    """The event does not fit what is known, so that nothing has changed."""

    context: Mapping[str, Any]


Effect: TypeAlias = Taken | Failure | Untimely


def step(
    standing: Standing, event: str, given: Mapping[str, Any] | None = None
) -> tuple[Standing, Result]:
    """Where the objective stands after an event; one that it does not know changes nothing."""
    before, told = standing.state, given or {}
    target = TRANSITIONS.get((before, Event(event))) if event in list(Event) else None
    if target is None:
        return standing, _refused(before, event, {})
    match _EFFECTS[Event(event)](standing, told):
        case Taken(standing=known, told=answer):
            after = changed(known, state=target)
            context = after.error_context if after.error_reason else {}
            return after, Result(True, before, target, answer, after.error_reason, context)
        case Failure(reason=reason, context=context, standing=learned):
            failed = changed(
                learned or standing, state=State.ERROR, error_reason=reason, error_context=context
            )
            return failed, Result(False, before, State.ERROR, {}, reason, context)
        case Untimely(context=context):
            return standing, _refused(before, event, context)


def _refused(state: State, event: str, more: Mapping[str, Any]) -> Result:
    context = {"current_state": str(state), "event": event, **more}
    return Result(False, state, State.ERROR, {}, ErrorReason.INVALID_TRANSITION, context)


# -- what each event does ------------------------------------------------------------------


def _plainly(standing: Standing, told: Mapping[str, Any]) -> Effect:
    return Taken(standing)


def _explored(standing: Standing, told: Mapping[str, Any]) -> Effect:
    targets = told.get("targets")
    files = targets.get("files") if isinstance(targets, Mapping) else None
    if not isinstance(files, list | tuple) or not files:
        return Failure(ErrorReason.EMPTY_EXPLORATION, {"objective": told.get("objective", "")})
    return Taken(changed(standing, exploration=dict(told)), told)


def _unclear(standing: Standing, told: Mapping[str, Any]) -> Effect:
    questions = tuple(map(str, _listed(told.get("questions"))))
    return Taken(changed(standing, questions=questions), {"questions": list(questions)})


def _planned(standing: Standing, told: Mapping[str, Any]) -> Effect:
    task_ids = tuple(dict.fromkeys(map(str, _listed(told.get("task_ids")))))
    if not task_ids:
        return Failure(ErrorReason.NO_TASKS, {"task_ids": []})
    mapping, edges = told.get("task_mapping") or {}, told.get("dependencies") or {}
    if not isinstance(mapping, Mapping) or not isinstance(edges, Mapping):
        return Untimely({"problem": "task_mapping and dependencies are mappings"})
    dependencies = {str(task): tuple(map(str, _listed(edges[task]))) for task in edges}
    if cycles := detect_cycles(dependencies):
        return Failure(ErrorReason.CYCLES_DETECTED, {"cycles": cycles})
    return Taken(
        changed(
            standing,
            task_ids=task_ids,
            task_mapping={str(seq): str(task) for seq, task in mapping.items()},
            dependencies=dependencies,
            questions=(),
        ),
        told,
    )


def _task_ended(standing: Standing, told: Mapping[str, Any]) -> Effect:
    task = str(told.get("task_id", ""))
    if task not in standing.task_ids:
        return Untimely({"problem": "no such task", "task_id": task})
    result = result_of(told.get("status"))
    rest = {known: ended for known, ended in standing.outcomes.items() if known != task}
    seconds = _duration_s(told)
    failed = failure_class(told) if result is TaskResult.BLOCKED else ""
    after = changed(
        standing,
        outcomes={**rest, task: result},
        summaries={**standing.summaries, task: str(told.get("summary") or "")},
        durations_s=(*standing.durations_s, *(() if seconds is None else (seconds,))),
        failures=()
        if result is TaskResult.DELIVERED
        else (*standing.failures, *((failed,) if failed else ())),
    )
    if found := systemic_class(after.failures):
        context = {"failure_class": found, "count": after.failures.count(found), "task_id": task}
        return Failure(ErrorReason.SYSTEMIC_FAILURE, context, after)
    if has_collapsed(after.durations_s):
        durations = list(after.durations_s)
        return Failure(ErrorReason.VELOCITY_COLLAPSE, {"durations_s": durations}, after)
    blocked = after.ended_as(TaskResult.BLOCKED)
    warnings = (
        *((VELOCITY_DECAY,) if seconds is not None and is_slowing(after.durations_s) else ()),
        *((MOSTLY_BLOCKED,) if is_mostly_blocked(after.outcomes, blocked) else ()),
    )
    return Taken(
        changed(after, warnings=warnings),
        {"task_id": task, "status": str(result), "warnings": list(warnings)},
    )


def _all_ended(standing: Standing, told: Mapping[str, Any]) -> Effect:
    if standing.pending:
        return Untimely({"pending": list(standing.pending)})
    return Taken(changed(standing, warnings=()), built_row(standing))


def _stalled(standing: Standing, told: Mapping[str, Any]) -> Effect:
    """Only where it is so: something is pending, and nothing of that could be begun (O-3)."""
    held = _waits(standing, told)
    able = [
        task
        for task in standing.pending
        if all(standing.outcomes.get(it) is TaskResult.DELIVERED for it in held.get(task, ()))
    ]
    if not standing.pending or able:
        return Untimely({"pending": list(standing.pending), "ready": able})
    if all(_is_held(task, held, standing) for task in standing.pending):
        context = {"pending": list(standing.pending), **told}
        return Taken(
            changed(standing, error_reason=ErrorReason.ALL_BLOCKED, error_context=context), told
        )
    return Taken(standing, told)


def _waits(standing: Standing, told: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What each task waits for: by the plan, and as whoever looked at the list has seen it."""
    held = dict(standing.dependencies)
    for row in _listed(told.get("blocked_by_blocked")):
        if isinstance(row, Mapping):
            task = str(row.get("task_id", ""))
            seen = tuple(map(str, _listed(row.get("blocked_by"))))
            held[task] = (*held.get(task, ()), *seen)
    return held


def _is_held(task: str, held: Mapping[str, tuple[str, ...]], standing: Standing) -> bool:
    """Does it wait, however indirectly, for a task that has ended without being delivered?"""
    seen = {task}
    waiting = [task]
    while waiting:
        for wanted in held.get(waiting.pop(), ()):
            if is_in_the_way(standing.outcomes.get(wanted)):
                return True
            if wanted not in seen and wanted not in standing.outcomes:
                seen.add(wanted)
                waiting.append(wanted)
    return False


def _unblocked(standing: Standing, told: Mapping[str, Any]) -> Effect:
    """Somebody has seen to it: these tasks are pending again, or others can begin after all."""
    freed = tuple(map(str, _listed(told.get("task_ids"))))
    strange = [task for task in freed if not is_in_the_way(standing.outcomes.get(task))]
    able = [task for task in map(str, _listed(told.get("ready"))) if task in standing.pending]
    if strange or not (freed or able):
        return Untimely({"problem": "nothing of this was blocked", "task_ids": strange})
    kept = {task: ended for task, ended in standing.outcomes.items() if task not in freed}
    after = changed(standing, outcomes=kept, failures=(), error_reason=None, error_context={})
    return Taken(after, {"task_ids": list(freed), "ready": able})


def _replanned(standing: Standing, told: Mapping[str, Any]) -> Effect:
    """A new plan inherits nothing of the old one's outcomes, not even by a name used again."""
    return Taken(Standing(standing.state, standing.exploration), told)


def _skipped(standing: Standing, told: Mapping[str, Any]) -> Effect:
    after = changed(
        standing, skipped=standing.pending, error_reason=None, error_context={}, warnings=()
    )
    return Taken(after, built_row(after))


def _aborted(standing: Standing, told: Mapping[str, Any]) -> Effect:
    said = told.get("reason")
    reason = ErrorReason(str(said)) if said in list(ErrorReason) else ErrorReason.USER_ABORT
    return Failure(reason, dict(told))


_EFFECTS: Mapping[Event, Callable[[Standing, Mapping[str, Any]], Effect]] = {
    **dict.fromkeys(Event, _plainly),
    Event.EXPLORATION_COMPLETE: _explored,
    Event.CLARIFY_NEEDED: _unclear,
    Event.TASKS_CREATED: _planned,
    Event.TASK_COMPLETE: _task_ended,
    Event.ALL_COMPLETE: _all_ended,
    Event.STALLED: _stalled,
    Event.UNBLOCKED: _unblocked,
    Event.REPLAN: _replanned,
    Event.SKIP: _skipped,
    Event.ABORT: _aborted,
}


def _duration_s(told: Mapping[str, Any]) -> float | None:
    for name, unit in (("duration_s", 1.0), ("duration_ms", 0.001)):
        found = told.get(name)
        if isinstance(found, int | float) and not isinstance(found, bool) and found >= 0:
            return float(found) * unit
    return None


def _listed(found: Any) -> list[Any]:
    """A list that came from outside; one word stands for a list of one."""
    if isinstance(found, str):
        return [found]
    return list(found) if isinstance(found, list | tuple) else []
