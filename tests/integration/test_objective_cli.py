"""`helix task`, the public names of the skill, and a person at a terminal (O-8, O-9, O-12)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.objectives import ObjectiveScene, make_objective_scene, step
from tests.support.runs import HELIX
from tests.support.stub_agents import RunScene
from tests.support.tracker import ROOT

from ddx.testing import make_repo
from helix.objective import build_context, build_lineage, close_feedback_loop_verified

TASK = {
    "id": "app-1",
    "subject": "002: count-logins",
    "description": "Count failed logins in the session store",
    "metadata": {"delta": ["src/auth.py"], "verify": "pytest -q", "framework": "flask"},
}
TRIGGER = "Counting failed logins in the session store loses counts"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(make_repo(tmp_path / "shop").root)


def helix(shop: Path, *words: str, code: int = 0, stdin: str = "") -> Any:
    done = subprocess.run(
        [str(HELIX), *words], cwd=shop, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else done.stdout


def remember(shop: Path, trigger: str = TRIGGER) -> str:
    words = ("--trigger", trigger, "--resolution", "Use an atomic increment", "--type", "failure")
    stored = helix(shop, "memory", "store", *words, "--json")
    return str(stored["name"])


def test_words_of_a_builder_are_read_from_the_line_or_from_stdin(shop: Path) -> None:  # O-8
    text = "**DELIVERED:** a page\nUTILIZED:\n- a-b: why"
    found = helix(shop, "task", "parse-output", text, "--json")
    assert (found["status"], found["utilized"]) == ("delivered", ["a-b"])
    assert helix(shop, "task", "parse-output", "-", "--json", stdin=text) == found
    assert helix(shop, "task", "parse-output", "nothing of it") == (
        "blocked\nerror: the output says neither DELIVERED, nor PARTIAL, nor BLOCKED\n"
    )


def test_rings_and_mappings_are_told(shop: Path) -> None:  # O-8
    found = helix(shop, "task", "detect-cycles", '{"a": ["b"], "b": ["a"]}', "--json")
    assert found == {"cycles": [["a", "b", "a"]], "has_cycles": True}
    assert helix(shop, "task", "detect-cycles", '{"a": ["b"]}') == "no task waits for itself\n"
    for wrong in ("[]", '{"a": "b"}', '{"a": [1]}', "{", ""):
        helix(shop, "task", "detect-cycles", wrong, code=2)
    text = "TASK_MAPPING:\n001 -> app-1\n002 -> app-2"
    assert helix(shop, "task", "extract-mapping", text, "--json") == {
        "001": "app-1",
        "002": "app-2",
    }


def test_credit_is_given_by_what_the_checks_said(shop: Path) -> None:  # O-8, D-18
    name = remember(shop)
    words = ("task", "feedback-verify", "--task-id", "t1", "--verify-passed")
    injected = ("--injected", json.dumps([name, "made-up"]), "--json")
    assert helix(shop, *words, "true", *injected)["credited"] == 1
    again = close_feedback_loop_verified("t1", True, [name], root=str(shop))
    assert (again["credited"], again["unchanged"]) == (0, [name])
    other = close_feedback_loop_verified("t2", False, [name, "made-up"], root=str(shop))
    assert (other["credited"], other["unknown"], other["injected_count"]) == (1, ["made-up"], 2)
    kept = helix(shop, "memory", "get", name, "--json")
    assert (kept["helped"], kept["failed"]) == (0.5, 0.5)
    helix(shop, *words, "maybe", *injected, code=2)


def test_a_builders_context_has_its_task_and_its_memories(shop: Path) -> None:  # O-12
    name = remember(shop)
    remember(shop, "The colour of the logo is wrong in print")
    lineage = build_lineage(
        [
            {"subject": "001: sessions", "metadata": {"delivered": "a store"}},
            {"subject": "000: nothing", "metadata": {}},
            {"subject": "unnamed", "metadata": {"delivered": "x"}},
        ]
    )
    assert [row["slug"] for row in lineage] == ["sessions", "unnamed"]
    found = build_context(TASK, lineage, root=str(shop))
    assert found["injected"] == [name]
    lines = dict(line.split(": ", 1) for line in found["prompt"].splitlines() if ": " in line)
    assert list(lines)[:11] == [
        *("TASK", "OBJECTIVE", "DELTA", "VERIFY", "BUDGET", "FRAMEWORK", "IDIOMS"),
        *("FAILURES_TO_AVOID", "PATTERNS_TO_APPLY", "INJECTED_MEMORIES", "PARENT_DELIVERIES"),
    ]
    assert (lines["TASK"], lines["BUDGET"]) == ("002: count-logins", "7")
    assert json.loads(lines["DELTA"]) == ["src/auth.py"]
    assert "atomic increment" in lines["FAILURES_TO_AVOID"]
    assert build_context(TASK, memory_limit=0, root=str(shop))["injected"] == []


def test_the_names_of_the_skill_are_there() -> None:  # O-12
    names = (
        "Orchestrator, State, ErrorReason, AgentContract, get_ready_tasks, check_stalled, "
        "build_context, parse_output, close_feedback_loop_verified"
    )
    code = f"from helix.objective import {names}\nassert Orchestrator.resume\nimport sys\n"
    code += "assert 'numpy' not in sys.modules, 'too much is loaded'"
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "src")}, check=True)


# -- at a terminal ---------------------------------------------------------------------------


def in_pty(yard: ObjectiveScene, *words: str, typed: str, after: str = "", code: int = 0) -> str:
    done = RunScene.in_pty(yard, *words, typed=typed, after=after)  # type: ignore[arg-type]
    assert done.code == code, done.out
    return done.out


def test_a_person_is_asked_what_to_do_about_a_stall(tmp_path: Path) -> None:  # O-6
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(step("001"), step("002", "001"))
    yard.builds("001", "exit 1")
    words = ("objective", "Write files", "--max-attempts", "1")
    shown = in_pty(yard, *words, typed="perhaps\nskip\n")
    assert shown.count("[replan/skip/abort]") == 2
    assert yard.objective("status", "--json").json["state"] == "DONE"


def test_a_person_answers_the_planner(tmp_path: Path) -> None:  # O-1
    yard = make_objective_scene(tmp_path / "w")
    asks = 'cat <<\'END\'\nPLAN: {"status": "clarify", "questions": ["Which ink?"]}\nEND'
    yard.plays("planner", asks, (yard.stage / "planner-1").read_text())
    shown = in_pty(yard, "objective", "Write files", typed="\nthe blue one\n")
    assert shown.count("Which ink?") == 2  # saying nothing is no answer
    assert any("Which ink? the blue one" in prompt for prompt in yard.asked("planner"))


CTRL_C, CTRL_D = "\x03", "\x04"


@pytest.mark.parametrize(("key", "code"), [(CTRL_C, 130), (CTRL_D, 4)])
def test_whoever_does_not_answer_can_answer_later(
    tmp_path: Path, key: str, code: int
) -> None:  # O-1, C-2
    yard = make_objective_scene(tmp_path / "w")
    asks = 'cat <<\'END\'\nPLAN: {"status": "clarify", "questions": ["Which ink?", "Why?"]}\nEND'
    yard.plays("planner", asks, (yard.stage / "planner-1").read_text())
    words = ("objective", "Write files")
    shown = in_pty(yard, *words, typed=key, after="Which ink?", code=code)
    assert "a person must answer" in shown
    assert "answer" not in yard.noted()
    assert yard.objective("resume", "--answer", "blue", "--json").json["state"] == "DONE"


@pytest.mark.parametrize(("key", "code"), [(CTRL_C, 130), (CTRL_D, 4)])
def test_whoever_does_not_decide_about_a_stall_can_do_so_later(
    tmp_path: Path, key: str, code: int
) -> None:  # O-6, C-2
    yard = make_objective_scene(tmp_path / "w")
    yard.plan(step("001"), step("002", "001"))
    yard.builds("001", "exit 1")
    words = ("objective", "Write files", "--max-attempts", "1")
    in_pty(yard, *words, typed=key, after="[replan/skip/abort]", code=code)
    assert yard.objective("status", "--json").json["state"] == "STALLED"


def test_every_round_of_questions_can_be_answered_by_a_flag(tmp_path: Path) -> None:  # O-1
    yard = make_objective_scene(tmp_path / "w")
    asks = 'cat <<\'END\'\nPLAN: {{"status": "clarify", "questions": ["Which {}?"]}}\nEND'
    plans = (yard.stage / "planner-1").read_text()
    yard.plays("planner", asks.format("ink"), asks.format("paper"), plans)
    yard.objective("Write files", code=4)
    assert "Which paper?" in yard.objective("resume", "--answer", "blue", code=4).out
    yard.objective("resume", "--answer", "white")
    assert any("blue" in prompt and "white" in prompt for prompt in yard.asked("planner"))


# -- what is refused before anybody is asked -------------------------------------------------


@pytest.mark.parametrize("word", ["stats", "stop", "pause"])
def test_a_word_that_looks_like_a_command_begins_no_objective(tmp_path: Path, word: str) -> None:
    yard = make_objective_scene(tmp_path / "w")  # C-3
    refused = yard.objective(word, code=2).err
    assert f"'{word}' is no command here" in refused
    assert "helix stop" in refused
    assert (yard.calls(), yard.objective("list", "--json").json) == ([], [])


def test_where_nothing_could_land_nobody_explores(tmp_path: Path) -> None:  # C-3
    yard = make_objective_scene(tmp_path / "w")
    yard.git("checkout", "--quiet", "--detach")
    assert "git switch BRANCH" in yard.objective("Write files", code=2).err
    assert (yard.calls(), yard.objective("list", "--json").json) == ([], [])


def test_without_a_commit_nobody_explores(tmp_path: Path) -> None:  # C-3
    yard = make_objective_scene(tmp_path / "w")
    yard.git("update-ref", "-d", "HEAD")
    assert "git commit" in yard.objective("Write files", code=2).err
    assert (yard.calls(), yard.objective("list", "--json").json) == ([], [])
