"""Commits and what they say of themselves: which bead, which attempt, which files (X-10)."""

from __future__ import annotations

import re

from ddx.clock import stamp
from ddx.git import require, run
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BEAD, _ATTEMPT = "Helix-Bead", "Helix-Attempt"
_LOG = ("log", "-z", "--no-show-signature", "--encoding=UTF-8")
_BETWEEN = "\x1f"
_FIELDS = 6
_HEAD = re.compile(r"[0-9a-f]{40,64}\n\d+\n")
_PATIENT_S = 300.0
_MOST_PATHS = 2000
"""On one command line."""


@value
class Told:
    """A commit and its trailers; `at` is when its author made it, as RFC 3339 in UTC."""

    commit: str
    at: str
    author: str
    subject: str
    beads: tuple[str, ...] = ()
    attempt: str = ""


def signed_commits(folder: str) -> list[Told]:
    """Every commit of any branch that names a bead in its trailers, newest first."""
    words = ("--branches", "HEAD", f"--grep=^{_BEAD}: ")
    found = run(folder, *_LOG, _form(), *words, timeout_s=_PATIENT_S)
    if not found.ok:  # no repository, or one without commits
        return []
    told = (_told(entry) for entry in _texts(found.stdout))
    return [item for item in told if item.beads]


def commits_by_id(folder: str, ids: Sequence[str]) -> dict[str, Told]:
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
) -> Mapping[str, tuple[Told, ...]]:
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
    found: dict[str, list[Told]] = {}
    for told, path in _pairs(asked.stdout) if asked.ok else ():
        found.setdefault(path, []).append(told)
    return {path: tuple(told) for path, told in found.items()}


def _pairs(output: bytes) -> Iterator[tuple[Told, str]]:
    """A head is followed by its files, each with NUL after it, the first with a line before it."""
    told: Told | None = None
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


def _told(entry: str) -> Told:
    commit, seconds, attempts, beads, author, subject = entry.split("\n", _FIELDS - 1)
    return Told(
        commit,
        stamp(int(seconds) * 1_000_000_000),
        author,
        subject.rstrip("\n"),
        tuple(bead for bead in beads.split(_BETWEEN) if bead),
        attempts.split(_BETWEEN)[0],
    )


def _texts(output: bytes) -> list[str]:
    return [text for text in output.decode("utf-8", "surrogateescape").split("\0") if text.strip()]
