"""What the phases of one `helix objective` share: the desk, the limits, how a person is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ddx.clock import stamp
from ddx.execution.budget import spent_on
from ddx.execution.orders import Begin, Ended, Stop, Wait, spoken_usage, tightened
from ddx.harnesses.base import End
from ddx.instants import seconds_between
from ddx.values import changed, value
from helix.desk import Agent
from helix.objective.events import PAUSED, UNPAUSED

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
    pause_asked: Callable[[], bool]

    @property
    def is_over(self) -> bool:
        """Somebody wants it to end: by a signal, or from a second terminal."""
        return bool(self.desk.site.stop.asked) or self.stop_asked()

    def interrupted(self) -> Halt:
        return Halt(f"interrupted while {self.orchestrator.state.lower()}; {RESUME}", 0)

    def cut_off(self, end: End) -> Halt | None:
        """Why a call that ended like this was not its agent's to end; None: it was."""
        if self.desk.site.stop.asked:
            return self.interrupted()
        if end is End.LIMIT_BUDGET:
            return Halt(f"the budget is spent: {spoken_usage(self.meter.usage)}; {RESUME}", 1)
        return None

    def gate(self, agent: Agent) -> Agent | Wait | Halt:
        """Who may be asked in the place of this agent now, if anybody (X-7, X-8)."""
        if self.is_over:
            return self.interrupted()
        match self.meter.step(agent.harness):
            case Begin(harness=harness):
                return agent if harness == agent.harness else Agent(harness)
            case Stop(ended=ended, reason=reason):
                return Halt(f"{reason}; {RESUME}", 4 if ended is Ended.DENIED else 1)
            case Wait() as wait:
                return wait

    def desk_for_asking(self, *, reviews: bool = False) -> Desk | Halt:
        """With whoever may be asked, and what they may use; a usage limit is waited out here."""
        desk = self.desk
        wanted = desk.reviewer if reviews else desk.builder
        while True:
            self.rest_while_paused()
            match self.gate(wanted):
                case Halt() as halt:
                    return halt
                case Wait(reason=reason, until=until):
                    self.tell(reason)
                    self.rest(until)
                case Agent() as agent:
                    heard = changed(
                        desk,
                        limits=self.limits(()),
                        on_call=lambda action, reply: self.meter.called(agent.harness, reply),
                    )
                    own = {"reviewer": agent} if reviews else {"builder": agent}
                    return changed(heard, **own)

    def limits(self, beads: Sequence[Bead]) -> Limits:
        """What one call may use of the whole budget and, for beads, of their own (X-7)."""
        site = self.desk.site
        budget = site.settings.budget
        return tightened(
            self.meter.orders,
            self.meter.usage,
            spent=spent_on(site.project, beads),
            usd=budget.bead_usd or 0 if beads else 0,
            tokens=budget.bead_tokens or 0 if beads else 0,
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

    def rest_while_paused(self) -> None:
        """Nothing is begun until a person lets it go on, or wants its end (S-26)."""
        if not self.pause_asked() or self.is_over:
            return
        self.orchestrator.note(PAUSED)
        self.tell("paused; go on with: helix resume")
        while self.pause_asked() and not self.is_over:
            self.desk.site.clock.sleep(_POLL_S)
        self.orchestrator.note(UNPAUSED)
