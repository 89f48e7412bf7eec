"""Where an agent works: a clone of its own, outside of the operator's checkout (X-3, X-3a).

Linked worktrees share stash, settings, hooks and branches with the operator, so this is none. The
files are checked out, and later read, through the operator's repository and an index that lies in
the attempt's record; the clone's own git folder is for the agent alone. Submodules stay empty.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING

from ddx.environment import variable
from ddx.errors import DdxError, UsageError
from ddx.execution import carrying
from ddx.git.clones import make_clone
from ddx.git.commits import WorkTree, check_out, ignored_files, new_files
from ddx.git.landing import pin, unpin

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from ddx.execution.landing import Target
    from ddx.project import Project
    from ddx.settings import Settings

_REMOVAL_TRIES = 3


def workspace_root(project: Project, settings: Settings) -> str:
    """The one folder that holds all workspaces of a project, and nothing else."""
    cache = variable("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    home = settings.workspace.root or os.path.join(cache, "helix", "workspaces")
    project_root = os.path.realpath(project.root)
    mark = hashlib.sha256(os.fsencode(project_root)).hexdigest()[:10]
    name = f"{os.path.basename(project_root)}-{mark}"
    root = os.path.join(os.path.realpath(os.path.join(project_root, home)), name)
    if root.startswith(os.path.join(project_root, "")):
        raise UsageError(
            f"workspace.root {home} lies inside the checkout, where no agent may work",
            hint="name a folder outside of it",
        )
    return root


def workspace_path(project: Project, settings: Settings, attempt: str) -> str:
    """To be written into the attempt's record before anything is made there."""
    return os.path.join(workspace_root(project, settings), attempt)


class Workspace:
    """A clone at the base between enter and exit; afterwards it is gone, however it ended.

    What cannot be removed is told to `say` and left: the next start tries again.
    """

    def __init__(
        self,
        project: Project,
        target: Target,
        path: str,
        *,
        attempt: str,
        index: str,
        say: Callable[[str], None],
    ) -> None:
        self.path = path
        self.work = WorkTree(target.repository, path, index, target.base)
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        carrying.carry(path, source=self._project.root, destination=self.folder)
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
