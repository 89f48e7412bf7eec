"""Real agents at work on beads: what lands, what is kept, and that no word of theirs counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e import scenarios
from tests.e2e.scenarios import GREETED, GREETING
from tests.e2e.studio import NOTHING_LEFT, Studio, claude_and_codex, scene
from tests.support.agents import CLAUDE, CODEX, Agent
from tests.support.alone import run_alone
from tests.support.tracker import Row, wait_for

OpenStudio = Callable[..., Studio]
COUNTS = ("input", "cache_read", "cache_write", "output")


@claude_and_codex
def test_an_agent_builds_a_bead_that_lands_and_is_closed_with_evidence(
    open_studio: OpenStudio, agent: Agent
) -> None:
    studio = open_studio(agent, scene(scenarios.SUCCESS))
    before = studio.tip()

    outcome = studio.once()

    assert (outcome["outcome"], outcome["status"]) == ("landed", "success")
    assert studio.git("rev-parse", "HEAD~").id == before
    assert (studio.root / GREETING).read_text() == GREETED
    row = studio.rows()["app-1"]
    assert (row["status"], row["closing_commit_sha"]) == ("closed", studio.tip())
    assert f"passed: {outcome['checks'][0]['command']}" in studio.ddx("events", "app-1").out
    assert {line.split()[1].partition("/")[0] for line in studio.dirty()} == {".ddx"}
    assert (studio.leftover(), studio.refs()) == (NOTHING_LEFT, [])
    assert_counted(outcome, studio)
    story = studio.story(outcome)
    for told in ("claimed", "uses", "The greeting is there.", "check passed", "landed", "closed"):
        assert told in story, story


def assert_counted(outcome: Row, studio: Studio) -> None:
    """To the token as it was scripted; a cost only where the agent's program tells one (X-7)."""
    scripted = scenarios.SUCCESS_USED
    used = outcome["usage"]
    assert [used[name] for name in COUNTS] == [getattr(scripted, name) for name in COUNTS]
    (listed,) = studio.agent("attempts", "app-1", "--json").json
    assert listed["usage"] == used
    if studio.harness == "claude":
        assert (used["cost_source"], used["cost_usd"] > 0) == ("reported", True)
    else:
        assert (used["cost_source"], used["cost_usd"]) == ("unknown", None)
        assert "cost unknown" in studio.story(outcome)


@claude_and_codex
def test_it_does_so_with_no_network_at_all(agent: Agent, tmp_path: Path) -> None:
    agent.require()
    test = test_an_agent_builds_a_bead_that_lands_and_is_closed_with_evidence.__name__

    told = run_alone(f"{__file__}::{test}[{agent.name}]", within=tmp_path / "inside")

    assert "1 passed" in told


@claude_and_codex
def test_a_lie_leaves_the_bead_open_and_counts_as_an_attempt(
    open_studio: OpenStudio, agent: Agent
) -> None:
    studio = open_studio(agent, scene(scenarios.LIES))
    before = studio.tip()

    outcome = studio.once(code=1)

    assert (outcome["outcome"], outcome["status"]) == ("no_changes", "nothing_done")
    assert outcome["reply"]["text"] == "Done. All checks pass."
    row = studio.rows()["app-1"]
    assert (row["status"], row["attempts"], "owner" in row) == ("open", 1, False)
    assert (studio.tip(), studio.refs()) == (before, [])
    assert studio.leftover() == NOTHING_LEFT


@claude_and_codex
def test_work_that_breaks_its_check_is_kept_and_the_next_attempt_hears_of_it(
    open_studio: OpenStudio, agent: Agent
) -> None:
    failing = "- `grep goodbye greeting.txt || { echo SO-IT-FAILED; false; }` passes"
    studio = open_studio(agent, scene(scenarios.SUCCESS, acceptance=failing))
    before = studio.tip()

    outcome = studio.once(code=1)

    assert (outcome["outcome"], outcome["status"]) == ("preserved", "check_failed")
    assert studio.kept(outcome) == GREETED
    assert (studio.tip(), studio.rows()["app-1"]["attempts"]) == (before, 1)
    studio.once(code=1)
    (prompt, *_) = [each.asked.prompt for each in studio.model.exchanges[-1:]]
    assert "SO-IT-FAILED" in prompt and outcome["ref"] in prompt
    assert studio.leftover() == NOTHING_LEFT


@claude_and_codex
def test_commits_of_the_agent_are_input_and_not_history(
    open_studio: OpenStudio, agent: Agent
) -> None:
    studio = open_studio(agent, scene(scenarios.COMMITS))

    outcome = studio.once()

    assert outcome["status"] == "success"
    assert studio.git("show", f"HEAD:{GREETING}").out == GREETED
    assert studio.git("log", "--all", "--format=%an").out.split() == ["Mara"] * 3
    assert studio.git("log", "-1", "--format=%s").id.endswith("[app-1]")


CHANGES = {
    "edited": ("update", "app-1", "--spec-id", "TD-009"),
    "superseded": ("create", "Greet in another way", "--replaces", "app-1"),
}


@pytest.mark.parametrize(
    ("agent", "change"),
    [pytest.param(CLAUDE, "superseded", id="claude"), pytest.param(CODEX, "edited", id="codex")],
)
def test_a_bead_that_changes_meanwhile_is_not_landed_and_its_work_is_kept(
    open_studio: OpenStudio, agent: Agent, change: str
) -> None:
    studio = open_studio(agent, scene(scenarios.WAITS))
    before = studio.tip()
    controller = studio.begin("execute-loop", "--once", "--harness", agent.name, "--json")
    wait_for((studio.home / scenarios.HERE).exists)

    studio.ddx(*CHANGES[change])
    (studio.home / scenarios.GO).touch()
    out, err = controller.communicate(timeout=120)
    (outcome,) = json.loads(out)["outcomes"]

    assert controller.returncode == 1, err
    assert (outcome["outcome"], outcome["status"]) == ("preserved", "drift")
    assert (studio.kept(outcome), studio.tip()) == (GREETED, before)
    row = studio.rows()["app-1"]
    assert (row["status"], "attempts" in row, "claim-id" in row) == ("open", False, False)
    assert studio.leftover() == NOTHING_LEFT


@claude_and_codex
def test_two_runs_racing_for_one_bead_start_one_agent(
    open_studio: OpenStudio, agent: Agent
) -> None:  # X-18, T-21
    studio = open_studio(agent, scene(scenarios.SUCCESS))
    codes: list[int] = []

    def execute() -> None:
        done = studio.agent("execute-bead", "app-1", "--harness", agent.name, code=None)
        codes.append(done.code)

    threads = [threading.Thread(target=execute) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert min(codes) == 0 and max(codes) in (1, 5), codes
    assert studio.model.turns(scenarios.SUCCESS.word) == [0, 1, 2]
    assert (len(studio.attempts()), studio.rows()["app-1"]["status"]) == (1, "closed")
    assert studio.leftover() == NOTHING_LEFT
