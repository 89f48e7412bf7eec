"""A workshop in which a real agent works: `ddx agent` starts it, and its model is scripted."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.scenarios import GREETED, GREETING
from tests.support.agents import CLAUDE, CODEX, Agent, Stage
from tests.support.attempts import CLEAN, Workshop, make_workshop
from tests.support.model_server import ModelServer, Scenario
from tests.support.tracker import Done, Row, bead

PROVEN = f"- `printf {json.dumps(GREETED)} | cmp - {GREETING}` passes"
NOTHING_LEFT = {**CLEAN, "running": []}

claude_and_codex = pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=lambda agent: agent.name)


class Studio(Workshop):
    """A workshop for one agent; all that it starts carries the mark of its stage."""

    def __init__(self, workshop: Workshop, stage: Stage, agent: Agent) -> None:
        super().__init__(workshop.root, home=workshop.home)
        self.stage = stage
        self.harness = agent.name
        self._of_agent = stage.variables(agent)
        if flags := agent.harness_flags(stage.server.url):
            argv = [agent.name, *flags]
            settings = {"harnesses": {agent.name: {"kind": agent.name, "argv": argv}}}
            file = self.home / ".config/ddx/config.yaml"
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps(settings))

    @property
    def model(self) -> ModelServer:
        return self.stage.server

    def variables(self, **changes: str) -> dict[str, str]:
        return super().variables(**{**self._of_agent, **changes})

    def loop(self, *words: str, code: int | None = 0, **variables: str) -> Done:
        line = ("execute-loop", "--harness", self.harness, *words, "--json")
        return self.agent(*line, code=code, **variables)

    def configure(self, **settings: Any) -> None:
        """The project's own settings; JSON is YAML."""
        (self.folder / "config.yaml").write_text(json.dumps(settings))
        self.commit("settings")

    def story(self, outcome: Row) -> str:
        return self.agent("log", outcome["attempt"]).out

    def kept(self, outcome: Row) -> str:
        """The greeting as it stands at the ref of an attempt that did not land."""
        return self.git("show", f"{outcome['ref']}:{GREETING}").out

    def leftover(self) -> Row:
        """And what lives of all that any command in here has started."""
        return {**super().leftover(), "running": self.stage.running()}


@contextmanager
def opened(server: ModelServer, folder: Path, agent: Agent, *rows: Row) -> Iterator[Studio]:
    """Afterwards no process of the studio is left, however its commands ended."""
    workshop = make_workshop(folder, *rows)
    (workshop.home / "tmp").mkdir()
    stage = Stage(server, workshop.root, workshop.home, uuid.uuid4().hex)
    try:
        yield Studio(workshop, stage, agent)
    finally:
        stage.end_all()


def scene(scenario: Scenario | str, bead_id: str = "app-1", **fields: Any) -> Row:
    """A bead that leads the model into a scenario, proven by the greeting."""
    word = scenario if isinstance(scenario, str) else scenario.word
    title = f"Greet as {word} has it"
    return bead(bead_id, **{"title": title, "acceptance": PROVEN, **fields})
