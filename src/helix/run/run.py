"""One run: what it works with, what was asked of it, and how far it has come."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ddx.attempts import OwedReviews
from ddx.base import changed, value
from helix.passes import state_hash
from helix.project import Agent
from helix.run.build_policy import EVERY, write_context
from helix.run.journal import UnfinishedBead
from helix.run.model import Action, Progress
from helix.run.view import ProjectSnapshot, read_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.attempts import AttemptContext, EngineOptions, StopControls, UsageMeter
    from helix.passes import Scope, UpstreamCache
    from helix.project import AutonomySettings, PassContext
    from helix.run.build_policy import BuildPolicy
    from helix.run.journal import RunJournal, StateFile
    from helix.run.model import BuildCandidate, Decision, RoutingRules, RunView
    from helix.run.notifications import Notifier


@value
class RunOptions:
    """What a person asked of a run."""

    rules: RoutingRules
    orders: EngineOptions
    slider: AutonomySettings
    reviews: bool = True
    review_threshold: int = 0
    orphan_threshold_s: float = 7200.0
    watch: bool = False
    workers: int = 1


@value
class Cycle:
    """One attempt that is under way, and what it was selected with."""

    number: int
    beads: tuple[BuildCandidate, ...]
    agent: Agent
    began_at: str
    seen: Mapping[str, Mapping[str, str]]
    """For each bead, the hashes of its documents."""
    policy: BuildPolicy

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(bead.id for bead in self.beads)


class Run:
    """Mutable, and changed by the engine's own thread alone; attempts run in others."""

    def __init__(
        self,
        desk: PassContext,
        plan: RunOptions,
        *,
        journal: RunJournal,
        meter: UsageMeter,
        wishes: StopControls,
        state: StateFile,
        scope: Scope,
        confirm: Callable[[str], bool] | None = None,
        bell: Notifier | None = None,
    ) -> None:
        self.desk = desk
        self.plan = plan
        self.journal = journal
        self.meter = meter
        self.wishes = wishes
        self.state = state
        self.confirm = confirm
        """Asks the person at the terminal; None: there is none (S-34)."""
        self.scope = scope
        self.bell = bell
        """Tells people who are not looking (S-26a)."""
        self.reviews = OwedReviews(desk.site.project, threshold=plan.review_threshold)
        self.progress = Progress()
        self.decision: Decision | None = None
        """The last one that was carried out, or ended the run."""
        self.running: dict[str, Cycle] = {}
        self.landed: dict[str, Cycle] = {}
        """Attempts of this run that wait for their review."""
        self.blockers: dict[str, UnfinishedBead] = {}
        self.unclosed: dict[str, str] = {}
        """Beads that are over and could not be closed, and why: said at the first look only."""
        self.spent_s: dict[str, float] = {}
        self._memory: UpstreamCache = {}
        self.context = ""
        self._context_of = ("", 0)
        self._doing = ""
        """What the engine's own thread is at, besides starting attempts and waiting for them."""
        self._mutex = threading.Lock()

    @property
    def site(self) -> AttemptContext:
        return self.desk.site

    def look(self) -> ProjectSnapshot:
        return ProjectSnapshot(self.desk, self.scope, busy=self.busy, memory=self._memory)

    @property
    def busy(self) -> list[str]:
        """The beads of the attempts that run."""
        return [bead for cycle in self.running.values() for bead in cycle.ids]

    def view(self, look: ProjectSnapshot) -> RunView:
        return read_view(look, state=state_hash(self.site, self.scope))

    @property
    def is_counted_out(self) -> bool:
        """The cycles that were asked for are done."""
        most = self.plan.rules.max_cycles
        return bool(most) and self.progress.completed >= most

    def goes_beside(self, decision: Decision) -> bool:
        """May it be done while attempts run? Another build, or the review that is owed."""
        if decision.action is Action.REVIEW:
            return decision.target == self.progress.pending_review
        return decision.action is Action.BUILD

    def agent_of(self, harness: str, *, reviews: bool = False) -> Agent:
        """Whoever builds or reviews now; another harness may have taken over (X-8)."""
        own = self.desk.reviewer if reviews else self.desk.builder
        if harness == own.harness:
            return own
        self.journal.say(f"{own.harness} cannot go on; {harness} takes over")
        return Agent(harness)

    @contextmanager
    def asking(self, agent: Agent, *, reviews: bool) -> Iterator[None]:
        """Inside, this agent is the one that builds or reviews, and the meter hears of it."""
        own = self.desk
        self.desk = changed(
            own,
            on_call=lambda action, reply: self.meter.called(agent.harness, reply),
            builder=own.builder if reviews else agent,
            reviewer=agent if reviews else own.reviewer,
        )
        try:
            yield
        finally:
            self.desk = own

    def refresh_context(self, look: ProjectSnapshot, *, now: bool = False) -> None:
        """At the start, for another epic, and after every few completed cycles (S-30)."""
        made_of = (self.progress.focus, self.progress.completed // EVERY)
        if now or made_of != self._context_of:
            self.context = write_context(look, focus=self.progress.focus)
            self._context_of = made_of

    def skip(self, bead: BuildCandidate, reason: str, *, refs: tuple[str, ...] = ()) -> None:
        """Said, and remembered for the report; blocked outweighs skipped."""
        self.journal.remark(f"{bead.id} is left alone: {reason}")
        self.journal.note("skipped", bead=bead.id, reason=reason)
        if bead.id not in self.blockers:
            self.blockers[bead.id] = UnfinishedBead(
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

    def enter(self, phase: str = "") -> None:
        """The state names this phase from now on; without one, again what runs (S-24)."""
        if phase != self._doing:
            self._doing = phase
            self.write()

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Inside, the state names this phase; afterwards again what runs (S-24)."""
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
        cycles, blockers = list(self.running.values()), list(self.blockers.values())
        return {
            "phase": self._doing or ("building" if cycles else "between cycles"),
            "current_bead": cycles[0].ids[0] if cycles else "",
            "current_attempt": cycles[0].policy.attempt if cycles else "",
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
                for it in cycles
            ),
            "parked_until": self.meter.parked_until(),
        }
