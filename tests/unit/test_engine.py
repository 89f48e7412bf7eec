"""The one engine: gate, budget, parking, pause, stop, rest and owed reviews, decided once (W-1).

The driver answers from a list and writes down what it is told; the crew is a fake that gives back
what the test says. All else is real: the tracker, git, the records, the gate and the landing.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeAlias

import pytest
from benchmarks.generate import encode
from tests.support.tracker import bead

from ddx.agents.harness import CallEnd, Reply, Usage
from ddx.agents.supervision import StopRequest
from ddx.attempts.attempt import AttemptOrder, CarriedOut
from ddx.attempts.context import AttemptContext, Boundary, Drift, Idle, Preparation, StopControls
from ddx.attempts.engine import Answer, Attempt, End, Engine, Pass, Rest, View
from ddx.attempts.limits import EngineEnd, EngineOptions, UsageMeter
from ddx.attempts.outcome import AttemptFacts, AttemptStatus, Landed, Outcome
from ddx.attempts.record import AttemptEvent, RecordWriter
from ddx.attempts.records import OwedReviews
from ddx.base.clock import Clock
from ddx.base.errors import DdxError
from ddx.base.masking import Masker
from ddx.base.values import changed
from ddx.git.repository import read_head
from ddx.project.settings import read_settings
from ddx.testing import FakeClock, make_repo
from ddx.tracker.bead import Bead
from ddx.tracker.pending_landings import PendingLanding, write_pending
from ddx.tracker.queue import PENDING
from ddx.tracker.tracker import Tracker

Ending: TypeAlias = tuple[AttemptStatus, CallEnd]
ORDERS = EngineOptions("script")
DONE = End("done")
SATISFIED = (AttemptStatus.ALREADY_SATISFIED, CallEnd.COMPLETED)
FAULT = (AttemptStatus.HARNESS_FAULT, CallEnd.CRASHED)
DENIED = (AttemptStatus.HARNESS_FAULT, CallEnd.DENIED)
LIMITED = (AttemptStatus.HARNESS_FAULT, CallEnd.RATE_LIMITED)


class First:
    """The policy that takes what is first."""

    def __init__(self, harness: str, on_reply: Callable[[Reply], None] | None = None) -> None:
        self._harness = harness
        self._on_reply = on_reply

    def pick(self, ready: Sequence[Bead]) -> tuple[str, ...]:
        return tuple(it.id for it in ready[:1])

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        return Preparation(self._harness, on_reply=self._on_reply)

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        return None


FIRST = Attempt("script", First)


class Answers:
    """A driver: each answer is given once, the last for ever; all that it is told is kept."""

    def __init__(self, *answers: Answer | Callable[[View], Answer]) -> None:
        self._answers = list(answers)
        self.views: list[View] = []
        self.told: list[str] = []

    def next(self, view: View) -> Answer:
        self.views.append(view)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer(view) if callable(answer) else answer

    def ended(self, attempt: Attempt, outcome: Outcome | Idle) -> None:
        beads = () if isinstance(outcome, Idle) else outcome.facts.beads
        self.told.append(f"ended {beads[0]}" if beads else "idle")

    def recovered(self, outcome: Outcome, sentence: str) -> None:
        self.told.append("recovered")

    def landed_late(self, outcome: Outcome) -> None:
        self.told.append(f"late {outcome.facts.attempt}")

    def parked(self, reason: str) -> None:
        self.told.append("parked")

    def paused(self) -> None:
        self.told.append("paused")

    def resumed(self) -> None:
        self.told.append("resumed")

    def review_lost(self, attempt: str) -> None:
        self.told.append(f"lost {attempt}")


class FakeCrew:
    """Gives back what the test says, in turn, as soon as it holds so many orders or is let go."""

    def __init__(self, workers: int, *ends: Ending, holds: int) -> None:
        self._workers = workers
        self._ends = list(ends)
        self._holds = holds
        self._ended: queue.SimpleQueue[Future[CarriedOut] | None] = queue.SimpleQueue()
        self._running: set[Future[CarriedOut]] = set()
        self.held: list[AttemptOrder] = []
        self.orders: list[AttemptOrder] = []

    def free(self) -> int:
        return self._workers - len(self.held) - len(self._running)

    def begin(self, order: AttemptOrder) -> None:
        assert self.free(), "more orders than workers"
        self.orders.append(order)
        self.held.append(order)
        if len(self.held) >= self._holds:
            self.let_go()

    def let_go(self) -> None:
        while self.held:
            order = self.held[0]
            status, end = self._ends.pop(0) if len(self._ends) > 1 else self._ends[0]
            reply = Reply(end, reason="so it is")
            facts = changed(order.task.facts, reply=reply, reason="so it is")
            future: Future[CarriedOut] = Future()
            future.set_result(CarriedOut(order, facts, status))
            self._running.add(future)
            del self.held[0]
            self._ended.put(future)

    def wait(self, timeout_s: float) -> Future[CarriedOut] | None:
        try:
            ended = self._ended.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if ended is not None:
            self._running.remove(ended)
        return ended

    def close(self) -> None:
        self.let_go()
        self._ended.put(None)


class EventfulClock(FakeClock):
    """Something may happen while somebody sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.meanwhile()


