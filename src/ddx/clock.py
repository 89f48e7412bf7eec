"""The only source of time; a FakeClock takes its place in tests."""

from __future__ import annotations

import time


class Clock:
    """Real time: nanoseconds since 1970, and real waiting."""

    def now_ns(self) -> int:
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def stamp(self) -> str:
        """Now, as RFC 3339 in UTC (C-4)."""
        return stamp(self.now_ns())


SYSTEM_CLOCK = Clock()


def stamp(ns: int) -> str:
    """An instant as RFC 3339 in UTC, to the microsecond."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 1000:06d}Z"
