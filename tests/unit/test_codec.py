"""A row survives reading and writing byte for byte, in the form that Go writes (T-1, T-2)."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.go_json import EDGE_ORDER, Spelled, by_bytes, marshalled_row

from ddx.tracker.row import decode, encode, revision_of


def is_no_pair(text: str) -> bool:
    """Two halves of a pair side by side are one character once they were read."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass") == text


MARKS = st.one_of(
    st.sampled_from(list('<>&\u2028\u2029"\\/\b\f\n\r\t\x00\x1f\x7f\x85\ud800\udfff😀é队')),
    st.characters(exclude_categories=()),
)
TEXTS = st.text(MARKS, max_size=8).filter(is_no_pair)
NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
).map(Spelled)


def json_values(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
        max_leaves=12,
    )


def rows(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    edge = st.dictionaries(st.sampled_from(EDGE_ORDER) | TEXTS, values, max_size=7)
    return st.builds(
        lambda known, others, bead_id: {**others, **known, "id": bead_id},
        st.fixed_dictionaries({}, optional={"dependencies": st.lists(edge | values, max_size=3)}),
        st.dictionaries(TEXTS, values, max_size=6),
        TEXTS.filter(bool),
    )


PLAIN = st.none() | st.booleans() | TEXTS
SPELLED_ROWS = rows(json_values(PLAIN | NUMBERS))
OUR_ROWS = rows(
    json_values(PLAIN | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
)


@settings(max_examples=100, deadline=None)
@given(SPELLED_ROWS)
def test_reading_and_writing_any_row_in_canonical_form_is_identity(row):  # T-1, T-2
    line = marshalled_row(row)
    assert encode(decode(line)) == line


@settings(max_examples=100, deadline=None)
@given(OUR_ROWS)
def test_any_row_we_write_is_in_canonical_form_and_reads_back_equal(row):  # T-1
    line = encode(in_order(row))
    assert line == marshalled_row(row)
    assert decode(line) == row
    assert json.loads(line) == row


def in_order(found: Any) -> Any:
    """Who makes a nested value sorts its keys: we keep them as they come."""
    if isinstance(found, list):
        return [in_order(item) for item in found]
    if isinstance(found, dict):
        return {key: in_order(found[key]) for key in by_bytes(found)}
    return found


@pytest.mark.parametrize(
    "number",
    [
        "1.50",
        "1e5",
        "1E+05",
        "-0",
        "-0.0",
        "0.1",
        "1e400",
        "-1e-400",
        "123456789012345678901234567",
        "9007199254740993",
        "0",
        "-1",
        "2.000",
    ],
)
def test_a_number_is_written_as_it_was_read(number):  # T-1
    line = b'{"id":"app-1","x":[%s,{"y":%s}]}' % (number.encode(), number.encode())
    assert encode(decode(line)) == line


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("<b> & </b>", r"\u003cb\u003e \u0026 \u003c/b\u003e"),
        ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
        ('"quoted" \\ back', r"\"quoted\" \\ back"),
        ("line\nnext\ttab\rreturn", r"line\nnext\ttab\rreturn"),
        ("\b\f\x00\x1b", r"\b\f\u0000\u001b"),
        ("\x7f\x85é 队列 😀", "\x7f\x85é 队列 😀"),
        ("half \ud83d", r"half \ud83d"),
        ("$(rm) `x` ${y}", "$(rm) `x` ${y}"),
    ],
)
def test_text_is_escaped_as_go_escapes_it(text, stored):  # T-1
    line = f'{{"id":"app-1","title":"{stored}"}}'.encode()
    assert encode({"title": text, "id": "app-1"}) == line
    assert decode(line)["title"] == text