class EngineScene:
    """A project with beads app-1, app-2 ... and an engine that has not begun."""

    def __init__(self, folder: Path, *, beads: int = 3) -> None:
        self.project = make_repo(folder)
        os.mkdir(self.project.ddx())
        rows = [encode(bead(f"app-{n}")) for n in range(1, beads + 1)]
        Path(self.project.ddx("beads.jsonl")).write_bytes(b"".join(rows))
        self.clock = EventfulClock()
        self.stop = StopRequest()
        self.is_paused: Callable[[], bool] = lambda: False
        self.wishes = StopControls(self.stop, pause_asked=lambda: self.is_paused())
        self.reviews: OwedReviews | None = None
        self.late: list[Outcome] = []
        found = read_settings(self.project, clock=self.clock)
        self.settings = changed(found, found={**found.found, "tracker.commit": "never"})

    def site(self, clock: Clock | None = None) -> AttemptContext:
        """An attempt takes the true time: threads that wait for a lock cannot share a fake one."""
        clock = clock or Clock()
        return AttemptContext(
            project=self.project,
            settings=self.settings,
            tracker=Tracker(self.project, clock=clock),
            clock=clock,
            masker=Masker({}),
            stop=self.stop,
            on_event=lambda happening: None,
        )

    def engine(
        self,
        driver: Answers,
        *ends: Ending,
        holds: int = 1,
        orders: EngineOptions = ORDERS,
    ) -> Engine:
        self.meter = UsageMeter(orders, self.clock)
        self.crew = FakeCrew(orders.workers, *(ends or (SATISFIED,)), holds=holds)
        return Engine(
            driver,
            self.meter,
            self.wishes,
            site=self.site(self.clock),
            open_site=self.site,
            crew=self.crew,
            reviews=self.reviews,
            land_waiting=lambda site: [self.late.pop()] if self.late else [],
        )

    def statuses(self) -> list[str]:
        snapshot = self.site().tracker.snapshot()
        return [snapshot.status(bead_id) for bead_id in ("app-1", "app-2", "app-3")]


@pytest.fixture
def scene(tmp_path: Path) -> EngineScene:
    return EngineScene(tmp_path / "app")


# -- attempts and their bounds ------------------------------------------------------------------


def test_an_attempt_is_claimed_carried_out_and_closed_and_then_told(scene: EngineScene) -> None:
    driver = Answers(FIRST, DONE)
    assert scene.engine(driver).run() == DONE
    assert driver.told == ["ended app-1"]
    assert scene.statuses() == ["closed", "open", "open"]


def test_what_was_not_begun_is_told_at_once_and_counts_nothing(tmp_path: Path) -> None:
    scene, driver = EngineScene(tmp_path / "app", beads=0), Answers(FIRST, FIRST, DONE)
    assert scene.engine(driver, orders=EngineOptions("script", most=1)).run() == DONE
    assert driver.told == ["idle", "idle"]


def test_the_driver_is_asked_only_where_a_worker_is_free(scene: EngineScene) -> None:  # W-1
    def end(view: View) -> Answer:
        scene.crew.let_go()
        return DONE

    driver = Answers(FIRST, FIRST, FIRST, end)
    engine = scene.engine(driver, holds=2, orders=EngineOptions("script", workers=2))
    assert engine.run() == DONE
    assert all(view.running < 2 for view in driver.views)
    assert sorted(driver.told) == ["ended app-1", "ended app-2", "ended app-3"]


