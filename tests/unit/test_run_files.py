"""What a run leaves for others to read: state, journal, marks, wishes, reports (S-20 to S-27)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ddx.attempts.record import AttemptEvent
from ddx.base.errors import NotFound, UsageError
from ddx.base.masking import Masker
from ddx.project.project import Project
from ddx.testing import FakeClock
from helix.run import journal as controls
from helix.run.build_policy import quick_reference
from helix.run.journal import (
    FOLDER,
    LARGEST_LOG,
    MOST_RUNS,
    ControlRequest,
    RunJournal,
    RunState,
    ScreenMode,
    StateFile,
    UnfinishedBead,
    write_report,
)
from helix.run.model import Action, Decision
from helix.run.run_lock import MARK, find_holder, only_run

_USED = {"input": 800, "output": 92, "cache_read": 0, "cache_write": 0}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / ".ddx").mkdir()
    return Project(str(tmp_path))


def journal_in(
    project: Project,
    told: list[str],
    mode: ScreenMode = ScreenMode.PLAIN,
    largest_log: int = LARGEST_LOG,
) -> RunJournal:
    return RunJournal(
        project.root,
        clock=FakeClock(),
        masker=Masker({"API_TOKEN": "hunter2hunter2"}),
        tell=told.append,
        mode=mode,
        largest_log=largest_log,
    )


def call(journal: RunJournal, *, attempt: str = "20260102T030405-abc123") -> None:
    def tell(kind: str, text: str, **facts: object) -> None:
        journal.hear(AttemptEvent("", attempt, kind, text=text, data=facts))

    tell("agent-started", "codex")
    tell("agent-started", "")  # its own stream says so, too
    tell("agent-said", "two\nlines")
    tell("agent-ended", "completed", end="completed", code=0, seconds=33.6, usage=_USED)


# -- state ---------------------------------------------------------------------------------


def test_the_state_on_the_disk_is_the_one_that_was_put(project: Project) -> None:  # S-24
    file = StateFile(project, FakeClock(), RunState("helix-1", 7, agent="stub"))
    file.put(phase="building", attempts=({"attempt": "a", "beads": ["app-1"]},), total_tokens=9)
    row = json.loads(Path(project.ddx("run-state.json")).read_text())
    assert row["schema"] == 1
    assert (row["run_id"], row["agent"], row["phase"]) == ("helix-1", "stub", "building")
    assert (row["total_tokens"], row["updated_at"]) == (9, file.now.updated_at)
    assert row["attempts"] == [{"attempt": "a", "beads": ["app-1"]}]


# -- journal ---------------------------------------------------------------------------------


def test_the_range_of_a_call_is_true(project: Project) -> None:  # S-28
    told: list[str] = []
    journal = journal_in(project, told, ScreenMode.SUMMARY)
    journal.log("something before")
    call(journal)
    journal.log("something after")
    (line,) = told
    said = "codex complete (rc=0, 34s, 892 tokens) — log L2\u2013L5 in"
    assert line[11:] == f"{said} {journal.path}"
    lines = Path(journal.path).read_text().splitlines()
    assert len(lines) == 6
    assert lines[1].endswith("agent started: codex")
    assert lines[4].endswith("agent ended: completed")


def test_a_summary_has_only_its_own_lines(project: Project) -> None:  # S-28
    told: list[str] = []
    journal = journal_in(project, told, ScreenMode.SUMMARY)
    journal.decided(Decision(Action.BUILD, "hx-42", least_power_explanation="it is first"))
    journal.cycle_begun(1, ["hx-42"], 5)
    journal.cycle_ended(1, ["hx-42"], "COMPLETE", done="1/3", tokens=892)
    assert [line[11:] for line in told] == [
        "cycle 1: hx-42 (5 ready)",
        "cycle 1: hx-42 → COMPLETE (1/3 done, 892 tokens)",
    ]


def test_every_decision_is_in_the_journal(project: Project) -> None:  # S-4
    journal = journal_in(project, [])
    journal.decided(Decision(Action.GUIDANCE, question="euro or dollar?"))
    (row,) = map(json.loads, Path(journal.journal_path).read_text().splitlines())
    assert (row["kind"], row["action"], row["question"]) == (
        "decision",
        "guidance",
        "euro or dollar?",
    )


def test_what_comes_from_outside_is_masked_and_cannot_steer_the_screen(project: Project) -> None:
    told: list[str] = []
    journal = journal_in(project, told)
    journal.say("hunter2hunter2 \x1b[2J")
    journal.note("odd", text="hunter2hunter2")
    everything = told[0] + Path(journal.path).read_text() + Path(journal.journal_path).read_text()
    assert "hunter2hunter2" not in everything
    assert "\x1b" not in everything


def test_old_logs_go_and_two_runs_of_a_second_have_two(project: Project) -> None:  # C-9
    folder = Path(project.root) / ".helix-logs"
    first = journal_in(project, [])
    second = journal_in(project, [])
    assert first.path != second.path
    for number in range(MOST_RUNS + 5):
        (folder / f"helix-20250101-{number:06d}.log").touch()
        (folder / f"helix-20250101-{number:06d}.jsonl").touch()
    journal_in(project, [])
    assert len(list(folder.glob("*.log"))) == MOST_RUNS
    assert os.path.exists(first.path)
    assert (folder / ".gitignore").read_text() == "*\n"


def test_old_logs_go_with_all_that_belongs_to_them_but_not_the_last_few(project: Project) -> None:
    folder = Path(project.root, FOLDER)  # C-9
    folder.mkdir()
    for number in range(20):
        for name in (f"helix-2025-{number:02}.log", f"helix-2025-{number:02}.jsonl",
                     f"blockers-2025-{number:02}.md"):  # fmt: skip
            (folder / name).touch()
            if number < 18:
                os.utime(folder / name, (1.7e9, 1.7e9))
    (folder / "notes.txt").write_text("mine")
    os.utime(folder / "notes.txt", (1.7e9, 1.7e9))
    journal_in(project, [])
    left = sorted(path.name for path in folder.glob("*2025-*"))
    assert left == sorted(
        name.format(number)
        for number in range(16, 20)
        for name in ("helix-2025-{}.log", "helix-2025-{}.jsonl", "blockers-2025-{}.md")
    )
    assert (folder / "notes.txt").exists()


def test_a_log_that_is_full_does_without_what_agents_say(project: Project) -> None:  # C-9
    journal = journal_in(project, told := [], largest_log=10_000)
    for _ in range(1000):
        journal.hear(
            AttemptEvent("", "20260102T030405-abc123", "agent-said", text="x" * 100, data={})
        )
    before = os.path.getsize(journal.path)
    assert before < 11_000
    call(journal)
    assert "complete" in told[-1]
    assert os.path.getsize(journal.path) > before


# -- one run, wishes ---------------------------------------------------------------------------


def test_a_second_run_is_refused_with_pid_and_start(project: Project) -> None:  # S-20
    clock = FakeClock()
    with only_run(project, clock):
        before = Path(project.ddx(*MARK)).stat()
        with pytest.raises(UsageError, match=f"pid {os.getpid()}, started 2026-01-02T03:04:05"):
            only_run(project, clock).__enter__()
        assert Path(project.ddx(*MARK)).stat().st_mtime_ns == before.st_mtime_ns
        holder = find_holder(project)
        assert holder is not None and holder.pid == os.getpid()
    with only_run(project, clock):
        pass


def test_the_mark_of_a_dead_run_is_taken_over(project: Project) -> None:  # S-20
    Path(project.ddx("state")).mkdir()
    Path(project.ddx(*MARK)).write_text("999999 boot-1 2026-01-02T03:04:05Z")
    assert find_holder(project) is None
    with only_run(project, FakeClock()):
        pass


def test_the_mark_tells_an_objective_from_a_run(project: Project) -> None:  # S-20
    with only_run(project, FakeClock(), objective="paint-it-12345678") as us:
        assert find_holder(project) == us
        assert us.kind == "objective"
        with pytest.raises(UsageError, match="an objective is at work here: pid"):
            only_run(project, FakeClock()).__enter__()


def test_without_a_tracker_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no tracker"):
        only_run(Project(str(tmp_path)), FakeClock()).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_wish_is_asked_heard_and_forgotten(project: Project) -> None:  # S-26
    assert not controls.is_asked(project, ControlRequest.STOP)
    controls.ask(project, ControlRequest.STOP, run="7 now")
    controls.ask(project, ControlRequest.PAUSE, run="7 now")
    assert controls.is_asked(project, ControlRequest.STOP)
    assert controls.withdraw(project, ControlRequest.PAUSE)
    assert not controls.withdraw(project, ControlRequest.PAUSE)
    controls.forget_others(project, run="8 later")
    assert not controls.is_asked(project, ControlRequest.STOP)


def test_a_wish_made_while_a_run_just_begins_is_not_lost(project: Project) -> None:  # S-26
    with only_run(project, FakeClock()) as us:
        holder = find_holder(project)
        assert holder == us
        controls.ask(project, ControlRequest.STOP, run=holder.name)
        controls.forget_others(project, run=us.name)
        assert controls.is_asked(project, ControlRequest.STOP)


# -- pages for people --------------------------------------------------------------------------


def test_a_blocker_report_says_all_and_what_to_type(project: Project) -> None:  # S-27
    blocked = UnfinishedBead(
        "app-1",
        "A cart\n## not a heading",
        "a check failed",
        is_blocked=True,
        attempts=4,
        seconds=61,
        epic="app-e",
        refs=("refs/helix/kept/app-1/x",),
        findings=("high: off by one",),
    )
    text = Path(write_report(project.root, "1", (blocked, UnfinishedBead("app-2", "B", "taken"))))
    lines = text.read_text().splitlines()
    assert "## app-1: A cart\\n## not a heading" in lines
    assert "- attempts: 4, time spent: 1 min" in lines
    assert "- impact: its epic app-e cannot be finished without it" in lines
    assert "    ddx bead reopen app-1 --reason '...'" in lines
    assert "- skipped: taken" in lines
    assert write_report(project.root, "2", ()) == ""


def test_the_quick_reference_is_found_and_ends_at_the_next_heading(tmp_path: Path) -> None:  # S-30
    page = "# Us\n## Quick Reference\n```\n# make\nmake test\n```\n### Sub\nx\n## Next\nno\n"
    (tmp_path / "AGENTS.md").write_text(page)
    assert quick_reference(str(tmp_path)) == "```\n# make\nmake test\n```\n### Sub\nx"
    assert quick_reference(str(tmp_path / "nowhere")) == ""
