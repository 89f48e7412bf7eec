"""The orchestrator of one objective: the machine, with a memory that outlives us (O-1, O-5)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.base import Clock, NotFound, dumps, loads
from ddx.project import find_project
from helix.objective import model
from helix.objective.event_log import (
    EVENT,
    NOTE,
    OBJECTIVE,
    RESTORED,
    Checkpoint,
    EventLog,
    LogEntry,
    checkpoint_in,
    forget_oldest,
    objective_id,
    read_checkpoints,
    write_checkpoint,
)
from helix.objective.machine import CHECKPOINTS, step
from helix.objective.model import ObjectiveProgress, State, TaskResult, built_row, checkpoint_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix.objective.model import ErrorReason, Result, TaskRow


class Orchestrator:
    """One objective and where it stands; what it is told is on the disk before it is true.

    Without a `root` it is the project around the current folder, else that folder itself.
    """

    def __init__(self, objective: str, root: str = "", *, clock: Clock = Clock()) -> None:
        self.objective = objective
        self.id = objective_id(objective)
        self.root = root or root_here()
        self._clock = clock
        self._log = EventLog(self.root, self.id)
        self._run = ""
        self._standing = ObjectiveProgress()
        self._restored: list[Checkpoint] = []
        self._notes: list[LogEntry] = []
        self._fresh_from = 0

    @classmethod
    def resume(cls, objective: str, root: str = "", *, clock: Clock = Clock()) -> Orchestrator:
        """Where the log says it stands; without one, at its newest checkpoint, else at INIT."""
        found = cls(objective, root, clock=clock)
        entries = found._log.last_run()
        if entries:
            found._run = entries[-1].run
            for entry in entries:
                found._replay(entry)
        else:
            found._restored = read_checkpoints(found.root, found.id)
            found._standing = _standing_at(found._restored)
        return found

    def _replay(self, entry: LogEntry) -> None:
        if entry.kind == NOTE:
            self._notes.append(entry)
        elif entry.kind == RESTORED:
            kept = entry.told.items()
            self._standing = _standing_at([checkpoint_in(*each) for each in kept])
        elif entry.kind == EVENT:
            after, _ = step(self._standing, entry.name, entry.told)
            self._stand(after)

    def _stand(self, after: ObjectiveProgress) -> None:
        if after.state is not self._standing.state:
            self._fresh_from = len(self._notes)
        self._standing = after

    # -- what it is told ---------------------------------------------------------------------

    def transition(self, event: str, data: Mapping[str, Any] | None = None) -> Result:
        """What the event came to; an event that cannot be kept changes nothing."""
        told = _as_kept(data)
        after, result = step(self._standing, str(event), told)
        came_to = {
            "from": str(result.from_state),
            "to": str(after.state),
            "success": result.success,
            **({"error_reason": str(result.error_reason)} if result.error_reason else {}),
        }
        self._append(EVENT, str(event), told, came_to)
        self._stand(after)
        if result.success and after.state in CHECKPOINTS:
            kept = Checkpoint(
                CHECKPOINTS[after.state],
                str(after.state),
                self.objective,
                objective_id=self.id,
                told=checkpoint_row(after) or {},
                timestamp=self._clock.stamp(),
            )
            write_checkpoint(self.root, kept)
        return result

    def note(self, name: str, data: Mapping[str, Any] | None = None) -> None:
        """Something to remember that is no business of the machine's."""
        self._notes.append(self._append(NOTE, name, _as_kept(data)))

    def notes(self, name: str) -> list[Mapping[str, Any]]:
        """What was noted under a name since the objective was begun, in order."""
        return [entry.told for entry in self._notes if entry.name == name]

    def fresh_notes(self, name: str) -> list[Mapping[str, Any]]:
        """Only those since it came into its present state."""
        return [entry.told for entry in self._notes[self._fresh_from :] if entry.name == name]

    def earlier_notes(self, name: str) -> list[Mapping[str, Any]]:
        """Those of the times that the same objective was begun before."""
        return [
            entry.told
            for entry in self._log.read()
            if entry.kind == NOTE and entry.name == name and entry.run != self._run
        ]

    def _append(
        self, kind: str, name: str, told: dict[str, Any], came_to: dict[str, Any] | None = None
    ) -> LogEntry:
        at, run = self._clock.stamp(), self._run or os.urandom(4).hex()
        entry = LogEntry(at, run, kind, name=name, told=told, came_to=came_to or {})
        if self._run:
            self._log.append(entry)
            return entry
        first = [LogEntry(at, run, OBJECTIVE, name=self.objective)]
        if self._restored:
            kept = {each.name: each.as_row() for each in self._restored}
            first.append(LogEntry(at, run, RESTORED, name="checkpoints", told=kept))
        self._log.append(*first, entry)
        forget_oldest(self.root)
        self._run = run
        return entry

    # -- what it knows -----------------------------------------------------------------------

    @property
    def standing(self) -> ObjectiveProgress:
        return self._standing

    @property
    def state(self) -> State:
        return self._standing.state

    @property
    def exploration(self) -> Mapping[str, Any] | None:
        return self._standing.exploration

    @property
    def task_ids(self) -> list[str]:
        return list(self._standing.task_ids)

    @property
    def completed(self) -> list[str]:
        return list(self._standing.ended_as(TaskResult.DELIVERED))

    @property
    def partial(self) -> list[str]:
        return list(self._standing.ended_as(TaskResult.PARTIAL))

    @property
    def blocked(self) -> list[str]:
        return list(self._standing.ended_as(TaskResult.BLOCKED))

    @property
    def skipped(self) -> list[str]:
        return list(self._standing.skipped)

    @property
    def error_reason(self) -> ErrorReason | None:
        return self._standing.error_reason

    @property
    def error_context(self) -> Mapping[str, Any]:
        return self._standing.error_context

    def get_ready_tasks(self, all_tasks: Sequence[TaskRow]) -> list[TaskRow]:
        """Of a task list, what can be begun by what is known here."""
        return model.get_ready_tasks(all_tasks, self._standing.outcomes)

    def check_stalled(self, all_tasks: Sequence[TaskRow]) -> tuple[bool, dict[str, Any]]:
        """Whether a task list can go on by what is known here (O-3)."""
        return model.check_stalled(all_tasks, self._standing.outcomes)

    def status(self) -> dict[str, Any]:
        """The whole of it as one row."""
        standing, reason = self._standing, self._standing.error_reason
        return {
            "id": self.id,
            "objective": self.objective,
            "state": str(standing.state),
            "task_ids": list(standing.task_ids),
            **built_row(standing),
            "pending": list(standing.pending),
            "questions": list(standing.questions),
            "warnings": list(standing.warnings),
            "has_exploration": standing.exploration is not None,
            "checkpoints": [kept.name for kept in read_checkpoints(self.root, self.id)],
            "error_reason": str(reason) if reason else None,
            "error_context": dict(standing.error_context),
            "recovery": reason.recovery if reason else "",
        }


