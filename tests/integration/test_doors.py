"""`lib`: the memory skill's command lines and imports lead to the same functions (P-8, O-12)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkout import Checkout
from tests.support.front_door import ROOT, Person
from tests.support.plugin import copy_plugin, lend_environment

SESSION = """
from lib.agents import AgentContract
from lib.memory import core
from lib.orchestrator import ErrorReason, Orchestrator, State
from lib.tasks import (
    build_context, close_feedback_loop, close_feedback_loop_verified, detect_cycles, parse_output
)

orch = Orchestrator(objective="Throttle logins")
assert orch.transition("start").to_state == State.EXPLORING
found = {"targets": {"files": ["login.py"]}}
assert orch.transition("exploration_complete", found).to_state == State.EXPLORED
orch.transition("start_planning")
plan = {"task_ids": ["a", "b"], "task_mapping": {"001": "a"}, "dependencies": {"b": ["a"]}}
assert orch.transition("tasks_created", plan).success
orch.transition("start_building")

tasks = [
    {"id": "a", "subject": "001: count", "description": "Count the logins", "status": "pending"},
    {"id": "b", "subject": "002: refuse", "status": "pending", "blockedBy": ["a"]},
]
assert [task["id"] for task in orch.get_ready_tasks(tasks)] == ["a"]
assert orch.check_stalled(tasks) == (False, {})

name = core.store("Counting the logins of a minute", "Count by account, not by address")["name"]
context = build_context({**tasks[0], "metadata": {"verify": "true"}})
assert context["injected"] == [name], context
assert "Count by account" in context["prompt"]
assert AgentContract("builder").validate_input({})[0] is False

said = parse_output("DELIVERED: logins are counted")
assert AgentContract("builder").validate_output(said) == (True, "")
done = close_feedback_loop_verified(task_id="a", verify_passed=True, injected=context["injected"])
assert done["credited"] == 1
assert close_feedback_loop(utilized=[name], injected=[name, "nobody"])["missing"] == ["nobody"]
assert core.feedback_from_verification("b", False, [name])["credited"] == 1
assert core.recall("counting logins", limit=1)[0]["failed"] == 0.5
assert core.health()["total"] == 1
assert detect_cycles({"a": ["a"]}) == [["a", "a"]]

orch.transition("task_complete", {"task_id": "a", "status": said["status"]})
restored = Orchestrator.resume("Throttle logins")
assert (restored.state, restored.completed) == (State.BUILDING, ["a"])
assert restored.transition("fly").error_reason == ErrorReason.INVALID_TRANSITION
print("the end")
"""
REFUSED = """
from lib.memory import core
try:
    core.get("nobody")
except core.MemoryCommandFailed as problem:
    print(problem)
"""


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.begins_a_repository()
    person.ddx("bead", "init")
    person.more = {"PYTHONPATH": str(ROOT)}
    return person


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def argv(started: subprocess.CompletedProcess[str]) -> Any:
    assert started.returncode == 7, started.stderr
    return json.loads(started.stdout)["argv"]


def test_a_session_that_imports_drives_the_machine_and_learns(ada: Person) -> None:  # O-12
    assert ada.types("python3", "-c", SESSION).stdout == "the end\n"


def test_what_a_person_would_read_is_what_the_caller_gets(ada: Person) -> None:  # C-3
    said = ada.types("python3", "-c", REFUSED).stdout
    assert "nobody" in said
    assert "(exit 1)" in said


@pytest.mark.parametrize(
    ("door", "words", "typed"),
    [
        ("memory/core.py", ["recall", "q", "--limit", "5"], ["memory", "recall", "--json", "q"]),
        ("orchestrator.py", ["status"], ["objective", "status", "--json"]),
        ("tasks.py", ["parse-output", "-x"], ["task", "parse-output", "--json", "--", "-x"]),
        ("tasks.py", ["parse-output", "--help"], ["task", "parse-output", "--json", "--help"]),
        ("memory/core.py", ["--help"], ["memory", "--help"]),
        ("tasks.py", [], ["task"]),
    ],
)
def test_a_door_of_a_fresh_clone_sets_up_and_becomes_the_command(  # P-1, P-8
    checkout: Checkout, door: str, words: list[str], typed: list[str]
) -> None:
    done = checkout.start("python3", checkout.root / "lib" / door, *words)

    assert argv(done)[: len(typed)] == typed
    assert "setting up" in done.stderr
    assert len(checkout.installs()) == 1


def test_a_door_works_through_a_link(checkout: Checkout) -> None:
    (checkout.root / "elsewhere").symlink_to(checkout.root / "lib/tasks.py")
    assert argv(checkout.start("python3", checkout.root / "elsewhere"))[0] == "task"


def test_a_checkout_that_was_moved_is_whole(ada: Person, tmp_path: Path) -> None:  # P-1, P-8
    copy = copy_plugin(tmp_path / "here")
    lend_environment(copy)
    ada.types(str(copy / "hooks/run"), "session-start", stdin="{}")
    moved = copy.rename(tmp_path / "and there")
    ada.more = {}

    assert "version" in ada.types(str(moved / "bin/helix"), "--version").stdout
    ada.types(str(moved / "hooks/run"), "session-start", stdin="{}")
    assert (ada.root / ".helix/plugin_root").read_text() == f"{moved}\n"
    door = str(moved / "lib/memory/core.py")
    health = json.loads(ada.types("python3", door, "health").stdout)
    assert health["status"] == "HEALTHY"
    said = ada.types(str(moved / "bin/helix"), "skills", "validate").stdout
    assert said == f"the skills in {moved} are sound\n"
