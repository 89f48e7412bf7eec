"""Managed execution that is killed at every one of its steps, and what the next start makes of it.

As a program it plays one scene again and again, each time killed at another step, and writes one
JSON line an accident. It stands in a process of its own because it wraps the calls by which
anything is changed, and it forks for every command. What a command had to import, the process that
forks imports too, so that only the first one pays for it.

To see one accident alone:
    PYTHONPATH=src python -m tests.support.crash_attempt SCENE STEP ["killed midway through"]
"""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.attempts import Workshop, greeting, make_workshop, writes
from tests.support.crash_attempt_steps import BEFORE, MIDWAY, Steps, manners, telling
from tests.support.crash_attempt_world import PRODUCT, Accident, World
from tests.support.tracker import Row, wait_for

ROOT = Path(__file__).resolve().parents[2]
LANES = 2
LONGEST_S = 300
MEMORY = "/dev/shm"
"""What a killed process has written, it has written: the disk would only make us wait."""
UNHARMED, NEVER = "unharmed", "(it had ended before)"

LOOP = ("agent", "execute-loop", "--harness", "script", "--json")
EXECUTE = ("agent", "execute-bead", "app-1", "--harness", "script", "--json")
RECONCILE = ("reconcile",)
"""Not a command: the clean-up of a start, and nothing after it."""

HELLO = f"write {PRODUCT} hello\nsleep 0.02\nsay done\nusage 100 20 0.01\n"
GOOD = f"write {PRODUCT} goodbye\n"
DRAFT = "my own draft\n"
BY_HAND = "by-hand.txt"


@dataclass(frozen=True)
class Scene:
    """A command that will be killed, and how it comes to that."""

    command: tuple[str, ...] = LOOP
    rows: tuple[Row, ...] = (greeting(script=HELLO),)
    base: dict[str, str] = field(default_factory=dict)
    """Files of the last commit."""
    draft: str = ""
    """What the operator has where the product wants to go; he takes it away after the accident."""
    earlier: tuple[tuple[str, ...], ...] = ()
    """Commands that were not killed; `{attempt}` in a later command is the last attempt's id."""
    died_at: tuple[str, str] = ("", BEFORE)
    """Where an earlier start of the loop was killed: at the first call with this in it."""
    meanwhile: str = ""
    """At the first call with this in it, the operator commits a file of his own."""
    rival: str = ""
    """At the first call with this in it, somebody else claims the bead; he lets go afterwards."""
    recovery: tuple[str, ...] = LOOP
    since: str = ""
    """The first call that is new in this scene; what comes before is killed in another one."""
    is_thorough: bool = False
    """Killed at every single step, in every manner."""


FAILING = greeting(script=HELLO, acceptance=f"- `grep -q goodbye {PRODUCT}` passes")
IDLE = greeting(script="say nothing to do\n")
PAIR = (writes("app-1", "a.txt"), writes("app-2", "b.txt"))
THERE = {PRODUCT: "here\n"}
COMMITTING = {".ddx/config.yaml": "tracker: {commit: on-close}\n"}
METRIC = {
    "docs/helix/06-iterate/metrics/size.yaml": (
        f"direction: lower\ncommand: wc -c < {PRODUCT}\nratchet: true\n"
    )
}

SCENES = {
    "success": Scene(is_thorough=True),
    "failing check": Scene(
        rows=(FAILING,), recovery=(*LOOP, "--model", "{good}"), since="git commit-tree"
    ),
    "edits in the way": Scene(draft=DRAFT, since="git merge"),
    "pending landing": Scene(draft=DRAFT, earlier=(LOOP, ("rm", PRODUCT))),
    "moved tip": Scene(meanwhile="git add", since="git worktree"),
    "satisfied": Scene(rows=(IDLE,), base=THERE, since="git add"),
    "batch": Scene((*EXECUTE, "app-2"), rows=PAIR, since="git merge"),
    "committed tracker": Scene(base=COMMITTING, since="update-ref -d"),
    "new floor": Scene(base=METRIC, since="git merge"),
    "lost claim": Scene(rival="mkdir(.new-", since="mkdir(.new-"),
    "land": Scene(("agent", "land", "{attempt}", "--json"), earlier=((*EXECUTE, "--no-merge"),)),
    "reconciling work": Scene(RECONCILE, died_at=("agent-tool", BEFORE)),
    "reconciling a landing": Scene(RECONCILE, died_at=("git merge", MIDWAY)),
    "reconciling a close": Scene(RECONCILE, died_at=("rev-parse --verify", BEFORE)),
    "reconciling nothing": Scene(
        RECONCILE, rows=(IDLE,), base=THERE, died_at=("unlink(README.md)", BEFORE)
    ),
}


