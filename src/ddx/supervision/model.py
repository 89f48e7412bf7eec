"""The words of supervision: what is allowed, who watches, and how it ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from ddx.values import value


class Stopped(StrEnum):
    """Who ended the process: it did itself, or we did and why."""

    BY_ITSELF = "by itself"
    TIMED_OUT = "timed out"
    STALLED = "stalled"
    INTERRUPTED = "interrupted"
    OVER_BUDGET = "over budget"
    AFTER_RESULT = "after its result"
    """It had said its last word and did not go."""


@value
class Bounds:
    """How long one program may take; without `idle_s` it may be silent and still."""

    wall_s: float
    idle_s: float = 0.0
    grace_s: float = 5.0
    """The longest pause between the rungs of the stop ladder."""
    result_grace_s: float = 10.0
    """How long it may stay after its last word."""


class Watch(Protocol):
    """Whoever wants the output. What it raises ends the program, and then goes on to our caller."""

    def output(self, chunk: bytes) -> None:
        """Some bytes of stdout, as they came."""

    def errors(self, chunk: bytes) -> None:
        """Some bytes of stderr."""

    def verdict(self) -> Stopped | None:
        """None: go on. AFTER_RESULT: it should go by itself soon. Any other: stop it now."""


class StopRequest:
    """A person's wish to stop, shared by all threads of a run; a signal handler may ask, too."""

    def __init__(self) -> None:
        self._asks: list[None] = []

    def ask(self) -> None:
        """Once: stop by the ladder. Again: kill at once."""
        self._asks.append(None)  # one step for the interpreter: no lock that a handler could meet

    @property
    def asked(self) -> int:
        return len(self._asks)


@value
class Supervised:
    """How a program ended; a negative code is a signal's number."""

    code: int
    stopped: Stopped
    seconds: float
    had_output: bool
    strays: int
    """Descendants that had to be ended after the program itself had gone."""
