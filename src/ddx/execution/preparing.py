"""Before the agent begins: the workspace made able to run the project's tests (X-3a)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.errors import DdxError
from ddx.execution.governing import read_governing
from ddx.execution.project_checks import broken_checks, read_project_checks
from ddx.execution.record import LogFile
from ddx.execution.sandbox import wrapper
from ddx.execution.surrounding import child_environment, missing_author
from ddx.supervision import Bounds, Stopped, supervise
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.clock import Clock
    from ddx.execution.attempt import Task
    from ddx.execution.governing import Governing
    from ddx.execution.project_checks import ProjectChecks
    from ddx.execution.record import Record
    from ddx.execution.workspace import Workspace
    from ddx.supervision import StopRequest

SETUP_LOG = "setup.log"


class SetupFailed(DdxError):
    """The project's own set-up or checks cannot work; the bead is not to blame."""


@value
class Room:
    """A workspace ready for work, and what was read from the base before anyone could change it."""

    workspace: Workspace
    env: Mapping[str, str]
    governing: Governing
    project_checks: ProjectChecks
    ignored: frozenset[str]
    wrap: Callable[[Sequence[str]], Sequence[str]]
    """How the project's own commands are started; an agent's login is not for them."""

    @property
    def path(self) -> str:
        """Where the project lies in the workspace."""
        return self.workspace.folder


def prepare(
    task: Task, workspace: Workspace, record: Record, *, clock: Clock, stop: StopRequest
) -> Room:
    evidence = record.path("evidence")
    os.makedirs(evidence, exist_ok=True)
    env = child_environment(
        action=task.preparation.action,
        beads=[bead.id for bead in task.beads],
        attempt=task.attempt,
        project_root=task.project.root,
        evidence_dir=evidence,
        author=missing_author(
            task.project.root, is_home_hidden=task.settings.sandbox.kind != "none"
        ),
    )
    governing = read_governing(
        task.project,
        task.beads,
        checkout=workspace.folder,
        base=task.target.base,
        settings=task.settings,
    )
    project_checks = read_project_checks(workspace.folder)
    if broken := broken_checks(project_checks):
        raise SetupFailed(broken)
    own = wrapper(task, workspace.path, scratch=(evidence,), for_agent=False)
    for path in task.settings.workspace.carry:
        workspace.carry(path)
    _set_up(task, workspace.folder, env, record, own, clock=clock, stop=stop)
    ignored = workspace.list_ignored() if _leaves_files(task) else frozenset[str]()
    return Room(workspace, env, governing, project_checks, ignored, own)


def _leaves_files(task: Task) -> bool:
    """Without set-up and carrying, a fresh checkout holds nothing that git ignores."""
    return bool(task.settings.workspace.setup or task.settings.workspace.carry)


class _SetupWatch:
    """Both streams of a set-up command go to one log."""

    def __init__(self, log: LogFile) -> None:
        self.output = self.errors = log.write

    def verdict(self) -> Stopped | None:
        return None


def _set_up(
    task: Task,
    path: str,
    env: Mapping[str, str],
    record: Record,
    wrap: Callable[[Sequence[str]], Sequence[str]],
    *,
    clock: Clock,
    stop: StopRequest,
) -> None:
    commands = task.settings.workspace.setup
    if not commands:
        return
    log = LogFile(record.path(SETUP_LOG), record.masker)
    try:
        for command in commands:
            record.tell("setup", command)
            ended = supervise(
                list(wrap(("sh", "-c", command))),
                cwd=path,
                env=env,
                bounds=Bounds(wall_s=task.settings.workspace.timeout_s),
                watch=_SetupWatch(log),
                clock=clock,
                stop=stop,
            )
            if ended.code != 0 or ended.stopped is not Stopped.BY_ITSELF:
                how = f"exit {ended.code}"
                if ended.stopped is not Stopped.BY_ITSELF:
                    how = str(ended.stopped)
                raise SetupFailed(
                    f"set-up command {command!r} failed ({how})",
                    hint=f"its output: {record.path(SETUP_LOG)}",
                )
    finally:
        log.close()
