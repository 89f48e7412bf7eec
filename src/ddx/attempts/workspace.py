"""Where an agent works: a clone of its own, outside of the operator's checkout (X-3, X-3a).

Linked worktrees share stash, settings, hooks and branches with the operator, so this is none. The
files are checked out, and later read, through the operator's repository and an index that lies in
the attempt's record; the clone's own git folder is for the agent alone. Submodules stay empty.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from ddx.agents import Bounds, StopCause, supervise
from ddx.attempts.carried_files import carry
from ddx.attempts.editable_installs import find_editable_install
from ddx.attempts.sandbox import child_environment, missing_author, wrapper
from ddx.base import DdxError, LogFile, UsageError, value
from ddx.git import AttemptFiles, check_out, make_clone, new_files, pin, sealed, unpin
from ddx.proof import Governance, broken_checks, read_project_checks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.attempts.attempt import AttemptTask
    from ddx.attempts.context import LandingTarget
    from ddx.attempts.record import RecordWriter
    from ddx.project import Project
    from ddx.proof import ProjectChecks


_REMOVAL_TRIES = 3


class Workspace:
    """A clone at the base between enter and exit; afterwards it is gone, however it ended.

    What cannot be removed is told to `say` and left: the next start tries again.
    """

    def __init__(
        self,
        project: Project,
        target: LandingTarget,
        path: str,
        *,
        attempt: str,
        index: str,
        evidence: str = "",
        say: Callable[[str], None],
    ) -> None:
        self.path = path
        self.evidence = evidence_beside(path)
        """Where agents and checks may leave what shall stay; nothing else of ours is near (H-3)."""
        self._kept_evidence = evidence
        self.work = AttemptFiles(target.repository, path, index, base=target.base)
        self._commit = target.base
        """What its files show at first."""
        self._project = project
        self._target = target
        self._attempt = attempt
        self._say = say

    @property
    def folder(self) -> str:
        """Where the project lies in it: the clone itself, or a folder below."""
        return os.path.join(self.path, self._target.repository.prefix).rstrip(os.sep)

    def __enter__(self) -> Workspace:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        os.mkdir(self.path, 0o700)
        try:
            self._fill()
            if self._kept_evidence:
                os.mkdir(self.evidence, 0o700)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        if self._kept_evidence:
            keep_evidence(self.path, self._kept_evidence, say=self._say)
        remove_workspace(self._project, self.path, self._attempt, say=self._say)

    def _fill(self) -> None:
        self.hold(self._commit)
        check_out(self.work, self._commit)
        fill(self._project, self._target, self.work)
        self.work = sealed(self.work)

    def hold(self, commit: str) -> None:
        """From now on not even `git gc --prune=now` removes the attempt's commit."""
        pin(self._target.repository.checkout, self._attempt, commit)

    def carry(self, path: str) -> None:
        """Copy what git does not keep from the operator's checkout; git must ignore all of it."""
        root = self._project.root
        if pointer := find_editable_install(os.path.join(root, path), root):
            raise UsageError(
                f"workspace.carry: {path} imports your own checkout, as {pointer} says, so checks "
                "would test your files and not the agent's",
                hint="make it in each workspace by workspace.setup; see: ddx checks detect",
            )
        carry(path, source=root, destination=self.folder)
        if would_land := sorted(new_files(self.work)):
            raise UsageError(
                f"workspace.carry: git does not ignore {would_land[0]}, so it would land",
                hint=f"add {path} to .gitignore or to .git/info/exclude",
            )


def fill(project: Project, target: LandingTarget, work: AttemptFiles) -> None:
    """Give checked out files a git folder of their own, a clone at the target's base."""
    repository = target.repository
    # Where the tracker is part of the commit, a path in the clone means the same path there.
    has_tracker = os.path.exists(os.path.join(work.folder, repository.prefix, ".ddx"))
    make_clone(
        repository,
        work.folder,
        base=target.base,
        branch=target.branch,
        owner=repository.checkout if has_tracker else project.root,
    )
    # With its times: git compares them with those of files that were changed at once.
    shutil.copy2(work.index, os.path.join(work.folder, ".git", "index"))


def evidence_beside(path: str) -> str:
    """The folder for evidence that belongs to the workspace at a path."""
    return f"{path}.evidence"


def keep_evidence(path: str, destination: str, *, say: Callable[[str], None]) -> None:
    """Move what was left beside a workspace into its record; what cannot be moved is told."""
    source = evidence_beside(path)
    try:
        if os.path.islink(source) or not os.path.isdir(source):
            remove_path(source)
        elif os.path.lexists(destination):  # of an earlier workspace of the same record
            shutil.copytree(source, destination, symlinks=True, dirs_exist_ok=True)
            remove_path(source)
        else:
            shutil.move(source, destination)
    except (OSError, shutil.Error) as problem:
        say(f"{source} could not be kept as evidence: {problem}")


