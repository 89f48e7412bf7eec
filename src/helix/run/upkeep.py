"""What a run sees to on beads: that their notes and claims are still true (D-7, S-10, S-18).

When they may be tried again, why they are blocked, which assumptions are too old, and which claims
nobody holds any more. Each write looks at the bead again under the lock: one that somebody else has
touched meanwhile is left as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.base import cut, shown, value
from ddx.tracker import RUNNER, BeadPatch
from helix.intake import close_settled
from helix.passes import BASIS as SPECULATION
from helix.passes import (
    SEEN,
    Expire,
    Leave,
    NoteBasis,
    Release,
    claim_of,
    judge_assumption,
    judge_here,
    recorded_claims,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ddx.attempts import AttemptContext
    from ddx.tracker import Bead, TrackerEdit
    from helix.passes import Claim, ClaimJudgement, UpstreamDocuments
    from helix.run.run import Run
    from helix.run.view import ProjectSnapshot


def look_again(run: Run) -> ProjectSnapshot:
    """Blocked beads whose ground has changed are open, old assumptions are not (S-10, I-10).

    Conflicts and gaps that are over are closed (I-5).
    """
    look = run.look()
    slider = run.plan.slider
    reopened = list(reopen_changed(look))
    settled = settle_assumptions(
        look, label=slider.speculation_label, ttl_days=slider.speculation_ttl_days
    )
    run.take_up([one.bead for one in reopened])
    for one in reopened:
        run.journal.say(f"{one.bead} is open again: {one.reason}")
        run.journal.note("reopened", bead=one.bead, reason=one.reason)
    for one in settled:
        if one.reason:
            run.journal.say(f"{one.bead} is only proposed now: {one.reason}")
            run.journal.note("proposed", bead=one.bead, reason=one.reason)
    over = close_settled(look.site.project, look.site.tracker, look.graph)
    for it in over:
        if it.is_closed or run.unclosed.get(it.bead) != it.reason:
            run.journal.say(it.sentence)
            run.journal.note("settled", bead=it.bead, reason=it.reason, closed=it.is_closed)
    run.unclosed = {it.bead: it.reason for it in over if not it.is_closed}
    return run.look() if reopened or settled or any(it.is_closed for it in over) else look


RETRY, BASIS, LABEL = "retry-after", "blocked-basis", "blocked"
_LONGEST_REASON = 600


@value
class StatusShift:
    """A bead that is blocked or ready no longer, and why."""

    bead: str
    reason: str


def rest(site: AttemptContext, bead_id: str, *, until: str, seen: Mapping[str, str]) -> None:
    """Not before that instant again; the wait is the bead's own (D-7)."""

    def decide(edit: TrackerEdit) -> None:
        if _is_free(edit, bead_id):
            edit.mark(bead_id, {RETRY: until, **_first_seen(edit.bead(bead_id), seen)})

    site.tracker.edit(decide)


def remember(
    site: AttemptContext, bead_ids: Sequence[str], seen: Mapping[str, Mapping[str, str]]
) -> None:
    """Which documents a bead was selected with, where nobody had looked at them before (S-3)."""

    def decide(edit: TrackerEdit) -> None:
        for bead_id in bead_ids:
            if _is_free(edit, bead_id):
                edit.mark(bead_id, _first_seen(edit.bead(bead_id), seen.get(bead_id, {})))

    site.tracker.edit(decide)


def block_bead(
    site: AttemptContext,
    bead_id: str,
    *,
    reason: str,
    basis: Mapping[str, Any],
    findings: Sequence[str] = (),
) -> str:
    """Blocked with its reason, a label, one note and what it rests on (S-10); its epic, if any."""
    said = cut(shown(reason), _LONGEST_REASON)

    def decide(edit: TrackerEdit) -> str:
        if not _is_free(edit, bead_id):
            return ""
        edit.block(bead_id, reason=said)
        bead = edit.bead(bead_id)
        note = f"BLOCKED: {said}"
        patch = BeadPatch(
            {}, unset=(RETRY,), add_labels=(LABEL,), append_notes="" if note in bead.notes else note
        )
        edit.update(bead_id, patch)
        edit.mark(bead_id, {BASIS: dict(basis)})
        if findings:
            body = "\n".join(cut(shown(finding), _LONGEST_REASON) for finding in findings)
            edit.add_event(bead_id, "review", summary="what a last review found", body=body)
        if bead.parent not in edit or edit.bead(bead.parent).type != "epic":
            return ""
        edit.update(bead.parent, BeadPatch({}, add_labels=(LABEL,)))
        return bead.parent

    return site.tracker.edit(decide)


def basis_of(bead: Bead, upstream: UpstreamDocuments, *, commit: str) -> dict[str, Any]:
    """What a blocked bead stands on: once this is another, it is worth another try."""
    return {
        "fingerprint": bead.fingerprint,
        "criteria": [bead.acceptance, *bead.verify, *bead.paths],
        "documents": upstream.hashes(bead),
        "polished": bead.get(SEEN) or {},
        "commit": commit,
    }


_CHANGES = {
    "fingerprint": "what governs it was changed",
    "criteria": "its acceptance was changed",
    "documents": "its documents were changed",
    "polished": "it was polished",
}


