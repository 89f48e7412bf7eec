"""What commits hold, what changed between two of them, and which commits touched a file."""

from __future__ import annotations

import os
import re

from ddx.base import DdxError, Instant, value
from ddx.git.commands import ask, file_at, paths_in, require, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ddx.base import ProcessResult
    from ddx.git.repository import Repository

LARGEST_FILE = 40_000
"""Characters of one file's difference; a longer one is only named."""
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--unified=5")
_NO_LARGER = 1 << 20
_MOST_ASKED = 400
_LINK_MODE = "120000"
_GITLINK = "160000"
_BEAD, _ATTEMPT = "Helix-Bead", "Helix-Attempt"
_LOG = ("log", "-z", "--no-show-signature", "--encoding=UTF-8")
_BETWEEN = "\x1f"
_FIELDS = 6
_HEAD = re.compile(r"[0-9a-f]{40,64}\n\d+\n")
_PATIENT_S = 300.0
_MOST_PATHS = 2000
"""On one command line."""


# -- what a commit holds; paths are relative to the folder that is asked -----------------------


@value
class TreeEntry:
    """One file of a commit."""

    path: str
    blob: str
    is_link: bool = False


def tree_id(folder: str, commit: str, path: str) -> str:
    """What stands for all content below a path: another id, other content. Empty: not there."""
    return ask(folder, "rev-parse", "--verify", "--quiet", f"{commit}:{_from_here(path)}")


def entries(folder: str, commit: str, paths: Sequence[str]) -> list[TreeEntry]:
    """Every file below the paths, each once, in the order of paths."""
    found = {}
    for head, path in _listed(folder, commit, "--", *map(os.path.normpath, paths), commit=commit):
        mode, _, blob = head.split(" ")
        found[path] = TreeEntry(path, blob, mode == _LINK_MODE)
    return [found[path] for path in sorted(found)]


def differing(folder: str, one: str, other: str, paths: Sequence[str]) -> frozenset[str]:
    """Which files below the paths two commits do not have alike; a renamed file counts twice."""
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--relative")
    found = run(
        folder, "--literal-pathspecs", *words, one, other, "--", *map(os.path.normpath, paths)
    )
    require(found, f"git diff-tree {one} {other}")
    return frozenset(paths_in(found))


def content(folder: str, commit: str, path: str) -> bytes | None:
    """A file as a commit has it; None if it has none there."""
    return file_at(folder, commit, _from_here(path))


def _listed(folder: str, *words: str, commit: str) -> Iterator[tuple[str, str]]:
    """What `git ls-tree` says of each file, and its path."""
    listed = run(folder, "ls-tree", "-r", "-z", *words)
    require(listed, f"git ls-tree {commit}")
    for line in listed.stdout.decode("utf-8", "surrogateescape").split("\0"):
        head, _, path = line.partition("\t")
        if path:
            yield head, path


def _from_here(path: str) -> str:
    """Git takes a path in a commit from the repository's root, unless it begins like this."""
    normal = os.path.normpath(path)
    return "./" if normal == "." else f"./{normal}"


# -- what changed between two commits ----------------------------------------------------------


@value
class FileChange:
    """One path that differs; a mode of zeros means that there is nothing on that side."""

    path: str
    old_mode: str
    new_mode: str

    @property
    def is_new_gitlink(self) -> bool:
        return self.new_mode == _GITLINK and self.old_mode != _GITLINK


@value
class Diff:
    """The text of all files that fit, and the paths of those that did not."""

    text: str
    left_out: tuple[str, ...] = ()


def parent_of(folder: str, commit: str) -> str:
    """The first parent, or the empty tree where there is none."""
    parent = ask(folder, "rev-parse", "--verify", "--quiet", f"{commit}^1^{{commit}}")
    return parent or empty_tree(folder)


def empty_tree(folder: str) -> str:
    made = run(folder, "hash-object", "-t", "tree", "--stdin")
    require(made, "git hash-object")
    return made.text.strip()


def changed_paths(repository: Repository, one: str, other: str) -> tuple[str, ...]:
    """Every path that two commits or trees do not have alike, in git's order."""
    return tuple(change.path for change in changes_between(repository, one, other))


def changes_between(repository: Repository, one: str, other: str) -> list[FileChange]:
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    found = run(repository.checkout, *words, one, other)
    require(found, f"comparing {one} with {other}")
    return list(parse_changes(found))


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


def parse_changes(result: ProcessResult) -> Iterator[FileChange]:
    """Each is `:old-mode new-mode old-id new-id letter`, NUL, path, NUL."""
    fields = os.fsdecode(result.stdout).split("\0")
    for head, path in zip(fields[0::2], fields[1::2], strict=False):
        old_mode, new_mode, *_ = head.removeprefix(":").split(" ")
        yield FileChange(path, old_mode, new_mode)


def diff_between(checkout: str, one: str, other: str, *, paths: Sequence[str], most: int) -> Diff:
    """The difference of these files, as many as fit into `most` characters, in their order."""
    large = _large(checkout, one, other)
    parts: list[str] = []
    left_out: list[str] = []
    room = most
    for path in paths:
        text = "" if path in large or len(parts) >= _MOST_ASKED else _of(checkout, one, other, path)
        if text and len(text) <= min(room, LARGEST_FILE):
            parts.append(text)
            room -= len(text)
        else:
            left_out.append(path)
    return Diff("".join(parts), tuple(left_out))


