"""gemini and opencode at work on a bead, where they are installed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.e2e import scenarios
from tests.e2e.scenarios import GREETED, GREETING
from tests.e2e.studio import NOTHING_LEFT, Studio, scene
from tests.support.agents import GEMINI, OPENCODE, Agent
from tests.support.tracker import Row, wait_for

OpenStudio = Callable[..., Studio]
SLOW_S = 60

gemini_and_opencode = pytest.mark.parametrize(
    "agent", [GEMINI, OPENCODE], ids=lambda agent: agent.name
)


@gemini_and_opencode
def test_it_builds_a_bead_that_lands(open_studio: OpenStudio, agent: Agent) -> None:
    studio = open_studio(agent, scene(scenarios.SUCCESS))

    outcome = studio.once()

    assert (outcome["status"], (studio.root / GREETING).read_text()) == ("success", GREETED)
    assert studio.rows()["app-1"]["status"] == "closed"
    scripted, used = scenarios.SUCCESS_USED, outcome["usage"]
    # What went into a cache they cannot be told, so that it is input like any other.
    assert used["input"] == scripted.input + scripted.cache_write
    assert (used["cache_read"], used["output"]) == (scripted.cache_read, scripted.output)
    assert (used["cost_usd"], used["cost_source"]) == (None, "unknown")
    assert studio.leftover() == NOTHING_LEFT


def test_gemini_reports_an_error_of_the_service(open_studio: OpenStudio) -> None:
    studio = open_studio(GEMINI, scene(scenarios.HARD_400))

    outcome = studio.once(code=1)

    assert (outcome["status"], outcome["reply"]["end"]) == ("harness_fault", "api_error")
    assert "scripted 400" in outcome["reason"]
    assert_free(studio)


def test_opencode_can_be_interrupted_while_it_tries_again(open_studio: OpenStudio) -> None:
    """It does so for more than a minute and without a word, even after a hard error (X-6)."""
    studio = open_studio(OPENCODE, scene(scenarios.HARD_400))
    controller = studio.begin("execute-loop", "--once", "--harness", "opencode", "--json")
    wait_for(lambda: "400" in {each.ended for each in studio.model.exchanges}, limit_s=SLOW_S)

    controller.terminate()
    out, err = controller.communicate(timeout=SLOW_S)

    assert controller.returncode == 143, err
    (outcome,) = json.loads(out)["outcomes"]
    assert (outcome["status"], outcome["reply"]["end"]) == ("interrupted", "interrupted")
    assert_free(studio)


def assert_free(studio: Studio) -> None:
    row: Row = studio.rows()["app-1"]
    assert (row["status"], "attempts" in row) == ("open", False)
    assert studio.leftover() == NOTHING_LEFT