def reopen_changed(look: ProjectSnapshot) -> Iterator[StatusShift]:
    """Blocked beads that no longer stand on what they were blocked for (S-10)."""
    for bead in look.beads.values():
        basis = bead.get(BASIS)
        if bead.status != "blocked" or not isinstance(basis, dict):
            continue
        now = _with_seen(basis_of(bead, look.upstream, commit=""))
        before = _with_seen(basis)
        moved = [said for name, said in _CHANGES.items() if before.get(name) != now[name]]
        if moved and _reopen(look.site, bead, moved[0]):
            yield StatusShift(bead.id, moved[0])


def _with_seen(basis: Mapping[str, Any]) -> dict[str, Any]:
    """A polish that notes the very documents it was blocked with has changed nothing."""
    return {**basis, "polished": basis.get("polished") or basis.get("documents")}


def settle_assumptions(look: ProjectSnapshot, *, label: str, ttl_days: int) -> list[StatusShift]:
    """Speculative beads that nobody looked at in time are only proposed from now on (I-10).

    What a young one says is noted on it, so that a look at it can be told; that has no reason.
    """
    judged = {
        bead_id: judgement
        for bead_id, bead in look.beads.items()
        if (judgement := judge_assumption(bead, label=label, ttl_days=ttl_days, now=look.now))
    }

    def decide(edit: TrackerEdit) -> list[StatusShift]:
        done: list[StatusShift] = []
        for bead_id, judgement in judged.items():
            if edit.find_bead(bead_id) != look.beads[bead_id]:  # somebody was there just now
                continue
            match judgement:
                case NoteBasis(basis=basis):
                    edit.mark(bead_id, {SPECULATION: basis})
                    done.append(StatusShift(bead_id, ""))
                case Expire(reason=reason):
                    edit.propose(bead_id, reason=reason)
                    done.append(StatusShift(bead_id, reason))
        return done

    return look.site.tracker.edit(decide) if judged else []


def _reopen(site: AttemptContext, seen: Bead, reason: str) -> bool:
    def decide(edit: TrackerEdit) -> bool:
        if edit.find_bead(seen.id) != seen:
            return False
        unlabel = BeadPatch({}, remove_labels=(LABEL,))
        edit.reopen(seen.id, reason=reason)
        edit.update(seen.id, unlabel)
        if seen.parent in edit and edit.bead(seen.parent).type == "epic":
            siblings = edit.children(seen.parent)
            if all(edit.status(it) != "blocked" for it in siblings):
                edit.update(seen.parent, unlabel)
        return True

    return site.tracker.edit(decide)


def _is_free(edit: TrackerEdit, bead_id: str) -> bool:
    """Is it there, open and in nobody's hands?"""
    return bead_id in edit and edit.status(bead_id) == "open"


def _first_seen(bead: Bead, seen: Mapping[str, str]) -> dict[str, Any]:
    return {SEEN: dict(seen)} if seen and bead.get(SEEN) is None else {}


@value
class RecoveredClaim:
    """One claim that was looked at."""

    bead: str
    released: bool
    reason: str

    @property
    def sentence(self) -> str:
        how = "was released" if self.released else "is left"
        return f"the claim on {self.bead} {how}: {self.reason}"


def recover(
    site: AttemptContext,
    *,
    threshold_s: float,
    ours: Collection[str] = (),
    asked: Collection[str] = (),
) -> list[RecoveredClaim]:
    """Every claim of a runner, judged; `ours` are being worked on by this very run.

    It never touches files: what a dead attempt has left is for `reconcile`, which comes first.
    """
    claims = [
        claim
        for bead in site.tracker.snapshot().with_status("in_progress")
        if (claim := claim_of(bead)) and claim.bead not in ours and claim.owner == RUNNER
    ]
    records = recorded_claims(site) if claims else {}
    now = site.clock.stamp()
    return [
        _carried_out(
            site,
            claim,
            judge_here(
                claim, records, now=now, threshold_s=threshold_s, is_asked_for=claim.bead in asked
            ),
        )
        for claim in claims
    ]


def recover_claims(run: Run) -> int:
    """How many orphaned claims were set free; each claim is one line (S-18)."""
    found = recover(run.site, threshold_s=run.plan.orphan_threshold_s, ours=run.busy)
    for one in found:
        run.journal.say(one.sentence)
        run.journal.note("claim", bead=one.bead, released=one.released, reason=one.reason)
    return sum(one.released for one in found)


def _carried_out(site: AttemptContext, claim: Claim, judged: ClaimJudgement) -> RecoveredClaim:
    match judged:
        case Leave(reason=reason):
            return RecoveredClaim(claim.bead, False, reason)
        case Release(reason=reason):
            if _release(site, claim, reason):
                return RecoveredClaim(claim.bead, True, reason)
            return RecoveredClaim(claim.bead, False, "it changed hands a moment ago")


def _release(site: AttemptContext, claim: Claim, reason: str) -> bool:
    """By compare-and-set: only the very claim that was judged (T-21)."""

    def decide(edit: TrackerEdit) -> bool:
        bead = edit.find_bead(claim.bead)
        if bead is None or claim_of(bead) != claim:
            return False
        edit.unclaim(claim.bead, claim_id=claim.claim_id)
        edit.add_event(claim.bead, "recovered", summary=reason)
        return True

    return site.tracker.edit(decide)
