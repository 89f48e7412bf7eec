"""How long whole processes take and how much memory they need, measured in fair turns.

All cases take turns, so that a noisy moment of the machine falls on each of them alike. Peak
memory is what the kernel says of the ended child; it never reads lower than this very process,
which therefore must stay small: whatever needs much memory runs in a process of its own.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


class CommandFailed(Exception):
    """A command ended badly or took too long; the message says which of the two."""


@dataclass(frozen=True)
class Run:
    wall_ms: float
    peak_mb: float


@dataclass(frozen=True)
class Case:
    """A command to be measured; `argv` is asked before each run, so that no run repeats another."""

    name: str
    argv: Callable[[], Sequence[str]]
    cwd: Path
    prepare: Callable[[], object] = lambda: None
    """Done before each run, outside its time."""
    limit_s: float = 60.0


@dataclass(frozen=True)
class Result:
    """All runs of one case, or why there are none."""

    runs: tuple[Run, ...] = ()
    failure: str = ""

    @property
    def min_ms(self) -> float:
        return min(run.wall_ms for run in self.runs)

    @property
    def median_ms(self) -> float:
        return statistics.median(run.wall_ms for run in self.runs)

    @property
    def peak_mb(self) -> float:
        return max(run.peak_mb for run in self.runs)


def measure_in_turns(
    cases: Sequence[Case], *, env: Mapping[str, str], rounds: int, case_s: float
) -> dict[str, Result]:
    """At most `rounds` runs of each case, fewer once its turns have taken `case_s` seconds.

    One more run goes before them, to fill the caches; with no rounds it is the one that counts.
    """
    runs: dict[str, list[Run]] = {case.name: [] for case in cases}
    failures: dict[str, str] = {}
    spent_s = dict.fromkeys(runs, 0.0)
    for _ in range(1 + rounds):
        for case in cases:
            if case.name in failures:
                continue
            if spent_s[case.name] > case_s and len(runs[case.name]) > 1:
                continue
            started = time.perf_counter()
            try:
                case.prepare()
                runs[case.name].append(
                    run_once(case.argv(), cwd=case.cwd, env=env, limit_s=case.limit_s)
                )
            except CommandFailed as failure:
                failures[case.name] = str(failure)
            spent_s[case.name] += time.perf_counter() - started
    return {
        name: Result(failure=failures[name])
        if name in failures
        else Result(tuple(done[1:] or done))
        for name, done in runs.items()
    }


def run_once(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], limit_s: float) -> Run:
    """One whole process from its start to its end; what it prints goes nowhere."""
    with tempfile.TemporaryFile() as complaints:
        started = time.perf_counter()
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )
        with _stopped_after(limit_s, child) as expired:
            _, status, usage = os.wait4(child.pid, 0)
            wall_ms = (time.perf_counter() - started) * 1000
            child.returncode = os.waitstatus_to_exitcode(status)
        if expired.is_set():
            raise CommandFailed(f"over {limit_s:.0f} s")
        if child.returncode:
            complaints.seek(0)
            raise CommandFailed(f"exit {child.returncode}: {_in_short(complaints.read())}")
        return Run(wall_ms, usage.ru_maxrss * MAXRSS_BYTES / 1e6)


def answer_of(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], limit_s: float = 60.0
) -> bytes:
    """What a command prints, for the steps that are not measured."""
    with (
        subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as child,
        _stopped_after(limit_s, child) as expired,
    ):
        answer, complaints = child.communicate()
    if expired.is_set():
        raise CommandFailed(f"over {limit_s:.0f} s")
    if child.returncode:
        raise CommandFailed(f"exit {child.returncode}: {_in_short(complaints)}")
    return answer


@contextmanager
def _stopped_after(limit_s: float, child: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
    """Kills the child's whole group when time is up, or when we leave before it has ended."""
    expired = threading.Event()

    def stop() -> None:
        expired.set()
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    alarm = threading.Timer(limit_s, stop)
    alarm.start()
    try:
        yield expired
    finally:
        alarm.cancel()
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _in_short(complaints: bytes) -> str:
    return " ".join(complaints.decode(errors="replace").split())[-160:] or "it said nothing"
