"""A world for the true programs: git and agents are played, people act, machines die."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from tests.simulation.agent_fake import Agents
from tests.simulation.baton import Baton, Crash
from tests.simulation.git_fake import FakeGit
from tests.simulation.ledger import Ledger, Violation
from tests.simulation.programs import Programs

from ddx.project.project import Project
from ddx.testing import FakeClock
from ddx.tracker.tracker import ChangeResult, Tracker

if TYPE_CHECKING:
    from ddx.attempts.record import AttemptEvent
    from ddx.tracker.changeset import ChangeSet
    from ddx.tracker.snapshot import Snapshot

MAIN = "refs/heads/main"
MOST_BOUNDARIES = 4_000
"""Of one run: no path through it is that long without people who bring new work."""
HELD = ("lock", "events.jsonl")
"""What a process holds open as long as it lives."""
OURS = (".git", ".ddx", ".helix", ".helix-logs")


class Endless(Violation):
    """The run does not come to an end."""


class WatchedTracker(Tracker):
    """The true tracker; the world sees every write, and may act or end before and after it."""

    world: World
    is_ours = True

    def change(
        self,
        decide: Callable[[Snapshot, str], ChangeSet],
        *,
        expect: Mapping[str, str] | None = None,
    ) -> ChangeResult:
        if self.is_ours:
            self.world.boundary()
        before: dict[str, Any] = {}

        def seen(snapshot: Snapshot, now: str) -> ChangeSet:
            changes = decide(snapshot, now)
            before.update({it: snapshot.row(it) for it in changes.put if it in snapshot})
            return changes

        applied = super().change(seen, expect=expect)
        everything = {row["id"]: row for row in self.snapshot().rows()}
        if self.is_ours:
            self.world.learn_attempts()
        self.world.ledger.wrote(applied.rows, before, everything=everything, ours=self.is_ours)
        if self.is_ours:
            self.world.boundary()
        return applied


class WorldClock(FakeClock):
    """Time passes, and meanwhile things happen."""

    world: World

    def sleep(self, seconds: float) -> None:
        self.slept_s.clear()
        super().sleep(seconds)
        self.world.while_waiting(seconds)


class World:
    """What the programs meet; `people` act at every boundary."""

    def __init__(self, rng: Random, clock: WorldClock, project: Project, ledger: Ledger) -> None:
        self.rng = rng
        self.clock = clock
        self.project = project
        self.ledger = ledger
        self.git = FakeGit(lambda: clock.now_ns() // 10**9)
        self.agents = Agents(self, rng)
        self.baton = Baton(rng)
        self.programs = Programs(self.git, agent=self.agents.play, boundary=self.boundary)
        self.git.between_steps = self._step
        self.git.on_move = self._moves
        self.people: Callable[[World], None] = lambda world: None
        self.people_while_waiting: Callable[[World], None] = lambda world: None
        self.crashes = 0
        """How many more there may be."""
        self.restless = 0.02
        """How likely somebody acts at a boundary."""
        self.dirty: dict[str, str] = {}
        """What the operator has written and not committed, as it must still be."""
        self.run = ""
        """The name of the run that is under way."""
        self.is_dead = False
        self._boundaries = 0
        self._is_acting = False
        self._home = os.path.dirname(project.root)

    # -- time and people -------------------------------------------------------------------------

    def run_begins(self) -> None:
        self._boundaries = 0
        self.run = f"run {self.rng.getrandbits(32):08x}"
        self.ledger.run_begins()

    def boundary(self) -> None:
        """Between any two steps of ours others act, and other threads go on; or it is over."""
        if self.is_dead:
            raise Crash
        if self._is_acting:
            return
        self.ledger.went_on(threading.get_ident())
        self._boundaries += 1
        if self._boundaries > MOST_BOUNDARIES:
            raise Endless(f"{MOST_BOUNDARIES} steps, and the run goes on")
        if self.crashes and self.rng.random() < 0.003:
            self._crash()
        if self.restless and self.rng.random() < self.restless:
            self._act(self.people)
        if self.baton.others and self.rng.random() < 0.3:
            self.baton.hand_on()
        if self.is_dead:
            raise Crash

    def _step(self) -> None:
        """Within one command of git: nobody else acts, but it may be over."""
        if self.crashes and self.rng.random() < 0.02:
            self._crash()

    def while_waiting(self, seconds: float) -> None:
        if self.is_dead:
            raise Crash
        if self._is_acting:
            return
        self._boundaries -= seconds >= 1.0  # a look a second is what watching is
        if self.rng.random() < 0.02:
            self._act(self.people_while_waiting)
        if self.baton.others:
            self.baton.hand_on(to_others=True)
        if self.is_dead:
            raise Crash

    def _act(self, people: Callable[[World], None]) -> None:
        self._is_acting = True
        try:
            people(self)
        finally:
            self._is_acting = False

    def hear(self, happening: AttemptEvent) -> None:
        """What the run tells of itself."""
        if happening.kind == "released" and "status" in happening.data:
            self.ledger.released(happening.attempt, str(happening.data["status"]))

    def learn_attempts(self) -> None:
        """The attempts that were begun, as their records say it before anything is claimed."""
        folder = self.project.ddx("executions")
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if name[:1].isdigit() and name not in self.ledger.attempts:
                with open(os.path.join(folder, name, "intent.json"), encoding="utf-8") as file:
                    self.ledger.begun(name, json.load(file))

    def draw_id(self) -> str:
        return f"app-{self.rng.getrandbits(32):08x}"

    # -- the end of a process --------------------------------------------------------------------

    def _crash(self) -> None:
        """All files are out of reach at once, as they are now: nobody can tidy up after us."""
        self.crashes -= 1
        self.is_dead = True
        os.rename(self._home, f"{self._home}.dead")
        raise Crash

    def revive(self) -> None:
        """The machine is started again; what the kernel would have closed is closed."""
        for fd in os.listdir("/proc/self/fd"):
            try:
                place = os.readlink(f"/proc/self/fd/{fd}")
                if place.startswith(f"{self._home}.") and place.endswith(HELD):
                    os.close(int(fd))
            except OSError:
                continue
        shutil.rmtree(self._home, ignore_errors=True)
        os.rename(f"{self._home}.dead", self._home)
        self.is_dead = False
        lock = os.path.join(self.project.root, ".git", "index.lock")
        if os.path.exists(lock) and self.rng.random() < 0.7:
            os.unlink(lock)  # a person does as they are told

    # -- the repository --------------------------------------------------------------------------

    @property
    def main(self) -> str:
        return self.git.repositories[self.project.root].refs[MAIN]

    def commit(self, path: str) -> None:
        """The operator commits one file."""
        argv = ("git", "-C", self.project.root)
        for words in (("add", "--", path), ("commit", "--quiet", "--only", "-m", path, "--", path)):
            done = self.git.run((*argv, *words), {}, b"")
            if not done.ok:
                raise AssertionError(done.complaint)
        self.dirty.pop(path, None)

    def _moves(self, ref: str, old: str, new: str) -> None:
        if ref != MAIN or not old:
            return
        store = self.git.store
        if old not in store.ancestors(new):
            raise Violation(f"{ref} was rewritten: {new} does not hold {old}")
        before, after = store.files(old), store.files(new)
        changed = [path for path in store.differing(before, after) if path in before]
        if any(path.startswith("docs/") for path in changed):
            self.ledger.touched()  # what governs a bead says something else

    def require_untouched(self) -> None:
        """The checkout is the branch, with the operator's own edits and nothing else."""
        store = self.git.store
        wanted = {
            path: store.blobs[blob].decode() for path, (_, blob) in store.files(self.main).items()
        } | self.dirty
        found = {}
        for folder, folders, names in os.walk(self.project.root):
            inside = os.path.relpath(folder, self.project.root)
            if inside == ".":
                folders[:] = [name for name in folders if name not in OURS]
            for name in names:
                path = os.path.normpath(os.path.join(inside, name))
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found[path] = file.read()
        if found != wanted:
            strange = sorted(it for it in {*found, *wanted} if found.get(it) != wanted.get(it))
            raise Violation(f"a file is not what the operator left, or the branch has: {strange}")
