"""`helix objective` from its words to its end, on a real repository (O-5, O-6, O-9)."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from tests.support.attempts import CLEAN
from tests.support.background import interrupt_a_worker
from tests.support.objectives import (
    FINDINGS,
    HOLD,
    TEXT,
    ObjectiveScene,
    ended,
    make_objective_scene,
    stalled,
    statuses,
    step,
)
from tests.support.runs import CLEAN_REVIEW, task
from tests.support.tracker import wait_for

from ddx.base.clock import Clock
from ddx.project.project import Project
from helix.run.run_lock import only_run


def test_an_objective_is_explored_planned_built_reviewed_and_remembered(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")  # O-6
    idioms = {"required": ["one line"], "forbidden": []}
    yard.plan(
        step("001"),
        step("002", "001", framework="plain", idioms=idioms, budget=5),
        step("003"),
    )
    done = yard.objective(TEXT, "--json").json
    assert (done["state"], done["exit_code"]) == ("DONE", 0)
    assert len(done["completed"]) == 3
    assert [row["to"] for row in yard.events() if row["name"] != "task_complete"] == [
        *("EXPLORING", "EXPLORED", "PLANNING", "PLANNED", "BUILDING", "BUILT", "OBSERVING", "DONE")
    ]
    with sqlite3.connect(yard.root / ".helix/helix.db") as db:
        rows = db.execute("SELECT objective, data FROM exploration").fetchall()
    assert [objective for objective, _ in rows] == [TEXT]
    assert json.loads(rows[0][1])["targets"]["files"]
    beads = yard.tasks()
    assert set(statuses(yard).values()) == {"closed"}
    second = beads["002: part-002"]
    assert (second["paths"], second["verify"]) == (["002.txt"], ["test -f 002.txt"])
    assert (second["budget"], second["framework"], second["idioms"]) == (
        5,
        "plain",
        {"required": ["one line"]},
    )
    epic = yard.rows()[second["parent"]]
    assert (epic["title"], epic["issue_type"], epic["status"]) == (TEXT, "epic", "closed")
    order = yard.calls("build")
    assert order.index("build 001") < order.index("build 002")
    assert {path.name for path in yard.root.glob("00*.txt")} == {"001.txt", "002.txt", "003.txt"}
    assert len(yard.calls("review")) == 3
    recalled = yard.helix("memory", "recall", "a text file of its own", "--json").json
    assert "write-the-file" in json.dumps(recalled)
    assert done["usage"]["input"] == 100 * len(yard.calls())
    assert yard.leftover() == CLEAN


def test_everybody_is_told_what_it_needs(tmp_path: Path) -> None:  # O-6
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(step("001"), step("002", "001"))
    yard.objective(TEXT, "--no-auto-review")
    prompts = yard.asked("explorer")
    scopes = sorted(prompt.partition("SCOPE: ")[2].splitlines()[0] for prompt in prompts)
    assert scopes == ["framework", "src/models/", "src/shop/"]
    for prompt in prompts:
        assert f"OBJECTIVE: {TEXT}" in prompt
        assert "FOCUS: " in prompt
    (planner,) = yard.asked("planner")
    assert "src/shop/cart.py" in planner
    second = next(it for it in yard.asked("build") if "title: 002" in it)
    assert "TASK: 002: part-002" in second
    assert f"OBJECTIVE: {TEXT}" in second
    assert "001.txt is there" in second.partition("PARENT_DELIVERIES: ")[2].splitlines()[0]
    assert "DELIVERED" in second.partition("## How your task ends")[2]
    assert yard.calls("review") == []


def test_tasks_that_do_not_wait_run_side_by_side_unless_they_touch_the_same(
    tmp_path: Path,
) -> None:  # O-6, X-20
    yard = make_objective_scene(tmp_path / "w")
    shared = {"delta": ["same/"]}
    yard.plan(
        step("001"),
        step("002"),
        step("003", **shared, verify="test -f same/003"),
        step("004", **shared, verify="test -f same/004"),
        step("005", "001", "002"),
    )
    yard.builds("005", "[ -f 001.txt ] && [ -f 002.txt ] && echo done > 005.txt\n")
    for seq in ("001", "002"):  # each needs the other one to be at work
        other = {"001": "002", "002": "001"}[seq]
        yard.builds(
            seq,
            f'touch "$stage/at-{seq}"\n'
            f'while [ ! -e "$stage/at-{other}" ]; do sleep 0.05; done\n'
            f"echo done > {seq}.txt\n",
        )
    for seq in ("003", "004"):  # and these must never meet
        yard.builds(
            seq,
            'mkdir "$stage/busy" || { echo met >> "$stage/met"; exit 1; }\n'
            f'sleep 0.3\nmkdir -p same\necho done > same/{seq}\nrmdir "$stage/busy"\n',
        )
    yard.objective(TEXT, "--workers", "4", "--no-auto-review")
    assert set(statuses(yard).values()) == {"closed"}
    assert not (yard.stage / "met").exists()
    assert len(yard.calls("build")) == 5
    assert yard.calls("build").index("build 005") > 1


def test_killed_after_two_of_three_tasks_it_goes_on_with_the_third(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")  # O-5
    yard.plan(step("001"), step("002"), step("003", "001", "002"))
    hold = 'while [ ! -e "$stage/go" ]; do sleep 0.05; done\necho done > 003.txt\n'
    yard.builds("003", hold)
    driver = yard.begin_objective(TEXT)
    yard.await_call("build 003")
    assert sorted(ended(yard)) == ["001", "002"]
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    told = yard.objective("status", "--json").json
    assert (told["state"], len(told["completed"]), len(told["pending"])) == ("BUILDING", 2, 1)
    (yard.stage / "go").touch()
    (yard.stage / "calls").unlink()
    done = yard.objective("resume", "--json").json
    assert (done["state"], len(done["completed"])) == ("DONE", 3)
    assert yard.calls("build") == ["build 003"]
    assert yard.calls("explorer") == yard.calls("planner") == []
    assert set(statuses(yard).values()) == {"closed"}
    assert yard.leftover() == CLEAN


@pytest.mark.parametrize("agent", ["explorer", "planner", "review", "observer"])
def test_killed_in_any_phase_it_goes_on(tmp_path: Path, agent: str) -> None:  # O-5
    yard = make_objective_scene(tmp_path / "w")
    answer = (yard.stage / f"{agent}-1").read_text()
    yard.plays(agent, f'while [ ! -e "$stage/go" ]; do sleep 0.05; done\n{answer}')
    driver = yard.begin_objective(TEXT)
    wait_for(lambda: agent in " ".join(yard.calls()))
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    (yard.stage / "go").touch()
    done = yard.objective("resume", "--json").json
    assert (done["state"], len(done["completed"])) == ("DONE", 1)
    assert len(yard.tasks()) == 1
    assert len(yard.calls("build")) == 1
    names = [row["name"] for row in yard.events()]
    assert len(names) == len(set(names))
    assert yard.leftover() == CLEAN


def test_a_task_that_landed_before_anybody_wrote_it_down_is_not_built_again(
    tmp_path: Path,
) -> None:  # O-5
    yard = make_objective_scene(tmp_path / "w")
    yard.objective(TEXT)
    (log,) = (yard.root / ".helix/objectives").glob("*/events.jsonl")
    lines = log.read_text().splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if "start_building" in line) + 1
    log.write_text("".join(lines[:first]))
    (landed,) = (row["session_id"] for row in yard.rows().values() if "session_id" in row)
    (yard.root / ".ddx/state/reviews" / landed).write_text("\n")  # promised before it landed
    (yard.stage / "calls").unlink()
    done = yard.objective("resume", "--json").json
    assert (done["state"], len(done["completed"])) == ("DONE", 1)
    assert yard.calls("build") == []
    assert len(yard.calls("review")) == 1


@pytest.mark.parametrize("were_filed", [True, False])
def test_a_plan_is_filed_once_whenever_it_died(tmp_path: Path, were_filed: bool) -> None:  # O-5
    yard = make_objective_scene(tmp_path / "w")
    before = list(yard.rows().values())
    yard.plan(step("001"), step("002", "001"))
    yard.builds("001", "exit 1")
    yard.objective(TEXT, "--max-attempts", "1", code=4)
    (log,) = (yard.root / ".helix/objectives").glob("*/events.jsonl")
    lines = log.read_text().splitlines(keepends=True)
    filing = next(n for n, line in enumerate(lines) if '"name":"filing"' in line) + 1
    log.write_text("".join(lines[:filing]))
    planned = set(yard.tasks())
    (yard.stage / "build-001").unlink()
    (yard.stage / "calls").unlink()
    if were_filed:
        bead = yard.tasks()["001: part-001"]["id"]
        yard.ddx("reopen", bead, "--reason", "it is easier now")
    else:
        yard.write(before)
    done = yard.objective("resume", "--json").json
    assert (done["state"], len(done["completed"])) == ("DONE", 2)
    assert set(yard.tasks()) == planned
    assert len([row for row in yard.rows().values() if "objective-task" in row]) == 2
    assert yard.calls("planner") == []


# -- what goes wrong -------------------------------------------------------------------------


def test_explorers_that_fail_leave_it_to_the_others(tmp_path: Path) -> None:  # O-6
    yard = make_objective_scene(tmp_path / "w")
    good = (yard.stage / "explorer-1").read_text()
    yard.plays(
        "explorer",
        'case "$(grep "^SCOPE:" "$mine")" in\n'
        "*framework) exit 3 ;;\n"
        "*models/) echo nothing that anybody could read; exit ;;\n"
        f"esac\n{good}",
    )
    done = yard.objective(TEXT)
    missed = {row["data"]["scope"] for row in yard.events("note") if row["name"] == "not-explored"}
    assert missed == {"framework", "src/models/"}
    assert done.err.count("nobody explored") == 2


def test_after_a_crash_only_what_nobody_explored_is_explored(tmp_path: Path) -> None:  # O-5
    yard = make_objective_scene(tmp_path / "w")
    good = (yard.stage / "explorer-1").read_text()
    hold = 'case "$(grep "^SCOPE:" "$mine")" in *framework) sleep 60 ;; esac\n'
    yard.plays("explorer", hold + good)
    driver = yard.begin_objective(TEXT)
    wait_for(lambda: len([it for it in yard.noted() if it == "explored"]) == 2)
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    yard.says("explorer", FINDINGS)
    (yard.stage / "calls").unlink()
    assert yard.objective("resume", "--json").json["state"] == "DONE"
    assert len(yard.calls("explorer")) == 1


def test_where_nobody_answers_it_can_be_tried_again(tmp_path: Path) -> None:  # O-6
    yard = make_objective_scene(tmp_path / "w")
    yard.plays("explorer", "exit 3")
    failed = yard.objective(TEXT, code=1)
    assert "no explorer answered" in failed.out
    assert yard.objective("status", "--json").json["state"] == "EXPLORING"
    yard.says("explorer", FINDINGS)
    yard.objective("resume")
    assert yard.objective("status", "--json").json["state"] == "DONE"


def test_nothing_found_is_an_error_with_a_way_out(tmp_path: Path) -> None:  # O-2
    yard = make_objective_scene(tmp_path / "w")
    yard.says("explorer", {**FINDINGS, "findings": []})
    done = yard.objective(TEXT, "--json", code=1).json
    assert (done["state"], done["error_reason"]) == ("ERROR", "empty_exploration")
    assert done["recovery"] in yard.objective("status").out
    yard.says("explorer", FINDINGS)
    assert yard.objective(TEXT, "--json").json["state"] == "DONE"


def test_a_plan_with_a_ring_files_nothing(tmp_path: Path) -> None:  # O-2
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(step("001", "002"), step("002", "001"))
    done = yard.objective(TEXT, "--json", code=1).json
    assert (done["state"], done["error_reason"]) == ("ERROR", "cycles_detected")
    assert done["error_context"]["cycles"] == [["001", "002", "001"]]
    assert yard.tasks() == {}


def test_a_plan_without_tasks_is_an_error(tmp_path: Path) -> None:  # O-2
    yard = make_objective_scene(tmp_path / "w")
    yard.plan()
    assert yard.objective(TEXT, "--json", code=1).json["error_reason"] == "no_tasks"


def test_a_planner_that_cannot_be_read_is_told_so_once(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")
    good = (yard.stage / "planner-1").read_text()
    yard.plays("planner", 'echo \'PLAN: {"status": "later"}\'', good)
    yard.objective(TEXT)
    assert any("output.status" in prompt for prompt in yard.asked("planner"))
    yard.plays("planner", "echo nothing", "echo nothing")
    (yard.stage / "calls").unlink()
    assert "there is no plan" in yard.objective("Something else", code=1).out
    assert len(yard.calls("planner")) == 2


def test_a_question_of_the_planner_waits_for_its_answer(tmp_path: Path) -> None:  # O-1
    yard = make_objective_scene(tmp_path / "w")
    asks = 'cat <<\'END\'\nPLAN: {"status": "clarify", "questions": ["Which ink?"]}\nEND'
    yard.plays("planner", asks, (yard.stage / "planner-1").read_text())
    stopped = yard.objective(TEXT, code=4)
    assert "Which ink?" in stopped.out
    assert yard.objective("status", "--json").json["questions"] == ["Which ink?"]
    assert "Which ink?" in yard.objective("resume", code=4).out
    assert len(yard.calls("planner")) == 1
    yard.objective("resume", "--answer", "the blue one")
    assert any("the blue one" in prompt for prompt in yard.asked("planner"))
    assert yard.objective("status", "--json").json["state"] == "DONE"


def test_a_stall_waits_for_a_person(tmp_path: Path) -> None:  # O-3, O-6
    yard = stalled(tmp_path / "w")
    told = yard.objective("status", "--json").json
    assert (told["state"], told["error_reason"]) == ("STALLED", "all_blocked")
    assert "Replan, skip" in told["recovery"]
    assert statuses(yard) == {
        "001: part-001": "blocked",
        "002: part-002": "open",
        "003: part-003": "closed",
    }
    assert "stalled" in yard.objective("resume", code=4).out


def test_a_stall_may_be_skipped(tmp_path: Path) -> None:  # O-6
    yard = stalled(tmp_path / "w")
    done = yard.objective("resume", "--on-stall", "skip", "--json").json
    assert (done["state"], len(done["skipped"]), len(done["blocked"])) == ("DONE", 1, 1)
    assert any("I cannot" in it or "failed" in it for it in yard.asked("observer"))


def test_a_stall_may_be_aborted(tmp_path: Path) -> None:  # O-2
    yard = stalled(tmp_path / "w")
    done = yard.objective("resume", "--on-stall", "abort", "--json", code=1).json
    assert (done["state"], done["error_reason"]) == ("ERROR", "user_abort")


def test_a_stall_may_be_planned_anew(tmp_path: Path) -> None:  # O-5, O-6
    yard = stalled(tmp_path / "w")
    yard.plan(step("001", verify="test -f other.txt", delta=["other.txt"]))
    yard.builds("001", "echo done > other.txt")
    done = yard.objective("resume", "--on-stall", "replan", "--json").json
    assert (done["state"], len(done["completed"]), done["blocked"]) == ("DONE", 1, [])
    assert any("attempts" in prompt for prompt in yard.asked("planner"))
    by_status = sorted(row["status"] for row in yard.rows().values() if "objective-task" in row)
    assert by_status == ["cancelled", "cancelled", "closed", "closed"]
    epics = [row for row in yard.rows().values() if row.get("issue_type") == "epic"]
    assert len(epics) == 1


def test_the_same_failure_three_times_ends_it(tmp_path: Path) -> None:  # O-4
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(*(step(f"00{n}", verify="sh -c 'echo no such port; exit 7'") for n in range(1, 5)))
    words = ("--max-attempts", "1", "--workers", "1", "--json")
    done = yard.objective(TEXT, *words, code=1).json
    assert (done["state"], done["error_reason"]) == ("ERROR", "systemic_failure")
    assert (len(done["blocked"]), len(done["pending"])) == (3, 1)


def test_what_lands_while_it_fails_is_reviewed_all_the_same(tmp_path: Path) -> None:  # S-16
    yard = make_objective_scene(tmp_path / "w")
    bad = [step(f"00{n}", verify="sh -c 'echo no such port; exit 7'") for n in range(1, 4)]
    yard.plan(*bad, step("004"))
    log = f"{yard.root}/.helix/objectives/*/events.jsonl"
    hold = f"until grep -q systemic_failure {log}; do sleep 0.05; done"
    yard.builds("004", f"{hold}\necho done > 004.txt\n")
    yard.objective(TEXT, "--max-attempts", "1", "--workers", "4", code=1)
    assert (yard.root / "004.txt").exists()
    assert len(yard.calls("review")) == 1


def test_what_leaves_its_delta_does_not_land(tmp_path: Path) -> None:  # O-7
    yard = make_objective_scene(tmp_path / "w")
    yard.builds("001", "echo done > 001.txt\nmkdir -p src/other\necho x > src/other/001.txt")
    stopped = yard.objective(TEXT, "--max-attempts", "2", "--json", code=4).json
    assert (stopped["state"], len(stopped["blocked"])) == ("DONE", 1)
    assert f"a person must see to {stopped['blocked'][0]}" in stopped["reason"]
    assert not (yard.root / "001.txt").exists()
    assert yard.calls("build") == ["build 001", "build 001"]
    assert any("src/other/001.txt" in prompt for prompt in yard.asked("build"))
    (row,) = yard.tasks().values()
    assert "outside of its delta" in row["blocked-reason"]


def test_a_budget_that_is_spent_stops_it_and_it_can_go_on(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(step("001"), step("002", "001"))
    stopped = yard.objective(TEXT, "--max-tokens", "500", "--no-auto-review", code=1)
    assert "budget" in stopped.out
    assert yard.objective("status", "--json").json["state"] == "BUILDING"
    yard.objective("resume")
    assert set(statuses(yard).values()) == {"closed"}


def test_a_builder_that_is_cut_off_by_the_budget_is_nobodys_interrupt(tmp_path: Path) -> None:
    yard = make_objective_scene(
        tmp_path / "w"
    )  # it says what it used, and is still at work then
    yard.builds("001", "sleep 60")
    stopped = yard.objective(TEXT, "--max-tokens", "500", "--no-auto-review", code=1)
    assert "the budget is spent: 600 tokens" in stopped.out
    assert "interrupted" not in stopped.out
    assert statuses(yard) == {"001: part-001": "open"}


def test_an_observer_that_fails_spoils_nothing(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")
    yard.plays("observer", "exit 9")
    done = yard.objective(TEXT)
    assert "nothing was learned" in done.err
    assert yard.objective("status", "--json").json["state"] == "DONE"


def test_interrupted_it_keeps_what_was_made_and_goes_on_later(tmp_path: Path) -> None:  # C-2
    yard = make_objective_scene(tmp_path / "w")
    yard.builds("001", 'while [ ! -e "$stage/go" ]; do sleep 0.05; done\necho done > 001.txt\n')
    driver = yard.begin_objective(TEXT)
    yard.await_call("build 001")
    driver.send_signal(signal.SIGTERM)
    out, _ = driver.communicate(timeout=120)
    assert driver.returncode == 143, out
    assert yard.leftover() == CLEAN
    (yard.stage / "go").touch()
    assert yard.objective("resume", "--json").json["state"] == "DONE"


def held_at(folder: Path, agent: str) -> ObjectiveScene:
    """One whose agent does not answer before somebody touches `go`."""
    yard = make_objective_scene(folder)
    yard.plays(agent, f"{HOLD}{(yard.stage / f'{agent}-1').read_text()}")
    return yard


@pytest.mark.parametrize(
    ("agent", "send"),
    [
        *((agent, Popen.send_signal) for agent in ("explorer", "planner", "review", "observer")),
        ("explorer", interrupt_a_worker),  # whichever thread the kernel chooses
    ],
)
def test_interrupted_in_any_phase_it_asks_again_and_nothing_is_lost(
    tmp_path: Path, agent: str, send: Callable[[Popen[bytes], int], None]
) -> None:  # C-2, O-5, S-16
    yard = held_at(tmp_path / "w", agent)
    driver = yard.begin_objective(TEXT)
    wait_for(lambda: agent in " ".join(yard.calls()))
    send(driver, signal.SIGINT)
    out, _ = driver.communicate(timeout=120)
    assert driver.returncode == 130, out
    assert b"go on with: helix objective resume" in out
    (yard.stage / "go").touch()
    (yard.stage / "calls").unlink()
    assert yard.objective("resume", "--json").json["state"] == "DONE"
    assert yard.calls()[0].split()[0] == agent
    assert yard.leftover() == CLEAN


@pytest.mark.parametrize(
    ("agent", "state"),
    [("explorer", "EXPLORED"), ("planner", "PLANNED"), ("review", "BUILT"), ("observer", "DONE")],
)
def test_asked_to_stop_it_hears_whoever_is_speaking_and_ends(
    tmp_path: Path, agent: str, state: str
) -> None:  # S-26
    yard = held_at(tmp_path / "w", agent)
    driver = yard.begin_objective(TEXT)
    wait_for(lambda: agent in " ".join(yard.calls()))
    told = yard.helix("stop", "--wait", "0").out
    assert f"the objective (pid {driver.pid}) will stop" in told
    assert "asked to stop" in yard.helix("status").out
    (yard.stage / "go").touch()
    driver.communicate(timeout=120)
    assert driver.returncode == 0
    assert yard.objective("status", "--json").json["state"] == state
    (yard.stage / "calls").unlink()
    assert yard.objective("resume", "--json").json["state"] == "DONE"
    assert yard.calls(agent) == []


def test_the_status_tells_of_it_and_it_is_stopped(tmp_path: Path) -> None:  # S-25
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(step("001"), step("002", "001"))
    yard.builds("001", f"{HOLD}echo done > 001.txt\n")
    driver = yard.begin_objective(TEXT)
    yard.await_call("build 001")
    told = yard.helix("status", "--json").json
    assert told["run"] is None
    row = told["objective"]
    assert (row["text"], row["state"], row["pid"]) == (TEXT, "BUILDING", driver.pid)
    shown = yard.helix("status").out
    assert f"objective BUILDING: {TEXT}" in shown
    assert "begin: helix run" not in shown
    yard.helix("stop", "--wait", "0")
    (yard.stage / "go").touch()
    out, _ = driver.communicate(timeout=120)
    assert (driver.returncode, b"interrupted while building" in out) == (0, True)
    assert sorted(ended(yard)) == ["001"]
    assert yard.helix("status", "--json").json["objective"] is None
    assert yard.objective("resume", "--json").json["state"] == "DONE"


def test_a_review_that_the_budget_does_not_allow_stays_owed(tmp_path: Path) -> None:  # X-7, S-16
    yard = make_objective_scene(tmp_path / "w")
    stopped = yard.objective(TEXT, "--max-tokens", "500", code=1)
    assert "helix objective resume" in stopped.out
    assert (yard.calls("build"), yard.calls("review")) == (["build 001"], [])
    yard.objective("resume")
    assert len(yard.calls("review")) == 1


# -- around it -------------------------------------------------------------------------------


def test_two_do_not_run_in_one_project(tmp_path: Path) -> None:  # S-20
    yard = make_objective_scene(tmp_path / "w")
    yard.builds("001", 'while [ ! -e "$stage/go" ]; do sleep 0.05; done\necho done > 001.txt\n')
    driver = yard.begin_objective(TEXT)
    yard.await_call("build 001")
    for line in (("objective", "Another one"), ("run",), ("objective", "clear")):
        assert f"pid {driver.pid}" in yard.helix(*line, code=2).err
    (yard.stage / "go").touch()
    driver.communicate(timeout=120)
    assert driver.returncode == 0


def test_beside_a_run_no_objective_is_begun(tmp_path: Path) -> None:  # S-20
    yard = make_objective_scene(tmp_path / "w")
    with only_run(Project(str(yard.root)), Clock()):
        assert "a run is active here" in yard.objective(TEXT, code=2).err
    assert yard.calls() == []
    assert yard.objective("list", "--json").json == []


def test_one_that_is_under_way_is_not_begun_again(tmp_path: Path) -> None:
    yard = stalled(tmp_path / "w")
    refused = yard.objective(TEXT, code=4)
    assert "stands at STALLED" in refused.err
    assert "helix objective resume" in refused.err
    cleared = yard.objective("clear", "--json").json
    assert cleared == {"cleared": 2, "objectives": 1}
    (yard.stage / "build-001").unlink()
    assert yard.objective(TEXT, "--json").json["state"] == "DONE"


def orphan(**more: Any) -> dict[str, Any]:
    """A task that an objective of long ago left in progress."""
    fields = {
        "title": "001: part-001",
        "status": "in_progress",
        "owner": "helix",
        "claim-id": "ticket",
        "claimed-at": "2025-11-01T10:00:00Z",
        "claimed-pid": "999999999",
        "claimed-pid-start": "1",
        "claimed-machine": os.uname().nodename,
        "objective": "earlier-12345678",
        "objective-task": "001: part-001",
    }
    return task("app-9", **{**fields, **more})


@pytest.mark.parametrize(
    ("choice", "status"), [("reset", "open"), ("block", "blocked"), ("ignore", "in_progress")]
)
def test_orphans_of_an_earlier_objective_are_offered(
    tmp_path: Path, choice: str, status: str
) -> None:  # O-9
    yard = make_objective_scene(tmp_path / "w", orphan())
    refused = yard.objective(TEXT, code=4)
    assert "app-9" in refused.err
    assert "--orphans" in refused.err
    assert yard.calls() == []
    yard.objective(TEXT, "--orphans", choice)
    assert yard.rows()["app-9"]["status"] == status


@pytest.mark.parametrize(
    "more",
    [
        {"claimed-machine": "elsewhere"},
        {"owner": "mara"},
        {"objective": ""},
        {"claimed-pid": str(os.getpid()), "claimed-pid-start": ""},
    ],
)
def test_what_somebody_may_still_hold_is_no_orphan(tmp_path: Path, more: dict[str, Any]) -> None:
    yard = make_objective_scene(tmp_path / "w", orphan(**more))  # O-9
    yard.objective(TEXT)
    assert yard.rows()["app-9"]["status"] == "in_progress"


def test_where_objectives_stand_is_told(tmp_path: Path) -> None:  # O-9
    yard = make_objective_scene(tmp_path / "w")
    assert "no objective" in yard.objective("status", code=1).err
    assert yard.objective("list", "--json").json == []
    yard.objective(TEXT)
    (row,) = yard.objective("list", "--json").json
    assert (row["objective"], row["state"]) == (TEXT, "DONE")
    for said in (TEXT, row["id"], row["id"][:9]):
        assert yard.objective("status", "--objective", said, "--json").json["state"] == "DONE"
    unknown = yard.objective("status", "--objective", "Nobody began this", "--json").json
    assert (unknown["state"], unknown["checkpoints"]) == ("INIT", [])
    assert len(yard.objective("transitions").out.splitlines()) == 16


def test_a_review_that_finds_something_files_it(tmp_path: Path) -> None:  # S-16
    yard = make_objective_scene(tmp_path / "w")
    finding = [{"severity": "high", "title": "It says too little", "file": "001.txt", "line": 1}]
    found = f"REVIEW_STATUS: ISSUES_FOUND\nISSUES_COUNT: 1\n```json\n{json.dumps(finding)}\n```"
    yard.says("review", found, CLEAN_REVIEW)
    yard.objective(TEXT)
    assert "It says too little" in {row["title"] for row in yard.rows().values()}
