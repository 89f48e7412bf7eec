"""Where one objective stands, and which of its tasks can go on (O-1 to O-3). Pure.

A task is a mapping as agents' task lists have it: `id`, `subject`, `status` (pending, in_progress,
completed, blocked) and `blockedBy`. What is known of its outcome comes before what its status says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, TypeAlias

from ddx.base import value

TaskRow: TypeAlias = Mapping[str, Any]
MOST_CYCLES = 100
"""More rings of tasks tell nobody more."""


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


class TaskResult(StrEnum):
    """How a task ended; what nobody can read is blocked, never delivered (O-2)."""

    DELIVERED = "delivered"
    PARTIAL = "partial"
    BLOCKED = "blocked"


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
class ObjectiveProgress:
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


def checkpoint_row(standing: ObjectiveProgress) -> dict[str, Any] | None:
    """What is kept of a state that has a checkpoint; None: it has none."""
    match standing.state:
        case State.EXPLORED:
            return dict(standing.exploration or {})
        case State.PLANNED:
            waits = {task: list(wanted) for task, wanted in standing.dependencies.items()}
            mapping = dict(standing.task_mapping)
            ids = list(standing.task_ids)
            return {"task_ids": ids, "task_mapping": mapping, "dependencies": waits}
        case State.BUILT:
            return built_row(standing)
    return None


def built_row(standing: ObjectiveProgress) -> dict[str, Any]:
    """How the tasks ended that have ended."""
    return {
        "completed": list(standing.ended_as(TaskResult.DELIVERED)),
        "partial": list(standing.ended_as(TaskResult.PARTIAL)),
        "blocked": list(standing.ended_as(TaskResult.BLOCKED)),
        "skipped": list(standing.skipped),
    }


# -- which tasks can go on, which cannot, and which wait in a ring -------------------------

_PENDING = frozenset({"pending", "open"})
_BY_STATUS = {
    "completed": TaskResult.DELIVERED,
    "closed": TaskResult.DELIVERED,
    "delivered": TaskResult.DELIVERED,
    "partial": TaskResult.PARTIAL,
    "blocked": TaskResult.BLOCKED,
}


def result_of(said: object) -> TaskResult:
    """The result that a word means; any word but ours means that nothing is proven."""
    return TaskResult(str(said)) if said in list(TaskResult) else TaskResult.BLOCKED


def get_ready_tasks(
    all_tasks: Sequence[TaskRow], outcomes: Mapping[str, TaskResult] | None = None
) -> list[TaskRow]:
    """Pending tasks for which every task that they wait for was delivered, in their order."""
    known = _outcomes(all_tasks, outcomes or {})
    return [
        task
        for task in all_tasks
        if _is_pending(task, known)
        and all(known.get(wanted) is TaskResult.DELIVERED for wanted in _waits_for(task))
    ]


def check_stalled(
    all_tasks: Sequence[TaskRow], outcomes: Mapping[str, TaskResult] | None = None
) -> tuple[bool, dict[str, Any]]:
    """Pending tasks, none ready, none running (O-3); then also who is held up by whom."""
    known = _outcomes(all_tasks, outcomes or {})
    pending = [task for task in all_tasks if _is_pending(task, known)]
    is_running = any(
        task.get("status") == "in_progress" and _id(task) not in known for task in all_tasks
    )
    if not pending or is_running or get_ready_tasks(all_tasks, known):
        return False, {}
    held = (
        (task, [wanted for wanted in _waits_for(task) if is_in_the_way(known.get(wanted))])
        for task in pending
    )
    return True, {
        "pending_count": len(pending),
        "blocked_by_blocked": [
            {"task_id": _id(task), "subject": str(task.get("subject", "")), "blocked_by": blockers}
            for task, blockers in held
            if blockers
        ],
    }


def is_in_the_way(outcome: TaskResult | None) -> bool:
    """It has ended, and not with what others wait for."""
    return outcome in (TaskResult.BLOCKED, TaskResult.PARTIAL)


def _waits_for(task: TaskRow) -> tuple[str, ...]:
    found = task.get("blockedBy") or ()
    return tuple(map(str, found)) if isinstance(found, list | tuple) else (str(found),)


def _outcomes(
    all_tasks: Sequence[TaskRow], outcomes: Mapping[str, TaskResult]
) -> dict[str, TaskResult]:
    said = ((_id(task), _BY_STATUS.get(_word(task))) for task in all_tasks)
    return {**{task: ended for task, ended in said if ended}, **outcomes}


def _word(task: TaskRow) -> str:
    """A task that its list calls completed may still say how it ended."""
    metadata = task.get("metadata")
    ended = metadata.get("helix_outcome") if isinstance(metadata, Mapping) else None
    return str(ended or task.get("status", ""))


def _is_pending(task: TaskRow, known: Mapping[str, TaskResult]) -> bool:
    return task.get("status") in _PENDING and _id(task) not in known


def _id(task: TaskRow) -> str:
    return str(task.get("id", ""))


def detect_cycles(dependencies: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Each ring as the way round it, its first task again at the end; deep chains are no trouble.

    One for each edge that closes a ring, and no more than MOST_CYCLES.
    """
    done: set[str] = set()
    starts = (start for start in dependencies if start not in done)
    rings = (ring for start in starts for ring in _rings_from(start, dependencies, done))
    return list(islice(rings, MOST_CYCLES))


def _rings_from(
    start: str, dependencies: Mapping[str, Sequence[str]], done: set[str]
) -> Iterator[list[str]]:
    """Depth first, with a stack of our own: a plan may be longer than Python's."""
    way, place = [start], {start: 0}
    waiting = [iter(dependencies.get(start, ()))]
    while waiting:
        wanted = next(waiting[-1], None)
        if wanted is None:
            waiting.pop()
            left = way.pop()
            del place[left]
            done.add(left)
        elif wanted in place:
            yield [*way[place[wanted] :], wanted]
        elif wanted not in done:
            place[wanted] = len(way)
            way.append(wanted)
            waiting.append(iter(dependencies.get(wanted, ())))
