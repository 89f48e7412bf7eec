"""Real agents that reach out of their workspace, and what of it touches the operator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import scenarios
from tests.e2e.scenarios import GREETED, GREETING
from tests.e2e.studio import NOTHING_LEFT, Studio, claude_and_codex, scene
from tests.support.agents import Agent

from ddx.attempts.sandbox import require_bubblewrap
from ddx.base.errors import DdxError

OpenStudio = Callable[..., Studio]
FENCE: dict[str, Any] = {"kind": "bubblewrap", "network": True}
"""The scripted model is talked to by way of this machine's network."""


@claude_and_codex
@pytest.mark.parametrize("fenced", [False, True], ids=["free", "fenced"])
def test_no_trap_of_the_agent_is_sprung_by_us(
    open_studio: OpenStudio, agent: Agent, fenced: bool
) -> None:  # X-3b, X-23
    studio = open_studio(agent, scene(scenarios.ESCAPE))
    if fenced:
        require_fence()
        studio.configure(sandbox=FENCE)
    before = operators_own(studio.root)

    outcome = studio.once()

    assert (outcome["status"], (studio.root / GREETING).read_text()) == ("success", GREETED)
    assert not (studio.home / scenarios.SPRUNG).exists()
    assert operators_own(studio.root) == before
    assert not (fenced and (studio.home / scenarios.ESCAPED).exists())
    assert studio.leftover() == NOTHING_LEFT


@claude_and_codex
def test_behind_the_fence_the_operators_checkout_cannot_be_reached(
    open_studio: OpenStudio, agent: Agent
) -> None:
    require_fence()
    studio = open_studio(agent, scene(scenarios.INVASION))
    studio.configure(sandbox=FENCE)
    before = operators_own(studio.root)

    outcome = studio.once()

    assert (outcome["status"], outcome["paths"]) == ("success", [GREETING])
    assert operators_own(studio.root) == before
    assert (studio.root / "README.md").read_text() == "an app\n"
    assert list(studio.rows()) == ["app-1"]
    (complaint,) = studio.model.exchanges[-1].asked.results[-1:]
    assert "Read-only file system" in complaint
    assert studio.leftover() == NOTHING_LEFT


def require_fence() -> None:
    try:
        require_bubblewrap(network=True)
    except DdxError as problem:
        pytest.skip(f"no sandbox to test: {problem.message}")


def operators_own(root: Path) -> dict[str, bytes]:
    """What git would run or heed in the operator's checkout."""
    git = root / ".git"
    watched = [git / "config", git / "info", git / "hooks"]
    files = [file for place in watched for file in (place, *place.rglob("*")) if file.is_file()]
    return {str(file): file.read_bytes() for file in files}
