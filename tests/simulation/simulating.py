"""One seed, one story: `run`, `execute-loop` or `objective`, from the first start to the last."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from random import Random
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any
from unittest.mock import patch

from tests.simulation.agent_fake import SHARED
from tests.simulation.ledger import Ledger, Violation
from tests.simulation.people import DOCUMENTS, People, write_file
from tests.simulation.world import WatchedTracker, World, WorldClock

from ddx.agents.supervision import StopRequest
from ddx.attempts.context import AttemptContext, Limits, StopControls
from ddx.attempts.engine import Engine
from ddx.attempts.limits import EngineOptions, UsageMeter
from ddx.attempts.queue_driver import QueueDriver
from ddx.attempts.records import OwedReviews
from ddx.attempts.recovery import reconcile
from ddx.base.masking import Masker
from ddx.base.values import changed
from ddx.project.project import Project
from ddx.project.settings import Settings, read_settings
from ddx.testing import make_repo, played_by
from ddx.tracker.row import RUNNER, encode
from helix.objective.driver import ObjectiveDriver
from helix.objective.operator import RESET, Operator, find_orphans, settle_orphans
from helix.objective.orchestrator import Orchestrator
from helix.passes.documents import land_waiting
from helix.passes.filing import file_unfiled
from helix.passes.question import find_pages
from helix.passes.reply import CheckAnswer
from helix.passes.scope import REPO, resolve_scope
from helix.project.context import Agent, PassContext
from helix.project.settings import (
    Autonomy,
    AutonomySettings,
    HelixSettings,
    read_helix_settings,
    read_slider,
)
from helix.run import journal as controls
from helix.run.driver import RunDriver, work
from helix.run.journal import RunJournal, RunState, ScreenMode, StateFile
from helix.run.model import RoutingRules
from helix.run.run import Run, RunOptions

MEMORY = "/dev/shm"  # a disk's fsync would be all that we measure
MOST_RUNS = 4
START = datetime(2100, 1, 1, tzinfo=UTC)
"""Later than any file is: caches trust what has not changed for a while."""
LONG_AGO, JUST_NOW = "2099-12-01T00:00:00Z", "2099-12-31T23:30:00Z"
OBJECTIVE = "Carts add up to the right sum"
FILES = {
    DOCUMENTS[0]: "---\nddx:\n  id: FEAT-001\n---\n# A cart\n",
    DOCUMENTS[1]: "---\nddx:\n  id: TD-001\n  depends_on: [FEAT-001]\n---\n# Sums\n",
    SHARED: "Everybody's.\n",
    "notes.txt": "The operator's own.\n",
}


class Driver(StrEnum):
    """Who works in a story."""

    RUN = "run"
    DRAIN = "execute-loop"
    OBJECTIVE = "objective"


def simulate(
    seed: int, driver: Driver, *, spoil: Callable[[World], None] = lambda world: None
) -> list[str]:
    """What the runs said at their end; a Violation if anything was that must not be."""
    above = os.path.realpath(
        mkdtemp(prefix=f"helix-{seed}-", dir=MEMORY if os.path.isdir(MEMORY) else None)
    )
    shop = os.path.join(above, "story", "shop")
    os.makedirs(shop)
    chance = Random(f"{driver} {seed}")
    env = {name: os.environ[name] for name in ("HOME", "PATH", "USER") if name in os.environ}
    env |= {"HELIX_TRUST": "1", "XDG_CACHE_HOME": os.path.join(above, "story", "cache")}
    try:
        # Ids and places; the variables of whoever runs the tests are no part of a story.
        with (
            patch("os.urandom", chance.randbytes),
            patch.dict(os.environ, env, clear=True),
        ):
            return Story(seed, driver, shop, spoil).told()
    except Violation as broken:
        broken.log = "".join(_log(shop))
        raise
    finally:
        shutil.rmtree(above, ignore_errors=True)


def _log(shop: str) -> Iterator[str]:
    """What the runs wrote into their logs, one after the other."""
    folder = os.path.join(shop, ".helix-logs")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".log"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield f"-- {name}\n{file.read()}"


@cache
def _settings() -> tuple[Settings, HelixSettings, AutonomySettings]:
    gc.freeze()
    with TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, ".ddx"))
        project = Project(folder)
        clock = WorldClock(START)
        settings = read_settings(project, clock=clock)
        fixed = {"tracker.commit": "never", "sandbox.kind": "none"}
        settings = changed(settings, found={**settings.found, **fixed})
        slider = read_slider(project, clock=clock)
        helix = read_helix_settings(project, clock=clock)
        helix = changed(helix, found={**helix.found, "memory.embedder": "off"})
        return settings, helix, slider


class Story:
    """Everything that is drawn from the seed."""

    def __init__(
        self, seed: int, driver: Driver, folder: str, spoil: Callable[[World], None]
    ) -> None:
        self.rng = rng = Random(f"{seed} {driver}")
        self.driver = driver
        self.clock = WorldClock(START)
        self.project = Project(folder)
        self.script = os.path.join(os.path.dirname(folder), "agent.script")
        self.plan = _plan(rng, self.script)
        self.ledger = Ledger(
            max_attempts=10**9 if driver is Driver.DRAIN else self.plan.rules.max_attempts,
            max_tokens=self.plan.orders.max_tokens,
            workers=self.plan.workers,
        )
        self.ledger.once = driver is Driver.DRAIN
        self.ledger.heeds_pause = driver is not Driver.DRAIN
        self.world = world = World(rng, self.clock, self.project, self.ledger)
        self.clock.world = world
        self.stop = StopRequest()
        self.heard: list[Callable[[Any], None]] = []
        with played_by(world.programs):
            self._furnish()
        world.crashes = rng.choice((0, 0, 1, 3))
        world.restless = rng.choice((0.0, 0.01, 0.04))
        world.agents.answers = tuple(rng.choices(list(CheckAnswer), k=rng.randint(1, 3)))
        self.people = People(
            self.project, self._tracker(is_ours=False), rng, energy=rng.randrange(25)
        )
        world.people = self.people.act
        world.people_while_waiting = self.people.act_while_waiting
        spoil(world)

    def _furnish(self) -> None:
        """A repository with some documents and beads."""
        world, ledger = self.world, self.ledger
        with open(self.script, "w", encoding="utf-8") as file:
            file.write("say it is played\n")
        make_repo(self.project.root)
        write_file(self.project, ".git/info/exclude", "/.ddx/\n/.helix/\n/.helix-logs/\n")
        for path, text in FILES.items():
            write_file(self.project, path, text)
            world.commit(path)
        store = world.git.store
        ledger.files = store.files
        ledger.holds = lambda commit: commit in store.ancestors(world.main)
        ledger.history = lambda: {
            it: store.commits[it].message
            for it in store.ancestors(world.main)
            if len(store.commits[it].parents) < 2
        }
        rows = list(_rows(self.rng))
        for row in rows:
            ledger.known.add(row["id"])
            ledger.rows[row["id"]] = row
            world.agents.skill[row["id"]] = self.rng.choice((0.0, 0.5, 1.0, 1.0, 1.0))
        write_file(self.project, ".ddx/beads.jsonl", "")
        with open(self.project.ddx("beads.jsonl"), "wb") as file:
            file.writelines(encode(row) + b"\n" for row in sorted(rows, key=lambda row: row["id"]))

    def _tracker(self, *, is_ours: bool) -> WatchedTracker:
        tracker = WatchedTracker(self.project, clock=self.clock)
        tracker.world = self.world
        tracker.is_ours = is_ours
        return tracker

    def told(self) -> list[str]:
        """Start after start, until one comes to its end."""
        tell = {
            Driver.RUN: run_story_run,
            Driver.DRAIN: run_story_drain,
            Driver.OBJECTIVE: run_story_objective,
        }[self.driver]
        said = []
        with played_by(self.world.programs):
            for _ in range(MOST_RUNS):
                said.append(self._one(tell))
                if said[-1] != CRASHED and self.rng.random() < 0.5:
                    break
        return said

    def _one(self, tell: Callable[[Story], str]) -> str:
        world = self.world
        world.run_begins()
        self.stop = StopRequest()
        self.heard = [world.hear]
        self.people.terminate = self.stop.ask
        controls.forget_others(self.project, run=world.run)
        self.ledger.paused(False)
        said = CRASHED
        try:
            with world.baton.in_use():
                said = tell(self)
        except BaseException as problem:
            if broken := _first_violation(problem):
                raise broken from None
            if not world.is_dead:
                raise
        if world.is_dead:
            world.revive()
            return CRASHED
        self._require_truth()
        return said

    def _require_truth(self) -> None:
        rows = {row["id"]: row for row in self._tracker(is_ours=False).snapshot().rows()}
        self.ledger.run_ended(rows, files_leftovers=self.driver is not Driver.DRAIN)
        if not os.path.exists(self.project.ddx("state", "landing.json")):
            self.world.require_untouched()

    # -- what every driver works with ------------------------------------------------------------

    def site(self) -> AttemptContext:
        """One more, for a worker of its own."""
        return AttemptContext(
            project=self.project,
            settings=_settings()[0],
            tracker=self._tracker(is_ours=True),
            clock=self.clock,
            masker=Masker({}),
            stop=self.stop,
            on_event=self._hear,
        )

    def wishes(self) -> StopControls:
        """As the commands make them."""
        return StopControls(
            self.stop,
            stop_asked=lambda: controls.is_asked(self.project, controls.ControlRequest.STOP),
            pause_asked=lambda: controls.is_asked(self.project, controls.ControlRequest.PAUSE),
        )

    def _hear(self, happening: Any) -> None:
        for hear in self.heard:
            hear(happening)

    def desk(self, meter: UsageMeter) -> PassContext:
        agent = Agent("script", self.script)
        return PassContext(
            site=self.site(),
            settings=_settings()[1],
            pages=find_pages(self.project),
            builder=agent,
            reviewer=agent,
            limits=Limits(),
            on_call=lambda action, reply: meter.called("script", reply),
        )


CRASHED = "crashed"


# -- the three drivers, each as its command builds and starts it ---------------------------------


def run_story_run(story: Story) -> str:
    """`helix run`"""
    plan, clock = story.plan, story.clock
    meter = UsageMeter(plan.orders, clock)
    desk = story.desk(meter)
    masker = desk.site.masker
    journal = RunJournal(
        story.project.root, clock=clock, masker=masker, tell=_silent, mode=ScreenMode.SUMMARY
    )
    story.heard += (meter.hear, journal.hear)
    first = RunState(os.path.basename(journal.path), os.getpid(), started_at=clock.stamp())
    wishes = story.wishes()
    run = Run(
        desk,
        plan,
        journal=journal,
        meter=meter,
        wishes=wishes,
        state=StateFile(story.project, clock, first),
        scope=resolve_scope(desk.site, REPO),
    )
    engine = Engine(
        RunDriver(run),
        meter,
        wishes,
        site=desk.site,
        open_site=story.site,
        reviews=run.reviews if plan.reviews else None,
        land_waiting=land_waiting,
    )

    def terminate() -> None:
        wishes.wind_down()
        story.stop.ask()

    story.people.terminate = terminate
    try:
        end = work(run, engine)
    finally:
        journal.close()
    if story.world.is_dead:
        return CRASHED
    with open(story.project.ddx("run-state.json"), encoding="utf-8") as file:
        story.ledger.state_told(json.load(file), reviews=plan.reviews)
    return f"{end.exit_code}: {end.reason}"


def run_story_drain(story: Story) -> str:
    """`ddx agent execute-loop`"""
    meter, wishes, site = (
        UsageMeter(story.plan.orders, story.clock),
        StopControls(story.stop),
        story.site(),
    )
    story.heard.append(meter.hear)
    driver = QueueDriver(site, meter, _silent)
    story.people.terminate = wishes.wind_down
    end = Engine(driver, meter, wishes, site=site, open_site=story.site).run()
    if story.world.is_dead:
        return CRASHED
    story.ledger.told_usage(meter.usage.tokens)
    completed = sum(it.is_completed for it in driver.outcomes)
    return f"{end.ended}: {end.reason}, {completed} of {len(driver.outcomes)}"


def run_story_objective(story: Story) -> str:
    """`helix objective`, and `helix objective resume` after that"""
    plan, clock, project = story.plan, story.clock, story.project
    meter = UsageMeter(plan.orders, clock)
    story.heard.append(meter.hear)
    desk = story.desk(meter)
    orchestrator = Orchestrator.resume(OBJECTIVE, project.root, clock=clock)
    reconcile(desk.site)
    land_waiting(desk.site)
    list(file_unfiled(desk))
    tracker = desk.site.tracker
    if orphans := find_orphans(tracker.snapshot(), besides=orchestrator.id):
        settle_orphans(tracker, orphans, RESET)
    wishes, reviews = story.wishes(), OwedReviews(project)
    asked = {"run.max_attempts": plan.rules.max_attempts, "objective.explorers": 3}
    settings = changed(desk.settings, found={**desk.settings.found, **asked})
    way = story.rng.choice(("replan", "skip", "abort", ""))
    operator = Operator(_silent, on_stall=way, answers=("In red.",))
    context = changed(desk, settings=settings)
    engine = Engine(
        ObjectiveDriver(
            context, orchestrator, operator, meter=meter, wishes=wishes, reviews=reviews
        ),
        meter,
        wishes,
        site=desk.site,
        open_site=story.site,
        reviews=reviews if plan.reviews else None,
        land_waiting=land_waiting,
    )
    end = engine.run()
    if story.world.is_dead:
        return CRASHED
    story.ledger.told_usage(meter.usage.tokens)
    if plan.reviews and end.exit_code == 0 and "interrupted" not in end.reason:
        story.ledger.require_reviews(())
    return f"{end.exit_code}: {end.reason}"


def _first_violation(problem: BaseException) -> Violation | None:
    """What went wrong before anybody began to clean up."""
    found, at = None, problem
    while at is not None:
        found = at if isinstance(at, Violation) else found
        at = at.__context__ or at.__cause__  # type: ignore[assignment]
    return found


def _silent(sentence: str) -> None:
    pass


# -- what is drawn -------------------------------------------------------------------------------


def _plan(rng: Random, script: str) -> RunOptions:
    workers = rng.choice((1, 1, 2, 3))
    rules = RoutingRules(
        autonomy=rng.choice((Autonomy.MEDIUM, Autonomy.HIGH)),
        max_cycles=rng.choice((0, 0, 0, 3)),
        review_every=rng.choice((0, 3)),
        batch=rng.choice((1, 1, 3)) if workers == 1 else 1,
        max_attempts=rng.choice((2, 4)),
        always_ask=rng.random() < 0.1,
    )
    orders = EngineOptions(
        "script",
        script,
        workers=workers,
        max_tokens=rng.choice((None, None, 1000, 4000)),
        on_limit=rng.choice(("wait", "stop")),
    )
    reviews, watch = rng.random() < 0.7, rng.random() < 0.1
    slider = _settings()[2]
    return RunOptions(rules, orders, slider, reviews=reviews, watch=watch, workers=workers)


def _rows(rng: Random) -> list[dict[str, Any]]:
    rows = []
    epics = [f"app-e{n}" for n in range(rng.randrange(3))]
    leaves = [f"app-{n}" for n in range(rng.randrange(1, 6))]
    for bead_id in (*epics, *leaves):
        row: dict[str, Any] = {
            "id": bead_id,
            "title": f"Do {bead_id}",
            "status": "open",
            "priority": rng.randrange(4),
            "issue_type": "epic" if bead_id in epics else "task",
            "verify": [rng.choice(("true", f"test -e work/{bead_id}"))],
            "created_at": LONG_AGO,
            "updated_at": LONG_AGO,
        }
        if bead_id in leaves and epics and rng.random() < 0.5:
            row["parent"] = rng.choice(epics)
        if rng.random() < 0.1:
            row |= {"labels": ["kind:speculative"], "created_at": rng.choice((LONG_AGO, JUST_NOW))}
        if rng.random() < 0.4:
            row["spec-id"] = rng.choice(("FEAT-001", "TD-001"))
        if bead_id in leaves and bead_id != leaves[0] and rng.random() < 0.3:
            edge = {"issue_id": bead_id, "depends_on_id": leaves[0], "type": "blocks"}
            row["dependencies"] = [edge]
        if bead_id in leaves and rng.random() < 0.08:
            row |= _claimed_elsewhere(rng)
        rows.append(row)
    return rows


def _claimed_elsewhere(rng: Random) -> dict[str, Any]:
    return {
        "status": "in_progress",
        "owner": RUNNER,
        "claim-id": f"{rng.getrandbits(64):016x}",
        "claimed-at": rng.choice((LONG_AGO, JUST_NOW)),
        "claimed-machine": "elsewhere",
        "claimed-pid": "7",
    }
