"""Where checks run: a fresh checkout of the commit, which no agent has ever seen (R-10, H-1, H-2).

A new folder with a git folder made by us, where carrying and set-up are done again. Its name is
made after the agent's last process has ended. Each check begins with the commit as it is: what the
check before it left is removed, and what it changed is put back.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from secrets import token_hex
from typing import TYPE_CHECKING

from ddx.attempts.sandbox import wrapper
from ddx.attempts.workspace import (
    PreparedWorkspace,
    Workspace,
    fill,
    remove_leftover,
    remove_path,
)
from ddx.base import changed
from ddx.git import check_out, listed_in

if TYPE_CHECKING:
    from typing import TypeAlias

    Entries: TypeAlias = dict[str, tuple[int, ...]]

_MARK = ".proof-"
_GIT = ".git"


class ProofWorkspace(Workspace):
    """One commit between enter and exit, with a clone at the attempt's base around it.

    In the clone the commit is staged: `git diff` is empty, `git diff HEAD` is what the attempt
    changed.
    """

    def __init__(self, room: PreparedWorkspace, commit: str) -> None:
        task, path = room.task, f"{room.task.workspace}{_MARK}{token_hex(8)}"
        super().__init__(
            task.project,
            task.target,
            path,
            attempt=task.attempt,
            index=f"{path}.index",
            say=lambda sentence: room.record.tell("leftover", sentence),
        )
        self._commit = commit
        self._sealed: Entries = {}

    def __exit__(self, *problem: object) -> None:
        """The attempt's own workspace still needs the ref that holds the commit."""
        for path in (self.path, self.work.index):
            remove_leftover(path, say=self._say)

    def seal(self) -> None:
        """How it is now is how every check shall find it."""
        self._sealed = _entries(self.path)

    def reset(self) -> bool:
        """Bring it back to how it was sealed; False if what git does not keep was changed."""
        remove_path(os.path.join(self.path, _GIT))
        for name in sorted(_entries(self.path).keys() - self._sealed.keys()):
            remove_path(os.path.join(self.path, name))
        check_out(self.work, self._commit)
        fill(self._project, self._target, self.work)
        tracked = listed_in(self.work)
        now = _entries(self.path)
        return all(now.get(name) == it for name, it in self._sealed.items() if name not in tracked)


def _entries(folder: str) -> Entries:
    """Everything below a folder, git's own aside, and what changes when its content does."""
    found: Entries = {}
    places = [""]
    while places:
        place = places.pop()
        with os.scandir(os.path.join(folder, place)) as listing:
            for entry in listing:
                name = os.path.join(place, entry.name)
                if name == _GIT:
                    continue
                status = entry.stat(follow_symlinks=False)
                found[name] = (status.st_mode,)
                if stat.S_ISDIR(status.st_mode):
                    places.append(name)
                else:
                    found[name] += (
                        status.st_ino,
                        status.st_size,
                        status.st_mtime_ns,
                        status.st_ctime_ns,
                    )
    return found


class ProofRooms:
    """Rooms for the checks of one commit, one at a time; the last one goes at the exit.

    `next` gives the same room as long as a check leaves it so that it can be put right again.
    """

    def __init__(self, room: PreparedWorkspace, commit: str) -> None:
        self._room = room
        self._commit = commit
        self._held = ExitStack()
        self._workspace: ProofWorkspace | None = None
        self._current = room

    def __enter__(self) -> ProofRooms:
        return self

    def __exit__(self, *problem: object) -> None:
        self._held.close()

    def bare(self) -> str:
        """Where the project lies in a checkout without set-up, for whoever only reads files."""
        return self._open().folder

    def next(self) -> PreparedWorkspace:
        """A room that holds the commit, carried files and a set-up, and nothing else."""
        if self._workspace is None or not self._workspace.reset():
            workspace = self._open()
            self._current = _prepared(self._room, workspace)
            workspace.seal()
        return self._current

    def _open(self) -> ProofWorkspace:
        self._held.close()
        self._workspace = ProofWorkspace(self._room, self._commit)
        self._held.enter_context(self._workspace)
        return self._workspace


def _prepared(room: PreparedWorkspace, workspace: ProofWorkspace) -> PreparedWorkspace:
    """What is asked was read from the base before the agent began, and stays as it was."""
    scratch = (room.env["DDX_EVIDENCE_DIR"],)
    fence = wrapper(room.task, workspace.path, scratch=scratch, for_agent=False)
    proving = changed(room, workspace=workspace, wrap=fence)
    proving.furnish()
    return proving


def proof_leftovers(workspace: str) -> list[str]:
    """What a proof that died has left beside the workspace of its attempt."""
    folder, name = os.path.split(workspace)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return [os.path.join(folder, it) for it in sorted(names) if it.startswith(f"{name}{_MARK}")]
