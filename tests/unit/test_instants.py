"""Times as files hold them: any spelling of RFC 3339 sorts as the instant does (C-4, D-12)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddx.base.instants import LAST, Instant, in_words, sort_key

OFFSETS = st.just(UTC) | st.integers(-14 * 60, 14 * 60).map(
    lambda minutes: timezone(timedelta(minutes=minutes))
)
MOMENTS = st.datetimes(
    datetime(1, 1, 3), datetime(9999, 12, 29), timezones=OFFSETS, allow_imaginary=False
)


@st.composite
def spelled(draw: st.DrawFn) -> tuple[datetime, str]:
    """An instant and one of the ways to write it down."""
    moment = draw(MOMENTS)
    if draw(st.booleans()):
        moment = moment.replace(microsecond=0)
    digits = f"{moment.microsecond:06d}"
    fraction = draw(st.sampled_from([digits, digits + "000", digits.rstrip("0")]))
    if moment.utcoffset() == timedelta(0) and draw(st.booleans()):
        zone = draw(st.sampled_from("Zz"))
    else:
        minutes = int(moment.utcoffset().total_seconds()) // 60
        zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    between = draw(st.sampled_from("Tt ")) if zone in "Zz" else "T"
    seconds = moment.replace(tzinfo=None, microsecond=0).isoformat()
    dotted = f".{fraction}" if fraction else ""
    return moment, seconds.replace("T", between) + dotted + zone


@settings(max_examples=400, deadline=None)
@given(spelled(), spelled())
def test_keys_sort_as_the_instants_do(one, other):  # D-12
    (moment, text), (other_moment, other_text) = one, other
    assert (sort_key(text) < sort_key(other_text)) == (moment < other_moment)
    assert (sort_key(text) == sort_key(other_text)) == (moment == other_moment)
    assert sort_key(text) < LAST
    assert Instant(text).moment == moment


def test_nine_digits_are_told_apart():
    nine = "2026-01-02T03:04:05.123456789Z"
    assert sort_key("2026-01-02T03:04:05.123456788Z") < sort_key(nine)
    assert sort_key(nine) < sort_key("2026-01-02T03:04:05.12345679Z")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-13-01T00:00:00Z",
        "2026-01-02T25:00:00Z",
        "abcd-ef-ghTij:kl:mnZ",
        "2026-01-02T03:04:05.Z9",
        "2026-01-02T0a:04:05Z",
        "2026-01-00T03:04:05Z",
        "0001-01-01T00:00:00+14:00",
        "Z" * 40,
    ],
)
def test_what_is_no_time_sorts_last_and_is_none(text):
    assert Instant(text).moment is None
    assert sort_key(text) == LAST


def test_a_time_without_a_zone_is_utc():
    assert Instant("2026-01-02T03:04:05").moment == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert sort_key("2026-01-02") == sort_key("2026-01-02T00:00:00Z")


def test_the_clock_writes_what_we_read():  # C-4
    text = Instant.at(1_767_323_045_123_456_789).text
    assert text == "2026-01-02T03:04:05.123456Z"
    assert Instant(text).moment == datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)


def test_seconds_between_two_times():
    assert Instant("2026-01-02T03:04:05Z").seconds_until("2026-01-02T04:04:05.5+01:00") == 0.5
    assert Instant("2026-01-02T03:04:05Z").seconds_until("2026-01-01T03:04:05Z") == -86_400
    assert Instant("2026-01-02T03:04:05Z").seconds_until("soon") is None
    assert Instant("").seconds_until("2026-01-02T03:04:05Z") is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "0 s"),
        (0, "0 s"),
        (45, "45 s"),
        (60, "1 min"),
        (3599, "60 min"),
        (3600, "1 h"),
        (100_000, "28 h"),
        (172_800, "2 days"),
        (864_000, "10 days"),
    ],
)
def test_a_duration_in_words(seconds, words):
    assert in_words(seconds) == words


@given(MOMENTS, MOMENTS)
def test_the_time_between_is_what_the_calendar_says(earlier, later):
    found = Instant(earlier.isoformat()).seconds_until(later.isoformat())
    assert found == pytest.approx((later - earlier).total_seconds(), abs=0.001)
