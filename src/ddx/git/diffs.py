"""What changed between two commits, as a reader sees it, within bounds."""

from __future__ import annotations

from ddx.errors import DdxError
from ddx.git import ask, require, run
from ddx.git.commits import changed_paths
from ddx.git.repository import read_repository
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_FILE = 40_000
"""Characters of one file's difference; a longer one is only named."""
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--unified=5")
_NO_LARGER = 1 << 20
_MOST_ASKED = 400


@value
class Diff:
    """The text of all files that fit, and the paths of those that did not."""

    text: str
    left_out: tuple[str, ...] = ()


def paths_between(folder: str, one: str, other: str) -> tuple[str, ...]:
    """Every path that the two do not have alike, as seen from the repository's root."""
    return changed_paths(read_repository(folder), one, other)


def parent_of(folder: str, commit: str) -> str:
    """The first parent, or the empty tree where there is none."""
    parent = ask(folder, "rev-parse", "--verify", "--quiet", f"{commit}^1^{{commit}}")
    return parent or empty_tree(folder)


def empty_tree(folder: str) -> str:
    made = run(folder, "hash-object", "-t", "tree", "--stdin")
    require(made, "git hash-object")
    return made.text.strip()


def diff_between(folder: str, one: str, other: str, paths: Sequence[str], *, most: int) -> Diff:
    """The difference of these files, as many as fit into `most` characters, in their order."""
    checkout = read_repository(folder).checkout
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
    if not found.ok:
        raise DdxError(f"git diff-tree {one} {other} failed: {found.complaint}")
    return found.stdout.decode("utf-8", "replace")


def _large(checkout: str, one: str, other: str) -> frozenset[str]:
    """Files that are not worth a look: too many lines, or so big that git would take long."""
    sizes: set[str] = set()
    for commit in (one, other):
        listed = run(checkout, "ls-tree", "-r", "-z", "-l", commit)
        require(listed, f"git ls-tree {commit}")
        for line in listed.stdout.decode("utf-8", "surrogateescape").split("\0"):
            head, _, path = line.partition("\t")
            size = head.rpartition(" ")[2]
            if size.isdigit() and int(size) > _NO_LARGER:
                sizes.add(path)
    return frozenset(sizes)