def _of(checkout: str, one: str, other: str, path: str) -> str:
    found = run(checkout, "--literal-pathspecs", "diff-tree", "-p", *_PLAIN, one, other, "--", path)
    require(found, f"git diff-tree {one} {other}")
    return found.stdout.decode("utf-8", "replace")


def _large(checkout: str, one: str, other: str) -> frozenset[str]:
    """Files that are not worth a look: too many lines, or so big that git would take long."""
    return frozenset(
        path
        for commit in (one, other)
        for head, path in _listed(checkout, "-l", commit, commit=commit)
        if (size := head.rpartition(" ")[2]).isdigit() and int(size) > _NO_LARGER
    )


def patch_between(checkout: str, one: str, other: str) -> bytes:
    """As `git apply` takes it; no program and no filter of the repository has a say in it."""
    shape = ("--patch", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color")
    found = run(checkout, "diff-tree", "-r", "-M", *shape, one, other, "--")
    require(found, f"comparing {one} with {other}")
    return found.stdout


# -- the commits themselves --------------------------------------------------------------------


@value
class HistoryCommit:
    """A commit and its trailers; `at` is when its author made it, as RFC 3339 in UTC."""

    commit: str
    at: str
    author: str
    subject: str
    beads: tuple[str, ...] = ()
    attempt: str = ""


def signed_commits(folder: str) -> list[HistoryCommit]:
    """Every commit of any branch that names a bead in its trailers, newest first."""
    words = ("--branches", "HEAD", f"--grep=^{_BEAD}: ")
    found = run(folder, *_LOG, _form(), *words, timeout_s=_PATIENT_S)
    if not found.ok:  # no repository, or one without commits
        return []
    told = (_told(entry) for entry in _texts(found.stdout))
    return [item for item in told if item.beads]


def commits_by_id(folder: str, ids: Sequence[str]) -> dict[str, HistoryCommit]:
    """Those of the commits that git has, by their full ids."""
    wanted = [name for name in dict.fromkeys(ids) if re.fullmatch(r"[0-9a-f]{4,64}", name)]
    if not wanted:
        return {}
    words = ("--no-walk=unsorted", "--ignore-missing", "--stdin")
    found = run(folder, *_LOG, _form(), *words, stdin="\n".join(wanted).encode())
    told = map(_told, _texts(found.stdout)) if found.ok else ()
    return {item.commit: item for item in told}


def touched_paths(folder: str, commit: str) -> tuple[str, ...]:
    """What a commit changed below `folder`; of a merge, what it brought to the first parent."""
    words = ("diff-tree", "-r", "-z", "--root", "--name-only", "--no-commit-id", "--no-renames")
    found = run(folder, *words, "--relative", "-m", "--first-parent", commit, "--")
    require(found, f"reading the commit {commit}")
    return tuple(path for path in _texts(found.stdout) if path)


def commits_touching(
    folder: str, paths: Sequence[str], *, most: int
) -> Mapping[str, tuple[HistoryCommit, ...]]:
    """The newest commits that touched each of the files, merges left out."""
    if not paths:
        return {}
    shape = ("--name-only", "--no-renames", "--relative", "--no-merges", f"--max-count={most}")
    asked = run(
        folder,
        "--literal-pathspecs",
        *(*_LOG, _form(), *shape, "HEAD", "--", *paths[:_MOST_PATHS]),
        timeout_s=_PATIENT_S,
    )
    found: dict[str, list[HistoryCommit]] = {}
    for told, path in _pairs(asked.stdout) if asked.ok else ():
        found.setdefault(path, []).append(told)
    return {path: tuple(told) for path, told in found.items()}


def _pairs(output: bytes) -> Iterator[tuple[HistoryCommit, str]]:
    """A head is followed by its files, each with NUL after it, the first with a line before it."""
    told: HistoryCommit | None = None
    for entry in _texts(output):
        if _HEAD.match(entry):
            told = _told(entry)
        elif told is not None and entry:
            yield told, entry.removeprefix("\n")


def _form() -> str:
    trailers = (
        f"%(trailers:key={key},valueonly,unfold,separator=%x1f)" for key in (_ATTEMPT, _BEAD)
    )
    return "--format=" + "%n".join(("%H", "%at", *trailers, "%aN", "%s"))


def _told(entry: str) -> HistoryCommit:
    commit, seconds, attempts, beads, author, subject = entry.split("\n", _FIELDS - 1)
    return HistoryCommit(
        commit=commit,
        at=Instant.at(int(seconds) * 1_000_000_000).text,
        author=author,
        subject=subject.rstrip("\n"),
        beads=tuple(bead for bead in beads.split(_BETWEEN) if bead),
        attempt=attempts.split(_BETWEEN)[0],
    )


def _texts(output: bytes) -> list[str]:
    return [text for text in output.decode("utf-8", "surrogateescape").split("\0") if text.strip()]
