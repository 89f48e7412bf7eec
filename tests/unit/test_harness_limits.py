"""When a usage limit ends, by the words in which programs and services say it (X-8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddx.agents.harness import CallEnd
from ddx.agents.usage_limits import end_of_status, reset_after, reset_at, reset_time
from ddx.base.instants import Instant

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
IN_NEW_YORK = NOON.astimezone(ZoneInfo("America/New_York"))


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("Claude AI usage limit reached|1795000000", "2026-11-18T11:06:40Z"),
        ("resets_at: 1795000000", "2026-11-18T11:06:40Z"),
        ("reset 1795000000123", "2026-11-18T11:06:40Z"),
        ("Your quota will reset at 2026-11-18T11:06:40Z.", "2026-11-18T11:06:40Z"),
        ("try again at 2026-11-18T13:06:40.5+02:00", "2026-11-18T11:06:40Z"),
        ("Please try again in 20s.", "2026-11-16T12:00:20Z"),
        ("Please retry in 5400.5s.", "2026-11-16T13:30:00Z"),
        ("Your quota will reset after 3h20m5s..", "2026-11-16T15:20:05Z"),
        ("Retrying after 90000ms...", "2026-11-16T12:01:30Z"),
        ("Try again in 1 day 2 hours 30 minutes.", "2026-11-17T14:30:00Z"),
        ("try again in 2 hours and 5 minutes", "2026-11-16T14:05:00Z"),
        ("retry-after: 3600 s", "2026-11-16T13:00:00Z"),
        ("resets 3pm", "2026-11-16T15:01:00Z"),
        ("resets 9am", "2026-11-17T09:01:00Z"),
        ("resets 12pm", "2026-11-16T12:01:00Z"),
        ("resets 12:30am", "2026-11-17T00:31:00Z"),
        ("resets 3pm (America/New_York)", "2026-11-16T20:01:00Z"),
        ("resets Nov 18, 11:06am (UTC)", "2026-11-18T11:07:00Z"),
        ("or try again at Nov 18th, 2026 11:06 AM.", "2026-11-18T11:07:00Z"),
        ("Try again at 3:45 PM.", "2026-11-16T15:46:00Z"),
        ("resets Dec 1 at 11:59pm", "2026-12-02T00:00:00Z"),
    ],
)
def test_a_time_is_read_in_every_form_that_was_seen(text, until):
    assert reset_time(text, now=NOON) == until


def test_a_time_without_a_zone_is_the_machine_s():
    assert reset_time("Try again at 3:45 PM.", now=IN_NEW_YORK) == "2026-11-16T20:46:00Z"


def test_a_date_without_a_year_may_be_of_the_next():
    eve = datetime(2026, 12, 30, 12, 0, tzinfo=UTC)
    assert reset_time("resets Jan 2, 9am", now=eve) == "2027-01-02T09:01:00Z"
    assert reset_time("resets Dec 30, 9am", now=eve) == "2026-12-30T09:01:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "too many requests",
        "the build took 20s",
        "last seen 2026-11-18T11:06:40Z",
        "resets soon",
        "resets 13pm",
        "resets 10:75am",
        "resets Feb 30, 9am",
        "resets Foo 3, 9am",
        "resets 3pm (Nowhere/At_All)",
        "resets 3pm (../../etc/passwd)",
        "try again in 400 days",
        "limit reached|9999999999",
        "try again in 999999999999 days",
    ],
)
def test_where_no_believable_time_is_named_there_is_none(text):
    assert reset_time(text, now=NOON) == ""


@pytest.mark.parametrize("number", [None, "1795000000", True, float("nan"), 10**30, -(10**30)])
def test_a_field_that_holds_no_time_gives_none(number):
    assert reset_at(number, now=NOON) == ""


def test_seconds_since_1970_and_durations_are_exact():
    assert reset_at(1795000000, now=NOON) == "2026-11-18T11:06:40Z"
    assert reset_at(1795000000.9, now=NOON) == "2026-11-18T11:06:40Z"
    assert reset_after(90, now=NOON) == "2026-11-16T12:01:30Z"
    assert reset_after(1e300, now=NOON) == ""


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "resets",
                    "retry",
                    "again",
                    "in",
                    "at",
                    "after",
                    "until",
                    "and",
                    "|",
                    ",",
                    "(UTC)",
                ),
                *("3", "18th", "Nov", "2026", "11:06", "am", "PM", "h", "20m", "s", "1795000000"),
            ]
        )
        | st.text(max_size=6),
        max_size=12,
    ).map(" ".join),
    st.integers(-14, 14),
)
def test_any_text_gives_a_time_in_reach_or_none(text, hours):
    now = NOON.astimezone(timezone(timedelta(hours=hours)))
    until = reset_time(text, now=now)
    if until:
        moment = Instant(until).moment
        assert moment is not None
        assert moment - now < timedelta(days=32)


def test_a_long_text_takes_no_long_time():
    assert reset_time("again " * 200_000 + "in 20s", now=NOON) == ""


@pytest.mark.parametrize(
    ("status", "end"),
    [
        (401, CallEnd.AUTH),
        (403, CallEnd.AUTH),
        (402, CallEnd.RATE_LIMITED),
        (429, CallEnd.RATE_LIMITED),
        (400, CallEnd.API_ERROR),
        (500, CallEnd.API_ERROR),
        (529, CallEnd.API_ERROR),
    ],
)
def test_a_status_says_what_kind_of_refusal_it_is(status, end):
    assert end_of_status(status) is end
