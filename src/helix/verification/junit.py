"""JUnit XML as pytest, surefire, go-junit-report, gradle and others write it. Pure.

The file comes from a program that we do not know. It is read piece by piece: no document type, so
no entity of its own, and bounds on size, depth and number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat

from ddx.values import value
from helix.verification.model import (
    LONGEST_MESSAGE,
    MOST_TESTS,
    Case,
    Report,
    State,
    Unreadable,
    one_line,
    tail,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

FORM = "junit"
LARGEST = 32 << 20

_DEEPEST = 60
_HELD = 16_000
_COLOUR = re.compile(rb"\x1b\[[0-9;:?]*[@-~]")
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r"))
_ROOTS = ("testsuites", "testsuite")
_ENDINGS = {"failure": State.FAILED, "error": State.ERROR, "skipped": State.SKIPPED}
_BROKEN = ("failure", "error")
"""Of a whole suite: then no test of it may be told of at all."""
_MOST_PROBLEMS = 20
_TEXTS = (*_ENDINGS, "system-out", "system-err")
_NOT_RUN = ("notrun", "disabled", "skipped", "suppressed", "ignored")


def parse_junit(content: bytes) -> Report | Unreadable | None:
    """The tests of a report; None if it is XML of another kind."""
    if len(content) > LARGEST:
        return Unreadable(f"larger than {LARGEST >> 20} MB")
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
    except _Declares:
        return Unreadable("it declares a document type, which no test report does")
    except _TooDeep:
        return Unreadable(f"its elements are nested deeper than {_DEEPEST}")
    except expat.ExpatError as problem:
        what = expat.errors.messages.get(problem.code, "no XML")
        return Unreadable(f"line {problem.lineno}: {what}")
    except (LookupError, ValueError) as problem:
        return Unreadable(f"its encoding cannot be read: {one_line(str(problem), 80)}")
    return reader.report()


class _AnotherKind(Exception):
    pass


class _Declares(Exception):
    pass


class _TooDeep(Exception):
    pass


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
        self.state = State.PASSED
        self.message = self.type = ""
        self.texts = dict.fromkeys(_TEXTS, "")
        told = (said.get("status", ""), said.get("result", ""))
        if any(word.lower() in _NOT_RUN for word in told):
            self.state = State.SKIPPED

    def ended(self, state: State, said: Mapping[str, str]) -> None:
        """The worst that is said counts: a failing tear-down is told after the failure."""
        worst = (State.PASSED, State.SKIPPED, State.FAILED, State.ERROR)
        if worst.index(state) > worst.index(self.state):
            self.state = state
            self.message, self.type = said.get("message", ""), said.get("type", "")

    def finished(self) -> Case:
        texts = [self.texts[name].strip() for name in _TEXTS]
        first = next(filter(None, texts[: len(_ENDINGS)]), "").partition("\n")[0]
        line = self.said.get("line", "")
        return Case(
            one_line(self.said.get("name", "")) or "a test without a name",
            self.state,
            one_line(self.said.get("classname") or self._package),
            one_line(self.said.get("file") or self.said.get("filepath") or self.suite.file, 1000),
            int(line) if line.isascii() and line.isdecimal() and len(line) < 8 else 0,
            one_line(self.message or first or self.type, LONGEST_MESSAGE),
            "" if self.state is State.PASSED else tail("\n".join(filter(None, texts))),
        )

    @property
    def _package(self) -> str:
        """What does not compile in Go is told of by its suite's name alone."""
        return self.suite.name if "/" in self.suite.name else ""


class _Reader:
    """What has been read so far."""

    def __init__(self) -> None:
        self._tests: list[Case] = []
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
            raise _TooDeep
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

    def report(self) -> Report:
        more = f"only its first {MOST_TESTS:,} tests were read, {self._left_out:,} were not"
        problems = [*self._problems, *([more] if self._left_out else [])]
        return Report(FORM, tuple(self._tests), tuple(problems))


def _without_controls(content: bytes) -> bytes:
    """Tools copy the raw output of tests into their XML, colours included, which XML forbids."""
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in content[:4]
    return content if is_wide else _COLOUR.sub(b"", content).translate(None, _CONTROLS)


def _refuse(*declared: object) -> None:
    raise _Declares
