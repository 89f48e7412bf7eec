"""The only source of time; a FakeClock takes its place in tests."""

from __future__ import annotations

import time

from ddx.base.instants import Instant


class Clock:
    """Real time: nanoseconds since 1970, and real waiting."""

    def now_ns(self) -> int:
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def stamp(self, *, after_s: float = 0) -> str:
        """Now, or so many seconds later, as RFC 3339 in UTC (C-4)."""
        return Instant.at(self.now_ns() + int(after_s * 1e9)).text
