"""What text may come in, and how text from outside is shown (T-12, T-23)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddx.base.errors import UsageError
from ddx.base.text import cut, listed, require_clean, shown

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
DIRECTION_MARKS = "\u061c\u200e\u200f"


def may_be_stored(mark: str) -> bool:
    return mark in "\n\t" or unicodedata.category(mark) not in ("Cc", "Cs")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "two\nlines\tand a tab",
        "\"quotes\" and 'apostrophes'",
        "$(rm -rf .) `whoami` ${HOME} \\n %s {}",
        "Größe, 队列, مرحبا, 👩‍🚀",
        "soft\u00adhyphen and no\u00a0break",
        "line\u2028separator",
        "right\u200fto left",
        "<script>alert('&')</script>",
        "x" * 100_000,
    ],
)
def test_any_language_quote_and_shell_word_is_accepted_as_it_is(text):  # T-12
    assert require_clean(text, what="title") is text


@pytest.mark.parametrize(
    ("text", "named", "place"),
    [
        ("a\x00b", r"\x00", 2),
        ("\x1b[31mred", r"\x1b", 1),
        ("bell\x07", r"\x07", 5),
        ("back\x08space", r"\x08", 5),
        ("line\r\nend", r"\x0d", 5),
        ("delete\x7f", r"\x7f", 7),
        ("csi\x9b31m", r"\x9b", 4),
        ("half\ud800", r"\ud800", 5),
        ("ok\n\tok\x0b", r"\x0b", 7),
    ],
)
def test_controls_escapes_and_nul_are_refused_and_named(text, named, place):  # T-12
    with pytest.raises(UsageError) as refused:
        require_clean(text, what="title")
    assert f"title holds the character {named} at position {place};" in refused.value.message
    assert refused.value.message.isprintable()


@settings(max_examples=300, deadline=None)
@given(ANY_TEXT)
def test_text_is_stored_exactly_if_no_mark_in_it_is_forbidden(text):  # T-12
    if all(map(may_be_stored, text)):
        assert require_clean(text, what="notes") == text
    else:
        with pytest.raises(UsageError):
            require_clean(text, what="notes")


@settings(max_examples=300, deadline=None)
@given(ANY_TEXT)
def test_what_is_shown_holds_no_control_and_no_direction_mark(text):  # T-23
    for mark in shown(text):
        assert may_be_stored(mark)
        assert unicodedata.bidirectional(mark) not in DIRECTIONS
        assert mark not in DIRECTION_MARKS
    assert not set("\n\t\r\x0b\x0c\x85") & set(shown(text, one_line=True))


def test_what_would_mislead_is_made_visible_and_the_rest_is_kept():  # T-23
    assert shown("a\x1b]0;title\x07b") == r"a\x1b]0;title\x07b"
    assert shown("pay\u202eeur") == r"pay\u202eeur"
    assert shown("two\nlines\tand 队列") == "two\nlines\tand 队列"
    assert shown("two\nlines\tand 队列", one_line=True) == "two\\nlines and 队列"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("short", 5, "short"), ("longer", 5, "long…"), ("longer", 1, "…"), ("", 0, "")],
)
def test_a_cut_is_marked_and_fits(text, width, expected):
    assert cut(text, width) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_words_are_listed_as_a_person_would(words, expected):
    assert listed(words) == expected
    assert listed(words, joiner="or") == expected.replace(" and ", " or ")
