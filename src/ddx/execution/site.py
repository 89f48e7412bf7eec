"""Where work is done; whoever only looks needs this much and no more (C-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.values import value

if TYPE_CHECKING:
    from ddx.clock import Clock
    from ddx.execution.model import OnEvent
    from ddx.masking import Masker
    from ddx.project import Project
    from ddx.settings import Settings
    from ddx.supervision import StopRequest
    from ddx.tracker.store import Tracker


@value
class Site:
    """What every step needs of the world."""

    project: Project
    settings: Settings
    tracker: Tracker
    clock: Clock
    masker: Masker
    stop: StopRequest
    on_event: OnEvent
