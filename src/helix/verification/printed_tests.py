"""Tests as commands print them: TAP 13 and 14, and the words of pytest. Pure.

Of TAP: test points, subtests, todo and skip, YAML blocks, bailing out. Of pytest: the lines of
`-v`, the short summary of `-rA`, the text of failures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ddx.base import changed
from helix.verification.reported_tests import (
    LONGEST_MESSAGE,
    MOST_TESTS,
    WORST_LAST,
    ReportedState,
    ReportedTest,
    SuiteReport,
    line_number,
    one_line,
    plain,
    tail,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


_VERSION = re.compile(r"TAP version \d+")
_PLAN = re.compile(r"1\.\.(\d{1,9})(?!\d)")
_POINT = re.compile(r"(not )?ok(?![^\s#])(?: +(\d{1,9})(?![^\s#]))?(?: +-(?!\S))?")
_DIRECTIVE = re.compile(r"(todo|skip)[a-z]*\b[ :-]*", re.IGNORECASE)
_PERL_PLACE = re.compile(r"\bat (\S{1,300}) line (\d{1,7})")
_FILES = ("file", "filename", "filepath")
_LINES = ("line", "linenumber")
_PLACES = ("location", "at")
_MESSAGES = ("message", "error")
_BLOCKS = ("|", "|-", "|+", ">", ">-", ">+")
"""Of YAML: what is said begins on the next line."""
_INDENT = 4
_DEEPEST = 20
_LONGEST_LINE = 4_000
_MOST_LINES = 400

_SUMMARY = re.compile(r"=+ short test summary info =+")
_ENDING = re.compile(r"(?:=+ )?(?:(?:\d{1,9} [a-z]{1,20},? ?)+|no tests ran )in [\d.]{1,20}s.*")
_HEADING = re.compile(r"_{3,} (?:ERROR (?:at (?:setup|teardown) of|collecting) )?(.+?) _{3,}")
_OUTCOME = re.compile(r"(PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED) (.+)")
_VERBOSE = re.compile(
    r" (PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED)(?: \(.*\))?(?: +\[ *\d{1,3}%\])?\Z"
)
_BY_WORKER = re.compile(r"\[gw\d{1,4}\] \[ *\d{1,3}%\] ([A-Z]+) (\S.*)")
_STATES = {
    "PASSED": ReportedState.PASSED,
    "FAILED": ReportedState.FAILED,
    "ERROR": ReportedState.ERROR,
    "SKIPPED": ReportedState.SKIPPED,
    "XFAIL": ReportedState.SKIPPED,
    "XPASS": ReportedState.PASSED,
}
_PASSED_COUNT = re.compile(r"\b(\d{1,9}) passed\b")


def parse_tap(text: str) -> SuiteReport | None:
    """The leaves of the tree of tests; None if the text is no TAP."""
    lines = [line[:_LONGEST_LINE] for line in plain(text).split("\n")]
    has_version = any(_VERSION.match(line) for line in lines)
    has_plan = any(_PLAN.match(line) for line in lines)
    if not has_version and not (has_plan and any(_POINT.match(line) for line in lines)):
        return None
    reader = _Reader()
    for line in lines:
        reader.take(line.rstrip())
    return reader.report()


class _Level:
    """The points of one depth that no point above has gathered yet."""

    def __init__(self) -> None:
        self.tests: list[ReportedTest] = []
        self.seen = 0
        self.planned: int | None = None


class _Reader:
    def __init__(self) -> None:
        self._levels = [_Level() for _ in range(_DEEPEST + 2)]
        self._problems: list[str] = []
        self._last = -1
        self._said: list[str] = []
        self._block_indent = -1
        self._count = 0

    def take(self, line: str) -> None:
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if self._block_indent >= 0 and bare != "..." and bare and indent >= self._block_indent:
            self._note(bare)
            return
        if self._block_indent >= 0:
            self._block_indent = -1
            if bare == "...":
                return
        depth = min(indent // _INDENT, _DEEPEST)
        if bare == "---" and self._last >= 0:
            self._block_indent = indent
        elif point := _POINT.match(bare):
            self._settle()
            self._point(depth, point, bare[point.end() :])
        elif plan := _PLAN.match(bare):
            self._levels[depth].planned = int(plan[1])
        elif bare.lower().startswith("bail out!"):
            self._problems.append(f"it bailed out: {one_line(bare[9:], 200) or 'no reason given'}")
        elif bare and self._last >= 0 and not _is_announcement(bare):
            self._note(bare.removeprefix("#").strip())

    def _note(self, line: str) -> None:
        if len(self._said) < _MOST_LINES:
            self._said.append(line)

    def _point(self, depth: int, point: re.Match[str], rest: str) -> None:
        description, directive, why = _parted(rest)
        level, below = self._levels[depth], self._levels[depth + 1]
        level.seen += 1
        state = ReportedState.FAILED if point[1] else ReportedState.PASSED
        if directive == "skip" or (directive == "todo" and point[1]):
            state = ReportedState.SKIPPED
        name = one_line(description) or f"test {point[2] or level.seen}"
        test = ReportedTest(name, state, message=one_line(why, LONGEST_MESSAGE))
        children = self._gathered(depth + 1, name, is_expected=state is ReportedState.SKIPPED)
        below.seen, below.planned = 0, None
        is_told_below = children and (
            not test.is_failure or any(child.is_failure for child in children)
        )
        self._count += not is_told_below
        is_kept = self._count <= MOST_TESTS
        if is_kept:
            level.tests += children if is_told_below else [*children, test]
        self._last = depth if is_kept and not is_told_below else -1

    def _gathered(self, depth: int, name: str, *, is_expected: bool) -> list[ReportedTest]:
        """What ran below a test; where its failing is expected, so is theirs."""
        level = self._levels[depth]
        found = [
            changed(
                child,
                group=one_line(f"{name} > {child.group}" if child.group else name),
                state=ReportedState.SKIPPED if is_expected and child.is_failure else child.state,
            )
            for child in level.tests
        ]
        level.tests = []
        return found

    def _settle(self) -> None:
        """What was said since the last point belongs to it."""
        if self._last >= 0 and self._said and self._levels[self._last].tests:
            tests = self._levels[self._last].tests
            tests[-1] = _explained(tests[-1], self._said)
        self._said = []
        self._last = -1
        self._block_indent = -1

    def report(self) -> SuiteReport:
        self._settle()
        top = self._levels[0]
        orphans = [test for level in self._levels[1:] for test in level.tests]
        if top.planned is None:
            self._problems.append("it has no plan, so it may have ended early")
        elif top.planned != top.seen:
            self._problems.append(f"{top.planned} tests were planned, but {top.seen} came")
        if self._count > MOST_TESTS:
            self._problems.append(f"only its first {MOST_TESTS:,} tests were read")
        return SuiteReport("tap", (*top.tests, *orphans), tuple(self._problems))


def _parted(rest: str) -> tuple[str, str, str]:
    """Description, directive and its reason; a `#` after a backslash is only a mark."""
    place = rest.find("#")
    while place >= 0:
        is_mark = place > 0 and rest[place - 1] == "\\"
        directive = None if is_mark else _DIRECTIVE.match(rest[place + 1 :].lstrip(" "))
        if directive:
            why = rest[place + 1 :].lstrip(" ")[directive.end() :]
            return _unescaped(rest[:place]), directive[1].lower(), why
        place = rest.find("#", place + 1)
    return _unescaped(rest), "", ""


def _unescaped(text: str) -> str:
    return text.replace("\\#", "#").replace("\\\\", "\\").strip()


def _is_announcement(line: str) -> bool:
    return bool(_VERSION.match(line)) or line.startswith("# Subtest")


def _explained(test: ReportedTest, said: list[str]) -> ReportedTest:
    """The test with what its YAML block or its comments tell of it."""
    if not test.is_failure:
        return test
    file, line, message = "", "", test.message
    for place, text in enumerate(said):
        key, _, rest = text.partition(":")
        word, told = key.strip().lower(), rest.strip().strip("'\"")
        if told in _BLOCKS:
            told = next(iter(said[place + 1 :]), "")
        if word in _PLACES:
            path, number = _place(told)
            file, line = file or path, line or number
        elif word in _FILES:
            file = file or told
        elif word in _LINES:
            line = line or told
        elif word in _MESSAGES:
            message = message or told
        elif found := _PERL_PLACE.search(text):
            file, line = file or found[1], line or found[2]
    return changed(
        test,
        fails_at=one_line(file, 1000),
        line=line_number(line) if file else 0,
        message=one_line(message or said[0], LONGEST_MESSAGE),
        output=tail("\n".join(said)),
    )


def _place(told: str) -> tuple[str, str]:
    """File and line of `tests/a.js:3:1`, also in the brackets of a stack's line."""
    inner = told.rpartition("(")[2].partition(")")[0] if "(" in told else told
    parts = inner.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdecimal():
        return parts[0], parts[1]
    return (inner.rpartition(":")[0], parts[-1]) if parts[-1].isdecimal() else ("", "")