def kill_at_every_step(name: str) -> list[Accident]:
    """The scene unharmed, and one killing a step and manner."""
    return _run_program(name)


def kill_at_random(seed: int, *, kills: int, beads: int) -> Accident:
    """A loop with two workers that is killed again and again, and then left in peace."""
    (found,) = _run_program("--random", str(seed), str(kills), str(beads))
    return found


def _run_program(*words: str) -> list[Accident]:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.crash_attempt", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1100,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [Accident(**json.loads(line)) for line in ended.stdout.splitlines()]


# In the program


class Laboratory:
    """One scene in a folder of its own, set up once and put back for every accident."""

    def __init__(self, folder: Path, scene: Scene) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._scene = scene
        self._workshop = _furnish(folder / "w", scene)
        self._world = World(self._workshop)
        os.environ.clear()
        os.environ.update(self._workshop.variables())
        self._died_at = folder / "died at"
        self._steps = Steps(self._died_at)
        self._steps.wrap()
        self._attempt = ""
        for words in scene.earlier:
            self._lead_up(words)
        if scene.died_at[0]:
            self._die_earlier()
        self._world.remember_belongings()
        self._save("as it was")

    def kill(self, lane: int = 0, only: tuple[int, str] | None = None) -> Iterator[Accident]:
        """Every `LANES`-th accident of the scene, or that one."""
        thorough = self._scene.is_thorough
        self._put_back("as it was")  # on files of its own the tracker's index is made anew
        steps = telling(
            self._count_steps(self._scene.command), since=self._scene.since, is_thorough=thorough
        )
        accidents = [
            (number, how) for number, call in steps for how in manners(call, is_thorough=thorough)
        ]
        if self._scene.draft:  # which no merge overwrites
            accidents = [(number, how) for number, how in accidents if how != MIDWAY]
        if lane == 0 and not only:
            yield self._aftermath(0, UNHARMED, "")
        for number, how in [only] if only else accidents[lane::LANES]:
            self._put_back("as it was")
            call = self._killed(self._scene.command, number, how)
            yield self._aftermath(number, how, call)

    def kill_at_random(self, seed: int, kills: int) -> Accident:
        chance = random.Random(seed)
        made: dict[str, list[str]] = {}
        for _ in range(kills):
            pid = _fork(lambda: self._ddx(self._scene.command))
            time.sleep(chance.uniform(0.05, 0.6))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            made |= self._world.made()
        found = self._aftermath(kills, "killed at random moments", f"seed {seed}")
        return replace(found, made=made)

    # -- before the accident ---------------------------------------------------------------

    def _lead_up(self, words: tuple[str, ...]) -> None:
        if words[0] == "rm":
            (self._workshop.root / words[1]).unlink()
            return
        self._do(words)
        self._attempt = self._newest()

    def _die_earlier(self) -> None:
        self._save("before")
        self._put_back("before")
        calls = self._count_steps(LOOP)
        self._put_back("before")
        part, how = self._scene.died_at
        self._killed(LOOP, next(n for n, call in enumerate(calls, start=1) if part in call), how)
        wait_for(lambda: not self._workshop.marked())

    def _save(self, name: str) -> None:
        shutil.copytree(self._folder / "w", self._folder / name, symlinks=True)

    def _put_back(self, name: str) -> None:
        wait_for(lambda: _is_removed(self._folder / "w"))
        shutil.copytree(self._folder / name, self._folder / "w", symlinks=True)

    def _count_steps(self, words: tuple[str, ...]) -> list[str]:
        told = self._folder / "steps"

        def count() -> int:
            self._begin_counting()
            code = self._ddx(words)
            calls, self._steps.calls = self._steps.calls, None
            told.write_text(json.dumps(calls))
            return code

        self._in_child(count)
        found: list[str] = json.loads(told.read_text())
        return found

    def _killed(self, words: tuple[str, ...], number: int, how: str) -> str:
        """The call at which it happened."""
        self._died_at.unlink(missing_ok=True)

        def act() -> int:
            self._steps.fatal, self._steps.how = number, how
            self._begin_counting()
            return self._ddx(words)

        self._in_child(act)
        return self._died_at.read_text() if self._died_at.exists() else NEVER

    def _begin_counting(self) -> None:
        self._steps.calls = []
        if self._scene.meanwhile:
            self._steps.interludes[self._scene.meanwhile] = self._operator_commits
        if self._scene.rival:
            self._steps.interludes[self._scene.rival] = lambda: self._rival_says("--claim")

    def _operator_commits(self) -> None:
        (self._workshop.root / BY_HAND).write_text("by hand\n")
        self._workshop.git("add", BY_HAND)
        self._workshop.git("commit", "--quiet", "--message", "by hand", "--", BY_HAND)

    def _rival_says(self, word: str) -> None:
        self._workshop.ddx("update", "app-1", word, code=None)

    # -- commands --------------------------------------------------------------------------

    def _do(self, words: tuple[str, ...]) -> tuple[int, str]:
        status = self._in_child(lambda: self._ddx(words))
        said = "".join((self._folder / name).read_text() for name in ("out", "err"))
        return os.waitstatus_to_exitcode(status), said

    def _ddx(self, words: tuple[str, ...]) -> int:
        for fd, name in ((1, "out"), (2, "err")):
            opened = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, fd)
            os.close(opened)
        os.chdir(self._workshop.root)
        signal.alarm(LONGEST_S)
        good = self._workshop.home / "good.script"
        code = _run([word.format(attempt=self._attempt, good=good) for word in words])
        sys.stdout.flush()
        sys.stderr.flush()
        return code

    def _in_child(self, act: Callable[[], int]) -> int:
        """The wait status of a fork that does this and nothing else."""
        known, told = set(sys.modules), self._folder / "imported"
        told.unlink(missing_ok=True)

        def act_and_tell() -> int:
            code = act()
            self._steps.calls = None
            if new := sorted(name for name in set(sys.modules) - known if name[:1] != "_"):
                told.write_text(" ".join(new))
            return code

        status = os.waitpid(_fork(act_and_tell), 0)[1]
        for name in told.read_text().split() if told.exists() else ():
            with suppress(ImportError):  # a name that only somebody else's import can find
                importlib.import_module(name)
        return status

    # -- after the accident ----------------------------------------------------------------

    def _aftermath(self, step: int, how: str, call: str) -> Accident:
        world = self._world
        made, was_half_closed = world.made(), world.is_half_closed()
        draft = self._take_draft_away()
        if self._scene.rival:
            self._rival_says("--unclaim")
        code, said = self._do(self._scene.recovery)
        rows, leftovers, before = self._workshop.rows(), world.leftovers(), world.everything()
        self._do(LOOP)
        after = world.everything()
        return Accident(
            step=step,
            how=how,
            call=call,
            made=made,
            was_half_closed=was_half_closed,
            code=code,
            said=said,
            statuses={bead_id: row["status"] for bead_id, row in rows.items()},
            closings={bead_id: world.closings(bead_id) for bead_id in rows},
            claimed=[bead_id for bead_id, row in rows.items() if "claim-id" in row],
            landed=world.landed(),
            kept=world.kept(),
            floors=world.floors(),
            harmed=[*draft, *world.harmed()],
            broken=world.broken(),
            leftovers=leftovers,
            restless=[name for name in after if after[name] != before[name]],
            unreadable=self._unreadable() if how == MIDWAY else "",
        )

    def _take_draft_away(self) -> list[str]:
        if not self._scene.draft or self._scene.earlier:
            return []
        file = self._workshop.root / PRODUCT
        found = file.read_text() if file.exists() else "gone"
        file.unlink(missing_ok=True)
        return [] if found == DRAFT else [f"his draft: {found!r}"]

    def _unreadable(self) -> str:
        oldest = self._attempts()[0]
        shown = [self._do(("agent", "attempts")), self._do(("agent", "log", oldest))]
        return "".join(said for code, said in shown if code)

    def _newest(self) -> str:
        return self._attempts()[-1]

    def _attempts(self) -> list[str]:
        return [name for name in self._workshop.attempts() if name[0] != "."]