def remove_leftover(path: str, *, say: Callable[[str], None]) -> bool:
    """Remove what stands at a path of ours, whatever it is; False if some of it stays."""
    try:
        remove_path(path)
    except OSError as problem:
        say(f"{path} could not be removed: {problem}")
        return False
    return True


def remove_workspace(
    project: Project, path: str, attempt: str, *, say: Callable[[str], None]
) -> bool:
    """Remove a workspace that a record names, ours or a dead one's; False if some of it stays."""
    if not remove_leftover(path, say=say):
        return False
    try:
        unpin(project.root, attempt)
    except DdxError as problem:
        say(f"{path} is removed, but its base is still held: {problem.message}")
        return False
    return True


def remove_path(path: str) -> None:
    """A file, or a folder with all that is in it; never through a symbolic link."""
    problems: list[BaseException] = []
    for _ in range(_REMOVAL_TRIES):
        if not os.path.lexists(path):
            return
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
            return
        problems.clear()
        shutil.rmtree(path, onerror=lambda _, __, found: problems.append(found[1]))
        if problems:
            _open_folders(path)
    if problems:
        raise problems[0]


def _open_folders(path: str) -> None:
    """Agents leave folders that may not be written; they are ours all the same."""
    os.chmod(path, 0o700)
    for place, folders, _ in os.walk(path):
        for folder in (os.path.join(place, name) for name in folders):
            if not os.path.islink(folder):
                os.chmod(folder, 0o700)


SETUP = "workspace.setup"
SETUP_LOG = "setup.log"


class SetupFailed(DdxError):
    """The project's own set-up or checks cannot work; the bead is not to blame."""


@value
class PreparedWorkspace:
    """A workspace ready for work, and what was read from the base before anyone could change it."""

    task: AttemptTask
    record: RecordWriter
    workspace: Workspace
    env: Mapping[str, str]
    governing: Governance
    project_checks: ProjectChecks
    wrap: Callable[[Sequence[str]], Sequence[str]]
    """How the project's own commands are started; an agent's login is not for them."""

    @property
    def path(self) -> str:
        """Where the project lies in the workspace."""
        return self.workspace.folder

    def furnish(self) -> None:
        """Carry what git does not keep, and run the set-up."""
        for path in self.task.settings.workspace.carry:
            self.workspace.carry(path)
        _set_up(self)


def prepare(
    task: AttemptTask, workspace: Workspace, record: RecordWriter, *, furnished: bool = True
) -> PreparedWorkspace:
    """Read what the base asks for; then carry and set up, unless nothing is to run in it."""
    evidence = workspace.evidence
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
    governing = Governance.read(
        task.project,
        task.beads,
        checkout=workspace.folder,
        base=task.target.base,
        settings=task.settings,
    )
    project_checks = read_project_checks(workspace.folder)
    if broken := broken_checks(project_checks):
        raise SetupFailed(broken)
    room = PreparedWorkspace(
        task,
        record,
        workspace,
        env=env,
        governing=governing,
        project_checks=project_checks,
        wrap=wrapper(task, workspace.path, scratch=(evidence,), for_agent=False),
    )
    if furnished:
        room.furnish()
    return room


class _SetupWatch:
    """Both streams of a set-up command go to one log."""

    def __init__(self, log: LogFile) -> None:
        self.output = self.errors = log.write

    def verdict(self) -> StopCause | None:
        return None


def _set_up(room: PreparedWorkspace) -> None:
    task, record = room.task, room.record
    commands = task.settings.workspace.setup
    if not commands:
        return
    log = LogFile(record.path(SETUP_LOG), record.masker)
    try:
        for command in commands:
            record.tell("setup", command)
            ended = supervise(
                list(room.wrap(("sh", "-c", command))),
                cwd=room.path,
                env=room.env,
                bounds=Bounds(wall_s=task.settings.workspace.timeout_s),
                watch=_SetupWatch(log),
                clock=task.site.clock,
                stop=task.site.stop,
            )
            if ended.code != 0 or ended.stopped is not StopCause.BY_ITSELF:
                how = f"exit {ended.code}"
                if ended.stopped is not StopCause.BY_ITSELF:
                    how = str(ended.stopped)
                raise SetupFailed(
                    f"set-up command {command!r} failed ({how})",
                    hint=f"its output: {record.path(SETUP_LOG)}",
                )
    finally:
        log.close()
