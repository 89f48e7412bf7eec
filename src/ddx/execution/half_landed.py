"""A landing that was cut off while it changed the operator's checkout is undone (X-13, X-19).

What is about to happen is written down first, in `.ddx/state/landing.json`, and forgotten once it
is over. So whoever finds that file while holding the landing lock knows that its writer died. The
branch moves last: if it has, all is well; if not, what was written so far is put back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx import fastjson
from ddx.errors import CorruptFile
from ddx.files import Lock, replace
from ddx.git.landing import index_lock, worktrees
from ddx.git.mending import mend
from ddx.git.repository import read_repository
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.clock import Clock
    from ddx.git.landing import Worktree
    from ddx.git.repository import Repository
    from ddx.project import Project

LOCK_PATIENCE_S = 10.0
"""For a git of the operator's that holds the index."""
TURN_PATIENCE_S = 4 * 3600.0
"""For the landing before ours, which may be checking a merged tree (X-20)."""

_PAUSE_S = 0.1


@value
class Intent:
    """A fast-forward of a branch and of the folder that it is checked out in."""

    branch: str
    folder: str
    old: str
    new: str


def landing_lock(project: Project, clock: Clock, patience_s: float = TURN_PATIENCE_S) -> Lock:
    """Held for a whole landing: there is one at a time."""
    path = project.ddx("state", "landing.lock")
    return Lock(path, wait_s=patience_s, clock=clock, command="landing")


def mend_half_landed(project: Project, *, clock: Clock) -> str:
    """Undo a landing that was cut off; why that must wait, or nothing. Twice is harmless.

    Every landing does this first, so it is needed only where none follows.
    """
    if not os.path.exists(_path(project)):
        return ""
    with landing_lock(project, clock):
        return mend_cut_off(project, read_repository(project.root), clock)


def mend_cut_off(project: Project, repository: Repository, clock: Clock) -> str:
    """The same, for whoever holds the lock."""
    found = _read(project)
    if found is None:
        return ""
    intent, since_ns = found
    for worktree in worktrees(repository):
        state = (worktree.folder, worktree.branch, worktree.head)
        if state == (intent.folder, intent.branch, intent.old):
            if lock := wait_for((index_lock(worktree),), clock):
                return f"an earlier landing was cut off, and {about(lock)}"
            mend(repository, worktree, old=intent.old, new=intent.new, since_ns=since_ns)
    forget(project)
    return ""


def begin(project: Project, intent: Intent) -> int:
    """Before the first file changes; when that was, by the file system's own clock."""
    path = _path(project)
    replace(path, (fastjson.to_bytes(intent.__dict__), b"\n"), durable=False)
    return os.stat(path).st_ctime_ns


def forget(project: Project) -> None:
    try:
        os.unlink(_path(project))
    except FileNotFoundError:
        pass  # `git clean -x`


def wait_for(locks: Sequence[str], clock: Clock) -> str:
    """The lock of another git that is still there after all our patience, or nothing."""
    deadline = clock.now_ns() + int(LOCK_PATIENCE_S * 1e9)
    while lock := next(filter(os.path.exists, locks), ""):
        if clock.now_ns() >= deadline:
            return lock
        clock.sleep(_PAUSE_S)
    return ""


def remove_lock_of_killed(worktree: Worktree) -> None:
    """The merge that we killed a moment ago cannot do it any more."""
    try:
        os.unlink(index_lock(worktree))
    except FileNotFoundError:
        pass


def about(lock: str) -> str:
    return f"{lock} is there: a git command runs, or one died (then remove that file)"


def _read(project: Project) -> tuple[Intent, int] | None:
    path = _path(project)
    try:
        with open(path, encoding="utf-8") as file:
            return Intent(**fastjson.loads(file.read())), os.fstat(file.fileno()).st_ctime_ns
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise CorruptFile(
            f"{path}: a landing was cut off, and what it was about cannot be read",
            hint=f"see that `git status` shows only your own edits, then remove {path}",
        ) from None


def _path(project: Project) -> str:
    return project.ddx("state", "landing.json")
