"""Which bead is next, and what stands in the way of the others (T-16, D-12 to D-14). Pure."""

from __future__ import annotations

from ddx.instants import LAST
from ddx.tracker.columns import (
    HAS_CRITERION,
    IN_CONFLICT,
    INELIGIBLE,
    IS_VAGUE,
    SUPERSEDED,
)
from ddx.tracker.model import FINISHED
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ddx.tracker.columns import Columns

BLOCKER_KINDS = (
    "merge-conflict",
    "status",
    "claimed",
    "superseded",
    "dependency",
    "epic-only",
    "not-execution-eligible",
    "retry-cooldown",
    "pending-landing",
    "document-uncommitted",
    "no-success-criteria",
)


@value
class Blocker:
    """One thing in the way of a bead; `ids` are the beads that it waits for."""

    kind: str
    ids: tuple[str, ...] = ()
    reason: str = ""
    next_eligible_at: str = ""


@value
class Surroundings:
    """What readiness depends on besides the tracker's own file."""

    now: str
    archived: Callable[[str], str]
    """The status of a bead in the archive, or an empty string."""
    has_default_checks: bool = False
    held: Mapping[str, Blocker] = {}
    """Beads that the outside holds back: pending landings, uncommitted documents."""


def in_queue_order(columns: Columns, places: list[int]) -> list[int]:
    """By priority, queue-rank (present first), creation and id; leaves before epics (D-12)."""
    return sorted(places, key=columns.orders.__getitem__)


def ready(columns: Columns, around: Surroundings) -> list[int]:
    """Open, every blocking dependency closed, no merge conflict; in queue order (T-16)."""
    marks, waits_for = columns.marks, columns.waits_for
    satisfied = columns.closed | {
        bead_id for bead_id in columns.missing if around.archived(bead_id) == "closed"
    }
    found = [
        n
        for n, status in enumerate(columns.statuses)
        if status == "open"
        and not marks[n] & IN_CONFLICT
        and satisfied.issuperset(waits_for[n])  # D-14: cancelled and unknown beads block
    ]
    return in_queue_order(columns, found)


def ready_for_execution(columns: Columns, around: Surroundings) -> list[int]:
    """What an agent may be handed now (T-16): the beads that no blocker holds."""
    marks, retry_after, types, ids = (
        columns.marks,
        columns.retry_after,
        columns.types,
        columns.ids,
    )
    proven = 0 if around.has_default_checks else HAS_CRITERION
    return [
        n
        for n in ready(columns, around)
        if marks[n] & (INELIGIBLE | SUPERSEDED | IS_VAGUE | proven) == proven
        and retry_after[n] <= around.now
        and not (types[n] == "epic" and ids[n] in columns.children)
        and ids[n] not in around.held
    ]


def blocker(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    """The weightiest thing that keeps a bead from execution; None: it is ready."""
    for check in _CHECKS:
        found = check(columns, n, around)
        if found is not None:
            return found
    return None


def blockers(columns: Columns, n: int, around: Surroundings) -> tuple[Blocker, ...]:
    """Everything that keeps a bead from execution, the weightiest first."""
    found = (check(columns, n, around) for check in _CHECKS)
    return tuple(item for item in found if item is not None)


def unfinished(columns: Columns) -> list[int]:
    return [n for n, status in enumerate(columns.statuses) if status not in FINISHED]


def _in_conflict(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    if columns.marks[n] & IN_CONFLICT:
        return Blocker("merge-conflict", reason="two sides of a merge changed it")
    return None


def _not_open(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    status = columns.statuses[n]
    if status == "open":
        return None
    if status == "in_progress":
        return Blocker("claimed", reason=f"claimed by {columns.owners[n] or 'someone'}")
    return Blocker("status", reason=f"status is {status}")


def _superseded(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    if columns.marks[n] & SUPERSEDED:
        return Blocker("superseded", reason="another bead replaces it")
    return None


def _waiting(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    closed, missing = columns.closed, columns.missing
    open_ids = tuple(
        bead_id
        for bead_id in columns.waits_for[n]
        if bead_id not in closed
        and not (bead_id in missing and around.archived(bead_id) == "closed")
    )
    if open_ids:
        return Blocker("dependency", ids=open_ids, reason="waits for beads not closed")
    return None


def _epic_only(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    if columns.types[n] == "epic" and columns.ids[n] in columns.children:
        return Blocker("epic-only", reason="an epic is done through its children")
    return None


def _ineligible(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    if columns.marks[n] & INELIGIBLE:
        return Blocker("not-execution-eligible", reason="not for agents to execute")
    return None


def _cooling(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    until = columns.retry_after[n]
    if until > around.now:
        shown = "" if until == LAST else f"{until.rstrip('0').rstrip('.')}Z"
        return Blocker("retry-cooldown", reason="cooling down", next_eligible_at=shown)
    return None


def _held(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    return around.held.get(columns.ids[n])


def _without_criteria(columns: Columns, n: int, around: Surroundings) -> Blocker | None:
    marks = columns.marks[n]
    if marks & IS_VAGUE:
        return Blocker("no-success-criteria", reason="an acceptance line is vague")
    if not marks & HAS_CRITERION and not around.has_default_checks:
        return Blocker("no-success-criteria", reason="no command or state proves it done")
    return None


_CHECKS = (
    _in_conflict,
    _not_open,
    _superseded,
    _waiting,
    _epic_only,
    _ineligible,
    _cooling,
    _held,
    _without_criteria,
)
"""In the order of BLOCKER_KINDS."""
