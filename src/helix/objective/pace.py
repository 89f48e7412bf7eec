"""How building goes: slower and slower, the same failure again and again (O-4). Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ddx.text import cut

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from helix.objective.readiness import TaskResult

FEWEST_DURATIONS = 5
COLLAPSE_FACTOR, COLLAPSE_S = 5.0, 60.0
DECAY_FACTOR, DECAY_S = 2.0, 30.0
SYSTEMIC = 3
"""So often the same failure since something last succeeded."""
FEWEST_TASKS, BLOCKED_SHARE = 3, 0.6

VELOCITY_DECAY = "VELOCITY_DECAY"
MOSTLY_BLOCKED = "MOSTLY_BLOCKED"

_LONGEST_CLASS = 160
_LONGEST_ERROR = 2000
_VARIES = re.compile(
    r"(?P<quoted>\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`)"
    r"|(?P<path>[\w.~-]*[/\\][\w./\\~-]*)"
    r"|(?P<hex>\b0x[0-9a-f]+\b|\b(?=[a-f]*[0-9])[0-9a-f]{7,}\b)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)*)"
)


def has_collapsed(durations_s: Sequence[float]) -> bool:
    """The last two take more than five times as long as the first two, and over a minute."""
    if len(durations_s) < FEWEST_DURATIONS:
        return False
    first, last = sum(durations_s[:2]) / 2, sum(durations_s[-2:]) / 2
    return last > COLLAPSE_FACTOR * first and last > COLLAPSE_S


def is_slowing(durations_s: Sequence[float]) -> bool:
    """The last one takes more than twice as long as the one two before, and over half a minute."""
    if len(durations_s) < 3:
        return False
    return durations_s[-1] > DECAY_FACTOR * durations_s[-3] and durations_s[-1] > DECAY_S


def is_mostly_blocked(outcomes: Mapping[str, TaskResult], blocked: Collection[str]) -> bool:
    """More than 60 % of at least three tasks that have ended."""
    ended = len(outcomes)
    return ended >= FEWEST_TASKS and len(blocked) > BLOCKED_SHARE * ended


def systemic_class(failures: Sequence[str]) -> str:
    """The class of the last failure if it has come three times by now; empty: it has not."""
    last = failures[-1] if failures else ""
    return last if last and failures.count(last) >= SYSTEMIC else ""


def failure_class(told: Mapping[str, Any]) -> str:
    """Which check failed, how it ended, and its error without what varies from task to task.

    Empty where nothing is known: two failures that nobody can name are not the same one.
    """
    check = str(told.get("check") or "")
    code = told.get("exit_code")
    error = _normalised(str(told.get("error") or told.get("reason") or ""))
    if not check and not error:
        return ""
    exit_code = "" if code is None else str(code)
    return cut(" | ".join((check, exit_code, error)), _LONGEST_CLASS)


def _normalised(text: str) -> str:
    marked = _VARIES.sub(lambda found: f"<{found.lastgroup}>", text[:_LONGEST_ERROR].lower())
    return " ".join(marked.split())