def _furnish(folder: Path, scene: Scene) -> Workshop:
    """A repository, with work of the operator's in every state that git knows."""
    workshop = make_workshop(folder, *scene.rows)
    (workshop.home / "good.script").write_text(GOOD)
    for name, text in scene.base.items():
        (workshop.root / name).parent.mkdir(parents=True, exist_ok=True)
        (workshop.root / name).write_text(text)
    workshop.commit("base")
    (workshop.root / "README.md").write_text("an app\nstashed\n")
    workshop.git("stash", "--quiet")
    (workshop.root / "README.md").write_text("an app\nnot committed\n")
    (workshop.root / "notes.txt").write_text("untracked\n")
    (workshop.root / "staged.txt").write_text("staged\n")
    workshop.git("add", "staged.txt")
    if scene.draft:
        (workshop.root / PRODUCT).write_text(scene.draft)
    return workshop


def _run(words: list[str]) -> int:
    from ddx.attempts.recovery import reconcile
    from ddx.attempts.work import open_site
    from ddx.cli.context import here
    from ddx.cli.main import main

    if tuple(words) != RECONCILE:
        return main(words)
    reconcile(open_site(here(), lambda happening: None))
    return 0


def _fork(act: Callable[[], int]) -> int:
    pid = os.fork()
    if not pid:
        code = 99
        try:
            code = act()
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def _is_removed(folder: Path) -> bool:
    """False if something that a killed program had started was still writing there."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _in_lanes(folder: Path, scene: Scene) -> Iterator[Accident]:
    """The accidents of a scene, shared by as many processes as there are lanes."""
    files = [folder / f"lane-{lane}.jsonl" for lane in range(LANES)]

    def work(lane: int) -> int:
        with files[lane].open("w") as results:
            for found in Laboratory(folder / f"lane-{lane}", scene).kill(lane):
                results.write(f"{json.dumps(asdict(found))}\n")
        return 0

    pids = [_fork(lambda lane=lane: work(lane)) for lane in range(LANES)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    assert not any(codes), codes
    for file in files:
        for line in file.read_text().splitlines():
            yield Accident(**json.loads(line))


def _play(folder: Path, words: list[str]) -> Iterator[Accident]:
    match words:
        case ["--random", seed, kills, beads]:
            rows = [writes(f"app-{n:02d}", f"files/{n:02d}.txt") for n in range(int(beads))]
            scene = Scene((*LOOP, "--workers", "2"), rows=tuple(rows))
            yield Laboratory(folder / "lane", scene).kill_at_random(int(seed), int(kills))
        case [name]:
            yield from _in_lanes(folder, SCENES[name])
        case [name, step, *how]:
            only = (int(step), how[0] if how else BEFORE)
            yield from Laboratory(folder / "lane", SCENES[name]).kill(only=only)


def main() -> None:
    import ddx.agents.script  # noqa: F401

    results = os.fdopen(os.dup(1), "w")
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="ddx-crash-", dir=place) as folder:
        for found in _play(Path(folder), sys.argv[1:]):
            results.write(f"{json.dumps(asdict(found))}\n")
            results.flush()


if __name__ == "__main__":
    main()
