"""Draining the queue: attempt after attempt until nothing is left or something says stop (X-18).

Every bead is attempted at most once in a drain, or again after somebody changed it where the drain
goes on watching; so it cannot spin. With several workers there are as many attempts at once, and
one landing at a time (X-20).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from ddx.clock import stamp
from ddx.execution.budget import spent_on
from ddx.execution.calling import exceeds
from ddx.execution.health import Health, is_parked
from ddx.execution.model import (
    Happening,
    Idle,
    Landed,
    Limits,
    Outcome,
    Preparation,
    Section,
    is_completed,
)
from ddx.execution.orders import (
    Begin,
    Ended,
    Orders,
    Standing,
    Stop,
    Wait,
    next_step,
    tightened,
)
from ddx.execution.relanding import land_pending
from ddx.execution.selecting import overlap
from ddx.execution.work import work_one
from ddx.files import identity_of
from ddx.harnesses.registry import resolve_model
from ddx.instants import seconds_between
from ddx.threads import as_they_end
from ddx.tracker.model import text_of
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.execution.model import Bead, BeadId, Boundary, Drift
    from ddx.execution.work import Site
    from ddx.harnesses.base import Usage

PARKED_S = 300.0
"""How long a harness rests whose usage limit names no end."""

_PAUSE_S = 0.05
_POLL_S = 1.0
_MOST_TRIES = 4


@value
class Drained:
    """How a drain ended, and what came of it."""

    ended: Ended
    reason: str
    outcomes: tuple[Outcome, ...]
    usage: Usage
    relanded: tuple[Landed, ...] = ()
    """Work of earlier attempts that had waited for its landing."""

    @property
    def completed(self) -> int:
        return sum(map(is_completed, self.outcomes))


class Drain:
    """One drain and what its workers share; `open_site` gives each of them a site of its own."""

    def __init__(self, open_site: Callable[[], Site], orders: Orders) -> None:
        self._open_site = open_site
        self.orders = orders
        self._mutex = threading.Lock()
        self._standing = Standing(orders.harness)
        self._winding_down = False
        self._outcomes: list[Outcome] = []
        self._relanded: list[Landed] = []
        self._stopped: Stop | None = None
        self._moves = 0
        self.left_at: dict[BeadId, str] = {}
        """The revision in which we left each bead that we tried."""
        self.busy: dict[BeadId, tuple[str, ...]] = {}
        """The paths of the beads that our workers are at."""

    def wind_down(self) -> None:
        """Begin nothing more; what runs is brought to its end. Safe in a signal handler."""
        self._winding_down = True

    def run(self) -> Drained:
        """Work until it ends; an error of the tracker ends every worker and is raised."""
        with ThreadPoolExecutor(self.orders.workers, thread_name_prefix="worker") as pool:
            workers = [pool.submit(self._work) for _ in range(self.orders.workers)]
            for worker in list(as_they_end(workers)):
                worker.result()
        stop = self._stopped or Stop(Ended.DRAINED, Ended.DRAINED)
        return Drained(
            stop.ended,
            stop.reason,
            tuple(self._outcomes),
            self._standing.usage,
            tuple(self._relanded),
        )

    def _work(self) -> None:
        """One worker, from its first attempt to its last."""
        try:
            site = self._open_site()
            while (step := self._next(site)) is not None:
                match step:
                    case Begin(harness=harness):
                        self._attempt(site, harness)
                    case Wait(reason=reason, until=until):
                        site.on_event(Happening(site.clock.stamp(), "", "parked", reason))
                        self._rest(site, until)
        except BaseException as problem:
            with self._mutex:  # whatever it is, the other workers end their attempts and stop
                self._stopped = self._stopped or Stop(Ended.INTERRUPTED, str(problem))
            raise

    def _next(self, site: Site) -> Begin | Wait | None:
        """What this worker does now; None: it is over."""
        with self._mutex:
            if self._stopped is not None:
                return None
            now = changed(
                self._standing,
                winding_down=self._winding_down,
                stop_asked=bool(site.stop.asked),
            )
            step = next_step(self.orders, now, now=site.clock.stamp())
            if isinstance(step, Stop):
                self._stopped = step
                return None
            if isinstance(step, Begin):
                self._standing = changed(
                    now, harness=step.harness, begun=now.begun + 1, running=now.running + 1
                )
            return step

    def _attempt(self, site: Site, harness: str) -> None:
        seat = Seat(self, site, harness)
        try:
            relanded = land_pending(site)
            with self._mutex:
                self._relanded += [it for it in relanded if isinstance(it, Landed)]
            outcome = work_one(site, seat, from_rev=self.orders.from_rev, merge=self.orders.merge)
        finally:
            with self._mutex:
                self._standing = changed(self._standing, running=self._standing.running - 1)
                for bead_id in seat.picked:
                    self.busy.pop(bead_id, None)
        if isinstance(outcome, Idle):
            self._found_nothing(site, outcome)
        else:
            self._note(site, harness, outcome)

    def _note(self, site: Site, harness: str, outcome: Outcome) -> None:
        or_until = stamp(site.clock.now_ns() + int(PARKED_S * 1e9))
        snapshot = site.tracker.snapshot()
        with self._mutex:
            self._moves += 1
            self._outcomes.append(outcome)
            health = self._standing.health.get(harness, Health())
            self._standing = changed(
                self._standing,
                usage=self._standing.usage + outcome.facts.usage,
                health={**self._standing.health, harness: health.after(outcome, or_until=or_until)},
            )
            parked = is_parked(outcome)
            if parked:  # no attempt is consumed: it is tried again when the limit is over
                self._standing = changed(self._standing, begun=self._standing.begun - 1)
            for bead_id in outcome.facts.beads:
                if parked:
                    self.left_at.pop(bead_id, None)
                else:
                    self.left_at[bead_id] = snapshot.revision(bead_id)

    def _found_nothing(self, site: Site, idle: Idle) -> None:
        """Nothing was begun: look again when something moved, else it is drained."""
        with self._mutex:
            self._standing = changed(self._standing, begun=self._standing.begun - 1)
            alone = not self._standing.running
            moves = self._moves
            if alone and not idle.again and not self.orders.watch:
                self._stopped = self._stopped or Stop(Ended.DRAINED, idle.reason)
                return
        if idle.again:
            return
        seen = identity_of(site.tracker.path)
        while self._moves == moves and not self._is_over(site):
            site.clock.sleep(_PAUSE_S if not alone else _POLL_S)
            if alone and identity_of(site.tracker.path) != seen:
                return

    def _rest(self, site: Site, until: str) -> None:
        """Until the usage limit is over; a person may end the wait at any moment."""
        while not self._is_over(site):
            left_s = seconds_between(site.clock.stamp(), until)
            if left_s is None or left_s <= 0:
                return
            site.clock.sleep(min(left_s, _POLL_S))

    def _is_over(self, site: Site) -> bool:
        return self._stopped is not None or self._winding_down or bool(site.stop.asked)

    # -- what the seats of the workers ask -------------------------------------------------

    def choose(self, ready: Sequence[Bead], site: Site) -> Bead | None:
        """The first bead that nobody of us is at or has tried; it is taken from the others."""
        with self._mutex:
            for bead in ready:
                if self._is_free(bead, site):
                    self.left_at[bead.id] = bead.revision
                    self.busy[bead.id] = bead.paths
                    return bead
        return None

    def _is_free(self, bead: Bead, site: Site) -> bool:
        if bead.id in self.busy or any(overlap(bead.paths, it) for it in self.busy.values()):
            return False
        if self._is_spent(bead, site):
            return False
        if bead.id not in self.left_at:
            return True
        tries = text_of(bead.row, "attempts")
        worn_out = tries.isdigit() and int(tries) >= _MOST_TRIES
        return self.orders.watch and self.left_at[bead.id] != bead.revision and not worn_out

    def _is_spent(self, bead: Bead, site: Site) -> bool:
        """Have earlier attempts used up the bead's own budget?"""
        budget = site.settings.budget
        if not budget.bead_usd and not budget.bead_tokens:
            return False
        limits = Limits(max_cost_usd=budget.bead_usd, max_tokens=budget.bead_tokens)
        return exceeds(spent_on(site.project, [bead]), limits)

    @property
    def usage(self) -> Usage:
        return self._standing.usage


class Seat:
    """The policy of a bare drain: the queue's order, the bead's own sections, one harness."""

    def __init__(self, drain: Drain, site: Site, harness: str) -> None:
        self._drain = drain
        self._site = site
        self._harness = harness
        self.picked: tuple[BeadId, ...] = ()

    def pick(self, ready: Sequence[Bead]) -> tuple[BeadId, ...]:
        bead = self._drain.choose(ready, self._site)
        self.picked = (bead.id,) if bead else ()
        return self.picked

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        orders = self._drain.orders
        return prepare_plainly(self._site, orders, self._harness, beads, self._drain.usage)

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        return None


def prepare_plainly(
    site: Site, orders: Orders, harness: str, beads: Sequence[Bead], usage: Usage
) -> Preparation:
    """What a drain without a policy of its own sends: the preface and the bead (X-26)."""
    budget = site.settings.budget
    return Preparation(
        harness,
        resolve_model(harness, orders.model, site.settings),
        orders.effort,
        (Section("Preface", orders.preface),) if orders.preface else (),
        limits=tightened(
            orders,
            usage,
            spent=spent_on(site.project, beads),
            usd=budget.bead_usd or 0,
            tokens=budget.bead_tokens or 0,
        ),
    )