# -- pytest ------------------------------------------------------------------------------------


def parse_pytest(text: str) -> SuiteReport | None:
    """The tests that the output names; None if pytest did not print it.

    Without -v or -rA those that passed have no name, and the report is not whole.
    """
    lines = [line.rstrip()[:_LONGEST_LINE] for line in plain(text).split("\n")]
    begins = [n for n, line in enumerate(lines) if _SUMMARY.fullmatch(line)]
    endings = [line for line in lines if _ENDING.fullmatch(line)]
    if not begins and not endings:
        return None
    summary = lines[begins[-1] + 1 :] if begins else []
    tests: dict[str, ReportedTest] = {}
    for node, state, message in (*_verbose(lines), *_summarised(summary)):
        before = tests.get(node)
        if before is None and len(tests) >= MOST_TESTS:
            break
        if before is None or WORST_LAST.index(state) >= WORST_LAST.index(before.state):
            tests[node] = _tested(node, state, message or (before.message if before else ""))
    said = _sections(lines[: begins[-1]] if begins else lines)
    found = tuple(_with_output(test, said) for test in tests.values())
    return SuiteReport("pytest", found, is_whole=bool(endings) and _is_whole(endings[-1], found))


def _is_whole(ending: str, tests: tuple[ReportedTest, ...]) -> bool:
    """Does it name as many tests that passed as its last line counts?"""
    counted = _PASSED_COUNT.search(ending)
    named = sum(test.state is ReportedState.PASSED for test in tests)
    return (int(counted[1]) if counted else 0) <= named


