"""The one engine: attempts side by side, passes between them, and all that keeps them in bounds.

It alone knows the gate, budgets, usage limits, pause, stop, rest, owed reviews, landing of what
waits and recovery. What to do next is its driver's to say, which holds no loop.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, TypeAlias, assert_never

from ddx.attempts.attempt import LocalCrew
from ddx.attempts.context import Idle
from ddx.attempts.delivery import land_pending
from ddx.attempts.limits import BeginAttempt, EngineEnd, StopEngine, WaitUntil, is_parked
from ddx.attempts.outcome import Outcome
from ddx.attempts.recovery import reconcile
from ddx.attempts.work import begin, conclude
from ddx.base import Instant, identity_of, value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from ddx.attempts.attempt import CarriedOut, Crew
    from ddx.attempts.context import AttemptContext, Policy, StopControls
    from ddx.attempts.limits import UsageMeter
    from ddx.attempts.records import OwedReviews

_POLL_S = 0.25
_WATCH_S = 0.5
"""A wait for an attempt is no longer than this, or Ctrl-C may not be heard (S-21)."""
_EXIT_CODES = {EngineEnd.DENIED: 4, EngineEnd.COUNTED: 0}


# -- what a driver answers -----------------------------------------------------------------


@value
class Attempt:
    """One attempt: its policy is made once it is known which harness may be asked."""

    harness: str
    policy: Callable[[str], Policy]
    name: str = ""
    """By which its driver knows it again when it has ended."""


@value
class Pass:
    """A piece of work in the engine's own thread with an agent behind it, by the same gate."""

    harness: str
    work: Callable[[str], End | None]
    """Done with the harness that may be asked; the run ends with what it returns."""


@value
class Rest:
    """Nothing to begin: until an instant, an end of an attempt, or a change of the queue."""

    until: str = ""


@value
class End:
    """Begin nothing more; what runs is brought to its end."""

    reason: str
    exit_code: int = 0
    ended: EngineEnd | None = None
    """Set where the gate or the queue says so."""


Answer: TypeAlias = Attempt | Pass | Rest | End


# -- what a driver is told -----------------------------------------------------------------


@value
class View:
    """The engine at the moment in which its driver is asked."""

    running: int
    is_over: bool
    """Somebody wants it to end."""
    is_interrupted: bool = False
    """And wants what runs to be interrupted."""
    owed: tuple[str, ...] = ()
    """Attempts that landed and were promised a review."""


class Driver(Protocol):
    """Says what to do next; asked and told in the engine's own thread only."""

    def next(self, view: View) -> Answer:
        """What to do now; asked only where a worker is free."""

    def ended(self, attempt: Attempt, outcome: Outcome | Idle) -> None:
        """What came of an attempt; Idle: it was not begun."""

    def recovered(self, outcome: Outcome, sentence: str) -> None:
        """An attempt that had died was brought to its end before anything began."""

    def landed_late(self, outcome: Outcome) -> None:
        """What had waited for its landing was tried again."""

    def parked(self, reason: str) -> None:
        """The harness has met its usage limit."""

    def paused(self) -> None:
        """Nothing is begun until a person lets it go on."""

    def resumed(self) -> None:
        """A person lets it go on, or wants its end."""

    def review_lost(self, attempt: str) -> None:
        """A review was promised, and the record of the attempt is gone."""


@value
class _Running:
    """One attempt between its claim and its close."""

    attempt: Attempt
    harness: str
    site: AttemptContext


