"""The command that runs exactly one test again (V-2). Pure.

A name of a test is a stranger's text: it goes into a command only as one quoted word. Where we do
not know how to ask for one test, the check that ran it is the answer.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from ddx.base import value
from helix.verification.located_tests import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix.verification.located_tests import LocatedTest

_OPERATORS = frozenset("();<>|&")
_DYNAMIC = ("$", "`", "\n", "*", "?", "~", "{", "!")
_PYTEST = ("pytest", "py.test")
_PYTEST_VALUES = (
    *("-c", "--config-file", "-p", "-o", "--override-ini", "-W", "--rootdir"),
    *("--import-mode", "--confcutdir", "--basetemp", "--ds"),
)
_PYTEST_SWITCHES = ("-q", "-v", "-vv", "-s", "--strict-markers", "--strict-config", "--capture")
_MAVEN = ("mvn", "mvnw")
_MAVEN_DROPPED = ("-Dtest=", "-Dmaven.test.failure.ignore", "-fn", "--fail-never")
"""What chooses other tests, or would hide that ours fails."""
_MODULE_SAID = ("-pl", "--projects", "-f", "--file")
"""Which part is built is said already."""
_GRADLE = ("gradle", "gradlew")
_JAVA_CLASS = re.compile(r"\w[\w.$]*")
_JAVA_METHOD = re.compile(r"([^\W\d]\w*)(?:\(.*\))?(?:\[.*\])?")
"""With its parameters, of which no runner can be asked for one alone."""
_GO_NAME = re.compile(r"\w+(?:/[\w #.:=-]+)*")
_GO_SWITCHES = ("-race", "-short", "-msan", "-asan", "-trimpath")
_GO_VALUES = ("-tags", "-mod", "-modfile", "-ldflags", "-gcflags", "-count", "-cpu")
_NODE_SWITCHES = ("--test", "--no-warnings", "--enable-source-maps", "--experimental-strip-types")
_NODE_VALUES = ("--import", "--require", "-r", "--loader", "--test-reporter")
_NODE_FILES = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts")
_OF_PATTERNS = re.compile(r"[\\^$.*+?()\[\]{}|/]")


@value
class Reproduction:
    command: str
    is_exact: bool
    """It runs this one test, with all of its parameters if need be; else the whole check."""


def reproduce(command: str, test: LocatedTest) -> Reproduction:
    """How to see this test fail, and later pass."""
    is_plain = test.id.isprintable() and "…" not in test.test.name
    exact = _exact(command, test) if is_plain else ""
    return Reproduction(exact or command, bool(exact))


def _exact(command: str, test: LocatedTest) -> str:
    if any(mark in command for mark in _DYNAMIC):
        return _go(command, test)
    before, last = _last_step(words_of(command))
    if last is None:
        return _go(command, test)
    is_moved = any("cd" in step for step in before)
    line = (
        _pytest(last, test)
        or _java(last, test, is_moved=is_moved)
        or ("" if is_moved else _node(last, test))
    )
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


def _pytest(words: Sequence[str], test: LocatedTest) -> str:
    place = _place_of(words, _PYTEST)
    if place is None or not test.said.endswith(".py"):
        return ""
    name = "" if test.id == test.file else "::".join(("", *test.names, test.test.name))
    kept = list(_kept(words[place + 1 :], _PYTEST_SWITCHES, _PYTEST_VALUES))
    return _joined([*words[: place + 1], *kept, "-rA", f"{test.said}{name}"])


def _java(words: Sequence[str], test: LocatedTest, *, is_moved: bool) -> str:
    """By Maven or Gradle; of a build in several parts only the one that holds the file."""
    method = _JAVA_METHOD.fullmatch(test.test.name)
    if method is None or not _JAVA_CLASS.fullmatch(test.test.group):
        return ""
    folders = test.file.split("/")[:-1]
    module = "/".join(folders[: folders.index("src")]) if "src" in folders else ""
    if _place_of(words, _MAVEN) is not None:
        kept = [word for word in words if not word.startswith(_MAVEN_DROPPED)]
        is_said = is_moved or any(word.partition("=")[0] in _MODULE_SAID for word in words)
        if module and not is_said:
            # What its module needs is built too, where no test has this name: that is no failure.
            kept += ["-pl", module, "-am", "-Dsurefire.failIfNoSpecifiedTests=false"]
        return _joined([*kept, f"-Dtest={test.test.group}#{method[1]}"])
    if _place_of(words, _GRADLE) is None:
        return ""
    if module and not is_moved and not any(":" in word for word in words):
        return ""  # every other part of the build would fail, for it has no such test
    return _joined([*words, "--tests", f"{test.test.group}.{method[1]}"])


def _go(command: str, test: LocatedTest) -> str:
    """A package and a function are enough, however the check wrapped them."""
    words = words_of(command)
    name = test.test.name
    if "cd" in words or not test.file.endswith("_test.go") or not _GO_NAME.fullmatch(name):
        return ""
    if ("go", "test") in pairwise(words):
        begin = words.index("test", words.index("go")) - 1
    elif "gotestsum" in words:
        begin = words.index("gotestsum")
    else:
        return ""
    ours = list(takewhile(lambda word: not set(word) <= _OPERATORS, words[begin:]))
    options = list(_kept(ours, _GO_SWITCHES, _GO_VALUES))
    variables = list(takewhile(_is_assignment, reversed(words[:begin])))[::-1]
    if any(mark in word for word in (*variables, *options) for mark in _DYNAMIC):
        return ""
    folder = posixpath.dirname(test.file)
    package = f"./{folder}" if folder else "."
    pattern = "/".join(f"^{re.escape(part.replace(' ', '_'))}$" for part in name.split("/"))
    return _joined([*variables, "go", "test", *options, package, "-run", pattern])


def _node(words: Sequence[str], test: LocatedTest) -> str:
    """Its own runner of tests takes a pattern for names, and in newer ones for all names above."""
    place = _place_of(words, ("node",))
    if place is None or "--test" not in words or not test.file.endswith(_NODE_FILES):
        return ""
    rest = words[place + 1 :]
    kept = list(_kept(rest, _NODE_SWITCHES, _NODE_VALUES))
    flags = [word for word in rest if word.startswith("-")]
    if any(word not in kept and "=" not in word for word in flags):
        return ""  # nobody knows whether the next word belongs to it
    name = _OF_PATTERNS.sub(r"\\\g<0>", test.test.name).replace(" ", r"\s+")
    pattern = f"--test-name-pattern=(^| ){name}$"
    return _joined([*words[: place + 1], *kept, pattern, test.file])


def _kept(words: Sequence[str], switches: Sequence[str], valued: Sequence[str]) -> Iterator[str]:
    """Options that say how to run, with their values; those that say what to run or report go."""
    takes = False
    for word in words:
        if takes or word in switches or word.startswith(tuple(f"{name}=" for name in valued)):
            takes = False
            yield word
        elif word in valued:
            takes = True
            yield word


def _joined(words: Sequence[str]) -> str:
    """As one line for a shell; a variable that is set before the program stays one."""
    said = []
    is_first = True
    for word in words:
        is_first = is_first and _is_assignment(word)
        name, _, rest = word.partition("=")
        said.append(f"{name}={shlex.quote(rest)}" if is_first else shlex.quote(word))
    return " ".join(said)


def _is_assignment(word: str) -> bool:
    name, mark, _ = word.partition("=")
    return bool(mark) and name.isidentifier()


def _place_of(words: Sequence[str], names: Sequence[str]) -> int | None:
    """Where the program stands among the words, by any path."""
    return next((n for n, word in enumerate(words) if posixpath.basename(word) in names), None)
