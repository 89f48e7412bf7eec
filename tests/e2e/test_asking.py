"""Real agents that are found, asked and answered without a bead (X-21)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import scenarios
from tests.e2e.scenarios import GREETING
from tests.e2e.studio import NOTHING_LEFT, Studio, claude_and_codex, opened
from tests.support.agents import CLAUDE, CODEX, INSTALLED, Agent
from tests.support.model_server import ModelServer, Say, Scenario, Tool
from tests.support.tracker import DDX, ROOT

OpenStudio = Callable[..., Studio]

READY = Scenario("ready", ((Say("ready"),),))
"""The word with which `ddx agent doctor --ask` asks."""
WRITES = Scenario(
    "SCENE-WRITES",
    ((Tool("Write", {"file_path": GREETING, "content": "x"}),), (Say("It is done."),)),
)
"""By the very name of a tool that is not offered."""

ASK = """
import json, os, sys
from ddx.attempts.context import Limits
from ddx.attempts.question import AgentQuestion
from ddx.attempts.work import open_site
from ddx.project.project import Project

harness, prompt, schema = sys.argv[1:]
question = AgentQuestion(prompt, harness, True, limits=Limits(wall_s=60), schema=schema)
reply = question.ask(open_site(Project(os.getcwd()), lambda happening: None))
print(json.dumps({"end": reply.end, "structured": reply.structured}))
"""


def test_the_installed_agents_are_listed_with_their_versions(open_studio: OpenStudio) -> None:
    CODEX.require()
    listed = open_studio(CLAUDE).agent("list", "--json").json

    by_name = {row["name"]: row for row in listed}
    for name, package in (("claude", "@anthropic-ai/claude-code"), ("codex", "@openai/codex")):
        found = by_name[name]
        assert (found["installed"], found["usable"], found["problem"]) == (True, True, "")
        if Path(found["path"]).parent == INSTALLED:
            manifest = INSTALLED.parent / package / "package.json"
            assert found["version"] == json.loads(manifest.read_text())["version"]


@claude_and_codex
def test_the_doctor_asks_for_one_word(agent: Agent, tmp_path: Path) -> None:
    with (
        ModelServer([READY]) as server,
        opened(server, tmp_path / "w", agent) as studio,
    ):
        found = studio.agent("doctor", agent.name, "--ask", "--json").json
        assert studio.leftover() == NOTHING_LEFT

    (examined,) = found["harnesses"]
    assert (examined["asked"]["end"], examined["asked"]["text"]) == ("completed", "ready")
    assert examined["asked"]["usage"]["input"] == 100
    assert all(finding["ok"] for finding in found["findings"])


@claude_and_codex
def test_a_prompt_is_answered_and_its_changes_go_with_the_workspace(
    open_studio: OpenStudio, agent: Agent
) -> None:
    studio = open_studio(agent)
    before = studio.tip()

    done = ask(studio, f"Please do {scenarios.SUCCESS.word}.")

    assert (done["end"], done["text"]) == ("completed", "The greeting is there.")
    assert done["thrown_away"] == [GREETING]
    assert done["usage"]["output"] == scenarios.SUCCESS_USED.output
    assert (studio.tip(), studio.refs(), (studio.root / GREETING).exists()) == (before, [], False)
    assert studio.leftover() == NOTHING_LEFT


@pytest.mark.parametrize(
    ("agent", "scenario"),
    [pytest.param(CLAUDE, WRITES, id="claude"), pytest.param(CODEX, scenarios.DENIED, id="codex")],
)
def test_a_read_only_agent_can_change_nothing(
    agent: Agent, scenario: Scenario, tmp_path: Path
) -> None:
    with (
        ModelServer([scenario]) as server,
        opened(server, tmp_path / "w", agent) as studio,
    ):
        done = ask(studio, f"Please do {scenario.word}.", "--read-only")

        assert server.turns(scenario.word) == [0, 1]
        assert "done" in done["text"]
        assert (done["thrown_away"], studio.leftover()) == ([], NOTHING_LEFT)


@claude_and_codex
def test_a_reply_that_fits_the_schema_is_handed_on_as_an_object(
    open_studio: OpenStudio, agent: Agent
) -> None:
    studio = open_studio(agent)

    judged = judge(studio, scenarios.STRUCTURED)

    verdict = {"verdict": "CLEAN", "findings": []}
    assert judged == {"end": "completed", "structured": verdict}
    assert studio.leftover() == NOTHING_LEFT


@pytest.mark.parametrize(
    "agent", [pytest.param(CLAUDE, id="claude"), pytest.param(CODEX, id="codex")]
)
def test_a_reply_that_does_not_fit_is_none(open_studio: OpenStudio, agent: Agent) -> None:
    studio = open_studio(agent)

    assert judge(studio, scenarios.MISSHAPEN)["structured"] is None


def judge(studio: Studio, scenario: Scenario) -> dict[str, Any]:
    """What becomes of the reply, in a process that has nothing but the studio's variables."""
    schema = json.dumps(scenarios.VERDICT_SCHEMA)
    words = (sys.executable, "-c", ASK, studio.harness, f"Please do {scenario.word}.", schema)
    judged: dict[str, Any] = studio.run(*words, PYTHONPATH=str(ROOT / "src")).json
    return judged


def ask(studio: Studio, prompt: str, *flags: str) -> dict[str, Any]:
    line = (str(DDX), "agent", "run", "--prompt", "-", "--harness", studio.harness, "--json")
    answered: dict[str, Any] = studio.run(*line, *flags, stdin=prompt).json
    return answered
