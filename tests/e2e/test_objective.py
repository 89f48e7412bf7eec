"""One objective through a real agent: explorers side by side, a plan, a build, an observation."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.studio import NOTHING_LEFT, claude_and_codex, opened
from tests.support.agents import Agent
from tests.support.model_server import ModelServer, Say, Scenario, Write
from tests.support.objectives import FINDINGS, OBSERVATION, step
from tests.support.runs import HELIX

BUILD = "SCENE-OBJECTIVE"
TASK = step("001", description=f"Write 001.txt as {BUILD} has it.")
PLAN = {"status": "complete", "tasks": [TASK]}

# A prompt names its own mark last, so that each agent's conversation is its own.
SCENES = [
    Scenario("EXPLORER_FINDINGS", ((Say(f"EXPLORER_FINDINGS: {json.dumps(FINDINGS)}"),),)),
    Scenario("PLAN", ((Say(f"I thought about it.\n\nPLAN:\n```json\n{json.dumps(PLAN)}\n```"),),)),
    Scenario(BUILD, ((Write("001.txt", "done\n"),), (Say("**DELIVERED:** the file is written"),))),
    Scenario("OBSERVATION", ((Say(f"OBSERVATION: {json.dumps(OBSERVATION)}"),),)),
]


@claude_and_codex
def test_an_objective_is_worked_on_by_a_real_agent(agent: Agent, tmp_path: Path) -> None:  # O-6
    with ModelServer(SCENES) as server, opened(server, tmp_path / "w", agent) as studio:
        for path in ("src/shop/cart.py", "src/models/price.py"):
            (studio.root / path).parent.mkdir(parents=True)
            (studio.root / path).write_text("# code\n")
        studio.commit("code")
        words = ("objective", "Write a file", "--agent", agent.name, "--no-auto-review", "--json")
        done = studio.run(str(HELIX), *words).json
        assert studio.leftover() == NOTHING_LEFT

    assert (done["state"], len(done["completed"])) == ("DONE", 1)
    assert (studio.root / "001.txt").read_text() == "done\n"
    (bead,) = [row for row in studio.rows().values() if "objective-task" in row]
    assert (bead["status"], bead["title"]) == ("closed", "001: part-001")
    assert len(server.turns("EXPLORER_FINDINGS")) >= 3
    assert done["usage"]["output"] > 0
    recalled = studio.run(str(HELIX), "memory", "recall", "a text file of its own", "--json").json
    assert "write-the-file" in json.dumps(recalled)