def test_a_count_that_is_reached_ends_the_run(scene: EngineScene) -> None:
    end = scene.engine(Answers(FIRST), orders=EngineOptions("script", most=2)).run()
    assert (end.ended, end.exit_code, len(scene.crew.orders)) == (EngineEnd.COUNTED, 0, 2)


def test_an_error_is_raised_after_what_runs_was_concluded(scene: EngineScene) -> None:
    def break_down(view: View) -> Answer:
        raise DdxError("the tracker cannot be read")

    driver = Answers(FIRST, break_down)
    engine = scene.engine(driver, holds=2, orders=EngineOptions("script", workers=2))
    with pytest.raises(DdxError, match="cannot be read"):
        engine.run()
    assert scene.statuses()[0] == "closed"


def test_what_a_dead_run_left_is_ended_before_anything_begins(scene: EngineScene) -> None:
    site, head = scene.site(), read_head(scene.project.root)
    empty: dict[str, object] = {name: {} for name in ("claims", "selected", "titles", "paths")}
    dead = RecordWriter.begin(
        scene.project,
        "20260101T000000-abcdef",
        {
            **empty,
            "beads": [],
            "base": head.commit,
            "target": head.branch,
            "harness": "script",
            "model": "",
            "pid": 1,
            "workspace": site.workspace("20260101T000000-abcdef"),
        },
        clock=scene.clock,
        masker=site.masker,
        on_event=site.on_event,
    )
    dead.leave()
    driver = Answers(FIRST, DONE)
    assert scene.engine(driver).run() == DONE
    assert driver.told == ["recovered", "ended app-1"]


def test_what_waited_for_its_landing_is_tried_at_every_turn(scene: EngineScene) -> None:
    facts = AttemptFacts("at-1", ("app-9",), "script", model="", base="", target="")
    waiting = PendingLanding("at-1", ("app-9",), "ref", commit="c0ffee", reason="edits", at="")
    write_pending(scene.project.ddx(*PENDING), waiting)
    scene.late = [Landed(facts, "c0ffee")]
    driver = Answers(FIRST, DONE)
    assert scene.engine(driver).run() == DONE
    assert driver.told == ["late at-1", "ended app-1"]


# -- the gate -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "ended", "attempts", "code"),
    [(FAULT, EngineEnd.BROKEN, 3, 1), (DENIED, EngineEnd.DENIED, 2, 4)],
)
def test_a_harness_that_fails_by_itself_gets_nothing_more(
    scene: EngineScene, how: Ending, ended: EngineEnd, attempts: int, code: int
) -> None:
    end = scene.engine(Answers(FIRST), how).run()
    assert (end.ended, len(scene.crew.orders), end.exit_code) == (ended, attempts, code)


def test_a_spent_budget_stops_attempts_and_passes_alike(scene: EngineScene) -> None:  # X-7, S-28
    asked: list[str] = []
    orders = EngineOptions("script", max_tokens=10)
    for wanted in (FIRST, Pass("script", asked.append)):
        engine = scene.engine(Answers(wanted), orders=orders)
        used = Usage(input=6, output=4).as_row()
        scene.meter.hear(AttemptEvent("", "", "agent-ended", data={"usage": used}))
        assert engine.run().ended is EngineEnd.BUDGET
        assert (scene.crew.orders, asked) == ([], [])


def test_a_pass_is_done_in_the_engines_thread_and_may_end_the_run(scene: EngineScene) -> None:
    asked: list[tuple[str, str]] = []
    passing = Pass("script", lambda it: asked.append((it, threading.current_thread().name)))
    ending = Pass("script", lambda harness: End("enough", 4))
    assert scene.engine(Answers(passing, ending)).run() == End("enough", 4)
    assert asked == [("script", threading.current_thread().name)]


def test_a_usage_limit_is_waited_for_and_consumes_no_attempt(scene: EngineScene) -> None:
    driver = Answers(FIRST)
    end = scene.engine(driver, LIMITED, SATISFIED, orders=EngineOptions("script", most=1)).run()
    assert end.ended is EngineEnd.COUNTED
    assert driver.told == ["ended app-1", "parked", "ended app-1"]
    assert sum(scene.clock.slept_s) == pytest.approx(300)  # the limit named no end


