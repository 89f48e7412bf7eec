"""Real agents that do not end by themselves: ended with all that they started, their work kept."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.e2e import scenarios
from tests.e2e.studio import NOTHING_LEFT, Studio, claude_and_codex, scene
from tests.support.agents import CLAUDE, CODEX, Agent
from tests.support.tracker import Row, wait_for

OpenStudio = Callable[..., Studio]
HALF = "half of the work\n"


def test_an_endless_agent_is_ended_when_its_beads_budget_is_spent(
    open_studio: OpenStudio,
) -> None:
    studio = open_studio(CLAUDE, scene(scenarios.ENDLESS))
    studio.configure(budget={"bead_tokens": 300})

    outcome = studio.once(code=1)

    assert (outcome["outcome"], outcome["status"]) == ("preserved", "agent_failed")
    assert outcome["reply"]["end"] == "limit_budget"
    assert outcome["usage"]["input"] + outcome["usage"]["output"] >= 300
    assert "again\n" in studio.git("show", f"{outcome['ref']}:again.txt").out
    assert_ended(studio, attempts=1)


def test_an_endless_agent_is_ended_at_its_time_limit(open_studio: OpenStudio) -> None:
    """Codex tells what it used only at its end, so that nothing but the clock can stop it."""
    studio = open_studio(CODEX, scene(scenarios.ENDLESS))

    outcome = studio.once("--timeout", "15", code=1)

    assert (outcome["outcome"], outcome["status"]) == ("preserved", "timeout")
    assert "again\n" in studio.git("show", f"{outcome['ref']}:again.txt").out
    assert_ended(studio, attempts=1)


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(CLAUDE, id="claude"),
        pytest.param(CODEX, id="codex"),
    ],
)
def test_a_silent_agent_is_ended_after_its_idle_limit(
    open_studio: OpenStudio, agent: Agent
) -> None:
    studio = open_studio(agent, scene(scenarios.HANGS))
    studio.configure(harnesses={agent.name: {"idle_s": 6}})

    outcome = studio.once("--timeout", "40", code=1)

    assert (outcome["outcome"], outcome["status"]) == ("preserved", "timeout")
    assert (outcome["reply"]["end"], studio.kept(outcome)) == ("stalled", HALF)
    assert_ended(studio, attempts=1)


@claude_and_codex
def test_a_time_limit_ends_a_grandchild_in_a_session_of_its_own(
    open_studio: OpenStudio, agent: Agent
) -> None:
    studio = open_studio(agent, scene(scenarios.SLEEPER))
    controller = studio.begin(
        *("execute-loop", "--once", "--timeout", "20", "--harness", agent.name, "--json")
    )
    wait_for(lambda: len(sessions_of_sleepers(studio)) >= 2)

    out, err = controller.communicate(timeout=120)
    (outcome,) = json.loads(out)["outcomes"]

    assert (controller.returncode, outcome["status"]) == (1, "timeout"), err
    assert studio.kept(outcome) == HALF
    assert_ended(studio, attempts=1)


@claude_and_codex
def test_the_same_after_the_controller_was_killed(
    open_studio: OpenStudio, agent: Agent
) -> None:
    studio = open_studio(agent, scene(scenarios.SLEEPER))
    controller = studio.begin("execute-loop", "--once", "--harness", agent.name)
    wait_for(lambda: len(sessions_of_sleepers(studio)) >= 2)

    controller.kill()
    controller.communicate(timeout=120)

    wait_for(lambda: not studio.stage.running())
    assert studio.rows()["app-1"]["status"] == "in_progress"
    done = studio.agent("execute-bead", "no-such", "--harness", agent.name, code=1)
    assert "had died: preserved" in done.err
    (ref,) = studio.refs()
    assert studio.kept({"ref": ref}) == HALF
    assert_ended(studio, attempts=0)


def sessions_of_sleepers(studio: Studio) -> set[int]:
    running = studio.stage.running()
    return {each.session for each in running if each.argv[:1] == (scenarios.SLEEPING,)}


def assert_ended(studio: Studio, *, attempts: int) -> None:
    """Nothing is alive, and the bead is free again."""
    row: Row = studio.rows()["app-1"]
    assert (row["status"], row.get("attempts", 0)) == ("open", attempts)
    assert not {"claim-id", "owner"} & row.keys()
    assert studio.leftover() == NOTHING_LEFT
