"""What pytest prints: the lines of `-v`, the short summary of `-rA`, the text of failures. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ddx.values import changed
from helix.verification.model import (
    LONGEST_MESSAGE,
    MOST_TESTS,
    Case,
    Report,
    State,
    one_line,
    plain,
    tail,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

FORM = "pytest"

_SUMMARY = re.compile(r"=+ short test summary info =+")
_ENDING = re.compile(r"(?:=+ )?(?:(?:\d{1,9} [a-z]{1,20},? ?)+|no tests ran )in [\d.]{1,20}s.*")
_HEADING = re.compile(r"_{3,} (?:ERROR (?:at (?:setup|teardown) of|collecting) )?(.+?) _{3,}")
_OUTCOME = re.compile(r"(PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED) (.+)")
_VERBOSE = re.compile(
    r" (PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED)(?: \(.*\))?(?: +\[ *\d{1,3}%\])?\Z"
)
_BY_WORKER = re.compile(r"\[gw\d{1,4}\] \[ *\d{1,3}%\] ([A-Z]+) (\S.*)")
_STATES = {
    "PASSED": State.PASSED,
    "FAILED": State.FAILED,
    "ERROR": State.ERROR,
    "SKIPPED": State.SKIPPED,
    "XFAIL": State.SKIPPED,
    "XPASS": State.PASSED,
}
_WORST = (State.PASSED, State.SKIPPED, State.FAILED, State.ERROR)
_LONGEST_LINE = 4_000
_PASSED_COUNT = re.compile(r"\b(\d{1,9}) passed\b")


def parse_pytest(text: str) -> Report | None:
    """The tests that the output names; None if pytest did not print it.

    Without -v or -rA those that passed have no name, and the report is not whole.
    """
    lines = [line.rstrip()[:_LONGEST_LINE] for line in plain(text).split("\n")]
    begins = [n for n, line in enumerate(lines) if _SUMMARY.fullmatch(line)]
    endings = [line for line in lines if _ENDING.fullmatch(line)]
    if not begins and not endings:
        return None
    summary = lines[begins[-1] + 1 :] if begins else []
    tests: dict[str, Case] = {}
    for node, state, message in (*_verbose(lines), *_summarised(summary)):
        before = tests.get(node)
        if before is None and len(tests) >= MOST_TESTS:
            break
        if before is None or _WORST.index(state) >= _WORST.index(before.state):
            tests[node] = _tested(node, state, message or (before.message if before else ""))
    said = _sections(lines[: begins[-1]] if begins else lines)
    found = tuple(_explained(test, said) for test in tests.values())
    return Report(FORM, found, is_whole=bool(endings) and _is_whole(endings[-1], found))


def _is_whole(ending: str, tests: tuple[Case, ...]) -> bool:
    """Does it name as many tests that passed as its last line counts?"""
    counted = _PASSED_COUNT.search(ending)
    named = sum(test.state is State.PASSED for test in tests)
    return (int(counted[1]) if counted else 0) <= named


def _verbose(lines: list[str]) -> Iterator[tuple[str, State, str]]:
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


def _summarised(lines: list[str]) -> Iterator[tuple[str, State, str]]:
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


def _tested(node: str, state: State, message: str) -> Case:
    head, bracket, parameters = node.partition("[")
    file, *names = head.split("::")
    name = f"{names[-1] if names else ''}{bracket}{parameters}"
    return Case(
        one_line(name or file),
        state,
        one_line("::".join(names[:-1])),
        one_line(file, 1000),
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


def _explained(test: Case, said: dict[str, str]) -> Case:
    if not test.is_failure:
        return test
    name = ".".join(filter(None, (*test.group.split("::"), test.name)))
    text = said.get(name) or said.get(test.name) or said.get(test.file) or ""
    return changed(test, output=tail(text)) if text else test
