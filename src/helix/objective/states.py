"""The words of the machine: states, events, reasons, and where one objective stands. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ddx.values import value
from helix.objective.readiness import TaskResult


class State(StrEnum):
    """Where an objective stands."""

    INIT = "INIT"
    EXPLORING = "EXPLORING"
    EXPLORED = "EXPLORED"
    PLANNING = "PLANNING"
    PLANNED = "PLANNED"
    BUILDING = "BUILDING"
    STALLED = "STALLED"
    BUILT = "BUILT"
    OBSERVING = "OBSERVING"
    DONE = "DONE"
    ERROR = "ERROR"


class Event(StrEnum):
    """What can happen to it."""

    START = "start"
    EXPLORATION_COMPLETE = "exploration_complete"
    START_PLANNING = "start_planning"
    CLARIFY_NEEDED = "clarify_needed"
    TASKS_CREATED = "tasks_created"
    START_BUILDING = "start_building"
    TASK_COMPLETE = "task_complete"
    ALL_COMPLETE = "all_complete"
    STALLED = "stalled"
    UNBLOCKED = "unblocked"
    REPLAN = "replan"
    SKIP = "skip"
    ABORT = "abort"
    START_OBSERVING = "start_observing"
    OBSERVATION_COMPLETE = "observation_complete"


class ErrorReason(StrEnum):
    """Why an objective cannot go on, or an event was not taken."""

    EMPTY_EXPLORATION = "empty_exploration"
    NO_TASKS = "no_tasks"
    CYCLES_DETECTED = "cycles_detected"
    ALL_BLOCKED = "all_blocked"
    VELOCITY_COLLAPSE = "velocity_collapse"
    SYSTEMIC_FAILURE = "systemic_failure"
    INVALID_TRANSITION = "invalid_transition"
    USER_ABORT = "user_abort"

    @property
    def recovery(self) -> str:
        """What a person can do about it, in a sentence (O-2)."""
        return _RECOVERIES[self]


_RECOVERIES = {
    ErrorReason.EMPTY_EXPLORATION: "Explore again, with the objective in other words.",
    ErrorReason.NO_TASKS: "Plan again, with more context in the objective.",
    ErrorReason.CYCLES_DETECTED: "Take the rings out of the dependencies, then plan again.",
    ErrorReason.ALL_BLOCKED: "Replan, skip what is left, or abort.",
    ErrorReason.VELOCITY_COLLAPSE: "Find out what slows every task down before going on.",
    ErrorReason.SYSTEMIC_FAILURE: "Plan again, and tell the planner what fails each time.",
    ErrorReason.INVALID_TRANSITION: "This is a mistake of whoever drives the machine: report it.",
    ErrorReason.USER_ABORT: "Nothing: it was ended by a person.",
}


@value
class Standing:
    """Where one objective stands, task by task."""

    state: State = State.INIT
    exploration: Mapping[str, Any] | None = None
    task_ids: tuple[str, ...] = ()
    task_mapping: Mapping[str, str] = {}
    dependencies: Mapping[str, tuple[str, ...]] = {}
    outcomes: Mapping[str, TaskResult] = {}
    """In the order in which the tasks ended."""
    summaries: Mapping[str, str] = {}
    """What the tasks that ended said of themselves."""
    skipped: tuple[str, ...] = ()
    durations_s: tuple[float, ...] = ()
    failures: tuple[str, ...] = ()
    """The classes of failures since something last succeeded."""
    warnings: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    error_reason: ErrorReason | None = None
    error_context: Mapping[str, Any] = {}

    def ended_as(self, result: TaskResult) -> tuple[str, ...]:
        return tuple(task for task, ended in self.outcomes.items() if ended is result)

    @property
    def pending(self) -> tuple[str, ...]:
        """Tasks that have not ended in any way."""
        return tuple(
            task for task in self.task_ids if task not in self.outcomes and task not in self.skipped
        )


@value
class Result:
    """What one event came to; of an event that was not taken, `to_state` is ERROR (O-1)."""

    success: bool
    from_state: State
    to_state: State
    data: Mapping[str, Any] = {}
    error_reason: ErrorReason | None = None
    error_context: Mapping[str, Any] = {}


def checkpoint_row(standing: Standing) -> dict[str, Any] | None:
    """What is kept of a state that has a checkpoint; None: it has none."""
    match standing.state:
        case State.EXPLORED:
            return dict(standing.exploration or {})
        case State.PLANNED:
            return planned_row(standing)
        case State.BUILT:
            return built_row(standing)
    return None


def planned_row(standing: Standing) -> dict[str, Any]:
    return {
        "task_ids": list(standing.task_ids),
        "task_mapping": dict(standing.task_mapping),
        "dependencies": {task: list(waits) for task, waits in standing.dependencies.items()},
    }


def built_row(standing: Standing) -> dict[str, Any]:
    return {
        "completed": list(standing.ended_as(TaskResult.DELIVERED)),
        "partial": list(standing.ended_as(TaskResult.PARTIAL)),
        "blocked": list(standing.ended_as(TaskResult.BLOCKED)),
        "skipped": list(standing.skipped),
    }