def test_a_usage_limit_is_left_to_the_other_harness(scene: EngineScene) -> None:
    orders = EngineOptions("script", most=1, on_limit="switch", alternate="replay")
    driver = Answers(FIRST)
    assert scene.engine(driver, LIMITED, SATISFIED, orders=orders).run().ended is EngineEnd.COUNTED
    used = [order.task.preparation.harness for order in scene.crew.orders]
    assert (used, scene.clock.slept_s) == (["script", "replay"], [])


# -- what people want ---------------------------------------------------------------------------


def test_nothing_is_begun_while_it_pauses_and_what_runs_ends(scene: EngineScene) -> None:  # S-26
    driver = Answers(FIRST, DONE)
    engine = scene.engine(driver, holds=2, orders=EngineOptions("script", workers=2))

    def is_paused() -> bool:
        scene.crew.let_go()
        return bool(scene.crew.orders) and "ended app-1" not in driver.told

    scene.is_paused = is_paused
    assert engine.run() == DONE
    assert driver.told == ["paused", "ended app-1", "resumed"]
    assert len(driver.views) == 2


@pytest.mark.parametrize("now", [False, True])
def test_who_wants_an_end_is_heard_by_the_driver_and_what_runs_is_concluded(
    scene: EngineScene, now: bool
) -> None:  # C-2, S-21
    def wish(view: View) -> Answer:
        assert not view.is_over
        (scene.stop.ask if now else scene.wishes.wind_down)()
        return FIRST

    def end(view: View) -> Answer:
        assert (view.is_over, view.is_interrupted, view.running) == (True, now, 2)
        scene.crew.let_go()
        return DONE

    driver = Answers(FIRST, wish, end)
    engine = scene.engine(driver, holds=3, orders=EngineOptions("script", workers=3))
    assert engine.run() == DONE
    assert sorted(driver.told) == ["ended app-1", "ended app-2"]
    assert all(order.task.site.stop is scene.stop for order in scene.crew.orders)


def test_a_rest_ends_at_its_instant(scene: EngineScene) -> None:
    driver = Answers(Rest(until=scene.clock.stamp(after_s=10)), DONE)
    assert scene.engine(driver).run() == DONE
    assert sum(scene.clock.slept_s) == pytest.approx(10)


def test_a_rest_without_an_instant_ends_with_a_change_of_the_queue(scene: EngineScene) -> None:
    path = Path(scene.project.ddx("beads.jsonl"))
    naps = iter(range(3))
    scene.clock.meanwhile = lambda: next(naps, None) == 2 and path.write_bytes(path.read_bytes())
    assert scene.engine(Answers(Rest(), DONE)).run() == DONE
    assert len(scene.clock.slept_s) == 3


def test_a_rest_ends_when_somebody_wants_the_end(scene: EngineScene) -> None:  # S-21
    scene.clock.meanwhile = scene.wishes.wind_down
    driver = Answers(Rest(), DONE)
    assert scene.engine(driver).run() == DONE
    assert [view.is_over for view in driver.views] == [False, True]


# -- owed reviews ---------------------------------------------------------------------------------


def test_a_review_is_promised_before_anything_lands_and_void_if_nothing_did(
    scene: EngineScene,
) -> None:  # S-17
    reviews = scene.reviews = OwedReviews(scene.project)
    promised: list[list[str]] = []
    policy = First("script", lambda reply: promised.append(reviews.promised()))
    driver = Answers(Attempt("script", lambda harness: policy), Rest(until="2026"), DONE)
    assert scene.engine(driver).run() == DONE
    assert promised == [[scene.crew.orders[0].task.attempt]]
    assert (driver.views[-1].owed, reviews.promised()) == ((), [])


def test_the_driver_is_shown_what_is_owed_and_told_once_what_is_lost(
    scene: EngineScene,
) -> None:  # S-17
    reviews = scene.reviews = OwedReviews(scene.project)
    landed, lost = "20260101T000000-abcdef", "20260101T000001-abcdef"
    folder = Path(scene.project.ddx("executions", landed))
    folder.mkdir(parents=True)
    (folder / "intent.json").write_text("{}")
    (folder / "result.json").write_text(
        '{"status": "success", "outcome": "landed", "completed": true}'
    )
    for attempt in (landed, lost):
        reviews.promise(attempt)
    driver = Answers(Pass("script", lambda harness: None), DONE)
    assert scene.engine(driver).run() == DONE
    assert [view.owed for view in driver.views] == [(landed,), (landed,)]
    assert (driver.told, reviews.promised()) == ([f"lost {lost}"], [landed])