def _verbose(lines: list[str]) -> Iterator[tuple[str, ReportedState, str]]:
    for line in lines:
        if "::" not in line:
            continue
        if found := _BY_WORKER.fullmatch(line):
            if found[1] in _STATES:
                yield found[2], _STATES[found[1]], ""
        elif found := _VERBOSE.search(line):
            node = line[: found.start()]
            if "::" in node and not node.startswith(tuple(_STATES)):
                yield node, _STATES[found[1]], ""


def _summarised(lines: list[str]) -> Iterator[tuple[str, ReportedState, str]]:
    for line in lines:
        found = _OUTCOME.fullmatch(line)
        if not found or (found[1] == "SKIPPED" and found[2].startswith("[")):
            continue  # skipped ones are counted by place and have no name here
        node, message = _split(found[2])
        yield node, _STATES[found[1]], message


def _split(text: str) -> tuple[str, str]:
    """The node and the message; a parameter may hold the ` - ` that parts them."""
    start = text.find("[")
    first = text.find(" - ")
    if 0 <= start < first and (close := text.find("] - ", start)) >= 0:
        return text[: close + 1], text[close + 4 :]
    if 0 <= start < first and text.endswith("]"):
        return text, ""
    return (text, "") if first < 0 else (text[:first], text[first + 3 :])


def _tested(node: str, state: ReportedState, message: str) -> ReportedTest:
    head, bracket, parameters = node.partition("[")
    file, *names = head.split("::")
    name = f"{names[-1] if names else ''}{bracket}{parameters}"
    return ReportedTest(
        one_line(name or file),
        state,
        one_line("::".join(names[:-1])),
        file=one_line(file, 1000),
        message=one_line(message, LONGEST_MESSAGE),
    )


def _sections(lines: list[str]) -> dict[str, str]:
    """What stands below each heading of a failure, by the name in it."""
    found: dict[str, list[str]] = {}
    held: list[str] | None = None
    for line in lines:
        if heading := _HEADING.fullmatch(line):
            held = found.setdefault(heading[1], [])
        elif line.startswith("====") and line.endswith("===="):
            held = None
        elif held is not None:
            held.append(line)
    return {name: "\n".join(part) for name, part in found.items()}


def _with_output(test: ReportedTest, said: dict[str, str]) -> ReportedTest:
    if not test.is_failure:
        return test
    name = ".".join(filter(None, (*test.group.split("::"), test.name)))
    text = said.get(name) or said.get(test.name) or said.get(test.file) or ""
    return changed(test, output=tail(text)) if text else test
