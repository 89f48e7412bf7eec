"""Which project a folder belongs to: its own, whichever copy of it we stand in (T-13)."""

from __future__ import annotations

import os

from ddx.errors import NotFound
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WORKSPACE_MARK = "ddx-project"
"""In a workspace's git folder: the path of the project it was cloned for."""


@value
class Project:
    """A repository as its operator sees it; never a workspace and never a linked worktree."""

    root: str
    repository: str = ""
    """What its repository is called, where that is not the folder's name (T-3)."""

    @property
    def name(self) -> str:
        return self.repository or os.path.basename(self.root)

    def ddx(self, *names: str) -> str:
        return os.path.join(self.root, ".ddx", *names)


def find_project(start: str) -> Project:
    """The project that holds the folder `start`."""
    checkout = _upwards(start, ".git", _is_repository)
    holder = _upwards(start, ".ddx")
    if checkout is None:
        if holder is None:
            raise NotFound(
                f"{start} is in no git repository and in no folder with a .ddx",
                hint="change to a repository, or: git init; then: helix init (or ddx bead init)",
            )
        return Project(holder)
    home = _home_of(checkout)
    if holder is not None and _is_within(holder, checkout):
        below = os.path.relpath(holder, checkout)
        return home if below == "." else Project(os.path.join(home.root, below))
    return home


def find_checkout(start: str) -> Project:
    """The copy of a project that holds `start`, be it a worktree or a workspace.

    Beads are the project's, whichever copy we stand in; documents are those that lie here.
    """
    checkout = _upwards(start, ".git", _is_repository)
    if checkout is None:
        return find_project(start)
    holder = _upwards(start, ".ddx")
    return Project(holder if holder is not None and _is_within(holder, checkout) else checkout)


def _upwards(start: str, name: str, fits: Callable[[str], bool] = os.path.exists) -> str | None:
    folder = os.path.realpath(start)
    while True:
        if fits(os.path.join(folder, name)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _is_repository(path: str) -> bool:
    """Some agents leave an empty `.git` folder behind when they are killed (codex: seen)."""
    return os.path.isfile(path) or os.path.exists(os.path.join(path, "HEAD"))


def _home_of(checkout: str) -> Project:
    """The checkout that owns the tracker: a worktree's main checkout, a workspace's project."""
    git_folder = os.path.join(checkout, ".git")
    called = ""
    if os.path.isfile(git_folder):
        pointer = _read_line(git_folder).removeprefix("gitdir:").strip()
        git_folder = os.path.join(checkout, pointer)
        common = _read_line(os.path.join(git_folder, "commondir"))
        main = os.path.realpath(os.path.join(git_folder, common)) if common else ""
        if os.path.basename(main) == ".git" and not _is_bare(main):
            checkout, git_folder = os.path.dirname(main), main
        elif main:  # no main checkout, so this worktree is a project
            called = _name_of_bare(main)
    marked = _read_line(os.path.join(git_folder, WORKSPACE_MARK))
    return Project(marked) if marked else Project(checkout, called)


def _is_bare(git_folder: str) -> bool:
    for name in ("config", "config.worktree"):
        try:
            with open(os.path.join(git_folder, name), encoding="utf-8", errors="replace") as file:
                if any("".join(line.split()).lower() == "bare=true" for line in file):
                    return True
        except OSError:
            continue
    return False


def _name_of_bare(git_folder: str) -> str:
    """app for app.git, app/.git and app/.bare."""
    above, name = os.path.split(git_folder)
    return os.path.basename(above) if name.startswith(".") else name.removesuffix(".git")


def _is_within(folder: str, parent: str) -> bool:
    return folder == parent or folder.startswith(parent + os.sep)


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().strip()
    except OSError:
        return ""
