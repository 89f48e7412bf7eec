"""The operator's checkout, where a landing stopped half way or his own files stand in its way."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING

from ddx.base import is_alive
from ddx.git.commands import paths_in, require, run
from ddx.git.history import changes_between

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ddx.git.branches import Worktree
    from ddx.git.history import FileChange
    from ddx.git.repository import Repository

_NOTHING = "000000"
_OURS = "ddx-mend-"
_SETTINGS = ("submodule.recurse=false", "core.splitIndex=false")


def mend(
    repository: Repository, worktree: Worktree, *, old: str, new: str, since_ns: int
) -> tuple[str, ...]:
    """Put back what an unfinished fast-forward wrote since an instant of the file system's clock.

    Only what is certainly its work: the content of `new`, or a beginning of it, on a path that
    `new` changes and that was touched since. Everything else is the operator's and stays. Call it
    only while HEAD is still `old` and no git runs in the checkout.
    """
    touched = [
        change
        for change in changes_between(repository, old, new)
        if _is_touched(worktree.folder, change.path, since_ns)
    ]
    if not touched:
        return ()
    other = _differing(worktree, new)
    ours = [change for change in touched if _is_work_of(worktree, change, new, other)]
    _put_back(worktree, ours, old)
    return tuple(change.path for change in ours)


def in_the_way(
    repository: Repository, worktree: Worktree, *, old: str, new: str
) -> tuple[str, ...]:
    """Paths that `new` changes and where the operator has something of his own."""
    changes = changes_between(repository, old, new)
    diff = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all")
    edited = run(worktree.folder, *diff, old)
    require(edited, "git diff")
    edits = paths_in(edited)
    found = [change.path for change in changes if change.path in edits]
    known = _known_to_git(worktree)
    for change in changes:
        if change.old_mode == _NOTHING:
            found += _strangers(worktree.folder, change.path, known)
    return tuple(dict.fromkeys(found))


def _is_touched(folder: str, path: str, since_ns: int) -> bool:
    """Since then, by the clock that nobody can set back: that of the inode's last change.

    A missing file is as young as the folder that it is missing from.
    """
    place = os.path.join(folder, path)
    while place != folder and not os.path.lexists(place):
        place = os.path.dirname(place)
    return os.lstat(place).st_ctime_ns >= since_ns


def _is_work_of(worktree: Worktree, change: FileChange, new: str, other: Iterable[str]) -> bool:
    place = os.path.join(worktree.folder, change.path)
    if not os.path.lexists(place):  # deleted by `new`, or about to be written
        return change.old_mode != _NOTHING
    if change.new_mode == _NOTHING:
        return False
    return change.path not in other or _is_cut_short(worktree, change.path, new)


def _differing(worktree: Worktree, new: str) -> set[str]:
    """Which files of `new` the checkout does not hold with that very content."""
    with _own_index() as index:
        original = os.path.join(worktree.git_folder, "index")
        if os.path.exists(original):
            shutil.copyfile(original, index)  # what it knows of unchanged files saves reading them
        env = {"GIT_INDEX_FILE": index}
        read = run(worktree.folder, "read-tree", "--reset", new, env=env, settings=_SETTINGS)
        require(read, "git read-tree")
        run(worktree.folder, "update-index", "-q", "--refresh", env=env, settings=_SETTINGS)
        found = run(worktree.folder, "diff-files", "-z", "--name-only", env=env, settings=_SETTINGS)
        require(found, "git diff-files")
        return paths_in(found)


@contextmanager
def _own_index() -> Iterator[str]:
    """A place for an index of ours, gone afterwards: the checkout's disk may be full."""
    _remove_those_of_the_dead()
    with TemporaryDirectory(prefix=f"{_OURS}{os.getpid()}-") as folder:
        yield os.path.join(folder, "index")


def _remove_those_of_the_dead() -> None:
    """A landing that was killed while it mended is mended again, so this runs soon after."""
    folder = gettempdir()
    try:
        names = os.listdir(folder)
    except PermissionError:  # one may be made there all the same
        return
    for name in names:
        pid = name.removeprefix(_OURS).partition("-")[0]
        if name.startswith(_OURS) and pid.isdecimal() and not is_alive(int(pid)):
            path = os.path.join(folder, name)
            shutil.rmtree(path, ignore_errors=True)  # another user's cannot be removed


def _is_cut_short(worktree: Worktree, path: str, new: str) -> bool:
    place = os.path.join(worktree.folder, path)
    if not stat.S_ISREG(os.lstat(place).st_mode):
        return False
    whole = run(worktree.folder, "cat-file", "--filters", f"{new}:{path}", settings=_SETTINGS)
    with open(place, "rb") as file:
        return whole.ok and whole.stdout.startswith(file.read())


def _put_back(worktree: Worktree, ours: list[FileChange], old: str) -> None:
    known = _known_to_git(worktree)
    for change in ours:
        if change.old_mode == _NOTHING and change.path not in known:
            _remove(worktree.folder, change.path)
    paths = [c.path for c in ours if c.old_mode != _NOTHING or c.path in known]
    if paths:
        restore = ("restore", f"--source={old}", "--staged", "--worktree", "--no-overlay")
        done = run(
            worktree.folder,
            "--literal-pathspecs",
            *(*restore, "--pathspec-from-file=-", "--pathspec-file-nul"),
            stdin=os.fsencode("\0".join(paths)),
            settings=_SETTINGS,
        )
        require(done, f"putting back {worktree.folder}")


def _remove(folder: str, path: str) -> None:
    """A file, and the folders that are empty without it."""
    os.unlink(os.path.join(folder, path))
    above = os.path.dirname(path)
    while above and not os.listdir(os.path.join(folder, above)):
        os.rmdir(os.path.join(folder, above))
        above = os.path.dirname(above)


def _strangers(folder: str, path: str, known: set[str]) -> list[str]:
    """What stands where a new file would go, or where one of its folders would."""
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        name = "/".join(parts[:count])
        place = os.path.join(folder, name)
        if not os.path.lexists(place):
            return []
        is_folder = os.path.isdir(place) and not os.path.islink(place)
        if not is_folder and name not in known:
            return [name]
    return sorted(_files_below(folder, path) - known)


def _files_below(folder: str, path: str) -> set[str]:
    return {
        os.path.relpath(os.path.join(place, name), folder)
        for place, _, names in os.walk(os.path.join(folder, path))
        for name in names
    }


def _known_to_git(worktree: Worktree) -> set[str]:
    listed = run(worktree.folder, "ls-files", "-z", "--full-name", settings=_SETTINGS)
    require(listed, "git ls-files")
    return paths_in(listed)
