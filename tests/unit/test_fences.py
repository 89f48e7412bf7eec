"""Which lines of a Markdown text are code: the seven readers agree, for they are one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.attempts.prompt import binding_parts
from ddx.base.text import FencedBlock, Fences, MarkdownText, heading_level, opening
from ddx.documents.page import prose
from ddx.tracker.criteria import lines_of
from helix.objective.agents import find_object
from helix.passes.reply import fenced_lists, fenced_object

_AS_A_PATTERN = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}+|~{3,}+)(.*)")


def code_of(text: str) -> list[int]:
    fences = Fences()
    return [n for n, line in enumerate(text.split("\n"), 1) if fences.is_code(line)]


@pytest.mark.parametrize(
    ("line", "marks"),
    [
        ("```", "```"),
        ("````json", "````"),
        ("  ~~~~ text `with` spans", "~~~~"),
        ("> - 12. ```sh", "```"),
        ("\t* ```", "```"),
        ("``` one line ```", ""),
        ("words ```", ""),
        ("-```", ""),
        ("1234567890. ```", ""),
        ("``", ""),
        ("- > ```", ""),
    ],
)
def test_marks_open_a_fence_where_a_block_may_begin(line, marks):
    assert opening(line) == marks


@given(st.text("`~ \t>-*+1.)a", max_size=12))
def test_the_same_is_opened_as_by_the_pattern(line):
    found = _AS_A_PATTERN.match(line)
    expected = found[1] if found and not (found[1][0] == "`" and "`" in found[2]) else ""
    assert opening(line) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```\nb\n```\nc", [2, 3, 4]),
        ("```\n~~~\nb\n```\nc", [1, 2, 3, 4]),
        ("````\n```\n````\nc", [1, 2, 3]),
        ("```\n``` json\n```\nc", [1, 2, 3]),
        ("- ```\n  b\n  ```\nc", [1, 2, 3]),
        ("> ```\n> b\n> ```\nc", [1, 2, 3]),
        ("a\n```\nb", [2, 3]),
    ],
)
def test_a_fence_reaches_to_its_own_end(text, code):
    assert code_of(text) == code


@given(st.text("`~ \n>-a", max_size=60))
def test_what_is_prose_is_what_is_no_code(text):
    shown = prose(text).split("\n")
    assert all(shown[n - 1] == "" for n in code_of(text))
    assert [line for line in shown if line] == [
        line for n, line in enumerate(text.split("\n"), 1) if line and n not in code_of(text)
    ]


def test_blocks_stand_for_themselves():
    text = "```json\n[1]\n```\n    ```\n    [2]\n    ```\n- ```\n  [3]\n  ```\n~~~\n[4]"
    assert [*MarkdownText(text).blocks()] == [
        FencedBlock("json", "[1]", is_closed=True),
        FencedBlock("", "[4]", is_closed=False),
    ]


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```json\n{}\n```\n", "{}"),
        ("~~~\n{}\n~~~", "{}"),
        ("````\n```\n````", "```"),
        ("so:\n```\n{}\n```", ""),
        ("```\n{}\n```\nand", ""),
        ("```\na\n```\n```\nb\n```", ""),
        ("```\n{}", ""),
        ("", ""),
    ],
)
def test_a_text_is_one_block_or_none(text, inside):
    assert MarkdownText(text).sole_block() == inside


@pytest.mark.parametrize(
    ("line", "level"), [("# a", 1), ("###### a", 6), ("####### a", 0), ("#a", 0), ("#", 1), ("", 0)]
)
def test_a_heading_has_up_to_six_marks_and_a_space(line, level):
    assert heading_level(line) == level


TRICKY = "~~~\n```\n# Constraints\n```\n~~~\n"
"""A fence that shows a fence: whoever only counts marks ends up inside out."""


def test_each_reader_sees_a_fence_within_a_fence():
    assert [line for _, line in lines_of(f"{TRICKY}- docs/a.md exists") if line] == [
        "docs/a.md exists"
    ]
    assert binding_parts(f"{TRICKY}# Requirements\nb") == "# Requirements\nb"
    shown = '````\n```json\n{"a": 1}\n```\n````\n```json\n{"b": 2}\n```\n'
    assert fenced_object(shown) == {"b": 2}
    assert find_object(shown) == {"b": 2}
    assert fenced_lists("```\n[1]\n```\n~~~json\n[2]\n~~~\n```\n[3]") == [[1], [2]]
