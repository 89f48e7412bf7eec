"""Why a bead is where it is, in words and as data (T-22)."""

from __future__ import annotations

from ddx.text import listed
from ddx.tracker import criteria
from ddx.tracker.lifecycle import not_closable
from ddx.tracker.model import FINISHED, Row, holder_of, links_of, text_of, typed
from ddx.tracker.queue import blockers, ready_for_execution
from ddx.tracker.working import Working
from ddx.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.queue import Blocker, Surroundings
    from ddx.tracker.snapshot import Snapshot

_RULES = {
    "merge-conflict": "T-14",
    "status": "T-4",
    "claimed": "T-16",
    "superseded": "T-16",
    "dependency": "D-14",
    "epic-only": "T-16",
    "not-execution-eligible": "D-13",
    "retry-cooldown": "D-7",
    "pending-landing": "X-13",
    "document-uncommitted": "S-23",
    "no-success-criteria": "T-17",
}
_CURES = {
    "merge-conflict": "ddx bead resolve {id} --field FIELD --take ours|theirs",
    "status": "ddx bead reopen {id} --reason '...'",
    "claimed": "wait for its holder, who sets it free with --unclaim",
    "superseded": "work on {ids}",
    "dependency": "close {ids} first; what never will be: ddx bead dep remove {id} OTHER",
    "epic-only": "work on its children: ddx bead list --parent {id}",
    "not-execution-eligible": "ddx bead update {id} --execution-eligible true",
    "retry-cooldown": "name a time: ddx bead update {id} --set retry-after=...",
    "pending-landing": "commit or put aside your own edits; the next run lands it",
    "no-success-criteria": "ddx bead validate-ready {id}",
}


@value
class Explanation:
    """One bead's standing: ready or not, next or not, closable or not."""

    bead_id: str
    standing: str
    """`finished`, `ready` or `blocked`."""
    place: int
    """Its place in the execution queue, from 1; 0 if it is not in it."""
    ahead: tuple[str, ...]
    blockers: tuple[Blocker, ...]
    not_closable: str


def explain(view: Snapshot, bead_id: str, around: Surroundings, *, now: str) -> Explanation:
    """All that keeps a bead from being picked, or what is picked before it."""
    columns = view.columns
    if bead_id not in columns.place:
        view.row(bead_id)
        return Explanation(bead_id, "finished", 0, (), (), "it is in the archive")
    n = columns.place[bead_id]
    queue = ready_for_execution(columns, around)
    place = queue.index(n) + 1 if n in queue else 0
    status = columns.statuses[n]
    standing = "finished" if status in FINISHED else "ready" if place else "blocked"
    obstacle = (
        "it is closed" if status == "closed" else not_closable(Working(view, now=now), bead_id)
    )
    found = () if standing == "finished" else blockers(columns, n, around)
    spoken = tuple(
        changed(held, ids=_ids(view, n, held), reason=spoken_blocker(view, n, held))
        for held in found
    )
    ahead = tuple(columns.ids[other] for other in queue[: max(place - 1, 0)])
    return Explanation(bead_id, standing, place, ahead, spoken, obstacle)


def rule_of(held: Blocker) -> str:
    return _RULES[held.kind]


def cure_of(bead_id: str, held: Blocker) -> str:
    """What to type, or what to wait for."""
    if held.kind == "retry-cooldown" and held.next_eligible_at:
        return f"it may run again at {held.next_eligible_at}"
    return _CURES.get(held.kind, "").format(id=typed(bead_id), ids=listed(held.ids))


def spoken_blocker(view: Snapshot, n: int, held: Blocker) -> str:
    """The reason with the bead's own words in it, where it has some."""
    row = view.row(view.columns.ids[n])
    match held.kind:
        case "status" if text_of(row, "blocked-reason"):
            return f"{held.reason}: {text_of(row, 'blocked-reason')}"
        case "claimed":
            return f"held by {holder_of(row)}"
        case "superseded":
            return f"superseded by {listed(links_of(row, 'superseded-by'))}"
        case "dependency":
            named = [f"{bead_id} ({view.status(bead_id) or 'unknown'})" for bead_id in held.ids]
            return f"waits for {listed(named)}"
        case "not-execution-eligible" if text_of(row, "execution-skip-reason"):
            return text_of(row, "execution-skip-reason")
        case "merge-conflict":
            fields = [str(item.get("field")) for item in _conflicts(row)]
            return f"both sides of a merge changed {listed(fields)}"
        case "no-success-criteria":
            return _missing_criteria(row) or held.reason
    return held.reason


def shown_blocker(view: Snapshot, n: int, held: Blocker) -> Row:
    """A blocker as JSON: kind, ids, reason, next_eligible_at."""
    return {
        "kind": held.kind,
        "ids": list(_ids(view, n, held)),
        "reason": spoken_blocker(view, n, held),
        "next_eligible_at": held.next_eligible_at or None,
    }


def _ids(view: Snapshot, n: int, held: Blocker) -> tuple[str, ...]:
    if held.kind == "superseded":
        return links_of(view.row(view.columns.ids[n]), "superseded-by")
    return held.ids


def _conflicts(row: Row) -> list[Row]:
    found = row.get("merge-conflicts")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _missing_criteria(row: Row) -> str:
    problems = criteria.judge(row).problems
    return problems[0].why if problems else ""
