"""Which project a folder belongs to: its own, whichever copy of it we stand in (T-13).

Nothing of a repository runs until its operator trusts it (X-22).
"""

from __future__ import annotations

import os

from ddx.base import (
    ATTEMPT,
    PROJECT_ROOT,
    WORKSPACE_MARK,
    CorruptFile,
    JsonFile,
    NeedsPerson,
    NotFound,
    Refused,
    value,
    variable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_INSTEAD = "print it in your answer, as FOLLOW_UP: and JSON; the controller files it afterwards"


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

    def is_trusted(self) -> bool:
        """Whether its operator lets commands of this repository run (X-22)."""
        return variable("HELIX_TRUST") == "1" or _trust_mark(self.root) in trusted()

    def require_trust(self, *, to_run: str) -> None:
        """Go on only if the operator trusts this repository."""
        if not self.is_trusted():
            raise NeedsPerson(
                f"{self.root} is not trusted, so {to_run} was not run and nothing was changed",
                hint="look at it, then: helix trust (or set HELIX_TRUST=1 for automation)",
            )

    def grant_trust(self) -> bool:
        """Trust this repository from now on; False if it was trusted before."""
        return self._set_trust(True)

    def revoke_trust(self) -> bool:
        """Trust this repository no longer; False if it was not trusted."""
        return self._set_trust(False)

    def _set_trust(self, wanted: bool) -> bool:
        """False if it was so before."""
        known, mark = trusted(), _trust_mark(self.root)
        if (mark in known) == wanted:
            return False
        others = [item for item in known if item != mark]
        JsonFile(_trust_file()).write(sorted([*others, mark] if wanted else others))
        return True

    @property
    def attempt(self) -> str:
        """The attempt that started us, if it works on this project; else empty (X-5).

        A workspace counts as its project, a repository that a test makes for itself does not.
        """
        attempt, root = variable(ATTEMPT), variable(PROJECT_ROOT)
        if not attempt or not root:
            return ""
        here, there = (os.path.join(os.path.realpath(path), "") for path in (self.root, root))
        return attempt if here.startswith(there) or there.startswith(here) else ""

    def refuse_inside_an_attempt(self, *, what: str, instead: str = _INSTEAD) -> None:
        """Go on only if no attempt here started us: its controller alone writes (A-10)."""
        if attempt := self.attempt:
            raise Refused(
                f"inside attempt {attempt}, {what} is the controller's work; nothing was changed",
                hint=instead,
            )


def trusted() -> list[str]:
    """The git folders of the repositories that the operator trusts."""
    try:
        found = JsonFile(_trust_file()).read()
    except FileNotFoundError:
        return []
    except ValueError as problem:
        raise _unreadable(str(problem)) from None
    if not isinstance(found, list):
        raise _unreadable("not a list of folders")
    return [item for item in found if isinstance(item, str)]


def _trust_mark(root: str) -> str:
    """All checkouts of one repository are trusted together."""
    from ddx.git import common_folder

    return common_folder(root) or os.path.realpath(root)


def _trust_file() -> str:
    """In the user's state, never in the repository."""
    from platformdirs import user_state_path

    return str(user_state_path("helix") / "trusted.json")


def _unreadable(what: str) -> CorruptFile:
    return CorruptFile(f"{_trust_file()}: {what}, so nothing counts as trusted")


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
