"""The tasks of an objective as the tracker has them now: it is the truth, whatever was planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.tracker.model import FINISHED, blockers_of, links_of, status_of
from ddx.tracker.pending import PENDING, held_by_pending
from ddx.tracker.queue import blocker, ready_for_execution
from ddx.values import changed, value
from helix.objective.readiness import TaskResult, is_in_the_way

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.queue import Blocker
    from helix.objective.states import Standing


@value
class Beads:
    """One look at them."""

    rows: Mapping[str, Row]
    ready: frozenset[str]
    """What an agent may be handed now."""
    held: Mapping[str, Blocker]
    """What is in the way of each other one."""
    landing: frozenset[str]
    """Proven already: only edits in the checkout are in their way (X-13)."""

    def status(self, task: str) -> str:
        """Empty: it is no longer there."""
        return status_of(self.rows[task]) if task in self.rows else ""

    def to_begin(self, pending: Sequence[str], flying: Collection[str]) -> list[str]:
        """What may be begun now; what waits for one that flies does so until that is settled."""
        return [
            task
            for task in pending
            if task in self.ready
            and task not in flying
            and not set(blockers_of(self.rows[task])).intersection(flying)
        ]

    def is_over(self, task: str) -> bool:
        """Nobody goes on with it as it is: finished, blocked, replaced or gone."""
        return self.status(task) in ("", "blocked", *FINISHED) or self.is_replaced(task)

    def is_replaced(self, task: str) -> bool:
        return bool(links_of(self.rows.get(task, {}), "superseded-by"))


def read_beads(site: Site, task_ids: Sequence[str]) -> Beads:
    """The beads of these tasks, and what keeps each from being built."""
    snapshot = site.tracker.snapshot()
    columns = snapshot.columns
    waiting = held_by_pending(site.project.ddx(*PENDING))
    around = changed(
        site.tracker.surroundings(has_default_checks=bool(site.settings.default_checks)),
        held=waiting,
    )
    ready = frozenset(columns.ids[n] for n in ready_for_execution(columns, around))
    places = {task: columns.place[task] for task in task_ids if task in columns.place}
    obstacles = {task: blocker(columns, n, around) for task, n in places.items()}
    rows = {task: snapshot.find(task) for task in task_ids}
    return Beads(
        {task: row for task, row in rows.items() if row is not None},
        ready.intersection(task_ids),
        {task: found for task, found in obstacles.items() if found is not None},
        frozenset(waiting).intersection(task_ids),
    )


def find_freed(standing: Standing, beads: Beads) -> list[str]:
    """Tasks that were given up, of which the tracker says otherwise by now."""
    return [
        task
        for task, ended in standing.outcomes.items()
        if is_in_the_way(ended) and _is_freed(beads, task, ended)
    ]


def _is_freed(beads: Beads, task: str, ended: TaskResult) -> bool:
    """Closed by hand; or open again, which what was partly done has been all the time."""
    status = beads.status(task)
    is_open = status in ("open", "in_progress") and ended is TaskResult.BLOCKED
    return not beads.is_replaced(task) and (status == "closed" or is_open)
