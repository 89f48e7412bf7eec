"""A change that is killed, or crossed by another program, at every one of its steps.

As a program it reads an `Experiment` as JSON and writes one JSON line an accident. It stands in a
process of its own because it wraps the `os` functions by which anything is written, and it forks
for every accident, so that only the first one pays for the imports. Time and chance stand still in
it: what a change writes can be compared byte for byte with what the same change wrote unharmed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

SOURCE = Path(__file__).resolve().parents[2] / "src"
STEPS = (
    *("open", "close", "write", "pwrite", "writev", "copy_file_range", "ftruncate"),
    *("fsync", "rename", "replace", "link", "unlink", "mkdir", "rmdir", "utime", "fchmod"),
)
MOVES_BYTES = {"write": 1, "pwrite": 1, "copy_file_range": 2}
"""By the place of the argument that holds the bytes or their number: these can end half-way."""
CHANGES_NOTHING = {"close", "fsync"}
"""To be killed after one of these is to be killed before it."""

BEFORE, MIDWAY, AFTER = "killed before", "killed midway", "killed after"
CROSSED = "crossed before"
MOST_STEPS = 400
MEMORY = "/dev/shm"
"""What a killed process has written, it has written: the disk would only make us wait."""


@dataclass(frozen=True)
class Experiment:
    """One change to a project, and the commands that follow after its accident."""

    files: dict[str, str]
    """The project as it was long ago; names stand below `.ddx`."""
    warm_up: list[str]
    """An earlier change, not killed: from then on there are an index and a last file."""
    change: list[str]
    afterwards: list[list[str]]
    replaced_by: str = ""
    """What another program puts in the tracker's place."""
    replaced_first: bool = False
    """It does so after the warm-up and before the change."""
    meanwhile: list[str] | None = None
    """A change by another process, which `git clean` has freed from waiting for our lock."""


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    words: list[str]
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Accident:
    """What was there when the writer had died or gone on, and what the next commands made of it."""

    step: int
    how: str
    call: str
    ended: Ended | None
    """How the change itself ended, if it was not killed."""
    files: dict[str, str]
    afterwards: list[Ended]
    files_afterwards: dict[str, str]
    kept_afterwards: list[str]
    """The contents of what T-14a keeps."""
    leftovers: list[str]

    def __str__(self) -> str:
        return f"{self.how} step {self.step}, {self.call}"


def kill_at_every_step(experiment: Experiment) -> tuple[Accident, list[Accident]]:
    """The unharmed change (its `files` are those before it), and one killing a step and manner."""
    unharmed, *killings = _run_program(experiment, "kill")
    return unharmed, killings


def cross_at_every_step(experiment: Experiment) -> list[Accident]:
    """At each step of the change another program is at work, too, and does not wait for us."""
    _, *crossings = _run_program(experiment, "cross")
    return crossings


