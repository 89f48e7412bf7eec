"""What one attempt costs beyond the git commands that it cannot do without (X-25).

    scripts/bench execution [--rounds 12] [--beads 1000] [--quick] [--json FILE]

The agent is a program that writes one file, and one check looks what is in it. In fair turns:
a cycle of ours (record, claim, workspace, agent, commit, check, landing, close) and the bare git
commands of the same work (shared clone, checkout, add, commit, fast-forward, remove). The fresh
checkout in which the check runs is reported apart (R-10). Then a long drain: the time per bead and
the memory at its beginning and at its end. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from stage import facts, open_scratch
from workload import Scratch

from ddx.agents.supervision import StopRequest
from ddx.attempts import attempt
from ddx.attempts.context import AttemptContext, StopControls
from ddx.attempts.engine import Engine
from ddx.attempts.limits import EngineOptions, UsageMeter
from ddx.attempts.proof_workspace import ProofRooms
from ddx.attempts.queue_driver import QueueDriver
from ddx.attempts.work import open_site
from ddx.attempts.workspace import PreparedWorkspace
from ddx.base.clock import Clock
from ddx.base.json import to_bytes
from ddx.project.project import Project

FIRST_TARGET, TARGET = 3.0, 2.0
FLAT = 1.3
"""The end of a long drain may cost so many times its beginning."""
CYCLES_A_TURN = 4
FILES = 200
"""In the repository, so that a checkout is not nothing."""
AGENT = "mkdir -p made && echo $DDX_BEAD_ID > made/last"
"""Always the same file: in a repository that grows every checkout, git's own too, takes longer."""
SETTINGS = f"harnesses: {{writer: {{kind: command, argv: [sh, -c, '{AGENT}']}}}}\n"


@dataclass(frozen=True)
class Cycle:
    ours_ms: float
    """Without the proof's own checkout."""
    proof_ms: float
    bare_ms: float

    @property
    def ratio(self) -> float:
        return self.ours_ms / self.bare_ms

    @property
    def proof_ratio(self) -> float:
        return self.proof_ms / self.bare_ms


@dataclass(frozen=True)
class Drained:
    beads: int
    first_ms: float
    last_ms: float
    first_mb: float
    last_mb: float

    @property
    def growth(self) -> float:
        return self.last_ms / self.first_ms


