"""What every action works with: the project's site, the settings, who is asked, what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.execution.model import Limits
    from ddx.execution.work import Site
    from ddx.harnesses.base import Reply
    from helix.prompts import Pages
    from helix.settings import HelixSettings

SMART, CHEAP = "smart", "cheap"
CHEAP_STAGES = frozenset({"check"})
"""What only reads a state and names one word; every other stage asks for judgement (A-5)."""


@value
class Agent:
    """One harness and how it is asked; without a model, each stage asks for what it needs."""

    harness: str
    model: str = ""
    effort: str = ""


@value
class Desk:
    """The same for every action of one command or one run (A-6)."""

    site: Site
    settings: HelixSettings
    pages: Pages
    builder: Agent
    reviewer: Agent
    limits: Limits
    on_call: Callable[[str, Reply], None]
    """Told of every call of an agent, by the name of its action: so that no token is lost."""
    dry_run: bool = False


def model_for(stage: str, agent: Agent, site: Site) -> str:
    """The model that a person named, else the smart or cheap one, where settings know it (A-5).

    Where they do not, the harness's own default is used: no model's name stands in our code.
    """
    from ddx.harnesses.registry import resolve_model

    need = CHEAP if stage in CHEAP_STAGES else SMART
    known = site.settings.models.get(agent.harness, {})
    wanted = agent.model or (need if need in known else "")
    return resolve_model(agent.harness, wanted, site.settings, root=site.project.root)
