"""What fits on a line of a terminal (C-5)."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.console.screen import columns, cut_to, table, wrapped

TEXTS = st.text(st.sampled_from("ab -价格é🚲"), max_size=60)


@pytest.mark.parametrize(("text", "wide"), [("", 0), ("abc", 3), ("价格", 4), ("a🚲", 3), ("é", 1)])
def test_letters_of_the_east_and_pictures_take_two_places(text: str, wide: int) -> None:
    assert columns(text) == wide


@given(TEXTS, st.integers(0, 30))
def test_what_is_cut_fits_and_says_so(text: str, room: int) -> None:
    kept = cut_to(text, room)
    assert columns(kept) <= room
    assert kept == text or not room or (kept.endswith("…") and text.startswith(kept[:-1]))


@given(TEXTS, st.integers(2, 30))
def test_what_is_broken_fits_and_loses_no_letter(text: str, room: int) -> None:
    lines = wrapped(text, room)
    assert all(columns(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_word_without_end_is_broken_in_no_time() -> None:
    begun = process_time()
    assert len(wrapped("é" * 60_000, 60)) == 1_000
    assert process_time() - begun < 1


def test_words_stay_whole_where_they_fit() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("see /a/very/long/path", 8) == ["see", "/a/very/", "long/pat", "h"]
    assert wrapped("see /a/very/long/path", 8, breaks_words=False) == ["see", "/a/very/long/path"]


def test_a_table_stands_straight_beside_wide_letters(capsys: pytest.CaptureFixture[str]) -> None:
    table(("id", "title", "state"), [("a-1", "价格", "open"), ("a-2", "price list", "é")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "id   title       state",
        "a-1  价格        open",
        "a-2  price list  é",
    ]
    assert {
        columns(line.split(word)[0])
        for line, word in zip(lines, ("state", "open", "é"), strict=True)
    } == {17}