def test_a_row_of_the_family_keeps_every_byte():  # T-1, T-2
    line = (
        rb'{"claimed-pid":"4711","created_at":"2026-04-11T02:20:15.123456789Z","dependencies":'
        rb'[{"issue_id":"hx-1","depends_on_id":"hx-0","type":"blocks","created_at":'
        rb'"0001-01-01T00:00:00Z","metadata":"{}"}],"events":[{"actor":"erik","body":"{\"a\":1}",'
        rb'"created_at":"2026-04-11T02:20:15Z","kind":"cost","source":"","summary":"$1.50 \u003c 2"'
        rb'}],"execution-eligible":false,"id":"hx-1","labels":[" area:cli","helix"],"priority":2,'
        rb'"replaces":"","status":"open","title":"A \u0026 B","triage.tier_hint":1.50}'
    )
    assert encode(decode(line)) == line


def test_keys_are_sorted_and_an_edge_has_its_own_order():  # T-1
    edge = {"type": "blocks", "z": 1, "depends_on_id": "b", "metadata": {}, "issue_id": "a"}
    assert encode({"title": "T", "dependencies": [edge], "id": "a"}) == (
        b'{"dependencies":[{"issue_id":"a","depends_on_id":"b","type":"blocks","metadata":{},"z":1}]'
        b',"id":"a","title":"T"}'
    )


def test_encoding_leaves_the_row_as_it_is():
    edge = {"type": "blocks", "issue_id": "a"}
    row = {"title": "T", "id": "a", "dependencies": [edge]}
    encode(row)
    assert list(row) == ["title", "id", "dependencies"]
    assert list(edge) == ["type", "issue_id"]


def test_what_is_deep_but_can_be_read_can_be_written():  # T-2
    line = b'{"id":"app-1","x":%s1%s}' % (b'[{"y":' * 350, b"}]" * 350)
    assert encode(decode(line)) == line


def test_how_deep_a_row_may_be_does_not_depend_on_the_interpreter():  # T-11
    line = b'{"id":"app-1","x":%s1%s}' % (b"[" * 2000, b"]" * 2000)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        with pytest.raises(ValueError, match="nested too deeply"):
            decode(line)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'"app-1"', "not a JSON object"),
        (b'{"title":"T"}', "no id"),
        (b'{"id":""}', "no id"),
        (b'{"id":7}', "no id"),
        (b'{"id":"a"', "at character"),
        (b'{"id":"a"} {"id":"b"}', "more text after"),
        (b'{"id":"a","id":"b"}', "'id' stands twice"),
        (b'{"id":"a","x":{"y":1,"y":1}}', "'y' stands twice"),
        (b'{"id":"a","x":NaN}', "NaN is not JSON"),
        (b'{"id":"a","x":-Infinity}', "Infinity is not JSON"),
        (b'{"id":"a","x":01}', "at character"),
        (b'{"id":"a","x":"tab\there"}', "control character"),
        (b'{"id":"a","x":"\xff"}', "not UTF-8 at byte 16"),
        (b'\xef\xbb\xbf{"id":"a"}', "not JSON"),
        (b'{"id":"a","x":' + b"1" * 5000 + b"}", "4,000 digits"),
        (b'{"id":"a","x":' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
    ],
)
def test_what_is_no_row_is_refused_in_words(line, complaint):  # T-11
    with pytest.raises(ValueError, match=r"\w") as refused:
        decode(line)
    assert complaint.lower() in str(refused.value).lower()


def test_a_number_that_json_does_not_know_is_never_written():
    with pytest.raises(ValueError, match="no JSON number"):
        encode({"id": "app-1", "x": float("nan")})
    with pytest.raises(TypeError, match="set has no place"):
        encode({"id": "app-1", "x": {1}})


def test_a_revision_stands_for_the_bytes_of_a_row():  # T-10
    lines = [b'{"id":"a"}', b'{"id":"a","x":1}', b'{"id":"a","x":1.0}', b'{"id":"b"}']
    assert len({revision_of(line) for line in lines}) == len(lines)
    assert revision_of(lines[0]) == revision_of(encode({"id": "a"}))
