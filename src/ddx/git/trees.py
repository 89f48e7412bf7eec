"""What a commit holds below some folders; paths are relative to the folder that is asked."""

from __future__ import annotations

import os

from ddx import git
from ddx.errors import DdxError
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LINK_MODE = "120000"


@value
class Entry:
    """One file of a commit."""

    path: str
    blob: str
    is_link: bool = False


def tree_id(folder: str, commit: str, path: str) -> str:
    """What stands for all content below a path: another id, other content. Empty: not there."""
    return git.ask(folder, "rev-parse", "--verify", "--quiet", f"{commit}:{_from_here(path)}")


def entries(folder: str, commit: str, paths: Sequence[str]) -> list[Entry]:
    """Every file below the paths, each once, in the order of paths."""
    listed = git.run(folder, "ls-tree", "-r", "-z", commit, "--", *map(os.path.normpath, paths))
    if not listed.ok:
        raise DdxError(f"git ls-tree {commit} failed: {listed.complaint}")
    found = {}
    for line in listed.stdout.decode("utf-8", "surrogateescape").split("\0"):
        head, _, path = line.partition("\t")
        if path:
            mode, _, blob = head.split(" ")
            found[path] = Entry(path, blob, mode == _LINK_MODE)
    return [found[path] for path in sorted(found)]


def differing(folder: str, one: str, other: str, paths: Sequence[str]) -> frozenset[str]:
    """Which files below the paths two commits do not have alike; a renamed file counts twice."""
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--relative")
    found = git.run(
        folder, "--literal-pathspecs", *words, one, other, "--", *map(os.path.normpath, paths)
    )
    if not found.ok:
        raise DdxError(f"git diff-tree {one} {other} failed: {found.complaint}")
    names = found.stdout.decode("utf-8", "surrogateescape").split("\0")
    return frozenset(name for name in names if name)


def content(folder: str, commit: str, path: str) -> bytes | None:
    """A file as a commit has it; None if it has none there."""
    return git.file_at(folder, commit, _from_here(path))


def _from_here(path: str) -> str:
    """Git takes a path in a commit from the repository's root, unless it begins like this."""
    normal = os.path.normpath(path)
    return "./" if normal == "." else f"./{normal}"
