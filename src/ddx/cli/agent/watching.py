"""What a person sees of attempts as they happen, and what Ctrl-C means (C-2)."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ddx.cli.place import tell
from ddx.console.screen import dim
from ddx.text import cut, shown_on_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.execution.model import Happening
    from ddx.supervision import StopRequest

_QUIET = frozenset({"agent-said", "agent-tool", "agent-notice", "agent-usage", "agent-started"})
"""Told only where somebody asks for all of it: `ddx agent log`."""

_WIDTH = 100
INTERRUPTED, TERMINATED = 130, 143


class Narrator:
    """One line an event on stderr; several workers take turns."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()

    def hear(self, happening: Happening) -> None:
        if happening.kind in _QUIET or not happening.text:
            return
        at = happening.at[11:19]
        text = cut(shown_on_one_line(happening.text), _WIDTH)
        with self._mutex:
            name = happening.kind.replace("-", " ")
            print(dim(f"{at} {happening.attempt[-6:]}"), f"{name}: {text}", file=sys.stderr)


class Interruption:
    """First Ctrl-C: finish what runs. Second: interrupt it. Third: kill it.

    Where there is nothing to wind down, the first one interrupts.
    """

    def __init__(self, stop: StopRequest, wind_down: Callable[[], None] | None) -> None:
        self._stop = stop
        self._wind_down = wind_down
        self._asked = 0
        self.code = 0

    def on_interrupt(self, number: int, frame: object) -> None:
        self._asked += 1
        if self._asked == 1 and self._wind_down is not None:
            self._wind_down()
            tell("finishing what is running; Ctrl-C again interrupts it and keeps its work")
            return
        self.code = INTERRUPTED
        self._stop.ask()

    def on_terminate(self, number: int, frame: object) -> None:
        self.code = TERMINATED
        self._stop.ask()


@contextmanager
def interruptible(
    stop: StopRequest, wind_down: Callable[[], None] | None = None
) -> Iterator[Interruption]:
    """Our meaning of Ctrl-C and SIGTERM inside, the usual one again outside."""
    interruption = Interruption(stop, wind_down)
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, interruption.on_interrupt),
        signal.SIGTERM: signal.signal(signal.SIGTERM, interruption.on_terminate),
        signal.SIGHUP: signal.signal(signal.SIGHUP, interruption.on_terminate),
    }
    try:
        yield interruption
    finally:
        for number, old in before.items():
            signal.signal(number, old)
