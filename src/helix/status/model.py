"""The values of the snapshot, and their form as JSON, which `helix mcp` gives as well. Pure."""

from __future__ import annotations

from ddx.base import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_ROWS = 50
MOST_RECENT = 5
LONGEST_TEXT = 400
_INFINITE = 1e300


@value
class Need:
    """Something that waits for a person: what it is, and what to type or to decide."""

    what: str
    next: str = ""


@value
class RunStatus:
    """The active run, or the last one; `state` is running, died or ended."""

    state: str
    row: Mapping[str, Any]
    """Its own file, in its own words (S-24)."""
    elapsed_s: float | None
    asked: tuple[str, ...] = ()
    """What a second terminal asked of it: stop, pause."""

    def text(self, name: str) -> str:
        found = self.row.get(name)
        return found if isinstance(found, str) else ""

    def count(self, name: str) -> int:
        found = self.row.get(name)
        return found if isinstance(found, int) else 0

    def number(self, name: str) -> float | None:
        """None where nobody knows it: unknown is not 0."""
        found = self.row.get(name)
        if not isinstance(found, int | float) or isinstance(found, bool):
            return None
        return float(found) if abs(found) < _INFINITE else None

    def rows(self, name: str) -> list[dict[str, Any]]:
        found = self.row.get(name)
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []

    def table(self, name: str) -> dict[str, Any]:
        found = self.row.get(name)
        return found if isinstance(found, dict) else {}


@value
class ObjectiveStatus:
    """The one that is being worked on, and where it stands."""

    id: str
    text: str
    """Its words; empty while it has said nothing."""
    state: str
    is_paused: bool
    pid: int
    elapsed_s: float | None
    asked: tuple[str, ...] = ()


@value
class ListedClaim:
    id: str
    title: str
    holder: str
    age_s: float | None
    is_orphaned: bool = False
    """A runner's on this machine, and its process is gone."""


@value
class WaitingBead:
    """A bead that waits, and why; `until` where that is known."""

    id: str
    title: str
    reason: str
    until: str = ""


@value
class QueueStatus:
    total: int
    statuses: Mapping[str, int]
    ready: int
    ready_for_execution: int
    not_ready: Mapping[str, int]
    """By the kind of what is in the way."""


@value
class RecentAttempt:
    """An attempt's record; `outcome` is running or died while it has none."""

    id: str
    beads: tuple[str, ...]
    action: str
    harness: str
    outcome: str
    reason: str
    began_at: str


@value
class RecentExecution:
    """One run of a definition by `ddx exec`."""

    id: str
    definition: str
    status: str
    finished_at: str


@value
class ProjectStatus:
    at: str
    needs: tuple[Need, ...]
    run: RunStatus | None
    queue: QueueStatus | None
    """None: there is no tracker, or it cannot be read."""
    claims: tuple[ListedClaim, ...] = ()
    blocked: tuple[WaitingBead, ...] = ()
    parked: tuple[WaitingBead, ...] = ()
    decisions: tuple[Mapping[str, Any], ...] = ()
    """The newest first."""
    attempts: tuple[RecentAttempt, ...] = ()
    executions: tuple[RecentExecution, ...] = ()
    objective: ObjectiveStatus | None = None


# -- as JSON ---------------------------------------------------------------------------------

_TEXTS = (
    *("run_id", "started_at", "updated_at", "agent", "autonomy", "scope", "phase"),
    *("current_bead", "current_attempt", "focused_epic", "cycle_start", "cycle_end"),
    *("pending_review", "stop_reason", "parked_until", "log", "journal"),
)
_COUNTS = ("pid", "attempted_cycles", "completed_cycles", "harness_faults", "total_tokens")
_NUMBERS = ("total_cost_usd", "cycle_duration", "exit_code")
_DECISION = (
    *("action", "target", "least_power_explanation", "blocking_authority"),
    *("queue_drift_reason", "question", "until"),
)


def status_row(status: ProjectStatus) -> dict[str, Any]:
    """The snapshot as docs/reference/schemas/helix-status.json has it."""
    return {
        "at": status.at,
        "needs": [need.__dict__ for need in status.needs],
        "run": _run_row(status.run) if status.run else None,
        "objective": (
            {**status.objective.__dict__, "asked": list(status.objective.asked)}
            if status.objective
            else None
        ),
        "queue": status.queue.__dict__ if status.queue else None,
        "claims": [claim.__dict__ for claim in status.claims],
        "blocked": [{**held.__dict__, "until": held.until or None} for held in status.blocked],
        "parked": [{**held.__dict__, "until": held.until or None} for held in status.parked],
        "decisions": [
            {"at": str(row.get("at") or ""), **_decision_row(row)} for row in status.decisions
        ],
        "attempts": [_attempt_row(attempt) for attempt in status.attempts],
        "executions": [item.__dict__ for item in status.executions],
    }


def _run_row(run: RunStatus) -> dict[str, Any]:
    """Its file in a fixed form, whichever version of us has written it; unknown is null."""
    numbers = {name: run.number(name) for name in _NUMBERS}
    decision = run.table("last_decision")
    return {
        "state": run.state,
        "elapsed_s": run.elapsed_s,
        "asked": list(run.asked),
        **{name: run.text(name) for name in _TEXTS},
        **{name: run.count(name) for name in _COUNTS},
        **{name: _whole(found) for name, found in numbers.items()},
        "skipped": {bead_id: str(why) for bead_id, why in run.table("skipped").items()},
        "last_decision": _decision_row(decision) if decision else None,
        "attempts": [
            {
                "attempt": str(row.get("attempt", "")),
                "beads": _texts(row.get("beads")),
                "since": str(row.get("since", "")),
            }
            for row in run.rows("attempts")
        ],
    }


def _decision_row(row: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: str(row.get(name) or "") for name in _DECISION}
    return {**said, "beads": _texts(row.get("beads"))}


def _texts(given: Any) -> list[str]:
    return [str(it) for it in given] if isinstance(given, list) else []


def _whole(number: float | None) -> float | int | None:
    return int(number) if number is not None and number == int(number) else number


def _attempt_row(attempt: RecentAttempt) -> dict[str, Any]:
    return {**attempt.__dict__, "beads": list(attempt.beads)}
