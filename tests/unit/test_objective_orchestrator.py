"""The orchestrator's memory: an event log, checkpoints, and going on from both (O-1, O-5)."""

# @spec-ref TD-007

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.objectives import ANY_EVENT, ANY_TOLD, EXPLORATION, PLAN, TO_BUILDING
from tests.support.tracker import ROOT

from ddx.base.errors import CorruptFile
from ddx.testing import FakeClock, make_repo
from helix.objective import Orchestrator, State
from helix.objective.event_log import (
    MOST_OBJECTIVES,
    EventLog,
    clear,
    known_objectives,
    objective_id,
    read_checkpoints,
)
from helix.objective.machine import TRANSITIONS
from helix.objective.model import ErrorReason

TEXT = "Add a login page"


def begun(root: Path, *, upto: int = len(TO_BUILDING), clock: FakeClock | None = None) -> Any:
    found = Orchestrator(TEXT, str(root), clock=clock or FakeClock())
    for event, told in TO_BUILDING[:upto]:
        assert found.transition(event, told).success
    return found


def log_of(root: Path) -> Path:
    return root / ".helix/objectives" / objective_id(TEXT) / "events.jsonl"


def resumed(root: Path) -> Orchestrator:
    return Orchestrator.resume(TEXT, str(root))


def ended(task: str, status: str = "delivered", **told: Any) -> tuple[str, dict[str, Any]]:
    return "task_complete", {"task_id": task, "status": status, **told}


