"""Tests as test reports tell of them: what ran, how it ended, what it said. Pure."""

from __future__ import annotations

import re
from enum import StrEnum

from ddx.text import cut, shown, shown_on_one_line
from ddx.values import value

LONGEST_NAME = 300
LONGEST_MESSAGE = 500
MOST_TESTS = 50_000

_TAIL_LINES = 40
_TAIL_LENGTH = 4_000
_COLOUR = re.compile(r"\x1b\[[0-9;:?]*[@-~]")


class State(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """It could not even be tried: its set-up, its import or its runner broke."""
    SKIPPED = "skipped"


@value
class Case:
    """One test and how it ended; what its report leaves out is empty, line 0 is unknown."""

    name: str
    state: State
    group: str = ""
    """The class, package or test around it, as the report says it."""
    file: str = ""
    line: int = 0
    message: str = ""
    output: str = ""
    fails_at: str = ""
    """The file in which it says that it failed; nothing is said of that while it passes."""

    @property
    def is_failure(self) -> bool:
        return self.state in (State.FAILED, State.ERROR)


@value
class Report:
    """All tests of one report, in its order."""

    form: str
    tests: tuple[Case, ...]
    problems: tuple[str, ...] = ()
    """Why it does not tell all: it was cut off, or more was planned than came."""
    is_whole: bool = True
    """It names the tests that passed as well, so that one which is missing did not run."""


@value
class Unreadable:
    """It should have been a report."""

    reason: str


def plain(text: str) -> str:
    """Without the colours of a terminal."""
    return _COLOUR.sub("", text)


def one_line(text: str, longest: int = LONGEST_NAME) -> str:
    """On one line and safe to be shown."""
    return cut(shown_on_one_line(" ".join(plain(text[: longest * 8]).split())), longest)


def tail(text: str) -> str:
    """The last lines, as many as a bead can bear, safe to be stored and shown."""
    end = plain(text[-_TAIL_LENGTH * 4 :]).replace("\r\n", "\n").rstrip()
    return shown("\n".join(end.split("\n")[-_TAIL_LINES:])[-_TAIL_LENGTH:]).strip("\n")
