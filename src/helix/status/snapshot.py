"""How the project stands: one snapshot for `helix status`, the live view and the board (S-25).

It is made of files alone, so it is as good during a run as after it, without one, and after
kill -9. Nothing here loads a run's machinery: `helix status` is as quick as `ddx bead ready`.
"""

from __future__ import annotations

from ddx.base import DdxError, changed
from helix.status.model import Need, ProjectStatus
from helix.status.queue import with_queue
from helix.status.runs import (
    needs_of,
    needs_of_objectives,
    pause_of,
    read_decisions,
    read_executions,
    read_objective,
    read_recent_attempts,
    read_run,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.base import Clock
    from ddx.project import Project


def read_status(project: Project, *, clock: Clock) -> ProjectStatus:
    """All of it at this instant; what cannot be read is named among the needs."""
    now = clock.stamp()
    run = read_run(project, now=now)
    objective = read_objective(project, now=now)
    status = ProjectStatus(
        at=now,
        needs=(
            *pause_of(objective),
            *needs_of(run),
            *needs_of_objectives(
                project,
                at_work=objective.id if objective else "",
                is_idle=run is None or run.state != "running",
            ),
        ),
        run=run,
        queue=None,
        decisions=tuple(read_decisions(project, run)),
        attempts=tuple(read_recent_attempts(project)),
        executions=tuple(read_executions(project)),
        objective=objective,
    )
    try:
        return with_queue(status, project, clock)
    except DdxError as problem:
        return changed(status, needs=(Need(problem.message, problem.hint), *status.needs))
