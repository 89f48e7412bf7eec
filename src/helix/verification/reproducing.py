"""The command that runs exactly one test again (V-2). Pure.

A name of a test is a stranger's text: it goes into a command only as one quoted word. Where we do
not know how to ask for one test, the check that ran it is the answer.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

from ddx.values import value
from helix.verification.locating import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix.verification.locating import Located

_OPERATORS = frozenset("();<>|&")
_DYNAMIC = ("$", "`", "\n", "*", "?", "~", "{", "!")
_PYTEST = ("pytest", "py.test")
_WITH_VALUE = (
    *("-c", "--config-file", "-p", "-o", "--override-ini", "-W", "--rootdir"),
    *("--import-mode", "--confcutdir", "--basetemp", "--ds"),
)
_KEPT = ("-q", "-v", "-vv", "-s", "--strict-markers", "--strict-config", "--capture")
_MAVEN = ("mvn", "mvnw")
_GRADLE = ("gradle", "gradlew")
_GO_NAME = re.compile(r"\w+(?:/[\w #.:=-]+)*")
_JAVA_NAME = re.compile(r"\w[\w.$]*")


@value
class Reproduction:
    command: str
    is_exact: bool
    """It runs this one test; else the whole check that holds it."""


def reproduce(command: str, test: Located) -> Reproduction:
    """How to see this test fail, and later pass."""
    exact = _exact(command, test) if _is_plain(test) else ""
    return Reproduction(exact or command, bool(exact))


def _is_plain(test: Located) -> bool:
    return test.id.isprintable() and "…" not in test.test.name


def _exact(command: str, test: Located) -> str:
    if any(mark in command for mark in _DYNAMIC):
        return _go(command, test)
    before, last = _last_step(words_of(command))
    if last is None:
        return _go(command, test)
    line = _pytest(last, test) or _maven(last, test) or _gradle(last, test)
    if line:
        return " && ".join((*map(_joined, before), line))
    return _go(command, test)


def _last_step(words: Sequence[str]) -> tuple[list[list[str]], list[str] | None]:
    """The steps of `cd here && run that`; None if the shell does more than that."""
    steps: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            steps.append([])
        elif not _OPERATORS.isdisjoint(word) and set(word) <= _OPERATORS:
            return [], None
        else:
            steps[-1].append(word)
    return steps[:-1], steps[-1] if all(steps) else None


def _pytest(words: Sequence[str], test: Located) -> str:
    place = _place_of(words, _PYTEST)
    if place is None or not test.said.endswith(".py"):
        return ""
    name = "" if test.id == test.file else "::".join(("", *test.names, test.test.name))
    kept = list(_pytest_options(words[place + 1 :]))
    return _joined([*words[: place + 1], *kept, "-rA", f"{test.said}{name}"])


def _pytest_options(words: Sequence[str]) -> Iterator[str]:
    """Those that say how to run; those that say what to run or to report go."""
    takes = False
    for word in words:
        if takes:
            takes = False
            yield word
        elif word in _WITH_VALUE:
            takes = True
            yield word
        elif word in _KEPT or word.startswith(tuple(f"{name}=" for name in _WITH_VALUE)):
            yield word


def _maven(words: Sequence[str], test: Located) -> str:
    place = _place_of(words, _MAVEN)
    name = f"{test.test.group}#{test.test.name}"
    if place is None or not _JAVA_NAME.fullmatch(name.replace("#", ".", 1)):
        return ""
    kept = [word for word in words if not word.startswith("-Dtest=")]
    return _joined([*kept, f"-Dtest={name}"])


def _gradle(words: Sequence[str], test: Located) -> str:
    place = _place_of(words, _GRADLE)
    name = f"{test.test.group}.{test.test.name.removesuffix('()')}"
    if place is None or not _JAVA_NAME.fullmatch(name):
        return ""
    return _joined([*words, "--tests", name])


def _go(command: str, test: Located) -> str:
    """A package and a function are enough, however the check wrapped them."""
    words = words_of(command)
    if ("go", "test") not in pairwise(words) or "cd" in words:
        return ""
    name = test.test.name
    if not test.file.endswith("_test.go") or not _GO_NAME.fullmatch(name):
        return ""
    folder = posixpath.dirname(test.file)
    package = f"./{folder}" if folder else "."
    pattern = "/".join(f"^{re.escape(part.replace(' ', '_'))}$" for part in name.split("/"))
    return _joined(["go", "test", package, "-run", pattern])


def _joined(words: Sequence[str]) -> str:
    """As one line for a shell; a variable that is set before the program stays one."""
    said = []
    is_first = True
    for word in words:
        name, mark, rest = word.partition("=")
        is_first = is_first and bool(mark) and name.isidentifier()
        said.append(f"{name}={shlex.quote(rest)}" if is_first else shlex.quote(word))
    return " ".join(said)


def _place_of(words: Sequence[str], names: Sequence[str]) -> int | None:
    """Where the program stands among the words, by any path."""
    return next((n for n, word in enumerate(words) if posixpath.basename(word) in names), None)
