"""One run: what it works with, what was asked of it, and how far it has come."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ddx.execution.budget import spent_on
from ddx.execution.orders import is_spent, tightened
from ddx.values import changed, value
from helix.actions.check import state_hash
from helix.policy import progress as steps
from helix.policy.model import Action, Progress
from helix.supervisor.bench import Bench
from helix.supervisor.blockers import Blocker
from helix.supervisor.context import EVERY, write_context
from helix.supervisor.reviews import forget, read_promises
from helix.supervisor.view import Look, read_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from ddx.execution.model import Bead, Idle, Limits, Outcome
    from ddx.execution.orders import Orders
    from ddx.execution.work import Site
    from helix.actions.scope import Scope
    from helix.actions.upstream import Memory
    from helix.desk import Agent, Desk
    from helix.meter import Meter
    from helix.policy.model import Candidate, Decision, Rules, View
    from helix.slider import Slider
    from helix.supervisor.journal import Journal
    from helix.supervisor.notify import Bell
    from helix.supervisor.state import StateFile
    from helix.work import BuildPolicy


@value
class Plan:
    """What a person asked of a run."""

    rules: Rules
    orders: Orders
    slider: Slider
    reviews: bool = True
    review_threshold: int = 0
    orphan_threshold_s: float = 7200.0
    watch: bool = False
    workers: int = 1


@value
class RunEnd:
    """Why a run ended, and how its command ends (C-2)."""

    reason: str
    exit_code: int = 0
    decision: Decision | None = None


@value
class Flight:
    """One attempt that is under way, and what it was selected with."""

    number: int
    beads: tuple[Candidate, ...]
    agent: Agent
    began_at: str
    seen: Mapping[str, Mapping[str, str]]
    """For each bead, the hashes of its documents."""
    policy: BuildPolicy

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(bead.id for bead in self.beads)


class Run:
    """Mutable, and changed by the loop's own thread alone; attempts fly in others."""

    def __init__(
        self,
        desk: Desk,
        plan: Plan,
        *,
        journal: Journal,
        meter: Meter,
        state: StateFile,
        open_site: Callable[[], Site],
        scope: Scope,
        confirm: Callable[[str], bool] | None = None,
        bench: Bench | None = None,
        bell: Bell | None = None,
    ) -> None:
        self.desk = desk
        self.plan = plan
        self.journal = journal
        self.meter = meter
        self.state = state
        self.open_site = open_site
        self.confirm = confirm
        """Asks the person at the terminal; None: there is none (S-34)."""
        self.scope = scope
        self.bench = bench or Bench()
        self.bell = bell
        """Tells people who are not looking (S-26a)."""
        self.progress = Progress()
        self.flights: dict[Future[Outcome | Idle], Flight] = {}
        self.landed: dict[str, Flight] = {}
        """Attempts of this run that wait for their review."""
        self.blockers: dict[str, Blocker] = {}
        self.unclosed: dict[str, str] = {}
        """Beads that are over and could not be closed, and why: said at the first look only."""
        self.spent_s: dict[str, float] = {}
        self._memory: Memory = {}
        self.context = ""
        self._context_of = ("", 0)
        self.winding_down = False
        self._doing = ""
        """What the loop's own thread is at, besides starting attempts and waiting for them."""
        self._mutex = threading.Lock()

    @property
    def site(self) -> Site:
        return self.desk.site

    def look(self) -> Look:
        busy = [bead for flight in self.flights.values() for bead in flight.ids]
        return Look(self.desk, self.scope, busy=busy, edited=self.bench.edited, memory=self._memory)

    def view(self, look: Look) -> View:
        return read_view(look, state=state_hash(self.site, self.scope))

    @property
    def is_counted_out(self) -> bool:
        """The cycles that were asked for are done."""
        most = self.plan.rules.max_cycles
        return bool(most) and self.progress.completed >= most

    def goes_beside(self, decision: Decision) -> bool:
        """May it be done while attempts fly? Another build, or the review that is owed."""
        if decision.action is Action.REVIEW:
            return decision.target == self.progress.pending_review
        return decision.action is Action.BUILD

    @contextmanager
    def asking(self, agent: Agent, *, reviews: bool) -> Iterator[None]:
        """Inside, this agent is the one that builds or reviews; another may be parked (X-8)."""
        own = self.desk
        self.desk = changed(own, reviewer=agent) if reviews else changed(own, builder=agent)
        try:
            yield
        finally:
            self.desk = own

    @property
    def is_spent(self) -> bool:
        """Has the run used up its budget (X-7)?"""
        return is_spent(self.plan.orders, self.meter.usage)

    def is_parked(self, agent: Agent) -> bool:
        """Has it met its usage limit? Then nothing was tried at all."""
        return self.meter.is_parked(agent.harness)

    def refresh_context(self, look: Look, *, now: bool = False) -> None:
        """At the start, for another epic, and after every few completed cycles (S-30)."""
        made_of = (self.progress.focus, self.progress.completed // EVERY)
        if now or made_of != self._context_of:
            self.context = write_context(look, focus=self.progress.focus)
            self._context_of = made_of

    def limits(self, beads: Sequence[Bead]) -> Limits:
        """What one attempt may use of the run's budget and of its beads' own (X-7)."""
        budget = self.site.settings.budget
        return tightened(
            self.plan.orders,
            self.meter.usage,
            spent=spent_on(self.site.project, beads),
            usd=budget.bead_usd or 0,
            tokens=budget.bead_tokens or 0,
        )

    def skip(self, bead: Candidate, reason: str, *, refs: tuple[str, ...] = ()) -> None:
        """Said, and remembered for the report; blocked outweighs skipped."""
        self.journal.remark(f"{bead.id} is left alone: {reason}")
        self.journal.note("skipped", bead=bead.id, reason=reason)
        if bead.id not in self.blockers:
            self.blockers[bead.id] = Blocker(
                bead.id,
                bead.title,
                reason,
                attempts=bead.attempts,
                seconds=self.spent_s.get(bead.id, 0.0),
                refs=refs,
            )

    def take_up(self, bead_ids: Sequence[str]) -> None:
        """They are tried again, or may be: what was in their way is no longer told."""
        for bead_id in bead_ids:
            self.blockers.pop(bead_id, None)

    def owe_landed(self) -> None:
        """What landed and was promised a review, by this run or by one that died (S-17)."""
        if not self.plan.reviews:
            return
        promises = read_promises(
            self.site.project,
            threshold=self.plan.review_threshold,
            flying=[flight.policy.attempt for flight in self.flights.values()],
            landed=lambda attempt: self.bench.landed(self.site, attempt),
        )
        for attempt in promises.lost:
            said = f"attempt {attempt} was to be reviewed, and cannot be: its record is gone"
            self.journal.say(said)
            self.journal.note("review", attempt=attempt, verdict="lost")
        for attempt in (*promises.void, *promises.lost):
            forget(self.site.project, attempt)
        for attempt in promises.owed:
            self.progress = steps.owe_review(self.progress, attempt)

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Inside, the state names this phase; afterwards again what flies (S-24)."""
        before, self._doing = self._doing, phase
        try:
            self.write()
            yield
        finally:
            self._doing = before
        self.write()

    def write(self, **fields: Any) -> None:
        """The state as of this boundary (S-24); attempts write it when they begin."""
        with self._mutex:
            before = self.state.now
            after = self.state.put(**{**self._fields(), **fields})
        if self.bell is not None:
            self.bell.hear(before, after)

    def _fields(self) -> dict[str, Any]:
        progress, usage = self.progress, self.meter.usage
        flights, blockers = list(self.flights.values()), list(self.blockers.values())
        return {
            "phase": self._doing or ("building" if flights else "between cycles"),
            "current_bead": flights[0].ids[0] if flights else "",
            "current_attempt": flights[0].policy.attempt if flights else "",
            "focused_epic": progress.focus,
            "attempted_cycles": progress.attempted,
            "completed_cycles": progress.completed,
            "harness_faults": progress.harness_faults,
            "skipped": {it.bead: it.reason for it in blockers if not it.is_blocked},
            "total_tokens": usage.tokens,
            "total_cost_usd": usage.cost_usd,
            "pending_review": progress.pending_review,
            "owed_reviews": progress.owed_reviews,
            "blockers": tuple(it.as_row() for it in blockers),
            "attempts": tuple(
                {"attempt": it.policy.attempt, "beads": list(it.ids), "since": it.began_at}
                for it in flights
            ),
            "parked_until": self.meter.parked_until(),
        }
