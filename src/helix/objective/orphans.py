"""Tasks of an earlier objective that a dead process still holds: offered to a person (O-9)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.process import is_alive
from ddx.tracker.codec import decode
from ddx.tracker.lifecycle import block, unclaim
from ddx.tracker.model import RUNNER, status_of, text_of
from ddx.values import value
from helix.actions.series import Series
from helix.objective.plan import OBJECTIVE_KEY
from helix.policy.recovery import claim_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Tracker
    from ddx.tracker.working import Changes

RESET, BLOCK, IGNORE = CHOICES = ("reset", "block", "ignore")
_REASON = "its objective died while it was being built"


@value
class Orphan:
    bead: str
    title: str
    objective: str
    claim_id: str


def find_orphans(snapshot: Snapshot, *, besides: str) -> tuple[Orphan, ...]:
    """In progress, of another objective, held by a runner of this machine that is gone."""
    found = []
    for n, status in enumerate(snapshot.columns.statuses):
        if status != "in_progress":
            continue
        row = decode(snapshot.line(n))
        objective = text_of(row, OBJECTIVE_KEY)
        claim = claim_of(row)
        if objective in ("", besides) or claim is None or claim.owner != RUNNER:
            continue
        if claim.machine == os.uname().nodename and not is_alive(claim.pid, claim.pid_start):
            found.append(Orphan(claim.bead, text_of(row, "title"), objective, claim.claim_id))
    return tuple(found)


def settle_orphans(tracker: Tracker, orphans: Sequence[Orphan], choice: str) -> None:
    """Open again, or blocked; what changed hands meanwhile is left as it is."""

    def decide(snapshot: Snapshot, now: str) -> Changes:
        series = Series(snapshot, now=now)
        for orphan in orphans if choice != IGNORE else ():
            row = snapshot.find(orphan.bead)
            if row is None:
                continue
            if text_of(row, "claim-id") == orphan.claim_id:
                series.add(unclaim(series, orphan.bead, claim_id=orphan.claim_id, now=now))
            is_free = status_of(series.row(orphan.bead)) == "open"
            if choice == BLOCK and is_free:
                series.add(block(series, orphan.bead, reason=_REASON, actor=RUNNER, now=now))
        return series.changes()

    tracker.change(decide)
