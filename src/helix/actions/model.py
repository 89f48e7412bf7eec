"""What an action came to. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ended(StrEnum):
    """How a pass ended, whatever words its own trailer uses."""

    DONE = "done"
    UNFINISHED = "unfinished"
    """It says itself that more is to be done."""
    GUIDANCE = "guidance"
    BLOCKED = "blocked"
    UNREADABLE = "unreadable"
    """No trailer that can be read: never taken for anything else (A-1)."""
    UNTRUE = "untrue"
    """What it claims is not so (A-2)."""
    PENDING = "pending"
    """Proven; it lands by itself once the operator's edits are out of the way (X-13)."""
    FAILED = "failed"
    """The agent did not complete, or what it made did not land."""


@value
class Pass:
    """One bounded pass of an action."""

    action: str
    ended: Ended
    word: str = ""
    """The status that its trailer names, such as CONVERGED."""
    reason: str = ""
    has_changed: bool = False
    """Documents or queue are not what they were."""
    commit: str = ""
    """What landed, for actions that write documents."""
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    report: str = ""
    values: Mapping[str, str] = {}
    """The trailer, as it was read."""
    attempt: str = ""

    @property
    def ok(self) -> bool:
        return self.ended in (Ended.DONE, Ended.UNFINISHED)