def _run_program(experiment: Experiment, accident: str) -> list[Accident]:
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="ddx-crash-", dir=place) as folder:
        ended = subprocess.run(
            [sys.executable, "-I", __file__, folder, accident],
            input=json.dumps(asdict(experiment)),
            capture_output=True,
            text=True,
            timeout=1100,
            env={"PATH": os.environ["PATH"], "HOME": folder, "DDX_BEAD_LOCK_TIMEOUT": "0"},
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    return [_read_accident(line) for line in ended.stdout.splitlines()]


def _read_accident(line: str) -> Accident:
    read = json.loads(line)
    read["ended"] = read["ended"] and Ended(**read["ended"])
    read["afterwards"] = [Ended(**each) for each in read["afterwards"]]
    return Accident(**read)


# In the program


class Steps:
    """Every call that can change a file; at the one numbered `fatal` the accident happens."""

    def __init__(self) -> None:
        self.calls: list[str] | None = None
        self.fatal = 0
        self.how = BEFORE
        self.cross: Callable[[], None] = lambda: None

    def wrap_os(self) -> None:
        for name in STEPS:
            setattr(os, name, self._wrapped(name, getattr(os, name)))

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            if self.calls is None:
                return real(*given, **named)
            self.calls.append(f"{name}{_told(given)}")
            is_fatal = len(self.calls) == self.fatal
            if is_fatal and self.how == CROSSED:
                self.calls = None
                self.cross()
                return real(*given, **named)
            if is_fatal and self.how == BEFORE:
                die()
            if is_fatal and self.how == MIDWAY:
                if name in MOVES_BYTES:
                    real(*_halved(given, MOVES_BYTES[name]), **named)
                die()
            try:
                return real(*given, **named)
            finally:
                if is_fatal:
                    die()

        return step


def _told(given: tuple[Any, ...]) -> str:
    told = [f"{len(it)} bytes" if isinstance(it, bytes | memoryview) else str(it) for it in given]
    return f"({', '.join(text.rpartition('/')[2] for text in told)})"


def _halved(given: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    whole = given[place]
    half = whole // 2 if isinstance(whole, int) else whole[: len(whole) // 2]
    return (*given[:place], half, *given[place + 1 :])


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


class Laboratory:
    """One project, made anew for every accident."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self._project = folder / "project"
        self._said = folder / "said"
        self._experiment = experiment
        self._steps = Steps()
        self._calls: list[str] = []

    def kill(self) -> Iterator[Accident]:
        for number, call in self._steps_of_the_change():
            for how in _manners(call.partition("(")[0]):
                self._make_project()
                self._killed(number, how)
                yield self._aftermath(number, how, call)

    def cross(self) -> Iterator[Accident]:
        self._steps.cross = self._meddle
        for number, call in self._steps_of_the_change():
            self._make_project()
            self._steps.fatal, self._steps.how = number, CROSSED
            (ended,) = self._do(self._experiment.change, counted=True)
            yield self._aftermath(number, CROSSED, call, ended)

    def unharmed(self) -> Accident:
        self._steps.wrap_os()
        self._make_project()
        before = self._files()
        self._calls = self._count_steps()
        assert 0 < len(self._calls) < MOST_STEPS, self._calls
        return self._found(0, "", "", None, before, [])

    def _steps_of_the_change(self) -> Iterator[tuple[int, str]]:
        return enumerate(self._calls, start=1)

    def _make_project(self) -> None:
        rmtree(self._project, ignore_errors=True)
        for name, text in self._experiment.files.items():
            file = self._project / ".ddx" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        self._do_well(self._experiment.warm_up)
        if self._experiment.replaced_first:
            self._replace_tracker()

    def _meddle(self) -> None:
        if self._experiment.replaced_by:
            self._replace_tracker()
        if self._experiment.meanwhile:
            rmtree(self._project / ".ddx/state")
            self._do_well(self._experiment.meanwhile)

    def _replace_tracker(self) -> None:
        other = self._project / "other"
        other.write_text(self._experiment.replaced_by, encoding="utf-8")
        other.rename(self._project / ".ddx/beads.jsonl")

    def _count_steps(self) -> list[str]:
        record = self._said.with_name("steps")

        def count() -> int:
            code = self._ddx(self._experiment.change, counted=True)
            calls, self._steps.calls = self._steps.calls, None
            record.write_text(json.dumps(calls))
            return code

        assert os.waitstatus_to_exitcode(_in_child(count)) == 0, self._said.read_text()
        found: list[str] = json.loads(record.read_text())
        return found

    def _killed(self, number: int, how: str) -> None:
        def change() -> int:
            self._steps.fatal, self._steps.how = number, how
            return self._ddx(self._experiment.change, counted=True)

        status = _in_child(change)
        assert os.WIFSIGNALED(status), f"step {number} never came: {self._said.read_text()}"
        assert os.WTERMSIG(status) == signal.SIGKILL

    def _do_well(self, words: list[str]) -> None:
        (ended,) = self._do(words)
        assert ended.code == 0, ended

    def _do(self, *commands: list[str], counted: bool = False) -> list[Ended]:
        """One after the other, in a process of their own."""
        record = self._said.with_suffix(".json")

        def act() -> int:
            ended = []
            for words in commands:
                code = self._ddx(words, counted=counted)
                self._steps.calls = None
                said = self._said.read_text(), self._said.with_suffix(".err").read_text()
                ended.append(Ended(words, code, *said))
            record.write_text(json.dumps([asdict(each) for each in ended]))
            return 0

        assert os.waitstatus_to_exitcode(_in_child(act)) == 0, commands
        return [Ended(**each) for each in json.loads(record.read_text())]

    def _ddx(self, words: list[str], *, counted: bool = False) -> int:
        from ddx.cli.main import main

        for fd, path in ((1, self._said), (2, self._said.with_suffix(".err"))):
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, fd)
            os.close(opened)
        os.chdir(self._project)
        if counted:
            self._steps.calls = []
        code = main(["bead", *words])
        sys.stdout.flush()
        sys.stderr.flush()
        return code

    def _aftermath(self, step: int, how: str, call: str, ended: Ended | None = None) -> Accident:
        files = self._files()
        afterwards = self._do(*self._experiment.afterwards)
        return self._found(step, how, call, ended, files, afterwards)

    def _found(
        self,
        step: int,
        how: str,
        call: str,
        ended: Ended | None,
        files: dict[str, str],
        afterwards: list[Ended],
    ) -> Accident:
        ddx = self._project / ".ddx"
        kept = [file.read_text() for file in (*ddx.glob("state/beads.*"), *ddx.glob("backups/*"))]
        leftovers = [file.name for file in ddx.rglob("*.tmp-*")]
        return Accident(
            step,
            how,
            call,
            ended=ended,
            files=files,
            afterwards=afterwards,
            files_afterwards=self._files(),
            kept_afterwards=kept,
            leftovers=leftovers,
        )

    def _files(self) -> dict[str, str]:
        """What is for git to keep."""
        ddx = self._project / ".ddx"
        found = [*ddx.glob("*.jsonl"), *ddx.glob("attachments/*/*.jsonl")]
        return {str(file.relative_to(ddx)): file.read_text(encoding="utf-8") for file in found}


def _manners(name: str) -> tuple[str, ...]:
    if name in CHANGES_NOTHING:
        return (BEFORE,)
    return (BEFORE, MIDWAY, AFTER) if name in MOVES_BYTES else (BEFORE, AFTER)


def _in_child(act: Callable[[], int]) -> int:
    """The wait status of a fork that does this and nothing else."""
    pid = os.fork()
    if not pid:
        code = 99
        try:
            code = act()
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def main() -> None:
    experiment = Experiment(**json.load(sys.stdin))
    # Later than the files' real times, so that nothing looks as if it were being written.
    now = time.time_ns() + 3600 * 1_000_000_000
    time.time_ns = lambda: now
    os.urandom = lambda size: bytes(range(size))
    sys.path.insert(0, str(SOURCE))
    from ddx.cli.registry import PROGRAM

    for words in (experiment.change, experiment.warm_up, *experiment.afterwards):
        PROGRAM.load(f"bead {words[0]}")
    laboratory = Laboratory(Path(sys.argv[1]), experiment)
    results = os.fdopen(os.dup(1), "w")
    accidents = {"kill": laboratory.kill, "cross": laboratory.cross}[sys.argv[2]]
    for found in chain([laboratory.unharmed()], accidents()):
        results.write(f"{json.dumps(asdict(found))}\n")
        results.flush()


if __name__ == "__main__":
    main()