MANY = {"task_ids": [f"t{n}" for n in range(6)], "dependencies": {}}
TO_MANY = [(name, MANY if name == "tasks_created" else told) for name, told in TO_BUILDING]
TO_A_STALL = [*TO_BUILDING, ended("t1", "blocked"), ended("t3"), ("stalled", {})]
THE_REST = [("start_observing", {}), ("observation_complete", {})]
SAME = {"check": "pytest", "exit_code": 1, "error": "no such port"}
STORIES: dict[str, tuple[list[tuple[str, dict[str, Any]]], State, ErrorReason | None]] = {
    "all goes well": (
        [
            *TO_BUILDING[:3],
            ("clarify_needed", {"questions": ["Which?"]}),
            *TO_BUILDING[3:],
            *(ended(task) for task in PLAN["task_ids"]),
            ("all_complete", {}),
            *THE_REST,
        ],
        State.DONE,
        None,
    ),
    "planned anew": ([*TO_A_STALL, ("replan", {})], State.PLANNING, None),
    "skipped": ([*TO_A_STALL, ("skip", {}), *THE_REST], State.DONE, None),
    "seen to by hand": (
        [
            *TO_A_STALL,
            ("unblocked", {"task_ids": ["t1"]}),
            ended("t1", "blocked"),
            ("unblocked", {"task_ids": ["t1"]}),
            ended("t1"),
            ended("t2"),
            ("all_complete", {}),
            *THE_REST,
        ],
        State.DONE,
        None,
    ),
    "stalled": (TO_A_STALL, State.STALLED, ErrorReason.ALL_BLOCKED),
    "aborted": ([*TO_A_STALL, ("abort", {})], State.ERROR, ErrorReason.USER_ABORT),
    "nothing found": (
        [*TO_BUILDING[:1], ("exploration_complete", {"targets": {"files": []}})],
        State.ERROR,
        ErrorReason.EMPTY_EXPLORATION,
    ),
    "no plan": (
        [*TO_BUILDING[:3], ("tasks_created", {"task_ids": []})],
        State.ERROR,
        ErrorReason.NO_TASKS,
    ),
    "a ring": (
        [*TO_BUILDING[:3], ("tasks_created", {**PLAN, "dependencies": {"t1": ["t1"]}})],
        State.ERROR,
        ErrorReason.CYCLES_DETECTED,
    ),
    "ever slower": (
        [*TO_MANY, *(ended(f"t{n}", duration_s=10 if n < 3 else 100) for n in range(5))],
        State.ERROR,
        ErrorReason.VELOCITY_COLLAPSE,
    ),
    "the same again and again": (
        [*TO_MANY, *(ended(f"t{n}", "blocked", **SAME) for n in range(3))],
        State.ERROR,
        ErrorReason.SYSTEMIC_FAILURE,
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_every_story_ends_as_it_should_and_is_restored(tmp_path: Path, story: str) -> None:
    events, state, reason = STORIES[story]  # O-1, O-2, O-4, O-5
    found = Orchestrator(TEXT, str(tmp_path))
    results = [found.transition(event, told) for event, told in events]
    assert (found.state, found.error_reason) == (state, reason)
    assert results[-1].to_state is state
    assert results[-1].error_reason is reason
    assert all(result.success for result in results[:-1])
    assert resumed(tmp_path).standing == found.standing
    assert (resumed(tmp_path).status()["recovery"] == "") is (reason is None)


def test_the_stories_take_every_way_and_know_every_reason(tmp_path: Path) -> None:  # O-1, O-2
    taken, reasons = set(), set()
    for number, (events, _, reason) in enumerate(STORIES.values()):
        found = Orchestrator(TEXT, str(tmp_path / str(number)))
        for event, told in events:
            result = found.transition(event, told)
            taken.add((result.from_state, event, found.state))
        reasons.add(reason)
    ways = {(state, str(event), target) for (state, event), target in TRANSITIONS.items()}
    assert ways <= taken
    assert reasons == {None, *ErrorReason} - {ErrorReason.INVALID_TRANSITION}


@pytest.mark.parametrize(
    ("event", "told", "context"),
    [
        ("fly", {}, {}),
        ("skip", {}, {}),
        ("all_complete", {}, {"pending": ["t1", "t2", "t3"]}),
        ("stalled", {}, {"pending": ["t1", "t2", "t3"], "ready": ["t1", "t3"]}),
        ("task_complete", {"task_id": "t9"}, {"problem": "no such task", "task_id": "t9"}),
    ],
)
def test_what_does_not_fit_is_refused_with_its_reason_and_changes_nothing(
    tmp_path: Path, event: str, told: dict[str, Any], context: dict[str, Any]
) -> None:  # O-1, O-2, O-3
    found = begun(tmp_path)
    before = found.standing
    result = found.transition(event, told)
    assert (result.success, result.error_reason) == (False, ErrorReason.INVALID_TRANSITION)
    assert result.error_context == {"current_state": "BUILDING", "event": event, **context}
    assert found.standing == before == resumed(tmp_path).standing


def test_an_event_is_on_the_disk_before_it_is_true(tmp_path: Path) -> None:  # O-5
    found = begun(tmp_path, upto=1)
    log_of(tmp_path).unlink()
    log_of(tmp_path).mkdir()
    with pytest.raises(IsADirectoryError):
        found.transition("exploration_complete", EXPLORATION)
    assert found.state is State.EXPLORING
    assert read_checkpoints(str(tmp_path)) == []


def test_every_event_is_kept_those_that_were_refused_too(tmp_path: Path) -> None:  # O-5
    found = begun(tmp_path, upto=1)
    found.transition("skip")
    rows = [json.loads(line) for line in log_of(tmp_path).read_text().splitlines()]
    assert [(row["kind"], row["name"]) for row in rows] == [
        ("objective", TEXT),
        ("event", "start"),
        ("event", "skip"),
    ]
    assert (rows[2]["success"], rows[2]["to"]) == (False, "EXPLORING")
    assert rows[2]["error_reason"] == "invalid_transition"
    assert all(row["at"].endswith("Z") for row in rows)


def test_every_task_is_restored(tmp_path: Path) -> None:  # O-5
    found = begun(tmp_path)
    found.transition("task_complete", {"task_id": "t1", "status": "delivered", "duration_s": 1.5})
    found.transition("task_complete", {"task_id": "t3", "status": "blocked", "error": "it broke"})
    found.note("injected", {"task_id": "t1", "memories": ["a-b"]})
    again = resumed(tmp_path)
    assert again.standing == found.standing
    assert (again.state, again.completed, again.blocked) == (State.BUILDING, ["t1"], ["t3"])
    assert again.notes("injected") == [{"task_id": "t1", "memories": ["a-b"]}]
    again.transition("task_complete", {"task_id": "t2", "status": "delivered"})
    assert again.transition("all_complete").to_state is State.BUILT


def test_a_torn_last_line_was_never_said(tmp_path: Path) -> None:  # O-5
    found = begun(tmp_path)
    before = found.standing
    whole = log_of(tmp_path).read_bytes()
    found.transition("task_complete", {"task_id": "t1", "status": "delivered"})
    line = log_of(tmp_path).read_bytes()[len(whole) :]
    for size in range(len(line)):
        log_of(tmp_path).write_bytes(whole + line[:size])
        assert resumed(tmp_path).standing == before
    again = resumed(tmp_path)
    again.transition("task_complete", {"task_id": "t3", "status": "delivered"})
    assert resumed(tmp_path).completed == ["t3"]
    assert log_of(tmp_path).read_bytes().startswith(whole)


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"at": 1, "run": "", "kind": "", "name": ""}'])
def test_a_line_that_is_no_event_is_named(tmp_path: Path, line: str) -> None:
    begun(tmp_path, upto=1)
    with log_of(tmp_path).open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(CorruptFile, match=r"events\.jsonl:3: .*"):
        resumed(tmp_path)


def test_nothing_to_go_on_from_is_the_beginning(tmp_path: Path) -> None:
    again = resumed(tmp_path)
    assert (again.state, again.task_ids) == (State.INIT, [])
    assert not (tmp_path / ".helix").exists()


def test_one_objective_begun_again_begins_anew(tmp_path: Path) -> None:
    begun(tmp_path).transition("task_complete", {"task_id": "t1", "status": "delivered"})
    second = begun(tmp_path, upto=2)
    assert resumed(tmp_path).standing == second.standing
    assert resumed(tmp_path).completed == []


def test_two_objectives_do_not_meet(tmp_path: Path) -> None:
    begun(tmp_path)
    other = Orchestrator("Something else", str(tmp_path))
    other.transition("start")
    assert resumed(tmp_path).state is State.BUILDING
    assert len(known_objectives(str(tmp_path))) == 2
    assert clear(str(tmp_path), other.id) == (0, 1)
    assert clear(str(tmp_path)) == (2, 1)
    assert resumed(tmp_path).state is State.INIT


# -- checkpoints -----------------------------------------------------------------------------


def test_checkpoints_hold_what_their_state_stands_on(tmp_path: Path) -> None:  # O-5
    found = begun(tmp_path)
    for name in ("t1", "t2"):
        found.transition("task_complete", {"task_id": name, "status": "delivered"})
    found.transition("task_complete", {"task_id": "t3", "status": "blocked"})
    found.transition("all_complete")
    shared = tmp_path / ".helix/checkpoints"
    rows = {path.stem: json.loads(path.read_text()) for path in shared.glob("*.json")}
    assert {name: row["state"] for name, row in rows.items()} == {
        "explored": "EXPLORED",
        "planned": "PLANNED",
        "built": "BUILT",
    }
    assert {row["objective"] for row in rows.values()} == {TEXT}
    assert {row["objective_id"] for row in rows.values()} == {found.id}
    assert rows["explored"]["data"] == EXPLORATION
    assert rows["planned"]["data"] == PLAN
    assert rows["built"]["data"] == {
        "completed": ["t1", "t2"],
        "partial": [],
        "blocked": ["t3"],
        "skipped": [],
    }
    own = log_of(tmp_path).parent / "checkpoints"
    for path in shared.glob("*.json"):
        assert (own / path.name).read_bytes() == path.read_bytes()


def replanned(root: Path) -> Orchestrator:
    """An objective that was built, stalled and planned again: its built.json is of the past."""
    clock = FakeClock()
    found = begun(root, clock=clock)
    for name, status in (("t1", "blocked"), ("t3", "delivered")):
        found.transition("task_complete", {"task_id": name, "status": status})
    found.transition("stalled", {})
    found.transition("skip")
    clock.advance(60)
    again = Orchestrator(TEXT, str(root), clock=clock)
    for event, told in TO_BUILDING[:4]:
        again.transition(event, told)
    return again


def test_a_stale_checkpoint_never_beats_a_newer_one(tmp_path: Path) -> None:  # O-5
    replanned(tmp_path)
    assert resumed(tmp_path).state is State.PLANNED
    log_of(tmp_path).unlink()
    again = resumed(tmp_path)
    assert (again.state, again.completed, again.blocked) == (State.PLANNED, [], [])
    assert again.task_ids == ["t1", "t2", "t3"]


@pytest.mark.parametrize("upto", [2, 4])
def test_without_a_log_it_goes_on_from_its_newest_checkpoint(tmp_path: Path, upto: int) -> None:
    found = begun(tmp_path, upto=upto)  # O-5
    log_of(tmp_path).unlink()
    again = resumed(tmp_path)
    assert again.standing == found.standing
    event, told = TO_BUILDING[upto]
    assert again.transition(event, told).success
    assert resumed(tmp_path).standing == again.standing


def test_what_was_built_is_restored_from_a_checkpoint(tmp_path: Path) -> None:
    found = begun(tmp_path)
    for name, status in (("t1", "partial"), ("t3", "delivered")):
        found.transition("task_complete", {"task_id": name, "status": status})
    found.transition("stalled", {})
    found.transition("skip")
    log_of(tmp_path).unlink()
    again = resumed(tmp_path)
    assert (again.state, again.completed, again.partial, again.skipped) == (
        State.BUILT,
        ["t3"],
        ["t1"],
        ["t2"],
    )


def test_a_checkpoint_of_another_objective_is_not_ours(tmp_path: Path) -> None:
    begun(tmp_path)
    assert Orchestrator.resume("Something else", str(tmp_path)).state is State.INIT


def test_a_checkpoint_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    begun(tmp_path)
    log_of(tmp_path).unlink()
    (tmp_path / ".helix/checkpoints/planned.json").write_text("{")
    with pytest.raises(CorruptFile, match=r"planned\.json"):
        resumed(tmp_path)


def test_its_state_is_no_business_of_gits(tmp_path: Path) -> None:  # D-19
    make_repo(tmp_path)
    begun(tmp_path)
    line = ("git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all")
    assert subprocess.run(line, capture_output=True, check=True).stdout == b""


def test_below_a_project_it_is_the_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repo(tmp_path)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    Orchestrator(TEXT).transition("start")
    assert log_of(tmp_path).exists()
    assert Orchestrator.resume(TEXT).state is State.EXPLORING


def test_only_so_many_objectives_are_looked_back_to(tmp_path: Path) -> None:  # C-9
    for number in range(MOST_OBJECTIVES):
        log = tmp_path / ".helix/objectives" / f"old-{number:03}" / "events.jsonl"
        log.parent.mkdir(parents=True)
        log.touch()
        os.utime(log, (1e9 + number, 1e9 + number))
    Orchestrator(TEXT, str(tmp_path)).transition("start")
    left = os.listdir(tmp_path / ".helix/objectives")
    assert len(left) == MOST_OBJECTIVES
    assert "old-000" not in left and objective_id(TEXT) in left


def test_the_whole_of_it_is_one_row(tmp_path: Path) -> None:
    found = begun(tmp_path, upto=3)
    found.transition("tasks_created", {})
    row = found.status()
    assert json.loads(json.dumps(row)) == row
    assert (row["state"], row["error_reason"]) == ("ERROR", "no_tasks")
    assert row["recovery"] == ErrorReason.NO_TASKS.recovery
    assert (row["has_exploration"], row["checkpoints"]) == (True, ["explored"])


@pytest.mark.parametrize(
    "text", ["Add login", "Füge Anmeldung hinzu!", "登录", "", "../../etc", "a" * 500, "\udc80"]
)
def test_an_objective_has_a_name_for_its_folder(text: str) -> None:
    name = objective_id(text)
    assert name == objective_id(text)
    assert len(name) < 60
    assert all(mark.isalnum() or mark == "-" for mark in name)
    assert name.isascii()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ANY_EVENT, ANY_TOLD), max_size=25))
