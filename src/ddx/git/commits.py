"""An attempt's files become one commit (X-9, X-10).

The agent owns its workspace, so nothing of the git folder there is ever believed: its files are
read through the operator's repository and an index of our own. New objects go where they will be
needed, into the operator's object store. What the agent committed itself is input, not history.
"""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

from ddx.environment import variable
from ddx.errors import DdxError, NotFound
from ddx.git import paths_in, require, run
from ddx.git.identity import NOBODY
from ddx.text import cut
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ddx.git.repository import Repository
    from ddx.process import Result

_PATIENT_S = 900.0
"""For what reads or writes every file."""
_LONGEST_TITLE = 100
_LONGEST_IDS = 200
_GITLINK = "160000"
_DEEPEST = 50
# The operator's filters and line ends apply as they would for him. But our index lies outside of
# the git folder, must be whole, and no file of an agent may be refused for the sake of style.
_SETTINGS = (
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.safecrlf=false",
    "submodule.recurse=false",
    "advice.addEmbeddedRepo=false",
)


@value
class WorkTree:
    """The files of an attempt, as the operator's repository sees them."""

    repository: Repository
    folder: str
    index: str
    """Ours alone: it knows the state of every file, so that adding all of them is quick."""
    base: str


@value
class Change:
    """One path that differs; a mode of zeros means that there is nothing on that side."""

    path: str
    old_mode: str
    new_mode: str

    @property
    def is_new_gitlink(self) -> bool:
        return self.new_mode == _GITLINK and self.old_mode != _GITLINK


@value
class Snapshot:
    """What the work tree holds beyond the base; no tree if that is nothing."""

    tree: str
    paths: tuple[str, ...]
    put_back: tuple[str, ...] = ()
    """What was changed although it may not land; it is as in the base again, on the disk too."""
    flattened: tuple[str, ...] = ()
    """Repositories that were made inside: their files count, their history was put aside."""


def check_out(work: WorkTree, commit: str) -> None:
    """Make the work tree that of a commit; files that git does not know stay as they are."""
    _take(work)
    require(_git(work, "read-tree", "--reset", "-u", commit), f"checking out {commit}")


def make_tree(work: WorkTree, *, may_land: Callable[[str], bool], aside: str) -> Snapshot:
    """Everything in the work tree that git does not ignore, except what may not land (X-9).

    `aside` is a folder for git folders that stand in the way.
    """
    _take(work)
    if not os.path.exists(work.index):  # we died during the checkout, so no agent was ever here
        return Snapshot("", ())
    flattened = list(_add_all(work, aside))
    changes = _staged(work)
    links = [change.path for change in changes if change.is_new_gitlink]
    if links and (lost := [path for path in links if path not in _declared_submodules(work)]):
        flattened += _flatten(work, lost, aside)
        changes = _staged(work)
    put_back = tuple(change.path for change in changes if not may_land(change.path))
    if put_back:
        _put_back(work, put_back)
        changes = _staged(work)
    paths = tuple(change.path for change in changes)
    if refused := [path for path in paths if not may_land(path)]:
        raise DdxError(f"{refused[0]} may not land, and could not be put back")
    return Snapshot(_write_tree(work) if paths else "", paths, put_back, tuple(flattened))


def commit_tree(repository: Repository, tree: str, parents: Sequence[str], message: str) -> str:
    """A commit that no branch holds yet; its author is the operator, or nobody in particular."""
    words = ["commit-tree", tree]
    for parent in parents:
        words += ["-p", parent]
    settings = ("user.useConfigOnly=true", "i18n.commitEncoding=UTF-8")
    text = message.encode("utf-8", "replace")
    made = run(repository.checkout, *words, stdin=text, settings=settings)
    if not made.ok:  # git knows no name; any other reason meets the second try as well
        made = run(repository.checkout, *words, stdin=text, env=_nobody(), settings=settings)
    require(made, "git commit-tree")
    return made.text.strip()


def message_for(title: str, bead_ids: Sequence[str], *, attempt: str, harness: str) -> str:
    """One line that says what, and trailers that say for which beads and by whom."""
    ids = cut(", ".join(map(_one_line, bead_ids)), _LONGEST_IDS)
    trailers = [
        *(f"Helix-Bead: {_one_line(bead_id)}" for bead_id in bead_ids),
        f"Helix-Attempt: {_one_line(attempt)}",
        f"Helix-Harness: {_one_line(harness)}",
    ]
    subject = f"{cut(_one_line(title), _LONGEST_TITLE)} [{ids}]".lstrip()
    return "\n".join([subject, "", *trailers, ""])


def changed_paths(repository: Repository, one: str, other: str) -> tuple[str, ...]:
    """Every path that two commits or trees do not have alike, in git's order."""
    return tuple(change.path for change in changes_between(repository, one, other))


def changes_between(repository: Repository, one: str, other: str) -> list[Change]:
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    found = run(repository.checkout, *words, one, other)
    require(found, f"comparing {one} with {other}")
    return list(_parse_changes(found))


def diffstat(repository: Repository, one: str, other: str) -> str:
    """How much changed and where, for a person; long lists end early."""
    shape = ("--stat=100", "--stat-count=60", "--no-ext-diff", "--no-textconv", "--no-renames")
    found = run(repository.checkout, "diff-tree", "-r", *shape, one, other)
    require(found, f"comparing {one} with {other}")
    return found.text.rstrip("\n")


def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    """Does the history of `newer` hold `older`?"""
    asked = run(repository.checkout, "merge-base", "--is-ancestor", older, newer)
    if asked.code not in (0, 1):
        raise DdxError(f"comparing {older} with {newer} failed: {asked.complaint}")
    return asked.code == 0


