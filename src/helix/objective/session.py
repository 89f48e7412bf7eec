"""What the phases of one `helix objective` share: the desk, the limits, how a person is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ddx.clock import stamp
from ddx.execution.budget import spent_on
from ddx.execution.orders import Ended, Stop, tightened
from ddx.instants import seconds_between
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.execution.model import Bead, Limits
    from ddx.execution.work import Site
    from helix.desk import Desk
    from helix.meter import Meter
    from helix.objective.orchestrator import Orchestrator
    from helix.policy.model import Rules

Choose: TypeAlias = "Callable[[str, tuple[str, ...]], str]"
"""Asks a person for one of these words, or for any where there are none; empty: no answer."""

RESUME = "go on with: helix objective resume"

_POLL_S = 0.25


@value
class Halt:
    """It cannot go on now, but it can be resumed."""

    reason: str
    exit_code: int


@value
class Wishes:
    """What a person decided beforehand; empty: they are asked, or it stops for them."""

    on_stall: str = ""
    answers: tuple[str, ...] = ()


@value
class Session:
    """One run of the driver."""

    desk: Desk
    orchestrator: Orchestrator
    meter: Meter
    rules: Rules
    explorers: int
    workers: int
    reviews: bool
    review_threshold: int
    wishes: Wishes
    open_site: Callable[[], Site]
    """One more for each attempt that runs beside another."""
    tell: Callable[[str], None]
    choose: Choose | None
    """None: nobody can be asked."""
    stop_asked: Callable[[], bool]

    @property
    def is_over(self) -> bool:
        """Somebody wants it to end: by a signal, or from a second terminal."""
        return bool(self.desk.site.stop.asked) or self.stop_asked()

    def interrupted(self) -> Halt:
        return Halt(f"interrupted while {self.orchestrator.state.lower()}; {RESUME}", 0)

    def halted(self) -> Halt | None:
        """Why nobody is asked for more: a person wants its end, or it may use no more."""
        return self.interrupted() if self.is_over else self.spent()

    def spent(self) -> Halt | None:
        """Nobody is asked once the budget is used up or the harness is broken (X-7, X-8)."""
        step = self.meter.step()
        if not isinstance(step, Stop):
            return None
        return Halt(f"{step.reason}; {RESUME}", 4 if step.ended is Ended.DENIED else 1)

    def limits(self, beads: Sequence[Bead]) -> Limits:
        """What one attempt may use of the whole budget and of its bead's own (X-7)."""
        site = self.desk.site
        budget = site.settings.budget
        return tightened(
            self.meter.orders,
            self.meter.usage,
            spent=spent_on(site.project, beads),
            usd=budget.bead_usd or 0,
            tokens=budget.bead_tokens or 0,
        )

    def later(self, seconds: float) -> str:
        return stamp(self.desk.site.clock.now_ns() + int(seconds * 1e9))

    def rest(self, until: str) -> None:
        """Until an instant; a person may end the wait at any moment."""
        clock = self.desk.site.clock
        while not self.is_over:
            left_s = seconds_between(clock.stamp(), until)
            if left_s is None or left_s <= 0:
                return
            clock.sleep(min(left_s, _POLL_S))
