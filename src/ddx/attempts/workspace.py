"""Where an agent works: a clone of its own, outside of the operator's checkout (X-3, X-3a).

Linked worktrees share stash, settings, hooks and branches with the operator, so this is none. The
files are checked out, and later read, through the operator's repository and an index that lies in
the attempt's record; the clone's own git folder is for the agent alone. Submodules stay empty.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from typing import TYPE_CHECKING

from ddx.agents import Bounds, StopCause, supervise
from ddx.attempts.editable_installs import find_editable_install
from ddx.attempts.sandbox import child_environment, missing_author, wrapper
from ddx.base import DdxError, LogFile, UsageError, changed, value
from ddx.git import AttemptFiles, check_out, ignored_files, make_clone, new_files, pin, unpin
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
        say: Callable[[str], None],
    ) -> None:
        self.path = path
        self.work = AttemptFiles(target.repository, path, index, base=target.base)
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
        except BaseException:
            remove_workspace(self._project, self.path, self._attempt, say=self._say)
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        remove_workspace(self._project, self.path, self._attempt, say=self._say)

    def _fill(self) -> None:
        repository = self._target.repository
        pin(repository.checkout, self._attempt, self._target.base)
        check_out(self.work, self._target.base)
        # Where the tracker is part of the commit, a path in the clone means the same path there.
        has_tracker = os.path.exists(os.path.join(self.folder, ".ddx"))
        make_clone(
            repository,
            self.path,
            base=self._target.base,
            branch=self._target.branch,
            owner=repository.checkout if has_tracker else self._project.root,
        )
        # With its times: git compares them with those of files that were changed at once.
        shutil.copy2(self.work.index, os.path.join(self.path, ".git", "index"))

    def check_out(self, commit: str) -> None:
        """Show another commit, such as a merge that is to be checked."""
        check_out(self.work, commit)

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

    def list_ignored(self) -> frozenset[str]:
        """What set-up and carrying have left, before the agent begins."""
        return ignored_files(self.work)

    def remove_new_ignored(self, before: frozenset[str]) -> tuple[str, ...]:
        """Remove what would not land but could make a check pass (X-11); the names of it all."""
        made = sorted(ignored_files(self.work) - before)
        for name in (name.rstrip("/") for name in made):  # a repository ends with a slash
            _remove(os.path.join(self.path, name))
            self._remove_empty_folders(os.path.dirname(name))
        return tuple(made)

    def _remove_empty_folders(self, name: str) -> None:
        while name and not os.listdir(os.path.join(self.path, name)):
            os.rmdir(os.path.join(self.path, name))
            name = os.path.dirname(name)


def remove_workspace(
    project: Project, path: str, attempt: str, *, say: Callable[[str], None]
) -> bool:
    """Remove a workspace that a record names, ours or a dead one's; False if some of it stays."""
    try:
        _remove(path)
        unpin(project.root, attempt)
    except OSError as problem:
        say(f"{path} could not be removed: {problem}")
        return False
    except DdxError as problem:
        say(f"{path} is removed, but its base is still held: {problem.message}")
        return False
    return True


def _remove(path: str) -> None:
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
    ignored: frozenset[str]
    wrap: Callable[[Sequence[str]], Sequence[str]]
    """How the project's own commands are started; an agent's login is not for them."""

    @property
    def path(self) -> str:
        """Where the project lies in the workspace."""
        return self.workspace.folder


def prepare(task: AttemptTask, workspace: Workspace, record: RecordWriter) -> PreparedWorkspace:
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
    own = wrapper(task, workspace.path, scratch=(evidence,), for_agent=False)
    for path in task.settings.workspace.carry:
        workspace.carry(path)
    room = PreparedWorkspace(
        task,
        record,
        workspace,
        env=env,
        governing=governing,
        project_checks=project_checks,
        ignored=frozenset(),
        wrap=own,
    )
    _set_up(room)
    if not (task.settings.workspace.setup or task.settings.workspace.carry):
        return room  # a fresh checkout holds nothing that git ignores
    return changed(room, ignored=workspace.list_ignored())


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


_CHUNK = 1 << 26
_NOT_FOR_COPYING = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF}


def carry(path: str, *, source: str, destination: str) -> None:
    """Copy `path`, a file or a folder, from one checkout to the same place in another.

    What git has put there already stays as it is.
    """
    name = os.path.normpath(path)
    if os.path.isabs(name) or name.split(os.sep)[0] in ("..", ".", ".git"):
        raise UsageError(f"workspace.carry: {path!r} is not a path inside the project")
    if not os.path.lexists(os.path.join(source, name)):
        raise UsageError(
            f"workspace.carry: {os.path.join(source, name)} does not exist",
            hint="make it, or take it out of workspace.carry in .ddx/config.yaml",
        )
    os.makedirs(os.path.dirname(os.path.join(destination, name)), exist_ok=True)
    _Carrier(os.path.realpath(source), os.path.realpath(destination)).copy(name)


class _Carrier:
    def __init__(self, source: str, destination: str) -> None:
        self._source = source
        self._destination = destination

    def copy(self, name: str) -> None:
        self._copy(os.path.join(self._source, name), os.path.join(self._destination, name), ())

    def _copy(self, here: str, there: str, above: Sequence[str]) -> None:
        mode = os.lstat(here).st_mode
        if stat.S_ISLNK(mode):
            self._copy_link(here, there, above)
        elif stat.S_ISDIR(mode):
            self._copy_folder(here, there, above)
        elif stat.S_ISREG(mode) and not os.path.lexists(there):
            _copy_file(here, there)

    def _copy_folder(self, here: str, there: str, above: Sequence[str]) -> None:
        real = os.path.realpath(here)
        if real in above:  # links that go round
            return
        if os.path.lexists(there) and not os.path.isdir(there):
            return
        os.makedirs(there, exist_ok=True)
        for name in os.listdir(here):
            self._copy(os.path.join(here, name), os.path.join(there, name), (*above, real))
        shutil.copystat(here, there)

    def _copy_link(self, here: str, there: str, above: Sequence[str]) -> None:
        if os.path.lexists(there):
            return
        shown = os.path.realpath(here)
        text = os.readlink(here)
        if _is_within(shown, self._source):
            if os.path.isabs(text) or not self._mirrors(here, text):
                inside = os.path.join(self._destination, os.path.relpath(shown, self._source))
                text = os.path.relpath(inside, os.path.dirname(there))
            os.symlink(text, there)
        elif os.path.isfile(shown) and os.access(shown, os.X_OK):
            os.symlink(shown, there)
        elif os.path.isfile(shown):
            _copy_file(shown, there)
        elif os.path.isdir(shown):
            self._copy_folder(shown, there, above)

    def _mirrors(self, here: str, text: str) -> bool:
        """Does a relative link stay inside at every step, so that it means the same in a copy?"""
        depth = os.path.relpath(here, self._source).count(os.sep)
        for part in text.split(os.sep):
            depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
            if depth < 0:
                return False
        return True


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _copy_file(here: str, there: str) -> None:
    """By reference where the file system can, so that gigabytes cost nothing."""
    with open(here, "rb") as original, open(there, "xb") as copy:
        try:
            while os.copy_file_range(original.fileno(), copy.fileno(), _CHUNK):
                pass
        except AttributeError:  # only Linux has it
            shutil.copyfileobj(original, copy)
        except OSError as problem:
            if problem.errno not in _NOT_FOR_COPYING:
                raise
            shutil.copyfileobj(original, copy)
    shutil.copystat(here, there)
