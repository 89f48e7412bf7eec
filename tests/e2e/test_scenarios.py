"""Where each scenario leads claude and codex, as they are pinned in scripts/agents."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from tests.e2e import scenarios
from tests.support.agents import (
    CLAUDE,
    CLAUDE_WITH_SUBSCRIPTION,
    CODEX,
    Agent,
    Running,
    Stage,
    staged,
)
from tests.support.model_server import ModelServer, Scenario
from tests.support.tracker import wait_for

SOON_S = 90
CARELESS = {
    "hook": ("-c", "core.fsmonitor=false", "update-ref", "refs/heads/other", "HEAD"),
    "monitor": ("-c", "core.hooksPath=/dev/null", "status"),
    "filter": ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "add", "--all"),
}
SCHEMA = json.dumps(scenarios.VERDICT_SCHEMA)

claude_and_codex = pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=lambda agent: agent.name)


def greeting(stage: Stage) -> str | None:
    file = stage.root / scenarios.GREETING
    return file.read_text() if file.exists() else None


@pytest.mark.parametrize(
    ("agent", "flags"),
    [
        pytest.param(CLAUDE, ("--permission-mode", "acceptEdits"), id="claude"),
        pytest.param(CODEX, ("--sandbox", "read-only"), id="codex"),
    ],
)
def test_an_agent_that_may_not_do_it_ends_as_if_it_had(
    stage: Stage, agent: Agent, flags: tuple[str, ...]
) -> None:
    ended = stage.run_agent(agent, scenarios.DENIED.word, *flags)

    assert (ended.code, greeting(stage)) == (0, None)


@claude_and_codex
@pytest.mark.parametrize(
    "scenario",
    [scenarios.OVERLOADED, scenarios.DROPPED, scenarios.CUT_SHORT],
    ids=lambda scenario: scenario.word,
)
def test_an_agent_gets_over_what_passes(stage: Stage, agent: Agent, scenario: Scenario) -> None:
    ended = stage.run_agent(agent, scenario.word)

    assert (ended.code, greeting(stage)) == (0, scenarios.GREETED)
    assert {each.ended for each in stage.server.exchanges} > {"answered"}


@claude_and_codex
@pytest.mark.parametrize(
    "scenario",
    [
        scenarios.RATE_LIMITED,
        scenarios.HARD_400,
        scenarios.BROKEN_500,
        scenarios.UNAUTHORIZED,
    ],
    ids=lambda scenario: scenario.word,
)
def test_an_agent_gives_up_on_what_stays(stage: Stage, agent: Agent, scenario: Scenario) -> None:
    ended = stage.run_agent(agent, scenario.word)

    assert (ended.code, greeting(stage)) == (1, None)


@pytest.mark.parametrize("agent", [CLAUDE_WITH_SUBSCRIPTION, CODEX], ids=lambda agent: agent.name)
def test_a_usage_limit_is_told_with_its_end(agent: Agent, tmp_path: Path) -> None:
    resets_at = int(time.time()) + 7200
    with (
        ModelServer([scenarios.usage_limit(resets_at)]) as server,
        staged(server, tmp_path) as stage,
    ):
        ended = stage.run_agent(agent, scenarios.USAGE_LIMIT)

    assert ended.code == 1
    assert len(server.turns(scenarios.USAGE_LIMIT)) == 1
    told = {
        "claude": str(resets_at),
        "codex": time.strftime("%-I:%M %p", time.gmtime(resets_at)),
    }
    assert told[agent.name] in ended.out


@pytest.mark.parametrize(
    ("agent", "codes"),
    [pytest.param(CLAUDE, [0, 1], id="claude"), pytest.param(CODEX, [0, 0], id="codex")],
)
def test_only_claude_itself_refuses_a_reply_that_does_not_fit_the_schema(
    stage: Stage, agent: Agent, codes: list[int]
) -> None:
    file = stage.home / "schema.json"
    file.write_text(SCHEMA)
    asked = {"claude": ("--json-schema", SCHEMA), "codex": ("--output-schema", str(file))}
    flags = (*agent.freedom, *asked[agent.name])

    fitting = stage.run_agent(agent, scenarios.STRUCTURED.word, *flags)
    misshapen = stage.run_agent(agent, scenarios.MISSHAPEN.word, *flags)

    assert [fitting.code, misshapen.code] == codes


@claude_and_codex
def test_an_escape_leaves_traps_that_a_careless_git_springs(stage: Stage, agent: Agent) -> None:
    ended = stage.run_agent(agent, scenarios.ESCAPE.word)
    sprung = stage.home / scenarios.SPRUNG

    assert (ended.code, sprung.exists()) == (0, False)
    assert (stage.home / scenarios.ESCAPED).exists()
    for trap, words in CARELESS.items():
        stage.run(["git", *words], stage.variables(), limit_s=SOON_S)
        assert sprung.exists(), trap
        sprung.unlink()


@claude_and_codex
def test_an_agent_that_waits_goes_on_at_a_sign(stage: Stage, agent: Agent) -> None:
    process = stage.start(agent.argv(scenarios.WAITS.word), stage.variables(agent))
    wait_for((stage.home / scenarios.HERE).exists, limit_s=SOON_S)
    assert process.poll() is None

    (stage.home / scenarios.GO).touch()

    assert process.wait(SOON_S) == 0
    assert greeting(stage) == scenarios.GREETED


@claude_and_codex
def test_a_sleeper_has_a_session_of_its_own_and_is_ended_with_the_stage(
    stage: Stage, agent: Agent
) -> None:
    process = stage.start(agent.argv(scenarios.SLEEPER.word), stage.variables(agent))
    wait_for(lambda: len(sleepers(stage)) >= 2, limit_s=SOON_S)
    sessions = {each.session for each in sleepers(stage)}

    stage.end_all()

    assert len(sessions) >= 2
    assert process.wait(SOON_S) == -signal.SIGKILL
    assert not stage.running()


def sleepers(stage: Stage) -> list[Running]:
    return [each for each in stage.running() if each.argv[:1] == (scenarios.SLEEPING,)]


def test_a_command_is_ended_at_its_limit_with_all_that_it_started(stage: Stage) -> None:
    argv = ["sh", "-c", "echo begun; setsid sleep 600 & sleep 600"]

    ended = stage.run(argv, stage.variables(), limit_s=1)

    assert (ended.code, ended.out) == (None, "begun\n")
    assert not stage.running()
