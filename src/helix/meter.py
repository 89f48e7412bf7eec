"""What a run has used and how its harnesses do: the gate before every call (X-7, X-8)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ddx.clock import stamp
from ddx.execution.budget import usage_of
from ddx.execution.draining import PARKED_S
from ddx.execution.health import Health
from ddx.execution.model import Facts, Failed, Status
from ddx.execution.orders import Standing, next_step
from ddx.harnesses.base import End
from ddx.values import changed

if TYPE_CHECKING:
    from ddx.clock import Clock
    from ddx.execution.model import Happening, Outcome
    from ddx.execution.orders import Orders, Step
    from ddx.harnesses.base import Reply, Usage

FAULTS = frozenset({End.AUTH, End.RATE_LIMITED, End.API_ERROR, End.DENIED})
"""The harness's own, whoever was asked for what: its health decides how it goes on (X-8)."""


class Meter:
    """Counts by what the calls themselves tell, so that no token is lost and none counted twice."""

    def __init__(self, orders: Orders, clock: Clock) -> None:
        self.orders = orders
        self._clock = clock
        self._mutex = threading.Lock()
        self._standing = Standing(orders.harness)

    @property
    def usage(self) -> Usage:
        return self._standing.usage

    def hear(self, happening: Happening) -> None:
        """Every call of an agent ends with this event, whatever it was for (S-28)."""
        used = happening.data.get("usage")
        if happening.kind == "agent-ended" and isinstance(used, dict):
            with self._mutex:
                usage = self._standing.usage + usage_of(used)
                self._standing = changed(self._standing, usage=usage)

    def attempted(self, harness: str, outcome: Outcome) -> None:
        """How an attempt ended, for the health of its harness."""
        or_until = stamp(self._clock.now_ns() + int(PARKED_S * 1e9))
        with self._mutex:
            before = self._standing.health.get(harness, Health())
            after = before.after(outcome, or_until=or_until)
            health = {**self._standing.health, harness: after}
            self._standing = changed(self._standing, health=health)

    def called(self, harness: str, reply: Reply) -> None:
        """The same for a call that was no attempt."""
        facts = Facts("", (), harness, "", "", "", reply=reply, reason=reply.reason)
        is_fault = reply.end in FAULTS
        self.attempted(
            harness, Failed(facts, Status.HARNESS_FAULT if is_fault else Status.AGENT_FAILED)
        )

    def step(self, harness: str = "") -> Step:
        """May this harness, the builder's without a name, be given more to do now?"""
        with self._mutex:
            standing = self._standing
        if harness:
            standing = changed(standing, harness=harness)
        return next_step(self.orders, standing, now=self._clock.stamp())

    def is_parked(self, harness: str) -> bool:
        health = self._standing.health.get(harness, Health())
        return health.awake(self._clock.stamp()).is_parked

    def parked_until(self) -> str:
        """When the builder may go on that has reached its limit; empty: it has not."""
        health = self._standing.health.get(self._standing.harness, Health())
        return health.awake(self._clock.stamp()).parked_until
