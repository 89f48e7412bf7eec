"""The tracker in words (T-22): why a bead is where it is, and how two of its states differ."""

from __future__ import annotations

from ddx.base import changed, cut, listed, shown, value
from ddx.tracker import criteria
from ddx.tracker.changeset import WorkingCopy
from ddx.tracker.lifecycle import not_closable
from ddx.tracker.publication import changed_fields
from ddx.tracker.queue import blockers, ready_for_execution
from ddx.tracker.row import (
    CLAIM_KEYS,
    FINISHED,
    Row,
    blockers_of,
    holder_of,
    labels_of,
    links_of,
    status_of,
    text_of,
    typed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ddx.tracker.queue import Blocker, QueueContext
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
    "document-missing": "S-3",
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

_LONGEST = 60
_SILENT = {*CLAIM_KEYS, "closed_at", "schema_version"}


@value
class BeadExplanation:
    """One bead's standing: ready or not, next or not, closable or not."""

    bead_id: str
    standing: str
    """`finished`, `ready` or `blocked`."""
    place: int
    """Its place in the execution queue, from 1; 0 if it is not in it."""
    ahead: tuple[str, ...]
    blockers: tuple[Blocker, ...]
    not_closable: str

    def cure(self, held: Blocker) -> str:
        """What to type against one of its blockers, or what to wait for; empty: we know none."""
        return cure_of(self.bead_id, held)


def explain(view: Snapshot, bead_id: str, around: QueueContext) -> BeadExplanation:
    """All that keeps a bead from being picked, or what is picked before it."""
    columns = view.columns
    if bead_id not in columns.place:
        view.row(bead_id)
        gone = "it is in the archive"
        return BeadExplanation(bead_id, "finished", 0, ahead=(), blockers=(), not_closable=gone)
    n = columns.place[bead_id]
    queue = ready_for_execution(columns, around)
    place = queue.index(n) + 1 if n in queue else 0
    status = columns.statuses[n]
    standing = "finished" if status in FINISHED else "ready" if place else "blocked"
    obstacle = (
        "it is closed"
        if status == "closed"
        else not_closable(WorkingCopy(view, now=around.now), bead_id)
    )
    found = () if standing == "finished" else blockers(columns, n, around)
    spoken = tuple(
        changed(held, ids=_ids(view, n, held), reason=spoken_blocker(view, n, held))
        for held in found
    )
    ahead = tuple(columns.ids[other] for other in queue[: max(place - 1, 0)])
    return BeadExplanation(
        bead_id, standing, place, ahead=ahead, blockers=spoken, not_closable=obstacle
    )


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


# Two states of the tracker, as sentences that a reviewer can read


@value
class BeadDifference:
    """One bead that is new, gone or changed."""

    bead_id: str
    kind: str
    fields: dict[str, Any]
    sentences: tuple[str, ...]


def compare(before: Mapping[str, Row], after: Mapping[str, Row]) -> tuple[BeadDifference, ...]:
    """In the order of ids."""
    found = []
    for bead_id in sorted({*before, *after}):
        old, new = before.get(bead_id), after.get(bead_id)
        if old is None and new is not None:
            what = f"filed as {text_of(new, 'issue_type') or 'task'}: {_short(new.get('title'))}"
            found.append(BeadDifference(bead_id, "added", {}, sentences=(f"{bead_id} was {what}",)))
        elif new is None and old is not None:
            gone = f"{bead_id} left the tracker ({status_of(old)}): {_short(old.get('title'))}"
            found.append(BeadDifference(bead_id, "removed", {}, sentences=(gone,)))
        elif old is not None and new is not None and (names := changed_fields(old, new)):
            fields = {name: {"from": old.get(name), "to": new.get(name)} for name in names}
            told = tuple(f"{bead_id} {told}" for told in _told(old, new, names))
            found.append(BeadDifference(bead_id, "changed", fields, sentences=told))
    return tuple(found)


def _told(old: Row, new: Row, names: list[str]) -> list[str]:
    sentences = []
    for name in names:
        match name:
            case _ if name in _SILENT:
                continue
            case "status":
                sentences.append(_status(old, new))
            case "labels":
                sentences += _set("label", labels_of(old), labels_of(new))
            case "dependencies":
                sentences += _waiting(blockers_of(old), blockers_of(new))
            case "events":
                sentences.append("has new events")
            case _ if name not in new:
                sentences.append(f"has no {name} any more")
            case _ if name not in old:
                sentences.append(f"got {name}: {_short(new[name])}")
            case _:
                sentences.append(f"{name}: {_short(old[name])} -> {_short(new[name])}")
    return sentences or ["changed in its claim only"]


def _status(old: Row, new: Row) -> str:
    by = f" by {text_of(new, 'owner')}" if status_of(new) == "in_progress" else ""
    reason = text_of(new, "close_reason") or text_of(new, "blocked-reason")
    return f"went from {status_of(old)} to {status_of(new)}{by}{f': {reason}' if reason else ''}"


def _set(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> list[str]:
    gained = [item for item in new if item not in old]
    lost = [item for item in old if item not in new]
    return [
        *([f"got the {name} {listed(gained)}"] if gained else []),
        *([f"lost the {name} {listed(lost)}"] if lost else []),
    ] or [f"has its {name}s in another order"]


def _waiting(old: tuple[str, ...], new: tuple[str, ...]) -> list[str]:
    gained = [item for item in new if item not in old]
    lost = [item for item in old if item not in new]
    return [
        *([f"waits for {listed(gained)} now"] if gained else []),
        *([f"waits for {listed(lost)} no more"] if lost else []),
    ] or ["changed the details of a dependency"]


def _short(found: object) -> str:
    return cut(shown(found if isinstance(found, str) else repr(found), one_line=True), _LONGEST)
