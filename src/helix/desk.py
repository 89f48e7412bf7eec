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


@value
class Agent:
    """One harness and how it is asked; a model's name belongs to its harness alone."""

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
