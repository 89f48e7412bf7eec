"""The hot lane reads a command line as click does, or leaves it to click (T-19)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.contract import ALL_COMMANDS

from ddx.console.click_commands import click_command
from ddx.console.command import Argument, Command, Flag, parse

Words: TypeAlias = st.SearchStrategy[list[str]]

EVERY_KIND = Command(
    summary="One flag of every kind there is, and two arguments.",
    run=lambda **given: 0,
    example="ddx every kind",
    arguments=(
        Argument("first", "must be there"),
        Argument("second", "may be missing", required=False),
    ),
    flags=(
        Flag("--text", "a text"),
        Flag("--texts", "many texts", many=True),
        Flag("--needed", "must be there", required=True),
        Flag("--needed-texts", "at least one", many=True, required=True),
        Flag("--usual", "has a default", default="usual"),
        Flag("--number", "a number", kind="number"),
        Flag("--numbers", "many numbers", kind="number", many=True),
        Flag("--choice", "a choice", kind="choice", choices=("one", "two")),
        Flag("--choices", "many choices", kind="choice", choices=("one", "two"), many=True),
        Flag("--switch", "a switch", kind="switch"),
    ),
)
ALL_THE_REST = Command(
    summary="Takes every word that is left.",
    run=lambda **given: 0,
    example="ddx all the rest",
    arguments=(Argument("one", "the first"), Argument("rest", "the others", many=True)),
    flags=(Flag("--text", "a text"),),
)
COMMANDS = {**ALL_COMMANDS, "every kind": EVERY_KIND, "all the rest": ALL_THE_REST}

PLAIN = [
    *("word", "-", "", " ", "two words", "a=b", "=", "x,y", "ümlaut", "語", "٣", "\udc80", "a\nb"),
]
NUMBERS = ["0", "7", "007", "99"]
ODD_NUMBERS = ["-5", "+3", " 4", "1_0", "9" * 9, "9" * 10, "9" * 40, "1.0", "0x10", "²", "٣"]
ODD = ["--", "---", "-x", "-xyz", "--no-such-flag", "--help", "-h", "--=", "-="]


def fitting(flag: Flag) -> list[str]:
    return {"text": PLAIN, "number": NUMBERS, "choice": list(flag.choices)}[flag.kind]


def nearly_fitting(flag: Flag) -> list[str]:
    near = [word for choice in flag.choices for word in (choice.upper(), choice[:-1])]
    return [*fitting(flag), *near, *PLAIN, *ODD_NUMBERS, *ODD]


def lines(command: Command, values: Callable[[Flag], list[str]]) -> Words:
    """What the command needs and some of what it may have; flags before, among and after words."""

    def typed(flag: Flag) -> Words:
        if flag.kind == "switch":
            return st.just([flag.name])
        return st.sampled_from(values(flag)).map(lambda text: [flag.name, text])

    needed = [typed(flag) for flag in command.flags if flag.required]
    possible = [typed(flag) for flag in command.flags if not flag.required]
    more = st.lists(st.one_of(possible), max_size=4 if possible else 0).map(joined)
    arguments = [
        st.lists(
            st.sampled_from(PLAIN),
            min_size=1 if argument.required else 0,
            max_size=3 if argument.many else 1,
        )
        for argument in command.arguments
    ]
    return st.builds(
        lambda words, flags, place: [*words[:place], *flags, *words[place:]],
        st.tuples(*arguments).map(joined),
        st.tuples(*needed, more).map(joined),
        st.integers(0, 3),
    )


def noise(command: Command) -> Words:
    names = [flag.name for flag in command.flags] or ["--none"]
    name = st.sampled_from([*names, *(flag[:-1] for flag in names), *(flag[1:] for flag in names)])
    word = st.one_of(st.sampled_from([*PLAIN, *NUMBERS, *ODD]), st.text(max_size=3))
    pieces = st.one_of(word, name, st.builds("{}={}".format, name, word))
    return st.lists(pieces, max_size=4)


def any_lines(command: Command) -> Words:
    """Lines that are right, nearly right, or neither."""
    right, nearly = lines(command, fitting), lines(command, nearly_fitting)
    return st.one_of(
        nearly,
        noise(command),
        st.tuples(right, noise(command)).map(joined),
        st.tuples(noise(command), right).map(joined),
    )


def joined(parts: Iterable[list[str]]) -> list[str]:
    return [word for part in parts for word in part]


def by_click(command: Command, words: list[str]) -> dict[str, Any]:
    return click_command(command).make_context("a command", list(words)).params


def assert_alike(command: Command, words: list[str]) -> None:
    """The hot lane may leave a line to click; it may not read another thing in it."""
    values = parse(command, words)
    if values is not None:
        assert typed(values) == typed(by_click(command, words)), words


def typed(values: dict[str, Any]) -> dict[str, Any]:
    """1 and True are equal for Python, but not alike."""
    return {key: (type(found), found) for key, found in values.items()}


def examples_of(path: str) -> int:
    return 30 if path in ALL_COMMANDS else 300


@pytest.mark.parametrize("path", COMMANDS)
def test_what_the_hot_lane_reads_click_reads_alike(path: str):  # T-19
    command = COMMANDS[path]

    @settings(max_examples=examples_of(path), deadline=None)
    @given(any_lines(command))
    def check(words: list[str]) -> None:
        assert_alike(command, words)

    check()


@pytest.mark.parametrize("flag", EVERY_KIND.flags, ids=lambda flag: flag.key)
def test_no_odd_value_is_read_in_two_ways(flag: Flag):  # T-19
    alone = Command("One flag.", lambda **given: 0, example="ddx alone", flags=(flag,))
    for value in nearly_fitting(flag) if flag.kind != "switch" else [*PLAIN, *ODD]:
        for words in ([flag.name, value], [flag.name, value, flag.name, value]):
            assert_alike(alone, words)


@pytest.mark.parametrize("path", COMMANDS)
def test_a_plain_line_never_needs_click(path: str):  # T-19
    command = COMMANDS[path]

    @settings(max_examples=examples_of(path) // 2, deadline=None)
    @given(lines(command, fitting))
    def check(words: list[str]) -> None:
        assert parse(command, words) is not None
        assert_alike(command, words)

    check()


@pytest.mark.parametrize("path", COMMANDS)
def test_what_is_required_is_missed_by_both(path: str):
    command = COMMANDS[path]
    needed = {argument.name: ["word"] for argument in command.arguments if argument.required}
    needed |= {flag.name: [flag.name, fitting(flag)[0]] for flag in command.flags if flag.required}
    for missing in needed:
        words = joined(part for name, part in needed.items() if name != missing)
        assert parse(command, words) is None
        with pytest.raises(click.UsageError, match="Missing"):
            by_click(command, words)
