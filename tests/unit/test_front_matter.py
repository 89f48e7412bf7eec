"""The head of a document is read as YAML would read it, only faster (G-1, G-10)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ddx.documents.page import BrokenFrontMatter, line_of, lines_of, read, split

# The law: both readers agree

keys = st.sampled_from(["id", "ddx", "depends_on", "a", "b", "c-d", "_e", "k1"])
PLAIN = (
    *("x", "TD-001", "two words", "", "007", "~", "null", "=", "<<", "...", "12:30", "a,b"),
    *("a[1]", "https://example.invalid/x#y", "x#y", "é 队", "'q r'", '"q"', "''", "[a, b]"),
    *("[]", "[ ]", "[a b, 'c d', \"e\"]"),
)
ODD = (
    *("# c", "x # c", "x: y", "x:", "|", ">", "&a x", "*a", "[a,]", "['a, b']", '"a\\n"'),
    *("'it''s'", "- a", "-a", "? a", "{a: b}", "[[a], b]", "[a: b]", '"open', "x\ty", "%", "@x"),
    *("`x`", "!t x"),
)
plain = st.sampled_from(PLAIN)
odd = st.sampled_from(ODD) | st.text(
    "ab1 -:#,[]{}'\"\\&*!|>%@`?._=~é\u00a0\u2028\x85\t\x01", max_size=8
)
scalars = st.one_of(plain, plain, plain, plain, odd)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.dictionaries(keys, inner, max_size=4) | st.lists(scalars, min_size=1, max_size=3)
    ),
    max_leaves=8,
)
strange_lines = st.sampled_from(["", "  ", "# note", "   # note", "---x", "a", "-", "\t", " - x"])


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """Nearly always something like front matter, often with one thing out of place."""
    lines = _written(draw, draw(st.dictionaries(keys, trees, max_size=4)), 0)
    if draw(st.integers(0, 3)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(strange_lines | odd))
    if lines and draw(st.integers(0, 3)) == 0:
        n = draw(st.integers(0, len(lines) - 1))
        lines[n] = " " * draw(st.integers(0, 5)) + lines[n].lstrip(" ")
    return "".join(f"{line}\n" for line in lines)


def _written(draw: st.DrawFn, table: dict[str, Any], indent: int) -> list[str]:
    lines = []
    for key, inner in table.items():
        lead = f"{' ' * indent}{key}:"
        match inner:
            case dict():
                lines += [lead, *_written(draw, inner, indent + draw(st.sampled_from([1, 2, 4])))]
            case list():
                below = " " * (indent + draw(st.sampled_from([0, 2, 4])))
                lines += [lead, *(f"{below}- {item}" for item in inner)]
            case text:
                lines.append(f"{lead}{draw(st.sampled_from([' ', '  ']))}{text}")
    return lines


def read_by_yaml(block: str) -> dict[str, Any] | None:
    """None: YAML refuses it, or it is no table."""
    try:
        found = yaml.load(block, yaml.CBaseLoader)
    except yaml.YAMLError:
        return None
    if found is None or found == "":
        return {}
    return found if isinstance(found, dict) else None


@settings(max_examples=600, deadline=None)
@given(blocks())
@example("a:\nb: x\n")
@example("a:\n- x\n- y\nb:\n  - z\n")
@example("a:\n  b:\n    c: x\n  d:\ne: y\n")
@example("a:\n  - x\n    - y\n")
@example("a: x\na: y\n")
@example("a: x\n  y: z\n")
@example("  a: x\n  b: y\n")
@example("a: x\n...\n")
@example("a: \u2028x\n")
def test_whatever_is_read_is_what_yaml_reads(block):
    wanted = read_by_yaml(block)
    try:
        found = read(block)
    except BrokenFrontMatter:
        found = None
    assert found == wanted


@pytest.mark.parametrize(
    ("block", "table"),
    [
        ("", {}),
        ("# only a comment\n", {}),
        ("ddx:\n  id: TD-001\n", {"ddx": {"id": "TD-001"}}),
        ("ddx:\n  id: 007\n  parking_lot: true\n", {"ddx": {"id": "007", "parking_lot": "true"}}),
        ("ddx:\n  depends_on:\n  - A\n  - B\n", {"ddx": {"depends_on": ["A", "B"]}}),
        ("ddx:\n  depends_on: [A, 'B', \"C\"]\n", {"ddx": {"depends_on": ["A", "B", "C"]}}),
        ("ddx:\n  depends_on: []\n  status:\n", {"ddx": {"depends_on": [], "status": ""}}),
        ("title: 'A: b'\nid: x # why\n", {"title": "A: b", "id": "x"}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        ("a: {b: [c, {d: e}]}\n", {"a": {"b": ["c", {"d": "e"}]}}),
        ("a: &x [1]\nb: *x\n", {"a": ["1"], "b": ["1"]}),
    ],
)
def test_all_of_yaml_is_read_as_texts_lists_and_tables(block, table):
    assert read(block) == table


# Where it begins and ends


@pytest.mark.parametrize(
    ("text", "block", "first_line"),
    [
        ("", "", 1),
        ("# Title\n", "", 1),
        ("---", "", 1),
        ("----\na: b\n----\n", "", 1),
        (" ---\na: b\n---\n", "", 1),
        ("---\na: b\n---\n# Title\n", "a: b\n", 4),
        ("---\na: b\n---", "a: b\n", 4),
        ("--- \na: b\n--- \t\n# Title\n", "a: b\n", 4),
        ("---\n---\n# Title\n", "", 3),
        ("---\na: b\n--- c\nd: e\n---\n", "a: b\n--- c\nd: e\n", 6),
        ("---\na: b\n----\nd: e\n---\n---\n", "a: b\n----\nd: e\n", 6),
    ],
)
def test_front_matter_stands_between_two_lines_of_three_dashes(text, block, first_line):
    assert split(text) == (block, first_line)


def test_front_matter_without_an_end_is_broken():
    with pytest.raises(BrokenFrontMatter) as problem:
        split("---\nddx:\n  id: A\n\n# Title\n")
    assert (problem.value.line, "not closed" in problem.value.what) == (1, True)


# Damage (G-10)


@pytest.mark.parametrize(
    ("block", "line", "what"),
    [
        ("ddx:\n  id: [A\n", 3, "broken YAML"),
        ("ddx:\n\tid: A\n", 3, "broken YAML"),
        ("a: b\nc: d: e\n", 3, "broken YAML"),
        ('a: b\nc: "d\ne: f\n', 3, "broken YAML"),
        ("a: b\nc: *nobody\n", 3, "broken YAML"),
        ("a: b\nc: x\x01y\n", 3, "control character"),
        ("é: b\nc: x\x07y\n", 3, "control character"),
        ("- a\n- b\n", 2, "not a table"),
        ("just words\n", 2, "not a table"),
        ("a: b\n--- \nc: d\n", 3, "broken YAML"),
    ],
)
def test_what_is_broken_is_said_with_its_line_in_the_file(block, line, what):
    with pytest.raises(BrokenFrontMatter) as problem:
        read(block)
    assert what in problem.value.what
    assert problem.value.line == line


def bomb(levels: int, width: int) -> str:
    lines = ["l0: &l0 [x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * width)}]" for n in range(1, levels + 1)]
    return "\n".join(lines) + "\n"


@pytest.mark.timeout(60)  # more than linear, it would not end in minutes
@pytest.mark.parametrize(
    "block",
    [
        bomb(9, 9),
        bomb(40, 2),
        bomb(11, 1),
        "a: &a [*a]\n",
        "a: " + "[" * 90_000 + "]" * 90_000 + "\n",
        "a: " + "{b: " * 5_000 + "}" * 5_000 + "\n",
        "- " * 90_000 + "x\n",
        "".join(f"{' ' * n}k:\n" for n in range(600)),
        "a: '" + "x" * 200_000 + "'\n",
    ],
    ids=["wide", "deep", "many", "itself", "lists", "tables", "items", "indents", "long"],
)
def test_a_bomb_is_refused_at_once_and_does_no_harm(block):
    with pytest.raises(BrokenFrontMatter):
        read(block)


def test_a_few_aliases_are_fine():
    assert read(bomb(3, 3))["l1"] == [["x", "x", "x"]] * 3


@pytest.mark.timeout(60)  # more than linear, it would not end in minutes
@pytest.mark.parametrize(
    "block", ["a: x" + " " * 190_000 + "y\n", "a:" + " " * 190_000 + "\n", "a: [" + "x, " * 60_000]
)
def test_long_lines_are_read_in_time(block):
    try:
        assert read(block) == read_by_yaml(block)
    except BrokenFrontMatter:
        assert read_by_yaml(block) is None


# Lines of names


def test_a_name_is_found_as_a_whole_word_below_its_key():
    block = "ddx:\n  id: US-1\n  x: US-10\n  depends_on:\n    - US-10\n    - US-1\n    - US-100\n"
    assert list(lines_of(block, "depends_on:", ["US-10", "US-1", "US-100"])) == [6, 7, 8]
    assert list(lines_of(block, "depends_on:", ["missing", "US-1"])) == [5, 7]
    assert line_of(block, "id:") == 3
    assert line_of(block, "missing") == 2