def _as_kept(told: Mapping[str, Any] | None) -> dict[str, Any]:
    """As it will be read from the log again, so that both ways lead to the same state."""
    return dict(loads(dumps(dict(told or {}))))


def _standing_at(checkpoints: Sequence[Checkpoint]) -> ObjectiveProgress:
    """Where the newest one stands; what older ones still tell is told by them."""
    if not checkpoints:
        return ObjectiveProgress()
    by_name = {kept.name: kept.told for kept in checkpoints}  # the newest of each name
    newest = State(checkpoints[-1].state)
    plan = by_name.get("planned", {}) if newest is not State.EXPLORED else {}
    ended = by_name["built"] if newest is State.BUILT else {}
    return ObjectiveProgress(
        newest,
        by_name.get("explored"),
        tuple(plan.get("task_ids", ())),
        task_mapping=dict(plan.get("task_mapping", {})),
        dependencies={task: tuple(waits) for task, waits in plan.get("dependencies", {}).items()},
        outcomes={
            task: result
            for key, result in zip(("completed", "partial", "blocked"), TaskResult, strict=True)
            for task in ended.get(key, ())
        },
        skipped=tuple(ended.get("skipped", ())),
    )


def root_here() -> str:
    """The project around the current folder, else that folder itself."""
    here = os.getcwd()
    try:
        return find_project(here).root
    except NotFound:
        return here
