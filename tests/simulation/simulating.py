"""One seed, one story: runs of the true loop in a world of its own, from the first to the last."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from random import Random
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any
from unittest.mock import patch

from tests.simulation.ledger import Ledger, Violation
from tests.simulation.people import People, write_file
from tests.simulation.world import Crash, WatchedTracker, World, WorldClock

from ddx.execution.model import Limits
from ddx.execution.orders import Orders
from ddx.execution.work import Site
from ddx.masking import Masker
from ddx.project import Project
from ddx.settings import Settings, read_settings
from ddx.supervision import StopRequest
from ddx.tracker.codec import encode
from ddx.tracker.model import RUNNER
from ddx.values import changed
from helix.actions.scope import REPO, resolve_scope
from helix.desk import Agent, Desk
from helix.meter import Meter
from helix.policy.model import Answer, Autonomy, Rules
from helix.prompts import find_pages
from helix.settings import HelixSettings, read_helix_settings
from helix.slider import Slider, read_slider
from helix.supervisor import controls
from helix.supervisor.journal import Journal, Mode
from helix.supervisor.loop import Loop
from helix.supervisor.run import Plan, Run
from helix.supervisor.state import RunState, StateFile

MEMORY = "/dev/shm"  # a disk's fsync would be all that we measure
MOST_RUNS = 6
START = datetime(2100, 1, 1, tzinfo=UTC)
"""Later than any file is: caches trust what has not changed for a while."""
LONG_AGO, JUST_NOW = "2099-12-01T00:00:00Z", "2099-12-31T23:30:00Z"
FILES = {
    "docs/helix/01-frame/features/FEAT-001-a-cart.md": "---\nddx:\n  id: FEAT-001\n---\n# A cart\n",
    "docs/helix/02-design/technical-designs/TD-001-sums.md": (
        "---\nddx:\n  id: TD-001\n  depends_on: [FEAT-001]\n---\n# Sums\n"
    ),
    "notes.txt": "The operator's own.\n",
}
GIT = {".git/info/exclude": ""}
"""Watched by the cache of documents, whether git has made it or not."""


def simulate(seed: int, *, spoil: Callable[[World], None] = lambda world: None) -> list[str]:
    """What the runs said at their end; a Violation if anything was that must not be."""
    folder = mkdtemp(prefix=f"helix-{seed}-", dir=MEMORY if os.path.isdir(MEMORY) else None)
    shop = os.path.join(folder, "shop")
    os.mkdir(shop)
    chance = Random(seed)
    try:
        with patch("os.urandom", chance.randbytes):  # ids come from there
            return Story(seed, shop, spoil).told()
    except Violation as broken:
        broken.log = "".join(_log(shop))
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _log(shop: str) -> Iterator[str]:
    """What the runs wrote into their logs, one after the other."""
    folder = os.path.join(shop, ".helix-logs")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".log"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield f"-- {name}\n{file.read()}"


@cache
def _settings() -> tuple[Settings, HelixSettings, Slider]:
    with TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, ".ddx"))
        project = Project(folder)
        clock = WorldClock(START)
        settings = read_settings(project, clock=clock)
        settings = changed(settings, found={**settings.found, "tracker.commit": "never"})
        slider = read_slider(project, clock=clock)
        return settings, read_helix_settings(project, clock=clock), slider


class Story:
    """Everything that is drawn from the seed."""

    def __init__(self, seed: int, folder: str, spoil: Callable[[World], None]) -> None:
        self.rng = rng = Random(seed)
        self.project = Project(folder)
        self.plan = _plan(rng)
        self.clock = WorldClock(START)
        self.ledger = Ledger(max_attempts=self.plan.rules.max_attempts)
        self.world = world = World(rng, self.clock, self.ledger)
        self.clock.world = world
        world.crashes = rng.choice((0, 0, 1, 3))
        world.restless = rng.choice((0.0, 0.05, 0.2))
        world.answers = tuple(rng.choices(list(Answer), k=rng.randint(1, 3)))
        self._furnish(world)
        self.people = People(
            self.project,
            self._tracker(is_ours=False),
            rng,
            energy=rng.randrange(25),
            files=dict(FILES),
        )
        world.people = self.people.act
        world.people_while_waiting = self.people.act_while_waiting
        spoil(world)

    def _furnish(self, world: World) -> None:
        for path, text in (FILES | GIT).items():
            write_file(self.project, path, text)
        rows = list(_rows(self.rng))
        for row in rows:
            self.ledger.known.add(row["id"])
            world.skill[row["id"]] = self.rng.choice((0.0, 0.5, 1.0, 1.0, 1.0))
        write_file(self.project, ".ddx/beads.jsonl", "")
        with open(self.project.ddx("beads.jsonl"), "wb") as file:
            file.writelines(encode(row) + b"\n" for row in sorted(rows, key=lambda row: row["id"]))

    def _tracker(self, *, is_ours: bool) -> WatchedTracker:
        tracker = WatchedTracker(self.project, clock=self.clock)
        tracker.world = self.world
        tracker.is_ours = is_ours
        return tracker

    def told(self) -> list[str]:
        said = []
        for _ in range(MOST_RUNS):
            try:
                said.append(self._one_run())
            except Crash:
                said.append("crashed")
                continue
            if self.rng.random() < 0.5:
                break
        if not self.people.are_untouched():
            raise Violation("a file of the operator's is not what they left")
        return said

    def _one_run(self) -> str:
        world = self.world
        world.run_begins()
        heard: list[Any] = []
        stop = StopRequest()

        def on_event(happening: Any) -> None:
            for hear in heard:
                hear(happening)

        settings, helix_settings, _ = _settings()
        site = Site(
            self.project,
            settings,
            self._tracker(is_ours=True),
            self.clock,
            Masker({}),
            stop,
            on_event,
        )
        meter = Meter(self.plan.orders, self.clock)
        agent = Agent("script")
        desk = Desk(
            site,
            helix_settings,
            find_pages(self.project),
            agent,
            agent,
            Limits(),
            on_call=lambda action, reply: meter.called("script", reply),
        )
        controls.forget_others(self.project, run=world.run)
        journal = Journal(
            self.project.root, clock=self.clock, masker=site.masker, tell=_silent, mode=Mode.SUMMARY
        )
        heard += (meter.hear, journal.hear)
        first = RunState(os.path.basename(journal.path), os.getpid(), started_at=self.clock.stamp())
        run = Run(
            desk,
            self.plan,
            journal=journal,
            meter=meter,
            state=StateFile(self.project, self.clock, first),
            open_site=lambda: site,
            scope=resolve_scope(site, REPO),
            bench=world,
        )

        def terminate() -> None:
            run.winding_down = True
            stop.ask()

        self.people.terminate = terminate
        world.stop_asked = lambda: bool(stop.asked)
        try:
            end = Loop(run).work()
        finally:
            journal.close()
        self._require_truth()
        return f"{end.exit_code}: {end.reason}"

    def _require_truth(self) -> None:
        with open(self.project.ddx("run-state.json"), encoding="utf-8") as file:
            state = json.load(file)
        rows = {row["id"]: row for row in self._tracker(is_ours=False).snapshot().rows()}
        self.ledger.run_ended(state, rows, reviews=self.plan.reviews)


def _silent(sentence: str) -> None:
    pass


def _plan(rng: Random) -> Plan:
    rules = Rules(
        autonomy=rng.choice((Autonomy.MEDIUM, Autonomy.HIGH)),
        max_cycles=rng.choice((0, 0, 0, 3)),
        review_every=rng.choice((0, 3)),
        batch=rng.choice((1, 1, 3)),
        max_attempts=rng.choice((2, 4)),
        always_ask=rng.random() < 0.1,
    )
    orders = Orders("script", on_limit=rng.choice(("wait", "stop")))
    reviews, watch = rng.random() < 0.7, rng.random() < 0.1
    return Plan(rules, orders, _settings()[2], reviews=reviews, watch=watch)


def _rows(rng: Random) -> list[dict[str, Any]]:
    rows = []
    epics = [f"app-e{n}" for n in range(rng.randrange(3))]
    leaves = [f"app-{n}" for n in range(rng.randrange(1, 8))]
    for bead_id in (*epics, *leaves):
        row: dict[str, Any] = {
            "id": bead_id,
            "title": f"Do {bead_id}",
            "status": "open",
            "priority": rng.randrange(4),
            "issue_type": "epic" if bead_id in epics else "task",
            "verify": ["true"],
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