class Engine:
    """One run of a driver, from what earlier runs have left to its end."""

    def __init__(
        self,
        driver: Driver,
        meter: UsageMeter,
        wishes: StopControls,
        *,
        site: AttemptContext,
        open_site: Callable[[], AttemptContext],
        crew: Crew | None = None,
        reviews: OwedReviews | None = None,
        land_waiting: Callable[[AttemptContext], Sequence[Outcome]] = land_pending,
    ) -> None:
        self._driver = driver
        self._meter = meter
        self._wishes = wishes
        self._site = site
        self._open_site = open_site
        """Each attempt has a site of its own: threads cannot share a tracker."""
        self._reviews = reviews
        self._land_waiting = land_waiting
        self._workers = meter.orders.workers
        self._crew = crew or LocalCrew(self._workers)
        self._home = ThreadPoolExecutor(self._workers, thread_name_prefix="home")
        self._is_closed = False
        self._sites: list[AttemptContext] = []
        self._running: dict[str, _Running] = {}
        self._concluded: queue.SimpleQueue[Future[Outcome]] = queue.SimpleQueue()
        self._has_paused = False
        self._parked_until = ""

    def run(self) -> End:
        """Until the driver or the gate ends it; what runs is brought to its end before that.

        An error of the tracker ends it as well, and is raised.
        """
        receiver = threading.Thread(target=self._receive, name="receiver")
        receiver.start()
        try:
            for done in reconcile(self._site):
                self._driver.recovered(done.outcome, done.sentence)
            return self._until_end()
        finally:  # on an error, what else runs still lands or is kept, and no more
            self._is_closed = True
            self._crew.close()
            receiver.join()
            self._home.shutdown()

    def _until_end(self) -> End:
        end = None
        while True:
            if end is None and len(self._running) < self._workers:
                end = self._turn()
            elif self._running:
                self._settle(_WATCH_S)
            elif end is not None:
                return end

    def _turn(self) -> End | None:
        """One question to the driver, and what it answers is done."""
        if self._pauses():
            self._wait(_POLL_S)
            return None
        if self._site.tracker.pending_landings():
            for outcome in self._land_waiting(self._site):
                self._driver.landed_late(outcome)
        answer = self._driver.next(self._view())
        match answer:
            case End():
                return answer
            case Rest(until=until):
                self._rest(until)
                return None
            case Attempt() | Pass():
                return self._through_the_gate(answer)
            case other:
                assert_never(other)

    def _view(self) -> View:
        return View(
            len(self._running),
            self._wishes.is_over,
            self._wishes.is_interrupted,
            owed=self._owed(self._reviews) if self._reviews else (),
        )

    def _owed(self, reviews: OwedReviews) -> tuple[str, ...]:
        """What landed and was promised a review, by this run or by one that died (S-17)."""
        promises = reviews.read(running=self._running)
        for attempt in promises.lost:
            self._driver.review_lost(attempt)
        for attempt in (*promises.void, *promises.lost):
            reviews.forget(attempt)
        return promises.owed

    # -- doing what the driver says ----------------------------------------------------------

    def _through_the_gate(self, wanted: Attempt | Pass) -> End | None:
        """Done if its harness, or another in its place, may be asked now (X-7, X-8)."""
        match self._meter.step(wanted.harness):
            case BeginAttempt(harness=harness) if isinstance(wanted, Pass):
                return wanted.work(harness)
            case BeginAttempt(harness=harness) if isinstance(wanted, Attempt):
                self._begin(wanted, harness)
            case StopEngine(ended=ended, reason=reason):
                return End(reason, _EXIT_CODES.get(ended, 1), ended)
            case WaitUntil(reason=reason, until=until):
                if until != self._parked_until or not self._running:
                    self._driver.parked(reason)
                self._parked_until = until
                self._rest(until)
        return None

    def _begin(self, attempt: Attempt, harness: str) -> None:
        """Claimed here, and carried out by the crew; what was not begun is told at once."""
        site = self._sites.pop() if self._sites else self._open_site()
        orders = self._meter.orders
        self._meter.count(1)
        begun = begin(site, attempt.policy(harness), from_rev=orders.from_rev, merge=orders.merge)
        if isinstance(begun, Idle):
            self._sites.append(site)
            self._meter.count(-1)
            self._driver.ended(attempt, begun)
            return
        self._running[begun.task.attempt] = _Running(attempt, harness, site)
        self._crew.begin(begun)

    def _receive(self) -> None:
        """In a thread of its own: what comes back is concluded at once, whatever else goes on."""
        while not self._is_closed or self._crew.free() < self._workers:
            if (ended := self._crew.wait(_WATCH_S)) is not None:
                concluding = self._home.submit(self._conclude, ended)
                concluding.add_done_callback(self._concluded.put)

    def _conclude(self, ended: Future[CarriedOut]) -> Outcome:
        """In another one, because a merged proof may take minutes."""
        returned = ended.result()
        if self._reviews and returned.facts.reply is not None:
            self._reviews.promise(returned.facts.attempt)  # before anything lands (S-17)
        return conclude(returned)

    # -- waiting -----------------------------------------------------------------------------

    def _settle(self, timeout_s: float) -> None:
        """Wait a while for an attempt to end; its review comes before the next one is told of."""
        try:
            outcome = self._concluded.get(timeout=timeout_s).result()
        except queue.Empty:
            return
        running = self._running.pop(outcome.facts.attempt)
        self._sites.append(running.site)
        self._meter.attempted(running.harness, outcome)
        if is_parked(outcome):  # no attempt is consumed: it is tried again later
            self._meter.count(-1)
        self._driver.ended(running.attempt, outcome)

    def _wait(self, seconds: float) -> None:
        if self._running:
            self._settle(seconds)
        else:
            self._site.clock.sleep(seconds)

    def _rest(self, until: str) -> None:
        """A while; with attempts that run, their ends are worth another look as well."""
        if self._running:
            self._settle(_WATCH_S)
            return
        seen = identity_of(self._site.tracker.path)
        while not self._wishes.is_over and not self._wishes.is_paused:
            left_s = Instant(self._site.clock.stamp()).seconds_until(until) if until else _POLL_S
            if left_s is None or left_s <= 0 or identity_of(self._site.tracker.path) != seen:
                return
            self._site.clock.sleep(min(left_s, _POLL_S))

    def _pauses(self) -> bool:
        """Nothing begins while a person wants so; what runs ends (S-26)."""
        if self._wishes.is_paused != self._has_paused:
            self._has_paused = not self._has_paused
            if self._has_paused:
                self._driver.paused()
            else:
                self._driver.resumed()
        return self._has_paused
