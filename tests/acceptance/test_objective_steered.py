"""What people do to an objective from beside it: pause it, mend its beads, damage its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.attempts import CLEAN
from tests.support.objectives import (
    HOLD,
    TEXT,
    ObjectiveScene,
    ended,
    make_objective_scene,
    stalled,
    statuses,
    step,
)
from tests.support.tracker import wait_for


def id_of(yard: ObjectiveScene, seq: str) -> str:
    found: str = yard.tasks()[f"{seq}: part-{seq}"]["id"]
    return found


# -- pause -----------------------------------------------------------------------------------


def test_paused_it_begins_nothing_more_and_goes_on_when_it_is_let(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")  # S-26
    yard.plan(step("001"), step("002"), step("003"))
    yard.builds("001", f"{HOLD}echo done > 001.txt\n")
    driver = yard.begin_objective(TEXT, "--workers", "1")
    yard.await_call("build 001")
    told = yard.helix("pause").out
    assert f"the objective (pid {driver.pid}) pauses at its next boundary" in told
    assert "asked to pause at the next boundary" in yard.helix("status").out
    (yard.stage / "go").touch()
    wait_for(lambda: "paused" in yard.noted())
    row = yard.helix("status", "--json").json
    assert (row["objective"]["is_paused"], row["objective"]["asked"]) == (True, ["pause"])
    assert [need["next"] for need in row["needs"]][:1] == ["helix resume"]
    assert "paused" in yard.helix("status").out
    assert sorted(ended(yard)) == ["001"]  # what was running came to its end
    assert yard.calls("build") == ["build 001"]
    assert yard.calls("review") == []
    assert "goes on" in yard.helix("resume").out
    driver.communicate(timeout=120)
    assert driver.returncode == 0
    assert set(statuses(yard).values()) == {"closed"}
    assert len(yard.calls("review")) == 3
    assert "was not paused" not in yard.helix("resume", code=1).err


@pytest.mark.parametrize("agent", ["explorer", "planner", "observer"])
def test_paused_in_any_phase_it_asks_nobody_else(tmp_path: Path, agent: str) -> None:  # S-26
    yard = make_objective_scene(tmp_path / "w")
    yard.plays(agent, f"{HOLD}{(yard.stage / f'{agent}-1').read_text()}")
    driver = yard.begin_objective(TEXT)
    wait_for(lambda: agent in " ".join(yard.calls()))
    yard.helix("pause")
    before = yard.calls()
    (yard.stage / "go").touch()
    if agent != "observer":  # after whom nobody is asked
        wait_for(lambda: "paused" in yard.noted())
        assert set(yard.calls()) - {agent} == set(before) - {agent}
        yard.helix("resume")
    driver.communicate(timeout=120)
    assert driver.returncode == 0
    assert yard.objective("status", "--json").json["state"] == "DONE"


def test_while_it_is_paused_it_can_be_stopped_and_the_pause_dies_with_it(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")  # S-26
    yard.builds("001", f"{HOLD}echo done > 001.txt\n")
    driver = yard.begin_objective(TEXT)
    yard.await_call("build 001")
    yard.helix("pause")
    (yard.stage / "go").touch()
    wait_for(lambda: "paused" in yard.noted())
    assert "has stopped" in yard.helix("stop", "--wait", "60").out
    driver.communicate(timeout=120)
    assert driver.returncode == 0
    done = yard.objective("resume", "--json").json
    assert (done["state"], yard.calls("build")) == ("DONE", ["build 001"])
    assert len(yard.calls("review")) == 1  # S-16: what landed before the pause is still owed it


@pytest.mark.parametrize("how", ["close", "cancel"])
def test_what_ends_by_hand_during_a_pause_is_seen_before_anything_else(
    tmp_path: Path, how: str
) -> None:  # S-26, O-6
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(step("001"), step("002"))
    yard.builds("001", f"{HOLD}echo done > 001.txt\n")
    driver = yard.begin_objective(TEXT, "--workers", "1")
    yard.await_call("build 001")
    yard.helix("pause")
    (yard.stage / "go").touch()
    wait_for(lambda: "paused" in yard.noted())
    yard.ddx(how, id_of(yard, "002"), "--reason", "I saw to it")
    yard.helix("resume")
    driver.communicate(timeout=120)
    assert yard.objective("status", "--json").json["state"] == "DONE"
    assert driver.returncode == (0 if how == "close" else 4)


# -- what somebody has seen to by hand --------------------------------------------------------


@pytest.mark.parametrize("how", ["reopen", "close"])
def test_a_stall_that_somebody_has_seen_to_is_over_at_the_next_resume(
    tmp_path: Path, how: str
) -> None:  # O-3
    yard = stalled(tmp_path / "w")
    (yard.stage / "build-001").unlink()
    (yard.stage / "calls").unlink()
    yard.ddx(how, id_of(yard, "001"), "--reason", "I saw to it")
    done = yard.objective("resume", "--json").json
    assert (done["state"], len(done["completed"]), done["blocked"]) == ("DONE", 3, [])
    built = ["build 001", "build 002"] if how == "reopen" else ["build 002"]
    assert yard.calls("build") == built
    assert yard.calls("planner") == []
    assert set(statuses(yard).values()) == {"closed"}


def test_a_stall_is_over_too_when_a_dependency_was_taken_away(tmp_path: Path) -> None:  # O-3
    yard = stalled(tmp_path / "w")
    (yard.stage / "calls").unlink()
    yard.ddx("dep", "remove", id_of(yard, "002"), id_of(yard, "001"))
    done = yard.objective("resume", "--json", code=4).json
    assert (done["state"], len(done["completed"]), len(done["blocked"])) == ("DONE", 2, 1)
    assert yard.calls("build") == ["build 002"]


def test_what_was_set_free_and_fails_rests_before_it_is_tried_again(tmp_path: Path) -> None:
    yard = stalled(tmp_path / "w")  # D-7, O-3
    yard.builds("002", "exit 1")
    yard.ddx("dep", "remove", id_of(yard, "002"), id_of(yard, "001"))
    words = ("resume", "--max-attempts", "2")
    told = yard.objective(*words, code=4, HELIX_BACKOFF_SLEEP="1").err
    assert "it is tried again in 1 s" in told
    assert yard.calls("build").count("build 002") == 2
    assert [row["name"] for row in yard.events()].count("stalled") == 1


def test_what_is_opened_again_while_others_are_built_is_built_too(tmp_path: Path) -> None:  # O-3
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(step("001"), step("002"))
    yard.builds("001", "exit 1")
    yard.builds("002", f"{HOLD}echo done > 002.txt\n")
    driver = yard.begin_objective(TEXT, "--max-attempts", "1")
    wait_for(lambda: (yard.root / ".helix/objectives").exists() and "001" in ended(yard))
    (yard.stage / "build-001").unlink()
    yard.ddx("reopen", id_of(yard, "001"), "--reason", "it is easier now")
    wait_for(lambda: yard.calls("build").count("build 001") == 2)
    (yard.stage / "go").touch()
    driver.communicate(timeout=120)
    assert driver.returncode == 0
    assert set(statuses(yard).values()) == {"closed"}


def test_a_stall_that_nobody_has_seen_to_stays_one(tmp_path: Path) -> None:  # O-3
    yard = stalled(tmp_path / "w")
    (yard.stage / "calls").unlink()
    assert "see to it and resume" in yard.objective("resume", code=4).out
    assert yard.calls() == []


def test_what_had_to_wait_for_edits_is_reviewed_when_it_lands(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")  # X-13, S-16
    (yard.root / "001.txt").write_text("mine\n")
    assert "waits for edits in the checkout" in yard.objective(TEXT, code=4).out
    assert yard.calls("review") == []
    (yard.root / "001.txt").unlink()
    assert yard.objective("resume", "--json").json["state"] == "DONE"
    assert (yard.calls("build"), len(yard.calls("review"))) == (["build 001"], 1)


# -- an edited plan ---------------------------------------------------------------------------


def held_plan(folder: Path) -> ObjectiveScene:
    """One of whose two tasks the first waits for somebody to touch `go`, in a stopped driver."""
    yard = make_objective_scene(folder)
    yard.plan(step("001"), step("002", "001"))
    yard.builds("001", f"{HOLD}echo done > 001.txt\n")
    driver = yard.begin_objective(TEXT)
    yard.await_call("build 001")
    yard.helix("stop", "--wait", "0")
    (yard.stage / "go").touch()
    driver.communicate(timeout=120)
    assert sorted(ended(yard)) == ["001"]
    (yard.stage / "calls").unlink()
    return yard


def test_a_task_that_was_made_to_wait_for_another_bead_is_left_alone(tmp_path: Path) -> None:
    yard = held_plan(tmp_path / "w")  # O-6: the tracker is the truth
    other = yard.ddx("create", "Ask the lawyers", "--acceptance", "- `true` passes").id
    yard.ddx("dep", "add", id_of(yard, "002"), other)
    stopped = yard.objective("resume", code=4).out
    assert f"{id_of(yard, '002')} cannot be worked on: waits for beads not closed" in stopped
    assert f"ddx bead why {id_of(yard, '002')}" in stopped
    assert statuses(yard)["002: part-002"] == "open"
    assert yard.calls("build") == []
    yard.ddx("close", other)
    assert yard.objective("resume", "--json").json["state"] == "DONE"


def test_a_task_that_somebody_holds_is_left_to_them(tmp_path: Path) -> None:  # O-6
    yard = held_plan(tmp_path / "w")
    yard.ddx("update", id_of(yard, "002"), "--claim")
    stopped = yard.objective("resume", code=4).out
    assert f"{id_of(yard, '002')} is held by Mara" in stopped
    yard.ddx("close", id_of(yard, "002"))
    assert yard.objective("resume", "--json").json["state"] == "DONE"
    assert yard.calls("build") == []


def test_a_task_that_is_no_longer_in_the_queue_is_blocked_and_told(tmp_path: Path) -> None:
    yard = held_plan(tmp_path / "w")  # O-2
    gone = id_of(yard, "002")
    epic = yard.rows()[gone]["parent"]
    yard.write([row for bead, row in yard.rows().items() if bead not in (gone, epic)])
    done = yard.objective("resume", "--json", code=4)
    assert (done.json["state"], done.json["blocked"]) == ("DONE", [gone])
    assert "it is no longer in the queue" in done.err


def test_a_task_that_was_replaced_is_not_waited_for(tmp_path: Path) -> None:  # S-22
    yard = held_plan(tmp_path / "w")
    old = id_of(yard, "002")
    new = yard.ddx("create", "Do it otherwise", "--acceptance", "- `true` passes").id
    yard.ddx("supersede", old, "--by", new, "--reason", "a better way")
    done = yard.objective("resume", "--json", code=4)
    assert (done.json["state"], done.json["blocked"]) == ("DONE", [old])
    assert "another bead replaces it" in done.err


# -- damaged files ------------------------------------------------------------------------------


def test_a_damaged_log_is_told_by_its_line_and_hides_no_other_objective(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")  # O-5, D-15
    yard.objective(TEXT)
    (log,) = (yard.root / ".helix/objectives").glob("*/events.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:3], lines[3][:20] + b"\n", *lines[4:]]))
    before = log.read_bytes()
    yard.objective("Another one")
    listed = {row["id"]: row["state"] for row in yard.objective("list", "--json").json}
    assert listed[log.parent.name] == "damaged"
    assert sorted(listed.values()) == ["DONE", "damaged"]
    assert yard.objective("status", "--json").json["objective"] == "Another one"
    for command in ("status", "resume"):
        refused = yard.objective(command, "--objective", log.parent.name, code=1)
        assert f"{log}:4" in refused.err
        assert f"helix objective clear --objective {log.parent.name}" in refused.err
    refused = yard.objective(TEXT, code=None)
    assert f"{log}:4" in refused.err
    assert log.read_bytes() == before
    cleared = yard.objective("clear", "--objective", log.parent.name, "--json").json
    assert cleared["objectives"] == 1
    assert [row["objective"] for row in yard.objective("list", "--json").json] == ["Another one"]


def test_a_line_that_was_torn_was_never_said_and_it_goes_on(tmp_path: Path) -> None:  # O-5
    yard = held_plan(tmp_path / "w")
    (log,) = (yard.root / ".helix/objectives").glob("*/events.jsonl")
    with log.open("ab") as file:
        file.write(b'{"at":"2026-11-16T10:00:00Z","run":"')
    assert yard.objective("resume", "--json").json["state"] == "DONE"
    assert yard.calls("build") == ["build 002"]
    assert all(json.loads(line) for line in log.read_text().splitlines())
    assert yard.leftover() == CLEAN
