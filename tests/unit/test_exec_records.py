"""Runs that were kept: whole or not at all, and not for ever (C-9)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ddx.base.clock import Clock
from ddx.base.errors import NeedsPerson, NotFound
from ddx.documents.definitions import Execution
from ddx.documents.metrics import Metric, Tolerance
from ddx.documents.run_records import (
    LARGEST_LOG,
    MOST_LOGS,
    MOST_RUNS,
    STDOUT,
    OpenRun,
    RunRecord,
    TruncatedLog,
    read_history,
    read_log,
)
from ddx.project.project import Project
from ddx.proof.executions import Place, run_execution
from ddx.testing import FakeClock, make_repo


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_repo(tmp_path)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def keep(
    project: Project, clock: FakeClock, definition_id: str = "EXEC-001", **fields
) -> RunRecord:
    clock.advance(1)
    with OpenRun(project, clock=clock) as run:
        run.stdout.write(b"said\n")
        run.stdout.close()
        run.stderr.close()
        usual = {
            "artifact_ids": ("TD-001",),
            "started_at": clock.stamp(),
            "finished_at": clock.stamp(),
            "status": "success",
            "exit_code": 0,
            "metrics": {"start-up": 41.5},
        }
        return run.finish(RunRecord(run.run_id, definition_id, **{**usual, **fields}))


def folders(project: Project) -> set[str]:
    return {path.name for path in Path(project.ddx("exec-runs")).glob("run-*")}


def test_a_record_comes_back_as_it_was_written(project, clock):
    first = keep(project, clock)
    second = keep(project, clock, status="failed", exit_code=3, metrics={}, reason="exit code 3")
    third = keep(project, clock, "X", status="timed_out", exit_code=None, reason="late")
    history = read_history(project)
    assert history.records == (first, second, third)
    assert history.of("EXEC-001") == (first, second)
    assert history.last("EXEC-001") == second
    assert history.last("nothing") is None
    assert history.measured("start-up") == ((first, 41.5),)
    assert history.require(third.run_id) == third
    assert read_log(project, first.run_id, STDOUT) == "said\n"
    with pytest.raises(NotFound):
        history.require("run-00000000")


def test_before_the_first_run_there_is_no_history(project):
    assert read_history(project).records == ()


def test_a_run_that_was_not_finished_leaves_nothing(project, clock):
    with pytest.raises(KeyboardInterrupt), OpenRun(project, clock=clock) as run:
        run.stdout.write(b"half")
        raise KeyboardInterrupt
    assert folders(project) == set()


def test_a_run_still_going_on_is_no_history_and_is_not_cleared_away(project, clock):
    with OpenRun(project, clock=clock) as going:
        done = keep(project, clock)
        assert read_history(project).records == (done,)
        assert folders(project) == {going.run_id, done.run_id}


def test_what_a_dead_run_left_is_cleared_away_by_the_next(project, clock):
    dead = Path(project.ddx("exec-runs", "run-dead0000"))
    dead.mkdir(parents=True)
    (dead / STDOUT).write_text("half")
    (dead / "record.json.tmp-1-2").write_text('{"run_id"')
    assert read_history(project).records == ()
    assert read_history(project).unreadable == ()
    done = keep(project, clock)
    assert folders(project) == {done.run_id}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"run_id": "run-1"}', '"text"', "null"])
def test_a_damaged_record_is_named_and_hides_no_other(project, clock, content):
    damaged, sound = keep(project, clock), keep(project, clock)
    path = Path(project.ddx("exec-runs", damaged.run_id, "record.json"))
    path.write_text(content)
    history = read_history(project)
    assert history.records == (sound,)
    assert history.unreadable == (str(path),)
    keep(project, clock)
    assert path.exists(), "a person may want to look at it"


def test_old_runs_and_older_logs_go_and_other_definitions_stay(project, clock):  # C-9
    other = keep(project, clock, "other")
    records = [keep(project, clock) for _ in range(MOST_RUNS + 3)]
    history = read_history(project)
    assert history.of("EXEC-001") == tuple(records[3:])
    assert history.of("other") == (other,)
    with_logs = [item for item in history.of("EXEC-001") if read_log(project, item.run_id, STDOUT)]
    assert with_logs == records[-MOST_LOGS:]


def test_git_never_sees_a_run(project, clock):
    keep(project, clock)
    seen = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "exec-runs/" not in seen


# Running in another checkout, as an attempt does


def test_a_definition_may_run_elsewhere_and_is_recorded_in_the_project(
    project, tmp_path_factory, monkeypatch
):
    monkeypatch.setenv("HELIX_TRUST", "1")
    workspace = os.path.realpath(tmp_path_factory.mktemp("workspace"))
    metric = Metric(
        name="size",
        id="MET-1",
        path="m.md",
        unit="",
        direction="lower",
        pattern="size (.*)",
        tolerance=Tolerance(),
    )
    execution = Execution(
        "EXEC-001",
        "e.md",
        'pwd; echo "$DDX_PROJECT_ROOT"; echo size 12',
        artifact_ids=("TD-001",),
        measures=(metric,),
    )
    record = run_execution(project, execution, clock=Clock(), place=Place(workspace))
    assert record.ok
    assert (record.artifact_ids, record.metrics) == (("TD-001",), {"size": 12})
    assert read_log(project, record.run_id, STDOUT) == f"{workspace}\n{project.root}\nsize 12\n"
    assert read_history(project).records == (record,)


def test_without_trust_nothing_runs_and_nothing_is_kept(
    project, tmp_path_factory, monkeypatch
):
    monkeypatch.setenv("HELIX_TRUST", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    with pytest.raises(NeedsPerson, match=r"the command of EXEC-001 \(e\.md\) was not run"):
        run_execution(project, Execution("EXEC-001", "e.md", "touch ran"), clock=Clock())
    assert not os.path.exists(os.path.join(project.root, "ran"))
    assert not os.path.exists(project.ddx())


# Logs


def test_a_log_keeps_what_fits(tmp_path):
    log = TruncatedLog(str(tmp_path / "log"))
    for _ in range(10):
        log.write(b"line\n")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"line\n" * 10


def test_of_too_much_the_beginning_and_the_end_are_kept_and_the_cut_is_named(tmp_path):
    log = TruncatedLog(str(tmp_path / "log"), largest=20)
    for number in range(30):
        log.write(b"%09d\n" % number)
    log.close()
    assert (tmp_path / "log").read_bytes() == (
        b"000000000\n\n[... 280 bytes left out ...]\n000000029\n"
    )


@pytest.mark.parametrize("size", [0, 9, 10, 11, 19, 20, 21, 500])
def test_nothing_is_cut_that_fits_and_no_byte_is_lost_in_the_count(tmp_path, size):
    log = TruncatedLog(str(tmp_path / "log"), largest=20)
    content = os.urandom(size).hex()[:size].encode()
    for start in range(0, size, 7):
        log.write(content[start : start + 7])
    log.close()
    kept = (tmp_path / "log").read_bytes()
    if size <= 20:
        assert kept == content
    else:
        note = b"\n[... %d bytes left out ...]\n" % (size - 20)
        assert kept == content[:10] + note + content[-10:]


def test_a_log_is_written_while_it_grows(tmp_path):
    log = TruncatedLog(str(tmp_path / "log"))
    log.write(b"now\n")
    assert (tmp_path / "log").read_bytes() == b"now\n"
    assert LARGEST_LOG == 5_000_000
