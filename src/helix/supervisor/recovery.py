"""Claims that nobody holds any more are set free, and every judgement is told (S-18)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.errors import NotFound
from ddx.execution.record import is_alive as is_at_work
from ddx.execution.record import read_record, unfinished
from ddx.process import is_alive
from ddx.tracker.codec import decode
from ddx.tracker.events import event, with_event
from ddx.tracker.lifecycle import unclaim
from ddx.tracker.model import RUNNER
from ddx.tracker.working import Changes, Working
from ddx.values import value
from helix.policy.recovery import Leave, Release, claim_of, judge_claim

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ddx.execution.work import Site
    from ddx.tracker.snapshot import Snapshot
    from helix.policy.recovery import Claim, Judgement


@value
class Recovered:
    """One claim that was looked at."""

    bead: str
    released: bool
    reason: str

    @property
    def sentence(self) -> str:
        how = "was released" if self.released else "is left"
        return f"the claim on {self.bead} {how}: {self.reason}"


def recover(
    site: Site, *, threshold_s: float, ours: Collection[str] = (), asked: Collection[str] = ()
) -> list[Recovered]:
    """Every claim of a runner, judged; `ours` are being worked on by this very run.

    It never touches files: what a dead attempt has left is for `reconcile`, which comes first.
    """
    snapshot = site.tracker.snapshot()
    records = dict(_claims_of_records(site))
    found = []
    for n, status in enumerate(snapshot.columns.statuses):
        if status != "in_progress":
            continue
        claim = claim_of(decode(snapshot.line(n)))
        if claim is None or claim.bead in ours or claim.owner != RUNNER:
            continue
        is_live = records.get((claim.bead, claim.claim_id))
        judged = judge_claim(
            claim,
            now=site.clock.stamp(),
            threshold_s=threshold_s,
            machine=os.uname().nodename,
            is_alive=is_alive,
            is_worked_on=is_live is True,
            is_ours_and_dead=is_live is False,
            is_asked_for=claim.bead in asked,
        )
        found.append(_carried_out(site, claim, judged))
    return found


def _claims_of_records(site: Site) -> Iterator[tuple[tuple[str, str], bool]]:
    """Bead and claim id of each unfinished attempt, and whether a process is at it (D-23)."""
    for attempt in unfinished(site.project):
        try:
            claims = read_record(site.project, attempt).intent.get("claims")
        except NotFound:
            continue
        if isinstance(claims, dict):
            is_live = is_at_work(site.project, attempt, site.clock)
            yield from (((bead, str(token)), is_live) for bead, token in claims.items())


def _carried_out(site: Site, claim: Claim, judged: Judgement) -> Recovered:
    match judged:
        case Leave(reason=reason):
            return Recovered(claim.bead, False, reason)
        case Release(reason=reason):
            if _release(site, claim, reason):
                return Recovered(claim.bead, True, reason)
            return Recovered(claim.bead, False, "it changed hands a moment ago")


def _release(site: Site, claim: Claim, reason: str) -> bool:
    """By compare-and-set: only the very claim that was judged (T-21)."""
    done = False

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal done
        row = snapshot.find(claim.bead)
        done = row is not None and claim_of(row) == claim
        if not done:
            return Changes({})
        freed = unclaim(snapshot, claim.bead, claim_id=claim.claim_id, now=now)
        said = event("recovered", summary=reason, actor=RUNNER, at=now)
        working = Working(snapshot, now=now)
        working.put(with_event(freed.put[claim.bead], said))
        return working.changes()

    site.tracker.change(decide)
    return done
