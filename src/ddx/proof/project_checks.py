"""Checks that a project keeps in files of its own: `.ddx/checks/*.yaml` (X-11).

    name: links                       the name of the file if not given
    command: python scripts/links.py  a text, run by sh; or a list of words, run as they are
    applies_to:                       every attempt if not given, else where one of these fits
      paths: ["docs/**", "*.md"]      a changed file; a folder means all that is in it
      labels: [area:docs]             a label of the bead
    timeout_s: 60

A file that cannot be read is a check that fails, never one that is skipped.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.base import value
from ddx.documents import page as front_matter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddx.documents import CommandLine

FOLDER = ".ddx/checks"
_SUFFIXES = (".yaml", ".yml")
_LARGEST = 100_000
_LONGEST_PATTERN = 200
_LONGEST_TIME_S = 86_400
_KEYS = {"name", "command", "applies_to", "timeout_s"}
_SCOPES = {"paths", "labels"}


@value
class ProjectCheck:
    """One check; without paths and labels it is for every attempt."""

    name: str
    path: str
    command: CommandLine
    paths: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    timeout_s: float | None = None

    def applies(self, changed_paths: Iterable[str] | None, labels: Iterable[str]) -> bool:
        """Is it for an attempt with these changes? None: they are not known yet."""
        if changed_paths is None or not (self.paths or self.labels):
            return True
        if not set(self.labels).isdisjoint(labels):
            return True
        return bool(self.paths) and is_within(self.paths, changed_paths)


@value
class BrokenCheck:
    """A file that says nothing that could be run."""

    name: str
    path: str
    what: str


ProjectChecks: TypeAlias = tuple[ProjectCheck | BrokenCheck, ...]


def broken_checks(checks: ProjectChecks) -> str:
    """What is wrong with the files, in words; nothing can land before that is mended."""
    found = (f"{check.path}: {check.what}" for check in checks if isinstance(check, BrokenCheck))
    return "; ".join(found)


def read_project_checks(checkout: str) -> ProjectChecks:
    """The checks of a checkout that no agent has touched yet, in the order of their files."""
    folder = os.path.join(checkout, FOLDER)
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return ()
    except OSError as problem:
        return (BrokenCheck(FOLDER, FOLDER, f"cannot be read: {problem.strerror}"),)
    found: list[ProjectCheck | BrokenCheck] = []
    for name in names:
        if not name.endswith(_SUFFIXES):
            continue
        path = f"{FOLDER}/{name}"
        stem = name.rpartition(".")[0]
        try:
            found.append(_parse(stem, path, _content(os.path.join(folder, name))))
        except _BadCheck as problem:
            found.append(BrokenCheck(stem, path, str(problem)))
    return tuple(found)


def _parse(stem: str, path: str, text: str) -> ProjectCheck:
    """What a file says; raises where it says too little or something we do not know."""
    try:
        table = front_matter.read(text)
    except front_matter.BrokenFrontMatter as problem:
        what = problem.what.replace("the front matter", "the file")
        raise _BadCheck(f"line {max(problem.line - 1, 1)}: {what}") from None
    _require_known(table, _KEYS, "")
    scope = table.get("applies_to") or {}
    if not isinstance(scope, dict):
        raise _BadCheck("applies_to must be a table of paths and labels")
    _require_known(scope, _SCOPES, "applies_to.")
    if table.get("applies_to") and not any(scope.values()):
        raise _BadCheck("applies_to names neither paths nor labels")
    name = table.get("name") or stem
    if not isinstance(name, str):
        raise _BadCheck("name must be a text")
    return ProjectCheck(
        name=name.strip(),
        path=path,
        command=_command(table.get("command")),
        paths=tuple(map(_pattern, _texts(scope, "paths"))),
        labels=_texts(scope, "labels"),
        timeout_s=_seconds(table.get("timeout_s")),
    )


def is_within(globs: Iterable[str], paths: Iterable[str] | None) -> bool:
    """Whether one of the paths fits one of the patterns; no patterns, or paths unknown: yes."""
    patterns = [pattern_of(glob) for glob in globs]
    if not patterns or paths is None:
        return True
    return any(pattern.fullmatch(path) for path in paths for pattern in patterns)


def pattern_of(glob: str) -> re.Pattern[str]:
    """As in .gitignore: without a slash inside it fits in any folder, and a folder fits whole."""
    inner = glob.removeprefix("./").strip("/")
    anywhere = "" if "/" in inner or glob.startswith("/") else "(?:.*/)?"
    below = "/.*" if glob.endswith("/") else "(?:/.*)?"
    parts = re.split(r"(\*\*/|/\*\*\Z|\*\*|\*|\?)", inner)
    means = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    middle = "".join(means.get(it, re.escape(it)) for it in parts)
    return re.compile(f"{anywhere}{middle}{below}", re.DOTALL)


class _BadCheck(Exception):
    pass


def _content(path: str) -> str:
    """A regular file of a size that a person writes; what a link leads to is not ours."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        raise _BadCheck(f"cannot be read: {problem.strerror}") from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise _BadCheck(f"is no file of at most {_LARGEST} bytes")
        return os.read(fd, _LARGEST).decode("utf-8")
    except UnicodeDecodeError:
        raise _BadCheck("holds bytes that are not UTF-8") from None
    finally:
        os.close(fd)


def _require_known(table: dict[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            keys = ", ".join(sorted(known))
            raise _BadCheck(f"unknown key {where}{key}; the keys are {keys}")


def _command(given: Any) -> CommandLine:
    words = given if isinstance(given, list) else [given]
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise _BadCheck("command must be a text or a list of words")
    if not words[0].strip():
        raise _BadCheck("command is empty")
    return tuple(words) if isinstance(given, list) else words[0].strip()


def _texts(table: dict[str, Any], key: str) -> tuple[str, ...]:
    given = table.get(key) or []
    listed = [given] if isinstance(given, str) else given
    fits = isinstance(listed, list) and all(isinstance(item, str) and item for item in listed)
    if not fits or any(len(item) > _LONGEST_PATTERN for item in listed):
        raise _BadCheck(f"applies_to.{key} must be a list of short texts")
    return tuple(item.strip() for item in listed)


def _pattern(glob: str) -> str:
    """What we would read in another way than git must not look as if it fitted nothing."""
    if glob.startswith("!") or "[" in glob or not glob.strip("/."):
        raise _BadCheck(
            f"applies_to.paths: {glob!r} is no path; `*`, `?` and `**` stand for others"
        )
    return glob


def _seconds(given: Any) -> float | None:
    if given is None or given == "":
        return None
    plain = isinstance(given, str) and given.replace(".", "", 1).isdecimal() and given.isascii()
    seconds = float(given) if plain and len(given) < 10 else 0.0
    if not 0 < seconds <= _LONGEST_TIME_S:
        raise _BadCheck(f"timeout_s must be a number of seconds, not {given!r}")
    return seconds