class Ground:
    """A repository, and beads as they are needed."""

    def __init__(self, scratch: Scratch) -> None:
        self._env = scratch.env
        self.root = scratch.folder / "project"
        self._filed = 0
        os.environ.update(scratch.env, HELIX_TRUST="1")
        for n in range(FILES):
            path = self.root / f"src/{n % 20:02d}/file_{n:03d}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"line {n}\n" * 40)
        (self.root / ".ddx").mkdir()
        (self.root / ".ddx/.gitignore").write_text("*\n")
        (self.root / ".ddx/config.yaml").write_text(SETTINGS)
        (self.root / ".ddx/beads.jsonl").write_bytes(b"")
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "begin")

    def git(self, *words: str, cwd: Path | None = None, **variables: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.root,
            env={**self._env, **variables},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def file_beads(self, count: int) -> None:
        rows = []
        for n in range(self._filed, self._filed + count):
            name = f"app-{n:05d}"
            rows.append(
                {
                    "acceptance": f"- `grep -qx {name} made/last` passes",
                    "created_at": "2026-01-01T00:00:00Z",
                    "id": name,
                    "issue_type": "task",
                    "status": "open",
                    "title": f"Write {name}",
                }
            )
        self._filed += count
        with open(self.root / ".ddx/beads.jsonl", "ab") as file:
            file.writelines(to_bytes(row) + b"\n" for row in rows)

    def drain(self, most: int = 0, *, note: Callable[[], None] = lambda: None) -> int:
        """In process: the start of Python is not what is measured here."""
        project = Project(str(self.root))

        def hear(happening: object) -> None:
            if getattr(happening, "kind", "") == "closed":
                note()

        def open_one() -> AttemptContext:
            return open_site(project, hear)

        site, meter = open_one(), UsageMeter(EngineOptions("writer", most=most), Clock())
        driver = QueueDriver(site, meter, print)
        Engine(driver, meter, StopControls(StopRequest()), site=site, open_site=open_one).run()
        assert all(outcome.is_completed for outcome in driver.outcomes), driver.outcomes[-1]
        return len(driver.outcomes)

    def bare_cycle(self, n: int) -> None:
        """The same work by git alone."""
        place = self.root.parent / f"bare-{n}"
        base = self.git("rev-parse", "HEAD")
        self.git("clone", "--quiet", "--shared", "--no-checkout", str(self.root), str(place))
        self.git("checkout", "--quiet", "--detach", base, cwd=place)
        (place / "made").mkdir(exist_ok=True)
        (place / "made/last").write_text(f"bare {n}\n")
        objects = str(self.root / ".git/objects")
        self.git("add", "--all", cwd=place, GIT_OBJECT_DIRECTORY=objects)
        tree = self.git("write-tree", cwd=place, GIT_OBJECT_DIRECTORY=objects)
        words = ("commit-tree", tree, "-p", base, "-m", f"bare {n}")
        commit = self.git(*words, cwd=place, GIT_OBJECT_DIRECTORY=objects)
        self.git("merge", "--quiet", "--ff-only", commit)
        shutil.rmtree(place)


class TimedRooms(ProofRooms):
    """The rooms of a proof, with the time that making and removing them takes."""

    spent_s = 0.0

    def __exit__(self, *problem: object) -> None:
        started = time.perf_counter()
        super().__exit__(*problem)
        TimedRooms.spent_s += time.perf_counter() - started

    def bare(self) -> str:
        started = time.perf_counter()
        found = super().bare()
        TimedRooms.spent_s += time.perf_counter() - started
        return found

    def next(self) -> PreparedWorkspace:
        started = time.perf_counter()
        found = super().next()
        TimedRooms.spent_s += time.perf_counter() - started
        return found


def measure_cycle(ground: Ground, rounds: int) -> Cycle:
    """Medians of turns that alternate; the first turn of each fills the caches."""
    ours, proof, bare = [], [], []
    for turn in range(1 + rounds):
        ground.file_beads(CYCLES_A_TURN)
        before, started = TimedRooms.spent_s, time.perf_counter()
        ground.drain()
        whole, apart = time.perf_counter() - started, TimedRooms.spent_s - before
        ours.append((whole - apart) / CYCLES_A_TURN)
        proof.append(apart / CYCLES_A_TURN)
        started = time.perf_counter()
        for n in range(CYCLES_A_TURN):
            ground.bare_cycle(turn * CYCLES_A_TURN + n)
        bare.append((time.perf_counter() - started) / CYCLES_A_TURN)
    return Cycle(*(1000 * statistics.median(times[1:]) for times in (ours, proof, bare)))


def measure_drain(ground: Ground, beads: int) -> Drained:
    """Time and memory per bead at both ends of one long drain."""
    ends: list[float] = []
    memory: list[float] = []

    def note() -> None:
        ends.append(time.perf_counter())
        memory.append(resident_mb())

    ground.file_beads(beads)
    ends.append(time.perf_counter())
    ground.drain(note=note)
    steps = [1000 * (after - before) for before, after in pairwise(ends)]
    part = max(beads // 5, 1)
    return Drained(
        beads,
        statistics.median(steps[:part]),
        statistics.median(steps[-part:]),
        statistics.median(memory[:part]),
        statistics.median(memory[-part:]),
    )


def resident_mb() -> float:
    """Now, where the kernel tells; else the most it ever was."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> int:
    asked = _arguments()
    rounds = 4 if asked.quick else asked.rounds
    beads = min(asked.beads, 100) if asked.quick else asked.beads
    attempt.ProofRooms = TimedRooms  # type: ignore[misc]
    with tempfile.TemporaryDirectory(prefix="ddx-bench-") as folder:
        scratch = open_scratch(Path(folder).resolve())
        ground = Ground(scratch)
        cycle = measure_cycle(ground, rounds)
        drained = measure_drain(ground, beads)
        place = facts(scratch, {beads: rounds})
    for name, text in place.items():
        print(f"{name}: {text}")
    print(f"\none cycle      {cycle.ours_ms:7.1f} ms")
    print(f"bare git       {cycle.bare_ms:7.1f} ms")
    print(f"proof checkout {cycle.proof_ms:7.1f} ms  {cycle.proof_ratio:5.2f} of bare git")
    print(f"ratio          {cycle.ratio:7.2f}     targets {FIRST_TARGET:g}, then {TARGET:g}")
    print(f"\n{drained.beads} beads in one drain, per bead:")
    print(f"first fifth    {drained.first_ms:7.1f} ms {drained.first_mb:7.1f} MB")
    print(f"last fifth     {drained.last_ms:7.1f} ms {drained.last_mb:7.1f} MB")
    print(f"growth         {drained.growth:7.2f}     target {FLAT:g}")
    if asked.json:
        found = {"facts": place, "cycle": asdict(cycle), "drain": asdict(drained)}
        Path(asked.json).write_text(json.dumps(found, indent=2))
    missed = [
        name
        for name, ok in (
            (f"one cycle: {cycle.ratio:.2f} of bare git", cycle.ratio <= FIRST_TARGET),
            (f"time per bead: grew {drained.growth:.2f} times", drained.growth <= FLAT),
        )
        if not ok
    ]
    for name in missed:
        print(f"missed: {name}", file=sys.stderr)
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=12, help="turns of each kind")
    parser.add_argument("--beads", type=int, default=1000, help="in the long drain")
    parser.add_argument("--quick", action="store_true", help="4 rounds and 100 beads")
    parser.add_argument("--json", help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
