"""The states of an objective and the one table of how they follow each other (O-1 to O-4). Pure.

`step` takes where an objective stands and an event, and gives where it stands then and what came
of the event. Whoever folds the events of a log through it stands where the log's writer stood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from ddx.base import changed, cut, value
from helix.objective.model import (
    ErrorReason,
    Event,
    ObjectiveProgress,
    Result,
    State,
    TaskResult,
    built_row,
    detect_cycles,
    is_in_the_way,
    result_of,
)

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

FEWEST_DURATIONS = 5
COLLAPSE_FACTOR, COLLAPSE_S = 5.0, 60.0
DECAY_FACTOR, DECAY_S = 2.0, 30.0
SYSTEMIC = 3
"""So often the same failure since something last succeeded."""
FEWEST_TASKS, BLOCKED_SHARE = 3, 0.6

VELOCITY_DECAY = "VELOCITY_DECAY"
MOSTLY_BLOCKED = "MOSTLY_BLOCKED"

_LONGEST_CLASS = 160
_LONGEST_ERROR = 2000
_VARIES = re.compile(
    r"(?P<quoted>\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`)"
    r"|(?P<path>[\w.~-]*[/\\][\w./\\~-]*)"
    r"|(?P<hex>\b0x[0-9a-f]+\b|\b(?=[a-f]*[0-9])[0-9a-f]{7,}\b)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)*)"
)


@value
class EventTaken:
    """The event holds: what is known then, and what whoever sent it is told."""

    standing: ObjectiveProgress
    told: Mapping[str, Any] = {}


@value
class EventFailed:
    """A guard has failed: the objective ends in ERROR."""

    reason: ErrorReason
    context: Mapping[str, Any]
    standing: ObjectiveProgress | None = None
    """What was learned on the way; None: nothing."""


@value
class EventUntimely:
    """The event does not fit what is known, so that nothing has changed."""

    context: Mapping[str, Any]


EventEffect: TypeAlias = EventTaken | EventFailed | EventUntimely


def step(
    standing: ObjectiveProgress, event: str, given: Mapping[str, Any] | None = None
) -> tuple[ObjectiveProgress, Result]:
    """Where the objective stands after an event; one that it does not know changes nothing."""
    before, told = standing.state, given or {}
    target = TRANSITIONS.get((before, Event(event))) if event in list(Event) else None
    if target is None:
        return standing, _refused(before, event, {})
    match _EFFECTS[Event(event)](standing, told):
        case EventTaken(standing=known, told=answer):
            after = changed(known, state=target)
            result = Result(True, before, target, data=answer)
            if reason := after.error_reason:
                result = changed(result, error_reason=reason, error_context=after.error_context)
            return after, result
        case EventFailed(reason=reason, context=context, standing=learned):
            failed = changed(
                learned or standing, state=State.ERROR, error_reason=reason, error_context=context
            )
            return failed, _failed(before, reason, context)
        case EventUntimely(context=context):
            return standing, _refused(before, event, context)


def _refused(state: State, event: str, more: Mapping[str, Any]) -> Result:
    context = {"current_state": str(state), "event": event, **more}
    return _failed(state, ErrorReason.INVALID_TRANSITION, context)


def _failed(state: State, reason: ErrorReason, context: Mapping[str, Any]) -> Result:
    return Result(False, state, State.ERROR, error_reason=reason, error_context=context)


# -- what each event does ------------------------------------------------------------------


def _plainly(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    return EventTaken(standing)


def _explored(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    targets = told.get("targets")
    files = targets.get("files") if isinstance(targets, Mapping) else None
    if not isinstance(files, list | tuple) or not files:
        return EventFailed(ErrorReason.EMPTY_EXPLORATION, {"objective": told.get("objective", "")})
    return EventTaken(changed(standing, exploration=dict(told)), told)


def _unclear(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    questions = tuple(map(str, _listed(told.get("questions"))))
    return EventTaken(changed(standing, questions=questions), {"questions": list(questions)})


def _planned(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    task_ids = tuple(dict.fromkeys(map(str, _listed(told.get("task_ids")))))
    if not task_ids:
        return EventFailed(ErrorReason.NO_TASKS, {"task_ids": []})
    mapping, edges = told.get("task_mapping") or {}, told.get("dependencies") or {}
    if not isinstance(mapping, Mapping) or not isinstance(edges, Mapping):
        return EventUntimely({"problem": "task_mapping and dependencies are mappings"})
    dependencies = {str(task): tuple(map(str, _listed(edges[task]))) for task in edges}
    if cycles := detect_cycles(dependencies):
        return EventFailed(ErrorReason.CYCLES_DETECTED, {"cycles": cycles})
    return EventTaken(
        changed(
            standing,
            task_ids=task_ids,
            task_mapping={str(seq): str(task) for seq, task in mapping.items()},
            dependencies=dependencies,
            questions=(),
        ),
        told,
    )


def _task_ended(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    task = str(told.get("task_id", ""))
    if task not in standing.task_ids:
        return EventUntimely({"problem": "no such task", "task_id": task})
    result = result_of(told.get("status"))
    rest = {other: ended for other, ended in standing.outcomes.items() if other != task}
    seconds = _duration_s(told)
    failed = failure_class(told) if result is TaskResult.BLOCKED else ""
    known = () if result is TaskResult.DELIVERED else standing.failures
    failures = (*known, failed) if failed else known
    after = changed(
        standing,
        outcomes={**rest, task: result},
        summaries={**standing.summaries, task: str(told.get("summary") or "")},
        durations_s=(*standing.durations_s, *(() if seconds is None else (seconds,))),
        failures=failures,
    )
    if found := systemic_class(after.failures):
        context = {"failure_class": found, "count": after.failures.count(found), "task_id": task}
        return EventFailed(ErrorReason.SYSTEMIC_FAILURE, context, after)
    if has_collapsed(after.durations_s):
        durations = list(after.durations_s)
        return EventFailed(ErrorReason.VELOCITY_COLLAPSE, {"durations_s": durations}, after)
    blocked = after.ended_as(TaskResult.BLOCKED)
    warnings = (
        *((VELOCITY_DECAY,) if seconds is not None and is_slowing(after.durations_s) else ()),
        *((MOSTLY_BLOCKED,) if is_mostly_blocked(after.outcomes, blocked) else ()),
    )
    return EventTaken(
        changed(after, warnings=warnings),
        {"task_id": task, "status": str(result), "warnings": list(warnings)},
    )


def _all_ended(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    if standing.pending:
        return EventUntimely({"pending": list(standing.pending)})
    return EventTaken(changed(standing, warnings=()), built_row(standing))


def _stalled(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    """Only where it is so: something is pending, and nothing of that could be begun (O-3)."""
    held = _waits(standing, told)
    able = [
        task
        for task in standing.pending
        if all(standing.outcomes.get(it) is TaskResult.DELIVERED for it in held.get(task, ()))
    ]
    if not standing.pending or able:
        return EventUntimely({"pending": list(standing.pending), "ready": able})
    if all(_is_held(task, held, standing) for task in standing.pending):
        context = {"pending": list(standing.pending), **told}
        return EventTaken(
            changed(standing, error_reason=ErrorReason.ALL_BLOCKED, error_context=context), told
        )
    return EventTaken(standing, told)


def _waits(standing: ObjectiveProgress, told: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What each task waits for: by the plan, and as whoever looked at the list has seen it."""
    held = dict(standing.dependencies)
    for row in _listed(told.get("blocked_by_blocked")):
        if isinstance(row, Mapping):
            task = str(row.get("task_id", ""))
            seen = tuple(map(str, _listed(row.get("blocked_by"))))
            held[task] = (*held.get(task, ()), *seen)
    return held


