"""The tutorials from their first line to their last, as they stand, with the real claude and codex.

Their model is scripted. It knows four prompts by their words: that of a build, that of a review,
whatever else asks for a judgement, and the one word that `ddx agent doctor --ask` sends.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agents import CLAUDE, CODEX, Stage
from tests.support.following import TUTORIALS, follow, read_blocks, read_steps
from tests.support.model_server import ModelServer, Say, Scenario, Shell, Structured

WORK = """\
feature=docs/helix/01-frame/features/FEAT-001-prices.md
if [ ! -e $feature ]; then touch logo.svg
elif ! grep -q lock $feature; then echo 'A lock costs 19.90.' >> $feature
elif ! grep -q lock tests/*; then echo 'grep -q "lock 19.90" prices.txt' > tests/locks.sh
else echo 'lock 19.90' >> prices.txt; fi"""
REPLY = """\
REVIEW_STATUS: CLEAN
ISSUES_COUNT: 0
POLISH_STATUS: CONVERGED
ISSUES_MODIFIED: 0
ISSUES_CREATED: 0
ISSUES_MERGED: 0
NEXT_ACTION: STOP"""
VERDICT = {"status": "CLEAN", "findings": []}
MADE = {
    "README.md": ("prices.txt", "bell 4.50\nlock 19.90\n"),
    "first-attempts.md": ("logo.svg", ""),
}
"""What the agents have built at the end of each tutorial that asks any."""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    scenarios = [
        Scenario("When you are done", ((Shell(WORK),), (Say("It is done."),))),
        Scenario("REVIEW_STATUS", ((Structured(VERDICT),), (Say(REPLY),))),
        Scenario("thrown away afterwards", ((Say(REPLY),),)),
        Scenario("test of the connection", ((Say("ready"),),)),
    ]
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    with ModelServer(scenarios) as server:
        stage = Stage(server, home / "shop", home, uuid.uuid4().hex)
        argv = [CODEX.name, *CODEX.harness_flags(server.url)]
        settings = {"harnesses": {"codex": {"kind": "codex", "argv": argv}}}
        (home / ".config/ddx").mkdir(parents=True)
        (home / ".config/ddx/config.yaml").write_text(json.dumps(settings))
        try:
            yield stage
        finally:
            stage.end_all()


def test_no_other_tutorial_asks_an_agent() -> None:
    asking = [each.name for each in TUTORIALS if any(it.asks_an_agent for it in read_blocks(each))]
    assert asking == list(MADE)


@pytest.mark.parametrize("name", MADE)
def test_a_tutorial_works_to_its_last_command(name: str, stage: Stage, tmp_path: Path) -> None:
    (document,) = (each for each in TUTORIALS if each.name == name)
    steps = list(read_steps(document, with_agents=True))

    follow(steps, tmp_path, **stage.variables(CLAUDE, CODEX))

    path, text = MADE[name]
    assert (stage.root / path).read_text() == text
