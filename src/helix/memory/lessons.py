"""A lesson from the records: what failed before, now that the same bead has passed (M-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.errors import DdxError
from ddx.execution.model import Check, Landed
from ddx.execution.record import records
from helix.memory.crediting import verdict_of
from helix.memory.learning import lesson_of
from helix.memory.opening import open_store, wits_of
from helix.memory.storing import Added, store_memory

if TYPE_CHECKING:
    from ddx.clock import Clock
    from ddx.execution.model import Facts, Outcome
    from ddx.project import Project
    from helix.settings import HelixSettings

MOST_RECORDS = 200
"""How far back an earlier failure is looked for."""


def learn_from_outcome(
    project: Project, title: str, outcome: Outcome, *, settings: HelixSettings, clock: Clock
) -> str:
    """One failure memory if this bead failed its checks before and has landed now; a remark."""
    if not isinstance(outcome, Landed) or not verdict_of(outcome):
        return ""
    try:
        failed = find_failed(project, outcome.facts)
        draft = lesson_of(title, failed, outcome.facts) if failed is not None else None
        if draft is None:
            return ""
        wits = wits_of(project, settings, clock=clock)
        with open_store(project) as store:
            stored = store_memory(store, draft, wits, now=clock.stamp())
    except (DdxError, OSError) as problem:
        return f"nothing was learned from {outcome.facts.attempt}: {problem}"
    return f"learned: {stored.memory.name}" if isinstance(stored, Added) else ""


def find_failed(project: Project, fixed: Facts) -> Check | None:
    """The check that failed in the last earlier attempt on one of the same beads."""
    for number, kept in enumerate(records(project)):
        if number >= MOST_RECORDS:
            return None
        if kept.attempt == fixed.attempt or not set(kept.beads) & set(fixed.beads):
            continue
        checks = map(_check, kept.result.get("checks", ()))
        failed = next((check for check in checks if not check.passed), None)
        if failed is not None:
            return failed
    return None


def _check(row: dict[str, Any]) -> Check:
    """As it stands in result.json; an older record may know less of it."""
    known = {key: found for key, found in row.items() if key in Check.__match_args__}
    return Check(**{"name": "", "command": "", "origin": "", "passed": True, **known})
