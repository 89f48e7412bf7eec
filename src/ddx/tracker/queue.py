"""Which bead is next, and what stands in the way of the others (T-16, D-12 to D-14). Pure."""

from __future__ import annotations

from ddx.base import LAST, changed, value
from ddx.tracker.columns import HAS_CRITERION, IN_CONFLICT, INELIGIBLE, IS_VAGUE, SUPERSEDED
from ddx.tracker.row import FINISHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ddx.tracker.columns import Columns
    from ddx.tracker.snapshot import Snapshot

PENDING = ("state", "pending")
"""Where landings that wait lie below `.ddx`."""
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
    "document-missing",
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
class QueueContext:
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


def ready(columns: Columns, around: QueueContext) -> list[int]:
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


def ready_for_execution(columns: Columns, around: QueueContext) -> list[int]:
    """What an agent may be handed now (T-16): the beads that no blocker holds."""
    marks, retry_after, types, ids = columns.marks, columns.retry_after, columns.types, columns.ids
    proven = 0 if around.has_default_checks else HAS_CRITERION
    return [
        n
        for n in ready(columns, around)
        if marks[n] & (INELIGIBLE | SUPERSEDED | IS_VAGUE | proven) == proven
        and retry_after[n] <= around.now
        and not (types[n] == "epic" and ids[n] in columns.children)
        and ids[n] not in around.held
    ]


def blocker(columns: Columns, n: int, around: QueueContext) -> Blocker | None:
    """The weightiest thing that keeps a bead from execution; None: it is ready."""
    return next(_found_blockers(columns, n, around), None)


def blockers(columns: Columns, n: int, around: QueueContext) -> tuple[Blocker, ...]:
    """Everything that keeps a bead from execution, the weightiest first."""
    return tuple(_found_blockers(columns, n, around))


def unfinished(columns: Columns) -> list[int]:
    return [n for n, status in enumerate(columns.statuses) if status not in FINISHED]


def _found_blockers(columns: Columns, n: int, around: QueueContext) -> Iterator[Blocker]:
    """In the order of BLOCKER_KINDS."""
    bead_id, status, marks = columns.ids[n], columns.statuses[n], columns.marks[n]
    if marks & IN_CONFLICT:
        yield Blocker("merge-conflict", reason="two sides of a merge changed it")
    if status == "in_progress":
        yield Blocker("claimed", reason=f"claimed by {columns.owners[n] or 'someone'}")
    elif status != "open":
        yield Blocker("status", reason=f"status is {status}")
    if marks & SUPERSEDED:
        yield Blocker("superseded", reason="another bead replaces it")
    if open_ids := _waits_for(columns, n, around):
        yield Blocker("dependency", ids=open_ids, reason="waits for beads not closed")
    if columns.types[n] == "epic" and bead_id in columns.children:
        yield Blocker("epic-only", reason="an epic is done through its children")
    if marks & INELIGIBLE:
        yield Blocker("not-execution-eligible", reason="not for agents to execute")
    if (until := columns.retry_after[n]) > around.now:
        shown = "" if until == LAST else f"{until.rstrip('0').rstrip('.')}Z"
        yield Blocker("retry-cooldown", reason="cooling down", next_eligible_at=shown)
    if bead_id in around.held:
        yield around.held[bead_id]
    if marks & IS_VAGUE:
        yield Blocker("no-success-criteria", reason="an acceptance line is vague")
    elif not marks & HAS_CRITERION and not around.has_default_checks:
        yield Blocker("no-success-criteria", reason="no command or state proves it done")


def _waits_for(columns: Columns, n: int, around: QueueContext) -> tuple[str, ...]:
    closed, missing = columns.closed, columns.missing
    return tuple(
        bead_id
        for bead_id in columns.waits_for[n]
        if bead_id not in closed
        and not (bead_id in missing and around.archived(bead_id) == "closed")
    )


class WorkQueue:
    """The queue at one instant, by ids: one snapshot, and all that readiness depends on besides."""

    def __init__(self, view: Snapshot, around: QueueContext) -> None:
        self.view = view
        self.around = around

    def holding(self, held: Mapping[str, Blocker]) -> WorkQueue:
        """The same queue with more beads held back; who was held before stays so."""
        return WorkQueue(self.view, changed(self.around, held={**held, **self.held}))

    @property
    def held(self) -> Mapping[str, Blocker]:
        """Beads that the outside holds back, such as those whose work waits to be landed."""
        return self.around.held

    def ready(self) -> list[str]:
        """Open, every dependency closed, no merge conflict; in queue order."""
        return self._ids(ready(self.view.columns, self.around))

    def ready_for_execution(self) -> list[str]:
        """What an agent may be handed now, in queue order."""
        return self._ids(ready_for_execution(self.view.columns, self.around))

    def cooling(self) -> list[str]:
        """Open beads that only have to rest, the first to wake first."""
        columns = self.view.columns
        found = [
            n
            for n, until in enumerate(columns.retry_after)
            if until > self.around.now and columns.statuses[n] == "open"
        ]
        return self._ids(sorted(found, key=columns.retry_after.__getitem__))

    def blocker(self, bead_id: str) -> Blocker | None:
        """The weightiest thing that keeps a bead from execution; None: it is ready."""
        return blocker(self.view.columns, self.view.columns.place[bead_id], self.around)

    def blockers(self, bead_id: str) -> tuple[Blocker, ...]:
        """Everything that keeps a bead from execution, the weightiest first."""
        return blockers(self.view.columns, self.view.columns.place[bead_id], self.around)

    def blocker_kinds(self) -> dict[str, int]:
        """How many unfinished beads each kind of blocker holds back, the weightiest of each."""
        columns = self.view.columns
        kinds: dict[str, int] = {}
        executable = ready_for_execution(columns, self.around)
        for n in {*unfinished(columns)}.difference(executable):
            held = blocker(columns, n, self.around)
            if held is not None:
                kinds[held.kind] = kinds.get(held.kind, 0) + 1
        return kinds

    def _ids(self, places: Iterable[int]) -> list[str]:
        return [self.view.columns.ids[n] for n in places]