def test_whoever_reads_the_log_stands_where_its_writer_stood(
    events: list[tuple[str, dict[str, Any]]],
) -> None:  # O-5
    with tempfile.TemporaryDirectory() as folder:
        live = Orchestrator(TEXT, folder, clock=FakeClock())
        for event, told in events:
            live.transition(event, told)
            assert Orchestrator.resume(TEXT, folder).standing == live.standing


_WRITER = """
import sys
from helix.objective import Orchestrator
found = Orchestrator.resume(sys.argv[1], sys.argv[2])
tasks = [f"t{n}" for n in range(5000)]
for event, told in (
    ("start", {}),
    ("exploration_complete", {"targets": {"files": ["a"]}}),
    ("start_planning", {}),
    ("tasks_created", {"task_ids": tasks}),
    ("start_building", {}),
):
    found.transition(event, told)
for task in tasks:
    found.transition("task_complete", {"task_id": task, "status": "delivered"})
    print(task, flush=True)
"""


def test_what_was_told_before_a_kill_is_there_after_it(tmp_path: Path) -> None:  # O-5
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, TEXT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout
    told = [writer.stdout.readline().strip() for _ in range(20)]
    writer.send_signal(signal.SIGKILL)
    told += writer.stdout.read().split()
    writer.wait()
    done = resumed(tmp_path).completed
    assert done[: len(told)] == told
    assert len(done) - len(told) in (0, 1)
    assert EventLog(str(tmp_path), objective_id(TEXT)).read()[0].name == TEXT
