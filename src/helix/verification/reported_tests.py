"""Tests as reports tell of them: what ran, how it ended, what it said; and JUnit. Pure.

pytest, surefire, go-junit-report, gradle and others write JUnit XML. The file comes from a program
that we do not know. It is read piece by piece: no document type, so no entity of its own, and
bounds on size, depth and number.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.parsers import expat

from ddx.base import cut, shown, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


LONGEST_NAME = 300
LONGEST_MESSAGE = 500
MOST_TESTS = 50_000
LARGEST = 32 << 20
"""Of a file of JUnit, in bytes."""

_TAIL_LINES = 40
_TAIL_LENGTH = 4_000
_COLOUR = re.compile(r"\x1b\[[0-9;:?]*[@-~]")


class ReportedState(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """It could not even be tried: its set-up, its import or its runner broke."""
    SKIPPED = "skipped"


WORST_LAST = (
    ReportedState.PASSED,
    ReportedState.SKIPPED,
    ReportedState.FAILED,
    ReportedState.ERROR,
)
"""Of what one report says of one test, the worst counts."""
_DEEPEST = 60
_HELD = 16_000
_COLOUR_BYTES = re.compile(rb"\x1b\[[0-9;:?]*[@-~]")
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r"))
_ROOTS = ("testsuites", "testsuite")
_ENDINGS = {
    "failure": ReportedState.FAILED,
    "error": ReportedState.ERROR,
    "skipped": ReportedState.SKIPPED,
}
_BROKEN = ("failure", "error")
"""Of a whole suite: then no test of it may be told of at all."""
_MOST_PROBLEMS = 20
_TEXTS = (*_ENDINGS, "system-out", "system-err")
_NOT_RUN = ("notrun", "disabled", "skipped", "suppressed", "ignored")


@value
class ReportedTest:
    """One test and how it ended; what its report leaves out is empty, line 0 is unknown."""

    name: str
    state: ReportedState
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
        return self.state in (ReportedState.FAILED, ReportedState.ERROR)


@value
class SuiteReport:
    """All tests of one report, in its order."""

    form: str
    tests: tuple[ReportedTest, ...]
    problems: tuple[str, ...] = ()
    """Why it does not tell all: it was cut off, or more was planned than came."""
    is_whole: bool = True
    """It names the tests that passed as well, so that one which is missing did not run."""


@value
class UnreadableReport:
    """It should have been a report."""

    reason: str


def worst_first(states: Iterable[ReportedState]) -> ReportedState:
    """How a test ended that ran more than once: one failure is enough."""
    order = (ReportedState.ERROR, ReportedState.FAILED, ReportedState.PASSED, ReportedState.SKIPPED)
    return min(states, key=order.index)


def plain(text: str) -> str:
    """Without the colours of a terminal."""
    return _COLOUR.sub("", text)


def one_line(text: str, longest: int = LONGEST_NAME) -> str:
    """On one line and safe to be shown."""
    return cut(shown(" ".join(plain(text[: longest * 8]).split()), one_line=True), longest)


def line_number(said: str) -> int:
    """The line that a report names; 0 if that is no number."""
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 8 else 0


def tail(text: str) -> str:
    """The last lines, as many as a bead can bear, safe to be stored and shown."""
    end = plain(text[-_TAIL_LENGTH * 4 :]).replace("\r\n", "\n").rstrip()
    return shown("\n".join(end.split("\n")[-_TAIL_LINES:])[-_TAIL_LENGTH:]).strip("\n")


# -- JUnit -------------------------------------------------------------------------------------


def parse_junit(content: bytes) -> SuiteReport | UnreadableReport | None:
    """The tests of a report; None if it is XML of another kind."""
    if len(content) > LARGEST:
        return UnreadableReport(f"larger than {LARGEST >> 20} MB")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(_without_controls(content), True)
    except _AnotherKind:
        return None
    except _Refused as problem:
        return UnreadableReport(str(problem))
    except expat.ExpatError as problem:
        what = expat.errors.messages.get(problem.code, "no XML")
        return UnreadableReport(f"line {problem.lineno}: {what}")
    except (LookupError, ValueError) as problem:
        return UnreadableReport(f"its encoding cannot be read: {one_line(str(problem), 80)}")
    return reader.report()


class _AnotherKind(Exception):
    """XML, but no report."""


class _Refused(Exception):
    """What no test report holds."""


@value
class _Suite:
    """What a suite says for all of its tests."""

    file: str
    name: str = ""


class _OpenCase:
    """A test as it is read: attributes first, then what happened."""

    def __init__(self, said: Mapping[str, str], suite: _Suite) -> None:
        self.said = said
        self.suite = suite
        self.state = ReportedState.PASSED
        self.message = self.type = ""
        self.texts = dict.fromkeys(_TEXTS, "")
        told = (said.get("status", ""), said.get("result", ""))
        if any(word.lower() in _NOT_RUN for word in told):
            self.state = ReportedState.SKIPPED

    def ended(self, state: ReportedState, said: Mapping[str, str]) -> None:
        """The worst that is said counts: a failing tear-down is told after the failure."""
        if WORST_LAST.index(state) > WORST_LAST.index(self.state):
            self.state = state
            self.message, self.type = said.get("message", ""), said.get("type", "")

    def finished(self) -> ReportedTest:
        texts = [self.texts[name].strip() for name in _TEXTS]
        first = next(filter(None, texts[: len(_ENDINGS)]), "").partition("\n")[0]
        said, suite = self.said, self.suite
        # What does not compile in Go is told of by its suite's name alone.
        package = suite.name if "/" in suite.name else ""
        has_passed = self.state is ReportedState.PASSED
        return ReportedTest(
            one_line(said.get("name", "")) or "a test without a name",
            self.state,
            one_line(said.get("classname") or package),
            file=one_line(said.get("file") or said.get("filepath") or suite.file, 1000),
            line=line_number(said.get("line", "")),
            message=one_line(self.message or first or self.type, LONGEST_MESSAGE),
            output="" if has_passed else tail("\n".join(filter(None, texts))),
        )


class _Reader:
    """What has been read so far."""

    def __init__(self) -> None:
        self._tests: list[ReportedTest] = []
        self._problems: list[str] = []
        self._left_out = 0
        self._path: list[str] = []
        self._suites = [_Suite("")]
        self._case: _OpenCase | None = None

    def begin(self, name: str, said: dict[str, str]) -> None:
        name = name.rpartition(":")[2].lower()
        if not self._path and name not in _ROOTS:
            raise _AnotherKind
        if len(self._path) >= _DEEPEST:
            raise _Refused(f"its elements are nested deeper than {_DEEPEST}")
        self._path.append(name)
        if name in _ROOTS:
            file = said.get("file") or said.get("filepath") or self._suites[-1].file
            self._suites.append(_Suite(file, said.get("name", "")))
        elif name == "testcase":
            self._case = _OpenCase(said, self._suites[-1])
        elif name in _ENDINGS and self._case is not None and self._path[-2] == "testcase":
            self._case.ended(_ENDINGS[name], said)
        elif name in _BROKEN and self._path[-2] in _ROOTS and len(self._problems) < _MOST_PROBLEMS:
            suite = one_line(self._suites[-1].name, 80) or "without a name"
            why = said.get("message") or said.get("type") or "it does not say why"
            self._problems.append(f"the suite {suite} broke: {one_line(why, 200)}")

    def text(self, text: str) -> None:
        name = self._path[-1] if self._path else ""
        if self._case is not None and name in _TEXTS and self._path[-2:-1] == ["testcase"]:
            self._case.texts[name] = (self._case.texts[name] + text)[-_HELD:]

    def end(self, name: str) -> None:
        name = self._path.pop()
        if name in _ROOTS:
            self._suites.pop()
        elif name == "testcase" and self._case is not None:
            if len(self._tests) < MOST_TESTS:
                self._tests.append(self._case.finished())
            else:
                self._left_out += 1
            self._case = None

    def report(self) -> SuiteReport:
        more = f"only its first {MOST_TESTS:,} tests were read, {self._left_out:,} were not"
        problems = [*self._problems, *([more] if self._left_out else [])]
        return SuiteReport("junit", tuple(self._tests), tuple(problems))


def _without_controls(content: bytes) -> bytes:
    """Tools copy the raw output of tests into their XML, colours included, which XML forbids."""
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in content[:4]
    return content if is_wide else _COLOUR_BYTES.sub(b"", content).translate(None, _CONTROLS)


def _refuse(*declared: object) -> None:
    raise _Refused("it declares a document type, which no test report does")