def _is_held(task: str, held: Mapping[str, tuple[str, ...]], standing: ObjectiveProgress) -> bool:
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


def _unblocked(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    """Somebody has seen to it: these tasks are pending again, or others can begin after all."""
    freed = tuple(map(str, _listed(told.get("task_ids"))))
    strange = [task for task in freed if not is_in_the_way(standing.outcomes.get(task))]
    able = [task for task in map(str, _listed(told.get("ready"))) if task in standing.pending]
    if strange or not (freed or able):
        return EventUntimely({"problem": "nothing of this was blocked", "task_ids": strange})
    kept = {task: ended for task, ended in standing.outcomes.items() if task not in freed}
    after = changed(standing, outcomes=kept, failures=(), error_reason=None, error_context={})
    return EventTaken(after, {"task_ids": list(freed), "ready": able})


def _replanned(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    """A new plan inherits nothing of the old one's outcomes, not even by a name used again."""
    return EventTaken(ObjectiveProgress(standing.state, standing.exploration), told)


def _skipped(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    after = changed(
        standing, skipped=standing.pending, error_reason=None, error_context={}, warnings=()
    )
    return EventTaken(after, built_row(after))


def _aborted(standing: ObjectiveProgress, told: Mapping[str, Any]) -> EventEffect:
    said = told.get("reason")
    reason = ErrorReason(str(said)) if said in list(ErrorReason) else ErrorReason.USER_ABORT
    return EventFailed(reason, dict(told))


_EFFECTS: Mapping[Event, Callable[[ObjectiveProgress, Mapping[str, Any]], EventEffect]] = {
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


# -- how building goes: slower and slower, the same failure again and again (O-4) ---------


def has_collapsed(durations_s: Sequence[float]) -> bool:
    """The last two take more than five times as long as the first two, and over a minute."""
    if len(durations_s) < FEWEST_DURATIONS:
        return False
    first, last = sum(durations_s[:2]) / 2, sum(durations_s[-2:]) / 2
    return last > COLLAPSE_FACTOR * first and last > COLLAPSE_S


def is_slowing(durations_s: Sequence[float]) -> bool:
    """The last one takes more than twice as long as the one two before, and over half a minute."""
    before, last = (durations_s[-3], durations_s[-1]) if len(durations_s) >= 3 else (0.0, 0.0)
    return last > DECAY_FACTOR * before and last > DECAY_S


def is_mostly_blocked(outcomes: Mapping[str, TaskResult], blocked: Collection[str]) -> bool:
    """More than 60 % of at least three tasks that have ended."""
    ended = len(outcomes)
    return ended >= FEWEST_TASKS and len(blocked) > BLOCKED_SHARE * ended


def systemic_class(failures: Sequence[str]) -> str:
    """The class of the last failure if it has come three times by now; empty: it has not."""
    last = failures[-1] if failures else ""
    return last if last and failures.count(last) >= SYSTEMIC else ""


def failure_class(told: Mapping[str, Any]) -> str:
    """Which check failed, how it ended, and its error without what varies from task to task.

    Empty where nothing is known: two failures that nobody can name are not the same one.
    """
    check = str(told.get("check") or "")
    code = told.get("exit_code")
    text = str(told.get("error") or told.get("reason") or "")[:_LONGEST_ERROR].lower()
    error = " ".join(_VARIES.sub(lambda found: f"<{found.lastgroup}>", text).split())
    if not check and not error:
        return ""
    exit_code = "" if code is None else str(code)
    return cut(" | ".join((check, exit_code, error)), _LONGEST_CLASS)
