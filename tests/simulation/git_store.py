"""Git's objects in memory: blobs, trees and commits with their true ids, compared and merged."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Files = Mapping[str, tuple[str, str]]
"""By path, the mode and the blob of every file."""

NOTHING = "0" * 40
NO_MODE = "000000"


@dataclass(frozen=True)
class Commit:
    """One commit as its object has it."""

    tree: str
    parents: tuple[str, ...]
    author: str
    seconds: int
    message: str


@dataclass
class Store:
    """Every object that was ever made; nothing is ever removed."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, Files] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)

    # -- writing -----------------------------------------------------------------------------

    def put_blob(self, content: bytes) -> str:
        """The id of a file's content, which is kept."""
        made = object_id("blob", content)
        self.blobs[made] = content
        return made

    def put_tree(self, files: Files) -> str:
        """The id of a whole tree; each of its folders is a tree of its own, too."""
        below: dict[str, dict[str, tuple[str, str]]] = {}
        lines: list[tuple[bytes, bytes]] = []
        for path, (mode, blob) in files.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = (mode, blob)
            else:
                lines.append((os.fsencode(name), _entry(mode, name, blob)))
        for name, inside in below.items():
            sorted_as = os.fsencode(f"{name}/")  # git's own order
            lines.append((sorted_as, _entry("40000", name, self.put_tree(inside))))
        made = object_id("tree", b"".join(line for _, line in sorted(lines)))
        self.trees[made] = dict(files)
        return made

    def put_commit(self, commit: Commit, *, committer: str = "", committed: int = 0) -> str:
        """The id of a commit, which is kept."""
        lines = [f"tree {commit.tree}", *(f"parent {it}" for it in commit.parents)]
        lines.append(f"author {commit.author} {commit.seconds} +0000")
        by, at = committer or commit.author, committed or commit.seconds
        lines += [f"committer {by} {at} +0000", "", commit.message]
        made = object_id("commit", "\n".join(lines).encode())
        self.commits[made] = commit
        return made

    # -- reading -----------------------------------------------------------------------------

    def files(self, name: str) -> Files:
        """The files of a commit or a tree, by its full id."""
        if name in self.commits:
            name = self.commits[name].tree
        return self.trees[name]

    def ancestors(self, commit: str) -> set[str]:
        """All of its history, itself included."""
        found: set[str] = set()
        waiting = [commit]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting.extend(self.commits[one].parents)
        return found

    def merge_base(self, one: str, other: str) -> str:
        """The best common ancestor, or nothing."""
        common = self.ancestors(one) & self.ancestors(other)
        best = [it for it in common if not any(it in self._before(that) for that in common)]
        return max(best, key=lambda it: (self.commits[it].seconds, it), default="")

    def _before(self, commit: str) -> set[str]:
        return self.ancestors(commit) - {commit}

    def differing(self, one: Files, other: Files) -> Iterator[str]:
        """The paths that two sets of files do not have alike, in git's order."""
        for path in sorted({*one, *other}, key=os.fsencode):
            if one.get(path) != other.get(path):
                yield path

    def merge(self, ours: str, theirs: str) -> tuple[dict[str, tuple[str, str]], list[str]]:
        """The files of both commits together, and the paths where they do not fit."""
        base = self.files(self.merge_base(ours, theirs))
        one, other = self.files(ours), self.files(theirs)
        merged: dict[str, tuple[str, str]] = {}
        conflicts: list[str] = []
        for path in sorted({*base, *one, *other}, key=os.fsencode):
            was, mine, yours = base.get(path), one.get(path), other.get(path)
            if mine in (was, yours):
                taken = yours
            elif yours == was:
                taken = mine
            else:
                taken = self._merged_file(was, mine, yours)
                if taken is None:
                    conflicts.append(path)
            if taken is not None:
                merged[path] = taken
        folders = {path.rpartition("/")[0] for path in merged}
        conflicts += [path for path in merged if path in folders]
        return merged, conflicts

    def _merged_file(
        self,
        was: tuple[str, str] | None,
        mine: tuple[str, str] | None,
        yours: tuple[str, str] | None,
    ) -> tuple[str, str] | None:
        if was is None or mine is None or yours is None or mine[0] != yours[0]:
            return None
        texts = (self.blobs[it[1]].splitlines(keepends=True) for it in (was, mine, yours))
        lines = merge_lines(*texts)
        return None if lines is None else (mine[0], self.put_blob(b"".join(lines)))


