"""Real agents whose model is busy, broken or shut: nothing of it is charged to a bead (X-8)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from tests.e2e import scenarios
from tests.e2e.scenarios import GREETED, GREETING
from tests.e2e.studio import NOTHING_LEFT, Studio, claude_and_codex, opened, scene
from tests.support.agents import CLAUDE, CLAUDE_WITH_SUBSCRIPTION, CODEX, Agent
from tests.support.model_server import ModelServer, Scenario

OpenStudio = Callable[..., Studio]
A_MINUTE_S = 60


@pytest.mark.parametrize(
    ("agent", "scenario", "used", "told"),
    [
        pytest.param(CLAUDE, scenarios.OVERLOADED, (1100, 15), True, id="claude-overloaded"),
        pytest.param(CODEX, scenarios.OVERLOADED, (1100, 15), False, id="codex-overloaded"),
        pytest.param(CLAUDE, scenarios.DROPPED, (1100, 15), False, id="claude-dropped"),
        pytest.param(CODEX, scenarios.DROPPED, (1100, 15), True, id="codex-dropped"),
        # Claude counts what came before the cut; codex does not, and asks for the turn twice.
        pytest.param(CLAUDE, scenarios.CUT_SHORT, (1650, 13), False, id="claude-cut-short"),
        pytest.param(CODEX, scenarios.CUT_SHORT, (1700, 19), True, id="codex-cut-short"),
    ],
)
def test_what_passes_costs_no_attempt_and_is_counted_right(
    open_studio: OpenStudio, agent: Agent, scenario: Scenario, used: tuple[int, int], told: bool
) -> None:
    """Each tells of some of its retries only: those are waiting, and no work."""
    studio = open_studio(agent, scene(scenario))

    outcome = studio.once()

    assert (outcome["status"], (studio.root / GREETING).read_text()) == ("success", GREETED)
    assert (outcome["usage"]["input"], outcome["usage"]["output"]) == used
    assert (outcome["reply"]["retries"] > 0, "waits: " in studio.story(outcome)) == (told, told)
    assert "attempts" not in studio.rows()["app-1"]
    assert {each.ended for each in studio.model.exchanges} > {"answered"}
    assert studio.leftover() == NOTHING_LEFT


@claude_and_codex
def test_a_limit_without_an_end_parks_the_harness(open_studio: OpenStudio, agent: Agent) -> None:
    beads = [scene(scenarios.RATE_LIMITED, f"app-{number}") for number in (1, 2)]
    studio = open_studio(agent, *beads)

    done = studio.loop("--on-limit", "stop", code=1).json

    assert (done["ended"], done["attempted"]) == ("parked", 1)
    (outcome,) = done["outcomes"]
    assert (outcome["outcome"], outcome["status"]) == ("failed", "harness_fault")
    assert (outcome["reply"]["end"], outcome["reply"]["until"]) == ("rate_limited", "")
    assert_uncharged(studio)


@pytest.mark.parametrize("agent", [CLAUDE_WITH_SUBSCRIPTION, CODEX], ids=lambda agent: agent.name)
def test_a_usage_limit_parks_the_harness_until_its_end(agent: Agent, tmp_path: Path) -> None:
    resets_at = int(time.time()) + 7200
    with (
        ModelServer([scenarios.usage_limit(resets_at)]) as server,
        opened(server, tmp_path / "w", agent, scene(scenarios.USAGE_LIMIT)) as studio,
    ):
        done = studio.loop("--on-limit", "stop", code=1).json
        assert_uncharged(studio)

    until = done["outcomes"][0]["reply"]["until"]
    assert 0 <= datetime.fromisoformat(until).timestamp() - resets_at <= A_MINUTE_S
    assert (done["ended"], until in done["reason"]) == ("parked", True)


@claude_and_codex
def test_three_errors_of_the_service_stop_the_run_and_charge_no_bead(
    open_studio: OpenStudio, agent: Agent
) -> None:
    errors = (scenarios.HARD_400, scenarios.BROKEN_500, scenarios.UNAUTHORIZED, scenarios.SUCCESS)
    beads = [scene(error, f"app-{number}") for number, error in enumerate(errors)]
    studio = open_studio(agent, *beads)

    done = studio.loop(code=1).json

    assert (done["ended"], done["attempted"]) == ("broken", 3)
    ends = [outcome["reply"]["end"] for outcome in done["outcomes"]]
    assert ends == ["api_error", "api_error", "auth"]
    assert {outcome["status"] for outcome in done["outcomes"]} == {"harness_fault"}
    assert "401" in done["reason"]
    assert_uncharged(studio)


def test_two_denials_in_a_row_ask_for_a_person(open_studio: OpenStudio) -> None:  # X-8, C-2
    """Codex tells of none: what it was not allowed is missing, and the checks see that."""
    beads = [scene(scenarios.DENIED, f"app-{number}") for number in range(3)]
    studio = open_studio(CLAUDE, *beads)
    argv = ["claude", "--permission-mode", "acceptEdits"]
    studio.configure(harnesses={"claude": {"kind": "claude", "argv": argv}})

    done = studio.loop(code=4).json

    assert (done["ended"], done["attempted"]) == ("denied", 2)
    assert "Bash" in done["reason"]
    for outcome in done["outcomes"]:
        assert (outcome["outcome"], outcome["status"]) == ("failed", "harness_fault")
        assert (outcome["reply"]["end"], outcome["reply"]["denied"]) == ("denied", ["Bash"])
    assert_uncharged(studio)


def assert_uncharged(studio: Studio) -> None:
    rows = studio.rows().values()
    assert {row["status"] for row in rows} == {"open"}
    assert not any("attempts" in row or "claim-id" in row for row in rows)
    assert (studio.leftover(), studio.refs()) == (NOTHING_LEFT, [])
