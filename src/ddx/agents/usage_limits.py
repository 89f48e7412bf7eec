"""What a service says about its limits: which kind of refusal, and until when (X-8).

A time of day without a zone is the program's own, so it is read in the zone of `now`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from ddx.agents.harness import CallEnd
from ddx.base import Instant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

_FURTHEST = timedelta(days=32)
"""No window is longer than a month: what names a later time is no limit but a mistake."""

_MINUTE = timedelta(minutes=1)
_LONGEST = 4000
_AHEAD = r"(?:reset|retry|again|wait|until|available)"
_EPOCH = re.compile(rf"(?:{_AHEAD}\w*|limit reached)\W{{1,4}}(\d{{10}})(?:\d{{3}})?(?!\d)", re.I)
_INSTANT = re.compile(
    rf"{_AHEAD}\D{{0,40}}(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{{1,9}})?(?:Z|[+-]\d\d:\d\d))",
    re.I,
)
_UNITS: Mapping[str, float] = {
    word: seconds
    for words, seconds in (
        ("milliseconds millisecond ms", 0.001),
        ("seconds second secs sec s", 1),
        ("minutes minute mins min m", 60),
        ("hours hour hrs hr h", 3600),
        ("days day d", 86_400),
    )
    for word in words.split()
}
_AMOUNT = rf"(\d{{1,12}}(?:\.\d{{1,9}})?)\s?({'|'.join(_UNITS)})(?![a-z])"
_DURATION = re.compile(rf"{_AHEAD}[^\d\n]{{0,40}}?((?:{_AMOUNT}(?:,? and |,? )?){{1,5}})", re.I)
_CLOCK = re.compile(
    rf"{_AHEAD}s?(?: at| on)? "
    r"(?:(?P<month>[a-z]{3})[a-z]{0,6}\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?,?"
    r"(?: (?P<year>\d{4}),?)?(?: at)? )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)"
    r"(?: ?\((?P<zone>[a-z0-9_+./-]{1,64})\))?",
    re.I,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def end_of_status(status: int) -> CallEnd:
    """What an HTTP status of the model's service means for the call."""
    match status:
        case 401 | 403:
            return CallEnd.AUTH
        case 402 | 429:
            return CallEnd.RATE_LIMITED
        case _:
            return CallEnd.API_ERROR


def reset_time(text: str, *, now: datetime) -> str:
    """When a limit ends by what a service says of it, RFC 3339 in UTC; empty if it does not say.

    Knows seconds since 1970, RFC 3339, durations (3h20m5s, 2 hours 5 minutes, 5400.5s) and times
    of day with or without a date and a zone (3pm, Nov 18th, 2026 11:06 AM, 9am (Asia/Tokyo)).
    """
    text = text[:_LONGEST]
    try:
        moment = _epoch(text) or _instant(text) or _after(text, now) or _clock(text, now)
        return "" if moment is None else _shown(moment, now)
    except (ValueError, OverflowError, KeyError, OSError):  # no such day, no such zone
        return ""


def reset_at(epoch_s: object, *, now: datetime) -> str:
    """The same for a field that holds seconds since 1970."""
    if type(epoch_s) not in (int, float):
        return ""
    try:
        return _shown(datetime.fromtimestamp(epoch_s, UTC), now)  # type: ignore[arg-type]
    except (ValueError, OverflowError, OSError):
        return ""


def reset_after(seconds: float, *, now: datetime) -> str:
    """The same for a duration."""
    try:
        return _shown(now + timedelta(seconds=seconds), now)
    except (ValueError, OverflowError):
        return ""


def _shown(moment: datetime, now: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if moment - now < _FURTHEST else ""


def _epoch(text: str) -> datetime | None:
    found = _EPOCH.search(text)
    return datetime.fromtimestamp(int(found[1]), UTC) if found else None


def _instant(text: str) -> datetime | None:
    found = _INSTANT.search(text)
    return Instant(found[1]).moment if found else None


def _after(text: str, now: datetime) -> datetime | None:
    found = _DURATION.search(text)
    if found is None:
        return None
    amounts = re.findall(_AMOUNT, found[1], re.I)
    return now + timedelta(
        seconds=sum(float(number) * _UNITS[unit.lower()] for number, unit in amounts)
    )


def _clock(text: str, now: datetime) -> datetime | None:
    """The end of the next such minute, since seconds are left out.

    A date without a year is of this one, or of the next if it is long past.
    """
    found = _CLOCK.search(text)
    if found is None or not 1 <= int(found["hour"]) <= 12:
        return None
    zone: tzinfo | None = ZoneInfo(found["zone"]) if found["zone"] else now.tzinfo
    hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "pm" else 0)
    here = now.astimezone(zone)
    moment = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
    if found["month"]:
        month = _MONTHS.index(found["month"].lower()) + 1
        year = int(found["year"] or here.year)
        moment = moment.replace(year=year, month=month, day=int(found["day"]))
        if not found["year"] and here - moment > _FURTHEST:
            moment = moment.replace(year=year + 1)
    elif moment + _MINUTE <= here:
        moment += timedelta(days=1)
    return moment + _MINUTE
