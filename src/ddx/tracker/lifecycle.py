"""From open to finished: claim, unclaim, close, reopen, cancel, block, supersede (T-21, T-24)."""

from __future__ import annotations

from ddx.base import ConcurrentChange, Refused, changed, listed, require_clean, shown, value
from ddx.tracker.changeset import ChangeSet, WorkingCopy, event, with_event
from ddx.tracker.fields import without_dependency
from ddx.tracker.row import (
    BLOCKING_EDGES,
    CLAIM_KEYS,
    FINISHED,
    Row,
    blockers_of,
    edge_type,
    edges_of,
    events_of,
    holder_of,
    link_of,
    links_of,
    status_of,
    text_of,
    type_of,
    typed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.changeset import TrackerView

_ENDING_KEYS = ("closed_at", "close_reason", "closing_commit_sha", "session_id", "blocked-reason")
_TRIAL_KEYS = ("retry-after", "attempts", "blocked-basis")


@value
class Claimant:
    """Who claims: a person has a name only, a runner also a process (D-5)."""

    owner: str
    machine: str
    pid: int = 0
    pid_start: str = ""


@value
class BeadClosure:
    """Why and by what a bead was closed."""

    reason: str = ""
    commit: str = ""
    session: str = ""
    evidence: str = ""
    """What proved it, line by line, for the record of its closing."""


def claim(
    view: TrackerView, bead_id: str, claimant: Claimant, *, claim_id: str, now: str
) -> ChangeSet:
    """The bead is the claimant's, if nobody else was first (T-10)."""
    working = WorkingCopy(view, now=now)
    row = working.row(bead_id)
    status = status_of(row)
    if status == "in_progress":
        raise ConcurrentChange(
            f"{bead_id} is held by {holder_of(row)}", hint="see what is free: ddx bead ready"
        )
    if status != "open":
        raise Refused(
            f"{bead_id} is {status}, so it cannot be claimed",
            hint=f"ddx bead reopen {typed(bead_id)} --reason '...'",
        )
    working.put(
        {
            **_without(row, CLAIM_KEYS),
            "status": "in_progress",
            "owner": require_clean(claimant.owner, what="owner"),
            "claim-id": claim_id,
            "claimed-at": now,
            "claimed-machine": claimant.machine,
            **({"claimed-pid": str(claimant.pid)} if claimant.pid else {}),
            **({"claimed-pid-start": claimant.pid_start} if claimant.pid_start else {}),
        }
    )
    return working.changes()


def unclaim(view: TrackerView, bead_id: str, *, claim_id: str = "", now: str) -> ChangeSet:
    """Free again; a finished bead stays finished (T-24)."""
    working = WorkingCopy(view, now=now)
    row = working.row(bead_id)
    require_claim(row, claim_id)
    if status_of(row) != "in_progress" and not any(key in row for key in CLAIM_KEYS):
        working.remarks.append(f"{bead_id} was not claimed")
        return working.changes()
    status = "open" if status_of(row) == "in_progress" else status_of(row)
    working.put({**_without(row, ("owner", *CLAIM_KEYS)), "status": status})
    return working.changes()


def require_claim(row: Row, claim_id: str) -> None:
    """Who presents a claim must hold it still (T-21); a person presents none."""
    if claim_id and text_of(row, "claim-id") != claim_id:
        held = f"held by {holder_of(row)}" if text_of(row, "claim-id") else status_of(row)
        raise ConcurrentChange(
            f"{row['id']} is no longer yours: it is {held} now",
            hint=f"look again: ddx bead show {typed(row['id'])}",
        )


def close(
    view: TrackerView,
    bead_id: str,
    ending: BeadClosure,
    *,
    actor: str,
    now: str,
    claim_id: str = "",
    force: bool = False,
    cascade: bool = False,
) -> ChangeSet:
    """Closed with its evidence; its events leave the row (T-6)."""
    working = WorkingCopy(view, now=now)
    row = working.row(bead_id)
    require_claim(row, claim_id)
    if status_of(row) == "closed":
        working.remarks.append(f"{bead_id} was closed already")
        return working.changes()
    if not force and (obstacle := not_closable(working, bead_id)):
        raise Refused(
            f"{bead_id} {obstacle}", hint="close those first, or say --force if you mean it"
        )
    attached = dict([_closed(working, row, ending, actor=actor)])
    for above in working.ancestors(bead_id) if cascade else ():
        if working.status(above) in ("", *FINISHED) or not_closable(working, above):
            break
        mother = working.row(above)
        if type_of(mother) != "epic":
            break
        last = BeadClosure(reason=f"its last open child {bead_id} was closed")
        attached.update([_closed(working, mother, last, actor=actor)])
        working.remarks.append(f"{above} had no open child left and was closed too")
    return changed(working.changes(), attached=attached)


def not_closable(working: WorkingCopy, bead_id: str) -> str:
    """Why a bead cannot be closed yet, in words; empty if it can."""
    children = [
        child
        for child in working.children(bead_id)
        if working.status(child) not in FINISHED
        and not links_of(working.row(child), "superseded-by")
    ]
    if children:
        return f"has open children: {listed(children)}"
    waiting = [other for other in working.waits_for(bead_id) if working.status(other) != "closed"]
    return f"waits for beads that are not closed: {listed(waiting)}" if waiting else ""


def _closed(
    working: WorkingCopy, row: Row, ending: BeadClosure, *, actor: str
) -> tuple[str, tuple[Row, ...]]:
    said = {
        "close_reason": require_clean(ending.reason, what="reason"),
        "closing_commit_sha": ending.commit,
        "session_id": require_clean(ending.session, what="session"),
    }
    body = "\n".join(filter(None, (ending.commit, ending.evidence)))
    done = event("closed", summary=ending.reason, body=body, actor=actor, at=working.now)
    row = {
        **_without(row, (*CLAIM_KEYS, *_ENDING_KEYS, *_TRIAL_KEYS)),
        **{key: text for key, text in said.items() if text},
        "status": "closed",
        "closed_at": working.now,
    }
    events = (*events_of(row), done)
    working.put(_without(row, ("events",)))
    return row["id"], events


def reopen(view: TrackerView, bead_id: str, *, reason: str, actor: str, now: str) -> ChangeSet:
    """Open again, with a clean slate and the reason on record."""
    working = WorkingCopy(view, now=now)
    row = working.row_even_archived(bead_id)
    status = status_of(row)
    if status == "open":
        raise Refused(f"{bead_id} is open already")
    if status == "in_progress":
        raise Refused(
            f"{bead_id} is held by {holder_of(row)}", hint="its holder sets it free with --unclaim"
        )
    if working.is_archived(bead_id):
        _require_place_for(working, row)
    was = shown(" ".join(filter(None, (status, *(text_of(row, key) for key in _ENDING_KEYS)))))
    bare = _without(row, ("owner", *CLAIM_KEYS, *_ENDING_KEYS, *_TRIAL_KEYS))
    said = event("reopened", summary=reason, body=f"was {was}", actor=actor, at=now)
    working.put(with_event({**bare, "status": "open"}, said))
    return working.changes()


def _require_place_for(working: WorkingCopy, row: Row) -> None:
    """What comes back from the archive must fit what was linked meanwhile (T-12)."""
    bead_id, parent = row["id"], link_of(row, "parent")
    if working.exists(parent):
        working.require_possible_parent(bead_id, parent)
    for wanted in filter(working.exists, blockers_of(row)):
        working.require_possible_dependency(bead_id, wanted)


def cancel(view: TrackerView, bead_id: str, *, reason: str, actor: str, now: str) -> ChangeSet:
    """Never to be done; whoever waits for it is named, because it stays blocked (D-14)."""
    working = WorkingCopy(view, now=now)
    row = working.row(bead_id)
    if status_of(row) in FINISHED:
        raise Refused(f"{bead_id} is {status_of(row)} already")
    bare = _without(row, ("owner", *CLAIM_KEYS, *_TRIAL_KEYS))
    said = event("cancelled", summary=reason, actor=actor, at=now)
    working.put(
        with_event({**bare, "status": "cancelled", "closed_at": now, "close_reason": reason}, said)
    )
    waiting = [
        other for other in working.dependents(bead_id) if working.status(other) not in FINISHED
    ]
    if waiting:
        working.remarks.append(
            f"{listed(waiting)} waited for {bead_id} and stay blocked: "
            "supersede it, or remove those dependencies"
        )
    return working.changes()


def block(view: TrackerView, bead_id: str, *, reason: str, actor: str, now: str) -> ChangeSet:
    """Held back by something the tracker does not know, which the reason names (T-4)."""
    working = WorkingCopy(view, now=now)
    row = working.row(bead_id)
    if status_of(row) in FINISHED:
        raise Refused(
            f"{bead_id} is {status_of(row)}",
            hint=f"ddx bead reopen {typed(bead_id)} --reason '...'",
        )
    bare = _without(row, ("owner", *CLAIM_KEYS))
    said = event("blocked", summary=reason, actor=actor, at=now)
    working.put(with_event({**bare, "status": "blocked", "blocked-reason": reason}, said))
    return working.changes()


def propose(view: TrackerView, bead_id: str, *, reason: str, actor: str, now: str) -> ChangeSet:
    """For a person to look at before anybody works on it; a reason goes on record (I-3, I-10)."""
    working = WorkingCopy(view, now=now)
    row = {**working.row(bead_id), "status": "proposed"}
    said = event("proposed", summary=reason, actor=actor, at=now)
    working.put(with_event(row, said) if reason else row)
    return working.changes()


def supersede(
    view: TrackerView, old: str, *, by: tuple[str, ...], reason: str, actor: str, now: str
) -> ChangeSet:
    working = WorkingCopy(view, now=now)
    supersede_in(working, old, by=by, reason=reason, actor=actor)
    return working.changes()


def supersede_in(
    working: WorkingCopy, old: str, *, by: tuple[str, ...], reason: str, actor: str
) -> None:
    """Both sides linked, dependents moved to the replacements, the old bead kept (S-22)."""
    row = working.row(old)
    for new in by:
        working.require_known(new)
        if new == old or old in _replacements(working, new):
            raise Refused(f"{new} cannot supersede {old}: that would close a ring")
    said = event("superseded", summary=reason, body=", ".join(by), actor=actor, at=working.now)
    links = (*links_of(row, "superseded-by"), *by)
    row = with_event({**row, "superseded-by": ",".join(dict.fromkeys(links))}, said)
    working.put(row)
    for new in by:
        fresh = working.row(new)
        answered = dict.fromkeys((*links_of(fresh, "replaces"), old))
        free = without_dependency(fresh, old, only_blocking=True)
        working.put({**free, "replaces": ",".join(answered)})
    for waiting in working.dependents(old):
        _move_edges(working, waiting, old, by)


def _replacements(working: WorkingCopy, bead_id: str) -> set[str]:
    found: set[str] = set()
    unseen = [bead_id]
    while unseen:
        for link in links_of(working.row_even_archived(unseen.pop()), "superseded-by"):
            if link not in found and working.exists(link):
                found.add(link)
                unseen.append(link)
    return found


def _move_edges(working: WorkingCopy, waiting: str, old: str, by: tuple[str, ...]) -> None:
    row = working.row(waiting)
    if status_of(row) in FINISHED:
        return
    moved = next(edge for edge in edges_of(row) if _blocks_by(edge, old))
    row = without_dependency(row, old, only_blocking=True)
    for new in by:
        if new not in blockers_of(row):
            working.require_possible_dependency(waiting, new)
            edges = [*(row.get("dependencies") or ()), {**moved, "depends_on_id": new}]
            row = {**row, "dependencies": edges}
    working.put(row)
    working.remarks.append(f"{waiting} waits for {listed(by)} now")


def _blocks_by(edge: Row, wanted: str) -> bool:
    return link_of(edge, "depends_on_id") == wanted and edge_type(edge) in BLOCKING_EDGES


def _without(row: Row, keys: tuple[str, ...]) -> Row:
    return {key: found for key, found in row.items() if key not in keys}
