"""One repository and what may be asked of it: commits, files, differences, what is kept."""

from __future__ import annotations

import os

from ddx.base import NotFound, UsageError, value
from ddx.git import branches, commands, history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.git.branches import PreservedCommit
    from ddx.git.history import Diff, HistoryCommit, TreeEntry

HEAD = "HEAD"


@value
class RepositoryPaths:
    """All are absolute; `git_folder` is this checkout's own, `common_folder` everyone's."""

    checkout: str
    git_folder: str
    common_folder: str
    prefix: str = ""
    """The project's folder below the checkout, with a slash at its end; empty at the top."""


class Repository:
    """The repository that a folder lies in; git is asked when a question is.

    There may be none: `exists` tells. Files of a commit are named as seen from the folder, what
    differs between two commits as seen from the top of the checkout.
    """

    def __init__(self, folder: str, paths: RepositoryPaths | None = None) -> None:
        self.folder = folder
        self._paths = paths

    # -- where it is -------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Is the folder in a repository at all?"""
        return bool(commands.common_folder(self.folder))

    @property
    def checkout(self) -> str:
        """The top of the working tree."""
        return self._found().checkout

    @property
    def git_folder(self) -> str:
        """Where git keeps what belongs to this checkout alone."""
        return self._found().git_folder

    @property
    def common_folder(self) -> str:
        """Where all checkouts of the repository meet."""
        return self._found().common_folder

    @property
    def prefix(self) -> str:
        """The folder below the checkout, with a slash at its end; empty at the top."""
        return self._found().prefix

    def require_branch(self) -> None:
        """UsageError where there is nothing to build on, or no branch that work could land on."""
        read_head(self.folder).require_branch()

    def _found(self) -> RepositoryPaths:
        if self._paths is None:
            self._paths = _ask_paths(self.folder)[0]
        return self._paths

    # -- commits -----------------------------------------------------------------------------

    def commit_id(self, name: str = HEAD) -> str:
        """The full id of a commit, or an empty string."""
        return commands.commit_id(self.folder, name)

    def holds(self, commit: str) -> bool:
        """Does git still have the commit of this full id?"""
        return self.commit_id(commit) == commit

    def parent_of(self, commit: str) -> str:
        """The first parent, or the empty tree where there is none."""
        return history.parent_of(self.folder, commit)

    def signed_commits(self) -> list[HistoryCommit]:
        """Every commit of any branch that names a bead in its trailers, newest first."""
        return history.signed_commits(self.folder)

    def commits_by_id(self, ids: Sequence[str]) -> dict[str, HistoryCommit]:
        """Those of the commits that git has, by their full ids."""
        return history.commits_by_id(self.folder, ids)

    def commits_touching(
        self, paths: Sequence[str], *, most: int
    ) -> Mapping[str, tuple[HistoryCommit, ...]]:
        """The newest commits that touched each of the files, merges left out."""
        return history.commits_touching(self.folder, paths, most=most)

    def log_lines(self) -> list[str]:
        """A line for each commit of the branch, newest first, as `git log --oneline` says it."""
        return commands.run(self.folder, "log", "--oneline").text.splitlines()

    def kept(self) -> list[PreservedCommit]:
        """What attempts made and could not land, sorted by bead and attempt."""
        return branches.kept(self.folder)

    # -- files -------------------------------------------------------------------------------

    def entries(self, commit: str, paths: Sequence[str] = (".",)) -> list[TreeEntry]:
        """Every file that a commit has below the paths, each once, in the order of paths."""
        return history.entries(self.folder, commit, paths)

    def content(self, commit: str, path: str) -> bytes | None:
        """A file as a commit has it; None if it has none there."""
        return history.content(self.folder, commit, path)

    def visible_files(self) -> list[str] | None:
        """Every file that is tracked or could be, by the rules of .gitignore; None: no git here."""
        return commands.visible_files(self.folder)

    def uncommitted(self) -> tuple[str, ...]:
        """What differs from the last commit, without our own files, as seen from the top (X-3)."""
        return commands.uncommitted(self.folder)

    def changed_since(self, commit: str) -> tuple[str, ...]:
        """What differs in the folder between a commit and the working tree, new files included."""
        return commands.changed_since(self.folder, commit)

    # -- differences -------------------------------------------------------------------------

    def touched_paths(self, commit: str) -> tuple[str, ...]:
        """What a commit changed below the folder; of a merge, what it brought to its parent."""
        return history.touched_paths(self.folder, commit)

    def paths_between(self, one: str, other: str) -> tuple[str, ...]:
        """Every path that two commits or trees do not have alike, in git's order."""
        return history.changed_paths(self, one, other)

    def diff_between(self, one: str, other: str, paths: Sequence[str], *, most: int) -> Diff:
        """The difference of these files, as many as fit into `most` characters, in their order."""
        return history.diff_between(self.checkout, one, other, paths=paths, most=most)

    def patch_between(self, one: str, other: str) -> bytes:
        """The whole difference as `git apply` takes it."""
        return history.patch_between(self.checkout, one, other)

    def diffstat(self, one: str, other: str) -> str:
        """How much changed and where, for a person; long lists end early."""
        return history.diffstat(self, one, other)

    # -- changes -----------------------------------------------------------------------------

    def commit_all(self, message: str) -> None:
        """Commit everything in the working tree that git does not ignore."""
        commands.require(commands.run(self.folder, "add", "--all"), "git add")
        commands.require(
            commands.run(self.folder, "commit", "--quiet", "-m", message), "git commit"
        )


@value
class Head:
    """What is checked out: no branch if HEAD is detached, no commit if there is none yet."""

    repository: Repository
    branch: str
    commit: str

    def require_branch(self) -> None:
        """UsageError where there is nothing to build on, or no branch that work could land on."""
        folder = self.repository.folder
        if not self.commit:
            raise UsageError(
                f"{folder} has no commit yet, so there is nothing to build on",
                hint='git commit --allow-empty -m "begin"',
            )
        if not self.branch:
            raise UsageError(
                f"{folder} is on no branch (its HEAD is detached), so nothing could land",
                hint="git switch BRANCH",
            )


def read_head(folder: str) -> Head:
    """The repository of a folder and what is checked out there; NotFound: it is in none."""
    paths, branch, commit = _ask_paths(folder)
    return Head(Repository(folder, paths), branch, commit)


def read_repository(folder: str) -> Repository:
    """The repository of a folder, which must be in one."""
    return read_head(folder).repository


def create_repository(folder: str, *, name: str, email: str) -> Repository:
    """A new repository without a commit, on the branch main, for one who commits by this name."""
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", name),
        ("config", "user.email", email),
    ):
        commands.require(commands.run(folder, *words), f"git {words[0]} in {folder}")
    return Repository(folder)


def _ask_paths(folder: str) -> tuple[RepositoryPaths, str, str]:
    """Paths, branch and commit: one question to git instead of five."""
    where = ("--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
    asked = commands.run(
        folder,
        *("rev-parse", *where, "--show-prefix", "HEAD^{commit}", "--symbolic-full-name", HEAD),
    )
    lines = os.fsdecode(asked.stdout).split("\n")
    if len(lines) < 5:
        raise NotFound(
            f"{folder} is in no checkout of a git repository",
            hint="agents work on commits; change to a checkout, or begin one with: git init",
        )
    git_folder, common, checkout, prefix = lines[:4]
    paths = RepositoryPaths(checkout, git_folder, common, prefix=prefix)
    if not asked.ok:
        return paths, "", ""
    commit, branch = lines[4:6]
    return paths, branch if branch.startswith("refs/heads/") else "", commit
