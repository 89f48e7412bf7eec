"""A line of numbers in plain characters, whatever the numbers and the room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.console.chart import HEIGHT, line_chart

DAYS = {"first": "2026-03-27 10:12", "last": "2026-03-28 14:05"}
numbers = st.floats(-1e12, 1e12)


def test_the_highest_is_on_top_and_the_ends_are_named():
    assert line_chart([52, 50, 40], width=60, **DAYS) == [
        "52.0 |*.....",
        "     |      ..........*",
        "     |                 ..",
        "48.0 |                   ..",
        "     |                     ..",
        "     |                       ...",
        "44.0 |                          ..",
        "     |                            ..",
        "     |                              ..",
        "40.0 |                                .*",
        "     +----------------------------------",
        "      2026-03-27 10:12  2026-03-28 14:05",
    ]


def test_one_value_is_one_point():
    assert line_chart([5], width=40, **DAYS) == [
        "  |",
        "5 |*",
        "  |",
        "  +-",
        "   2026-03-27 10:12",
    ]


@pytest.mark.parametrize("count", [2, 3, 500])
def test_equal_values_are_a_level_line(count):
    drawn = line_chart([0.1] * count, width=40)
    assert [line.partition("|")[0].strip() for line in drawn[:3]] == ["", "0.1", ""]
    assert set(drawn[1].partition("|")[2]) <= {"*", "."}
    assert (drawn[0].strip(), drawn[2].strip()) == ("|", "|")


def test_more_values_than_columns_are_drawn_as_means_and_it_says_so():
    drawn = line_chart([float(n % 10) for n in range(600)], width=50)
    assert drawn[-1].strip().startswith("each point is the mean of about 15.8 values")
    assert max(map(len, drawn)) <= 50


def test_names_that_would_collide_stand_on_two_lines():
    drawn = line_chart([1.0, 2.0], width=30, **DAYS)
    assert [line.strip() for line in drawn[-2:]] == list(DAYS.values())
    assert max(map(len, drawn)) <= 30


@given(st.lists(numbers, min_size=1, max_size=200), st.integers(32, 200))
def test_every_chart_fits_and_has_its_extremes_on_its_edges(values, width):
    drawn = line_chart(values, width=width, **DAYS)
    assert max(map(len, drawn)) <= width
    assert all(line.isascii() for line in drawn)
    rows = [line.partition("|")[2] for line in drawn if "|" in line]
    assert len(rows) in (3, HEIGHT)
    if len(rows) == HEIGHT:
        assert "*" in rows[0] and "*" in rows[-1]
    if len(values) == 1:
        assert "".join(rows).strip() == "*"
