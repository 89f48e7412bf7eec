"""Reading the times that stand in files: RFC 3339 with or without fractions and offsets."""

from __future__ import annotations

import time

from ddx.base.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

LAST = "9999-99"
"""Sorts after every instant: where a time is missing or cannot be read."""
_DIGITS = str.maketrans("123456789", "000000000")


def sort_key(text: str) -> str:
    """A text that sorts as the instant does; `LAST` where there is none."""
    if len(text) >= 20 and text[-1] in "Zz" and text[10] in "Tt ":  # most are; datetime is slow
        seconds, _, fraction = text[:-1].partition(".")
        seconds = f"{seconds[:10]}T{seconds[11:]}"
        if _is_plain(seconds) and (fraction.isdigit() or not fraction):
            return f"{seconds}.{fraction:0<9}"
    moment = Instant(text).moment
    if moment is None:
        return LAST
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}000"


@value
class Instant:
    """A moment as a text gives it; the text may come from outside and be no time at all."""

    text: str

    @classmethod
    def at(cls, ns: int) -> Instant:
        """The moment so long after 1970, as RFC 3339 in UTC to the microsecond."""
        seconds, rest = divmod(ns, 1_000_000_000)
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        return cls(f"{whole}.{rest // 1000:06d}Z")

    @property
    def is_known(self) -> bool:
        """Whether the text is a time."""
        return self.sort_key != LAST

    @property
    def sort_key(self) -> str:
        """A text that sorts as the moment does, after all others where the text is no time."""
        return sort_key(self.text)

    @property
    def moment(self) -> datetime | None:
        """The moment in UTC, or None where the text is no time."""
        from datetime import UTC, datetime

        text = self.text.strip().upper()
        seconds, dot, tail = text.partition(".")
        digits = len(tail) - len(tail.lstrip("0123456789"))
        if dot:  # Go writes nine digits, Python reads six.
            text = f"{seconds}.{tail[: min(digits, 6)]:0<6}{tail[digits:]}"
        try:
            moment = datetime.fromisoformat(text)
            return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
        except (ValueError, OverflowError):
            return None

    def seconds_until(self, later: str) -> float | None:
        """How much later the other moment is; None where one of the two texts is no time."""
        start, end = _epoch_s(self.sort_key), _epoch_s(sort_key(later))
        return None if start is None or end is None else end - start


def _epoch_s(key: str) -> float | None:
    """Seconds since 1970 of a sort key, without `datetime`: `status` asks for every claim."""
    if key == LAST:
        return None
    year, month, day = int(key[:4]), int(key[5:7]), int(key[8:10])
    year -= month <= 2  # a year that begins in March has its leap day at its end
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - 719_468
    return 86_400 * days + 3600 * int(key[11:13]) + 60 * int(key[14:16]) + float(key[17:])


def in_words(seconds: float) -> str:
    """A duration for a person: 45 s, 12 min, 3 h, 5 days."""
    for unit, size, next_size in (("s", 1, 60), ("min", 60, 3600), ("h", 3600, 172_800)):
        if seconds < next_size:
            return f"{max(seconds, 0) / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def _is_plain(seconds: str) -> bool:
    return (
        seconds.translate(_DIGITS) == "0000-00-00T00:00:00"
        and "00" < seconds[5:7] < "13"
        and "00" < seconds[8:10] < "32"
        and seconds[11:13] < "24"
        and seconds[14:16] < "60"
        and seconds[17:] < "60"
    )
