"""The tasks of an objective as the tracker has them now: it is the truth, whatever was planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import value
from helix.objective.model import TaskResult, is_in_the_way

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ddx.attempts import AttemptContext
    from ddx.tracker import Bead, Blocker
    from helix.objective.model import ObjectiveProgress


@value
class TaskBeads:
    """One look at them."""

    beads: Mapping[str, Bead]
    ready: frozenset[str]
    """What an agent may be handed now."""
    held: Mapping[str, Blocker]
    """What is in the way of each other one."""
    landing: frozenset[str]
    """Proven already: only edits in the checkout are in their way (X-13)."""

    def status(self, task: str) -> str:
        """Empty: it is no longer there."""
        return self.beads[task].status if task in self.beads else ""

    def to_begin(self, pending: Sequence[str], flying: Collection[str]) -> list[str]:
        """What may be begun now; what waits for one that flies does so until that is settled."""
        return [
            task
            for task in pending
            if task in self.ready
            and task not in flying
            and not set(self.beads[task].waits_for).intersection(flying)
        ]

    def is_over(self, task: str) -> bool:
        """Nobody goes on with it as it is: finished, blocked, replaced or gone."""
        is_ended = task not in self.beads or self.beads[task].is_finished
        return is_ended or self.status(task) == "blocked" or self.is_replaced(task)

    def is_replaced(self, task: str) -> bool:
        return task in self.beads and bool(self.beads[task].superseded_by)


def read_beads(site: AttemptContext, task_ids: Sequence[str]) -> TaskBeads:
    """The beads of these tasks, and what keeps each from being built."""
    snapshot = site.tracker.snapshot()
    queue = site.tracker.queue(snapshot, has_default_checks=bool(site.settings.default_checks))
    obstacles = {task: queue.blocker(task) for task in task_ids if task in snapshot}
    beads = {task: snapshot.find_bead(task) for task in task_ids}
    return TaskBeads(
        {task: bead for task, bead in beads.items() if bead is not None},
        frozenset(queue.ready_for_execution()).intersection(task_ids),
        {task: found for task, found in obstacles.items() if found is not None},
        landing=frozenset(queue.held).intersection(task_ids),
    )


def find_freed(standing: ObjectiveProgress, beads: TaskBeads) -> list[str]:
    """Tasks that were given up, of which the tracker says otherwise by now."""
    return [
        task
        for task, ended in standing.outcomes.items()
        if is_in_the_way(ended) and _is_freed(beads, task, ended)
    ]


def _is_freed(beads: TaskBeads, task: str, ended: TaskResult) -> bool:
    """Closed by hand; or open again, which what was partly done has been all the time."""
    status = beads.status(task)
    is_open = status in ("open", "in_progress") and ended is TaskResult.BLOCKED
    return not beads.is_replaced(task) and (status == "closed" or is_open)
