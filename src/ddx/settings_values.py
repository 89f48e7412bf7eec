"""The settings of managed execution, section by section, as values (C-6)."""

from __future__ import annotations

from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


@value
class HarnessSettings:
    """One entry below `harnesses`; what it does not say is None or empty."""

    name: str
    kind: str
    argv: tuple[str, ...] = ()
    timeout_s: float | None = None
    idle_s: float | None = None
    env: Mapping[str, str] = {}


@value
class WorkspaceSettings:
    setup: tuple[str, ...]
    carry: tuple[str, ...]
    timeout_s: float
    root: str
    """Absolute; empty: the user's cache."""


@value
class RetentionSettings:
    attempts: int
    days: float


@value
class SandboxSettings:
    kind: str
    network: bool


@value
class BudgetSettings:
    """What all attempts on one bead may use together; None: no limit."""

    bead_usd: float | None
    bead_tokens: int | None


@value
class LimitSettings:
    on_limit: str
    alternate: str
