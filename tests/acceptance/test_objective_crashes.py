"""Killed after any line of its log, an objective goes on as if nothing had happened (O-5)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import DEVNULL, run

import pytest
from tests.support.attempts import CLEAN
from tests.support.objectives import TEXT, ObjectiveScene, make_objective_scene, statuses, step
from tests.support.tracker import ROOT

# A driver that is killed as by kill -9 once its log has so many lines, before it does anything
# else. It is told by the kernel's own call: each line is on the disk when that returns.
_MORTAL = """\
import os, runpy, signal, sys

most, program, sync = int(sys.argv[1]), sys.argv[2], os.fsync

def fsync(fd):
    sync(fd)
    path = os.readlink(f"/proc/self/fd/{fd}")
    if "/.helix/objectives/" in path and path.endswith("/events.jsonl"):
        with open(path, "rb") as file:
            if file.read().count(b"\\n") >= most:
                os.kill(os.getpid(), signal.SIGKILL)

os.fsync = fsync
sys.argv[:] = [program, *sys.argv[3:]]
runpy.run_path(program, run_name="__main__")
"""
_PROGRAM = ROOT / "src/helix/__main__.py"
MOST_LINES = 40


def objective_until(yard: ObjectiveScene, lines: int, *words: str) -> int:
    """The exit code of `helix objective WORDS`, killed at this many lines."""
    argv = [sys.executable, "-c", _MORTAL, str(lines), str(_PROGRAM), "objective", *words]
    variables = yard.variables(HELIX_BACKOFF_SLEEP="0", PYTHONPATH=str(ROOT / "src"))
    ended = run(argv, cwd=yard.root, env=variables, stdin=DEVNULL, capture_output=True)
    return ended.returncode


def lines_of(yard: ObjectiveScene) -> list[str]:
    """What each line of the log is, `note explored` or `event start`; none without a log."""
    logs = list((yard.root / ".helix/objectives").glob("*/events.jsonl"))
    rows = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    return [f"{row['kind']} {row['name']}" for row in rows]


def make_busy(folder: Path) -> ObjectiveScene:
    """Two tasks, one after the other, the first of which needs a second try."""
    yard = make_objective_scene(folder)
    yard.plan(step("001"), step("002", "001"))
    yard.builds("001", 'mkdir "$stage/tried" && exit 1\necho done > 001.txt\n')
    return yard


def stands(yard: ObjectiveScene) -> None:
    """What is true at the end, however often it was killed on the way."""
    told = yard.objective("status", "--json").json
    assert (told["state"], len(told["completed"])) == ("DONE", 2)
    assert statuses(yard) == {"001: part-001": "closed", "002: part-002": "closed"}
    assert len([row for row in yard.rows().values() if row.get("issue_type") == "epic"]) == 1
    calls = [call.split()[0] for call in yard.calls()]
    assert calls.count("build") == 3  # nothing is built twice
    assert calls.count("review") == 2
    lines = lines_of(yard)
    assert lines.count("note reviewed") == lines.count("event task_complete") == 2
    assert lines.count("event tasks_created") == lines.count("event all_complete") == 1
    assert yard.git("log", "--format=%s", "--", "001.txt", "002.txt").out.count("\n") == 2
    assert yard.leftover() == CLEAN


def test_killed_after_every_line_in_turn_it_comes_to_the_same_end(tmp_path: Path) -> None:
    yard = make_busy(tmp_path / "w")
    died_at: list[int] = []
    code = objective_until(yard, 1, TEXT)
    while code == -9 and len(died_at) < MOST_LINES:
        died_at.append(len(lines_of(yard)))
        code = objective_until(yard, died_at[-1] + 1, "resume")
    assert code == 0
    assert died_at == list(range(2, len(lines_of(yard)) + 1))  # the first two are one write
    stands(yard)


@pytest.mark.parametrize("line", ["note filing", "event tasks_created", "note reviewed"])
def test_killed_once_it_comes_to_the_same_end(tmp_path: Path, line: str) -> None:
    whole = make_busy(tmp_path / "whole")
    whole.objective(TEXT)
    yard = make_busy(tmp_path / "w")
    assert objective_until(yard, lines_of(whole).index(line) + 1, TEXT) == -9
    assert lines_of(yard)[-1] == line
    yard.objective("resume")
    stands(yard)
