"""The driver of `execute-loop`: attempt after attempt until nothing is left (X-18).

Every bead is attempted at most once, or again after somebody changed it where the loop goes on
watching; so it cannot spin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.agents import Harnesses
from ddx.attempts.context import Idle, Limits, Preparation
from ddx.attempts.engine import Attempt, End, Rest
from ddx.attempts.limits import EngineEnd, is_parked, spent_on
from ddx.attempts.outcome import Landed, Outcome
from ddx.attempts.prompt import PromptSection
from ddx.attempts.record import AttemptEvent
from ddx.base import identity_of
from ddx.tracker import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.attempts.context import AttemptContext, Boundary, Drift, Policy
    from ddx.attempts.engine import Answer, View
    from ddx.attempts.limits import EngineOptions, UsageMeter
    from ddx.tracker import Bead, BeadId

_MOST_TRIES = 4


class QueueDriver:
    """Begins what is first in the queue and nobody of us is at or has tried."""

    def __init__(
        self, site: AttemptContext, meter: UsageMeter, tell: Callable[[str], None]
    ) -> None:
        self._site = site
        self._meter = meter
        self._tell = tell
        self._harness = meter.orders.harness
        self._seen: object = None
        """The queue when nothing in it was for us; a change of it, or an end, is worth a look."""
        self.outcomes: list[Outcome] = []
        self.relanded: list[Landed] = []
        """Work of earlier attempts that had waited for its landing."""
        self._left_at: dict[BeadId, str] = {}
        """The revision in which we left each bead that we tried."""
        self._busy: dict[BeadId, tuple[str, ...]] = {}
        """The paths of the beads that are being worked on."""
        self._picked: tuple[BeadId, ...] = ()

    def next(self, view: View) -> Answer:
        if view.is_interrupted:
            return End(EngineEnd.INTERRUPTED, ended=EngineEnd.INTERRUPTED)
        if view.is_over:
            return End(EngineEnd.WOUND_DOWN, ended=EngineEnd.WOUND_DOWN)
        if self._seen is None or self._seen != identity_of(self._site.tracker.path):
            return Attempt(self._harness, self._policy)
        if view.running or self._meter.orders.watch:
            return Rest()
        return End(EngineEnd.DRAINED, ended=EngineEnd.DRAINED)

    def _policy(self, harness: str) -> Policy:
        self._harness = harness  # where another takes over, it stays
        return _FromQueue(self._site, self._meter, harness, choose=self._choose)

    def ended(self, attempt: Attempt, outcome: Outcome | Idle) -> None:
        if isinstance(outcome, Idle):
            self._seen = None if outcome.again else identity_of(self._site.tracker.path)
            self._release(self._picked)
            return
        self._seen = None
        self.outcomes.append(outcome)
        self._release(outcome.facts.beads)
        snapshot = self._site.tracker.snapshot()
        for bead_id in outcome.facts.beads:
            if is_parked(outcome):  # it was not tried at all
                self._left_at.pop(bead_id, None)
            else:
                self._left_at[bead_id] = snapshot.revision(bead_id)

    def recovered(self, outcome: Outcome, sentence: str) -> None:
        self._tell(sentence)

    def landed_late(self, outcome: Outcome) -> None:
        if isinstance(outcome, Landed):
            self.relanded.append(outcome)

    def parked(self, reason: str) -> None:
        site = self._site
        site.on_event(AttemptEvent(site.clock.stamp(), "", "parked", text=reason))

    def paused(self) -> None:
        """Only a signal reaches a drain, and none of them means that."""

    def resumed(self) -> None:
        """As little as `paused`."""

    def review_lost(self, attempt: str) -> None:
        """A drain promises no review."""

    def _choose(self, ready: Sequence[Bead]) -> tuple[BeadId, ...]:
        bead = next(filter(self._is_free, ready), None)
        self._picked = () if bead is None else (bead.id,)
        if bead is not None:
            self._left_at[bead.id] = bead.revision
            self._busy[bead.id] = bead.paths
        return self._picked

    def _release(self, bead_ids: Sequence[BeadId]) -> None:
        for bead_id in bead_ids:
            self._busy.pop(bead_id, None)

    def _is_free(self, bead: Bead) -> bool:
        if bead.id in self._busy or any(bead.overlaps(it) for it in self._busy.values()):
            return False
        if self._is_spent(bead):
            return False
        if bead.id not in self._left_at:
            return True
        tries = text_of(bead.row, "attempts")
        worn_out = tries.isdigit() and int(tries) >= _MOST_TRIES
        is_changed = self._left_at[bead.id] != bead.revision
        return self._meter.orders.watch and is_changed and not worn_out

    def _is_spent(self, bead: Bead) -> bool:
        """Have earlier attempts used up the bead's own budget?"""
        budget = self._site.settings.budget
        if not budget.bead_usd and not budget.bead_tokens:
            return False
        limits = Limits(max_cost_usd=budget.bead_usd, max_tokens=budget.bead_tokens)
        return limits.are_spent(spent_on(self._site.project, [bead]))


class _FromQueue:
    """The policy of a bare loop: the queue's order, the bead's own sections, one harness."""

    def __init__(
        self,
        site: AttemptContext,
        meter: UsageMeter,
        harness: str,
        *,
        choose: Callable[[Sequence[Bead]], tuple[BeadId, ...]],
    ) -> None:
        self._site = site
        self._meter = meter
        self._harness = harness
        self._choose = choose

    def pick(self, ready: Sequence[Bead]) -> tuple[BeadId, ...]:
        return self._choose(ready)

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        limits = self._meter.limits(self._site, beads)
        return prepare_plainly(self._site, self._meter.orders, self._harness, limits=limits)

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        return None


def prepare_plainly(
    site: AttemptContext, orders: EngineOptions, harness: str, *, limits: Limits
) -> Preparation:
    """What an attempt without a policy of its own sends: the preface and the bead (X-26)."""
    return Preparation(
        harness,
        Harnesses(site.settings).model(harness, orders.model),
        orders.effort,
        sections=(PromptSection("Preface", orders.preface),) if orders.preface else (),
        limits=limits,
    )
