"""Which tasks can go on, which cannot, and which wait in a ring (O-2, O-3). Pure.

A task is a mapping as agents' task lists have it: `id`, `subject`, `status` (pending, in_progress,
completed, blocked) and `blockedBy`. What is known of its outcome comes before what its status says.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Task: TypeAlias = Mapping[str, Any]

MOST_CYCLES = 100
"""More of them tell nobody more."""


class TaskResult(StrEnum):
    """How a task ended; what nobody can read is blocked, never delivered (O-2)."""

    DELIVERED = "delivered"
    PARTIAL = "partial"
    BLOCKED = "blocked"


_PENDING = frozenset({"pending", "open"})
_RUNNING = frozenset({"in_progress"})
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
    all_tasks: Sequence[Task], outcomes: Mapping[str, TaskResult] | None = None
) -> list[Task]:
    """Pending tasks for which every task that they wait for was delivered, in their order."""
    known = _outcomes(all_tasks, outcomes or {})
    return [
        task
        for task in all_tasks
        if _is_pending(task, known)
        and all(known.get(wanted) is TaskResult.DELIVERED for wanted in waits_for(task))
    ]


def check_stalled(
    all_tasks: Sequence[Task], outcomes: Mapping[str, TaskResult] | None = None
) -> tuple[bool, dict[str, Any]]:
    """Pending tasks, none ready, none running (O-3); then also who is held up by whom."""
    known = _outcomes(all_tasks, outcomes or {})
    pending = [task for task in all_tasks if _is_pending(task, known)]
    is_running = any(
        task.get("status") in _RUNNING and _id(task) not in known for task in all_tasks
    )
    if not pending or is_running or get_ready_tasks(all_tasks, known):
        return False, {}
    held = (
        (task, [wanted for wanted in waits_for(task) if is_in_the_way(known.get(wanted))])
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


def waits_for(task: Task) -> tuple[str, ...]:
    found = task.get("blockedBy") or ()
    return tuple(map(str, found)) if isinstance(found, list | tuple) else (str(found),)


def _outcomes(
    all_tasks: Sequence[Task], outcomes: Mapping[str, TaskResult]
) -> dict[str, TaskResult]:
    told = {
        _id(task): _BY_STATUS[status] for task in all_tasks if (status := _word(task)) in _BY_STATUS
    }
    return {**told, **outcomes}


def _word(task: Task) -> str:
    """A task that its list calls completed may still say how it ended."""
    metadata = task.get("metadata")
    ended = metadata.get("helix_outcome") if isinstance(metadata, Mapping) else None
    return str(ended or task.get("status", ""))


def _is_pending(task: Task, known: Mapping[str, TaskResult]) -> bool:
    return task.get("status") in _PENDING and _id(task) not in known


def _id(task: Task) -> str:
    return str(task.get("id", ""))


# -- rings ---------------------------------------------------------------------------------


def detect_cycles(dependencies: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Each ring as the way round it, its first task again at the end; deep chains are no trouble.

    One for each edge that closes a ring, and no more than MOST_CYCLES.
    """
    done: set[str] = set()
    found: list[list[str]] = []
    for start in dependencies:
        if start not in done:
            for ring in _rings_from(start, dependencies, done):
                found.append(ring)
                if len(found) == MOST_CYCLES:
                    return found
    return found


def _rings_from(
    start: str, dependencies: Mapping[str, Sequence[str]], done: set[str]
) -> Iterator[list[str]]:
    """Depth first, with a stack of our own: a plan may be longer than Python's."""
    way = [start]
    place = {start: 0}
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