def object_id(kind: str, content: bytes) -> str:
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


def _entry(mode: str, name: str, made: str) -> bytes:
    return f"{mode} ".encode() + os.fsencode(name) + b"\0" + bytes.fromhex(made)


# -- lines -------------------------------------------------------------------------------------


def merge_lines(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]
) -> list[bytes] | None:
    """Both changes in one text; None where they touch each other."""
    changes = sorted(
        [*_changes(base, ours), *_changes(base, theirs)], key=lambda change: change[:2]
    )
    merged: list[bytes] = []
    place = 0
    last: tuple[int, int, Sequence[bytes]] | None = None
    for change in changes:
        begin, end, lines = change
        if change == last:
            continue
        if last is not None and begin <= last[1]:
            return None
        merged += [*base[place:begin], *lines]
        place, last = end, change
    return [*merged, *base[place:]]


def _changes(
    base: Sequence[bytes], new: Sequence[bytes]
) -> Iterator[tuple[int, int, Sequence[bytes]]]:
    for kind, begin, end, first, last in difflib.SequenceMatcher(
        None, base, new, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            yield begin, end, list(new[first:last])


def count_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """How many lines are new, and how many gone."""
    one, other = old.splitlines(keepends=True), new.splitlines(keepends=True)
    added = gone = 0
    for kind, begin, end, first, last in difflib.SequenceMatcher(
        None, one, other, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            gone += end - begin
            added += last - first
    return added, gone


def stat_text(counts: Iterable[tuple[str, int, int]]) -> str:
    """As `git diff --stat` shows a few small changes."""
    rows = list(counts)
    if not rows:
        return ""
    wide = max(len(path) for path, _, _ in rows)
    digits = max(len(str(added + gone)) for _, added, gone in rows)
    lines = [
        f" {path:<{wide}} | {added + gone:>{digits}} {'+' * added}{'-' * gone}".rstrip()
        for path, added, gone in rows
    ]
    added, gone = sum(row[1] for row in rows), sum(row[2] for row in rows)
    parts = [f" {len(rows)} file{'s' * (len(rows) != 1)} changed"]
    if added or not gone:
        parts.append(f"{added} insertion{'s' * (added != 1)}(+)")
    if gone or not added:
        parts.append(f"{gone} deletion{'s' * (gone != 1)}(-)")
    return "\n".join([*lines, ", ".join(parts), ""])


def patch_text(
    path: str, old: tuple[str, str] | None, new: tuple[str, str] | None, store: Store, around: int
) -> str:
    """As `git diff-tree -p` shows one file."""
    head = [f"diff --git a/{path} b/{path}"]
    if old is None and new:
        head.append(f"new file mode {new[0]}")
    if new is None and old:
        head.append(f"deleted file mode {old[0]}")
    mode = f" {new[0]}" if old and new and old[0] == new[0] else ""
    ids = tuple(it[1][:7] if it else NOTHING[:7] for it in (old, new))
    head.append(f"index {ids[0]}..{ids[1]}{mode}")
    texts = [
        store.blobs[it[1]].decode("utf-8", "replace").splitlines(keepends=True) if it else []
        for it in (old, new)
    ]
    names = (f"a/{path}" if old else "/dev/null", f"b/{path}" if new else "/dev/null")
    lines = list(difflib.unified_diff(*texts, *names, n=around))
    shown = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ]
    return "\n".join(head) + "\n" + "".join(shown)
