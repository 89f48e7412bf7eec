"""What a run writes on beads: when they may be tried again, why they are blocked (D-7, S-10).

Each write looks at the bead again under the lock: one that somebody else has touched meanwhile is
left as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.execution.fingerprint import fingerprint
from ddx.text import cut, shown
from ddx.tracker.events import event, with_event
from ddx.tracker.lifecycle import block, reopen
from ddx.tracker.model import RUNNER, labels_of, link_of, status_of, text_of, texts_of, type_of
from ddx.tracker.working import Changes, Working
from ddx.values import value
from helix.actions.upstream import SEEN
from helix.policy.speculation import BASIS as SPECULATION
from helix.policy.speculation import Expire, Note, judge_assumption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from helix.actions.upstream import Upstream
    from helix.supervisor.view import Look

RETRY, ATTEMPTS, BASIS, LABEL = "retry-after", "attempts", "blocked-basis", "blocked"
_LONGEST_REASON = 600


@value
class Shifted:
    """A bead that is blocked or ready no longer, and why."""

    bead: str
    reason: str


def rest(site: Site, bead_id: str, *, until: str, seen: Mapping[str, str]) -> None:
    """Not before that instant again; the wait is the bead's own (D-7)."""
    _put(site, (bead_id,), lambda row: {**row, RETRY: until, **_first_seen(row, seen)})


def remember(site: Site, bead_ids: Sequence[str], seen: Mapping[str, Mapping[str, str]]) -> None:
    """Which documents a bead was selected with, where nobody had looked at them before (S-3)."""
    _put(site, bead_ids, lambda row: {**row, **_first_seen(row, seen.get(row["id"], {}))})


def attempts_of(row: Row) -> int:
    found = text_of(row, ATTEMPTS)
    return int(found) if found.isdigit() and len(found) < 9 else 0


def block_bead(
    site: Site,
    bead_id: str,
    *,
    reason: str,
    basis: Mapping[str, Any],
    findings: Sequence[str] = (),
) -> str:
    """Blocked with its reason, a label, one note and what it rests on (S-10); its epic, if any."""
    said = cut(shown(reason), _LONGEST_REASON)
    above = ""

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal above
        row = snapshot.find(bead_id)
        if row is None or status_of(row) != "open":
            return Changes({})
        working = Working(snapshot, now=now)
        row = block(snapshot, bead_id, reason=said, actor=RUNNER, now=now).put[bead_id]
        note = f"BLOCKED: {said}"
        notes = text_of(row, "notes")
        if note not in notes:
            row = {**row, "notes": "\n".join(filter(None, (notes, note)))}
        if findings:
            body = "\n".join(cut(shown(finding), _LONGEST_REASON) for finding in findings)
            said_of_it = "what a last review found"
            row = with_event(
                row, event("review", summary=said_of_it, body=body, actor=RUNNER, at=now)
            )
        bare = {key: found for key, found in row.items() if key != RETRY}
        working.put({**_labelled(bare), BASIS: dict(basis)})
        above = link_of(row, "parent")
        epic = snapshot.find(above) if above in snapshot else None
        if epic is None or type_of(epic) != "epic":
            above = ""
        elif LABEL not in labels_of(epic):
            working.put(_labelled(epic))
        return working.changes()

    site.tracker.change(decide)
    return above


def basis_of(row: Row, upstream: Upstream, *, commit: str) -> dict[str, Any]:
    """What a blocked bead stands on: once this is another, it is worth another try."""
    return {
        "fingerprint": fingerprint(row),
        "criteria": [text_of(row, "acceptance"), *texts_of(row, "verify"), *texts_of(row, "paths")],
        "documents": upstream.hashes(row),
        "polished": row.get(SEEN) or {},
        "commit": commit,
    }


_CHANGES = {
    "fingerprint": "what governs it was changed",
    "criteria": "its acceptance was changed",
    "documents": "its documents were changed",
    "polished": "it was polished",
}


def reopen_changed(look: Look) -> Iterator[Shifted]:
    """Blocked beads that no longer stand on what they were blocked for (S-10)."""
    for bead_id, row in look.rows.items():
        basis = row.get(BASIS)
        if status_of(row) != "blocked" or not isinstance(basis, dict):
            continue
        now = basis_of(row, look.upstream, commit="")
        moved = [said for name, said in _CHANGES.items() if basis.get(name) != now[name]]
        if moved and _reopen(look.site, bead_id, row, moved[0]):
            yield Shifted(bead_id, moved[0])


def settle_assumptions(look: Look, *, label: str, ttl_days: int) -> list[Shifted]:
    """Speculative beads that nobody looked at in time are only proposed from now on (I-10).

    What a young one says is noted on it, so that a look at it can be told; that has no reason.
    """
    judged = {
        bead_id: judgement
        for bead_id, row in look.rows.items()
        if (judgement := judge_assumption(row, label=label, ttl_days=ttl_days, now=look.now))
    }
    done: list[Shifted] = []

    def decide(snapshot: Snapshot, now: str) -> Changes:
        working = Working(snapshot, now=now)
        done.clear()
        for bead_id, judgement in judged.items():
            row = look.rows[bead_id]
            if snapshot.find(bead_id) != row:  # somebody was there just now
                continue
            match judgement:
                case Note(basis=basis):
                    working.put({**row, SPECULATION: basis})
                    done.append(Shifted(bead_id, ""))
                case Expire(reason=reason):
                    said = event("proposed", summary=reason, actor=RUNNER, at=now)
                    working.put(with_event({**row, "status": "proposed"}, said))
                    done.append(Shifted(bead_id, reason))
        return working.changes()

    if judged:
        look.site.tracker.change(decide)
    return done


def _reopen(site: Site, bead_id: str, seen: Row, reason: str) -> bool:
    done = False

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal done
        row = snapshot.find(bead_id)
        done = row == seen
        if not done:
            return Changes({})
        working = Working(snapshot, now=now)
        row = reopen(snapshot, bead_id, reason=reason, actor=RUNNER, now=now).put[bead_id]
        working.put(_unlabelled(row))
        epic = link_of(row, "parent")
        siblings = [it for it in snapshot.children(epic) if it != bead_id] if epic else []
        if epic in snapshot and all(snapshot.status(it) != "blocked" for it in siblings):
            above = snapshot.row(epic)
            if type_of(above) == "epic" and LABEL in labels_of(above):
                working.put(_unlabelled(above))
        return working.changes()

    site.tracker.change(decide)
    return done


def _put(site: Site, bead_ids: Sequence[str], change: Callable[[Row], Row]) -> None:
    """Change beads that are open and nobody's; a change that changes nothing is not written."""

    def decide(snapshot: Snapshot, now: str) -> Changes:
        working = Working(snapshot, now=now)
        for bead_id in bead_ids:
            row = snapshot.find(bead_id) if bead_id in snapshot else None
            if row is None or status_of(row) != "open":
                continue
            if (new := change(row)) != row:
                working.put(new)
        return working.changes()

    site.tracker.change(decide)


def _first_seen(row: Row, seen: Mapping[str, str]) -> dict[str, Any]:
    return {SEEN: dict(seen)} if seen and SEEN not in row else {}


def _labelled(row: Row) -> Row:
    labels = labels_of(row)
    return row if LABEL in labels else {**row, "labels": [*labels, LABEL]}


def _unlabelled(row: Row) -> Row:
    return {**row, "labels": [label for label in labels_of(row) if label != LABEL]}
