"""For each test the scripted model, and a stage or a studio in which one real agent uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.scenarios import SCENARIOS
from tests.e2e.studio import Studio, opened
from tests.support.agents import Stage, staged
from tests.support.model_server import ModelServer


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(SCENARIOS) as server:
        yield server


@pytest.fixture
def stage(model: ModelServer, tmp_path: Path) -> Iterator[Stage]:
    with staged(model, tmp_path) as stage:
        yield stage


@pytest.fixture
def open_studio(model: ModelServer, tmp_path: Path) -> Iterator[Callable[..., Studio]]:
    """Opens one for an agent and some beads; it is closed with the test."""
    with ExitStack() as studios:
        yield lambda *of: studios.enter_context(opened(model, tmp_path / "w", *of))