def ignored_files(work: WorkTree) -> frozenset[str]:
    """What .gitignore and its kin keep out, by the rules as they stand in the work tree now."""
    return _others(work, "--ignored")


def new_files(work: WorkTree) -> frozenset[str]:
    """What git does not know yet and would add."""
    return _others(work)


def _others(work: WorkTree, *which: str) -> frozenset[str]:
    _take(work)
    listed = _git(work, "ls-files", "-z", "--others", *which, "--exclude-standard")
    require(listed, f"listing the files of {work.folder}")
    return frozenset(paths_in(listed))


def _git(work: WorkTree, *words: str, stdin: bytes = b"") -> Result:
    return run(
        work.folder,
        *words,
        stdin=stdin,
        env={
            "GIT_DIR": work.repository.git_folder,
            "GIT_WORK_TREE": work.folder,
            "GIT_INDEX_FILE": work.index,
        },
        settings=_SETTINGS,
        timeout_s=_PATIENT_S,
    )


def _take(work: WorkTree) -> None:
    """An agent may remove its workspace, or leave a link to somewhere else in its place."""
    if os.path.islink(work.folder) or not os.path.isdir(work.folder):
        raise NotFound(f"the workspace {work.folder} is gone: its agent removed or replaced it")
    try:
        os.unlink(f"{work.index}.lock")  # of a git that died; nobody else uses this index
    except FileNotFoundError:
        pass


def _add_all(work: WorkTree, aside: str) -> Iterator[str]:
    """Stage every file; yields the repositories that were flattened for it."""
    added = _add(work)
    if not added.ok:  # a repository without a commit cannot be added at all
        for _ in range(_DEEPEST):
            nested = sorted(path.rstrip("/") for path in new_files(work) if path.endswith("/"))
            if not nested:
                break
            yield from nested
            _move_git_folders(work, nested, aside)
    if added.stderr:  # of a folder that it may not read, git only says that it leaves it out
        _make_readable(work.folder)
        added = _add(work)
    if not added.ok:
        said = "it took too long" if added.timed_out else added.complaint
        raise DdxError(f"what is in {work.folder} cannot be committed: {said}")


def _add(work: WorkTree) -> Result:
    return _git(work, "add", "--all", "--sparse", ".")


def _staged(work: WorkTree) -> list[Change]:
    words = ("diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev")
    found = _git(work, *words, work.base)
    require(found, "git diff-index")
    return list(_parse_changes(found))


def _parse_changes(result: Result) -> Iterator[Change]:
    """Each is `:old-mode new-mode old-id new-id letter`, NUL, path, NUL."""
    fields = os.fsdecode(result.stdout).split("\0")
    for head, path in zip(fields[0::2], fields[1::2], strict=False):
        old_mode, new_mode, *_ = head.removeprefix(":").split(" ")
        yield Change(path, old_mode, new_mode)


def _flatten(work: WorkTree, paths: Sequence[str], aside: str) -> list[str]:
    """Nested repositories as plain files: as links their content would be lost."""
    _move_git_folders(work, paths, aside)
    forget = _git(
        work, "update-index", "-z", "--force-remove", "--stdin", stdin=os.fsencode("\0".join(paths))
    )
    require(forget, "git update-index")
    deeper = list(_add_all(work, aside))
    links = [change.path for change in _staged(work) if change.is_new_gitlink]
    lost = [path for path in links if path not in _declared_submodules(work)]
    return [*paths, *deeper, *(_flatten(work, lost, aside) if lost else ())]


def _move_git_folders(work: WorkTree, paths: Sequence[str], aside: str) -> None:
    os.makedirs(aside, exist_ok=True)
    for path in paths:
        place = os.path.join(aside, f"nested-git-{len(os.listdir(aside))}")
        shutil.move(os.path.join(work.folder, path, ".git"), place)


def _declared_submodules(work: WorkTree) -> set[str]:
    """A link that .gitmodules names was meant as one."""
    asked = _git(work, "config", "-z", "--file", ".gitmodules", "--get-regexp", r"\.path$")
    return {entry.partition("\n")[2] for entry in os.fsdecode(asked.stdout).split("\0") if entry}


def _put_back(work: WorkTree, paths: Sequence[str]) -> None:
    """As in the base, in the index and on the disk: checks run on what would land (X-11)."""
    restore = ("restore", f"--source={work.base}", "--staged", "--worktree", "--no-overlay")
    done = _git(
        work,
        "--literal-pathspecs",
        *restore,
        *("--pathspec-from-file=-", "--pathspec-file-nul"),
        stdin=os.fsencode("\0".join(paths)),
    )
    require(done, "git restore")


def _make_readable(folder: str) -> None:
    for path, folders, files in os.walk(folder):
        if path == folder and ".git" in folders:
            folders.remove(".git")
        for wanted, names in ((0o700, folders), (0o600, files)):
            for entry in (os.path.join(path, name) for name in names):
                mode = os.lstat(entry).st_mode
                if not stat.S_ISLNK(mode) and mode & wanted != wanted:
                    os.chmod(entry, stat.S_IMODE(mode) | wanted)


def _write_tree(work: WorkTree) -> str:
    written = _git(work, "write-tree")
    require(written, "git write-tree")
    return written.text.strip()


def _nobody() -> dict[str, str]:
    named = {
        f"GIT_{role}_{part}": text
        for role in ("AUTHOR", "COMMITTER")
        for part, text in (("NAME", NOBODY.name), ("EMAIL", NOBODY.email))
    }
    return {name: text for name, text in named.items() if not variable(name)}


def _one_line(text: str) -> str:
    """Printable, and in one line: a title comes from anywhere."""
    return "".join(mark if mark.isprintable() else " " for mark in " ".join(text.split()))
