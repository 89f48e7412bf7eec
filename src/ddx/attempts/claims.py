"""Our hold on the beads of one attempt: taken together, presented at every step (T-21, X-18)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.attempts.context import Drift, held_paths
from ddx.attempts.outcome import CHARGED, AttemptStatus, Failed, Landed, NoChanges, Preserved
from ddx.attempts.records import ATTEMPT_EVENT, ATTEMPT_MARK
from ddx.base import ConcurrentChange, DdxError, Refused, changed, started_at
from ddx.proof import record_floors
from ddx.tracker import (
    PENDING,
    RUNNER,
    Bead,
    BeadClosure,
    ChangeSet,
    Claimant,
    PendingLanding,
    Row,
    WorkingCopy,
    claim,
    close,
    commit_tracker,
    event,
    require_claim,
    status_of,
    text_of,
    unclaim,
    with_event,
    write_pending,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.attempts.context import AttemptContext
    from ddx.attempts.outcome import AttemptFacts, Outcome
    from ddx.attempts.record import RecordWriter
    from ddx.tracker import Snapshot, Tracker


class BeadDrifted(DdxError):
    """The bead is not what was selected; nothing was changed."""

    exit_code = 5


class AttemptClaims:
    """The claim ids and fingerprints of one attempt's beads, as its intent records them."""

    def __init__(
        self, tracker: Tracker, selected: Mapping[str, Fingerprint], tokens: Mapping[str, str]
    ) -> None:
        self._tracker = tracker
        self.selected = selected
        self.tokens = tokens

    @classmethod
    def planned(cls, tracker: Tracker, beads: Sequence[Bead]) -> AttemptClaims:
        """Not taken yet: the record must know the ids before the tracker does."""
        return cls(
            tracker,
            {bead.id: bead.fingerprint for bead in beads},
            {bead.id: os.urandom(8).hex() for bead in beads},
        )

    def take(self) -> None:
        """All or none, if every bead is still what was selected and nobody was first (T-10)."""
        claimant = Claimant(
            RUNNER, os.uname().nodename, os.getpid(), pid_start=started_at(os.getpid())
        )

        def decide(snapshot: Snapshot, now: str) -> ChangeSet:
            put: dict[str, Row] = {}
            busy = held_paths(snapshot)
            for bead_id, token in self.tokens.items():
                row = snapshot.row(bead_id)
                self._require_disjoint(bead_id, row, busy)
                claimed = claim(snapshot, bead_id, claimant, claim_id=token, now=now)
                if drift := find_drift(bead_id, self.selected[bead_id], row):
                    raise BeadDrifted(drift.reason)
                put |= claimed.put
            return ChangeSet(put)

        self._tracker.change(decide)

    def find_drift(self) -> Drift | None:
        """What changed since the selection, as the tracker stands now."""
        snapshot = self._tracker.snapshot()
        for bead_id, selected in self.selected.items():
            row = snapshot.find(bead_id)
            token = self.tokens.get(bead_id, "")
            if drift := find_drift(bead_id, selected, row, claim_id=token):
                return drift
        return None

    def close(self, bead_id: str, ending: BeadClosure) -> None:
        """Closed with its evidence, if it is still what was selected and ours, or nobody's.

        What this very session has closed stays as it is: it may have died a moment later (X-19).
        """
        token = self.tokens.get(bead_id, "")

        def decide(snapshot: Snapshot, now: str) -> ChangeSet:
            row = snapshot.find(bead_id)
            if row is not None and _is_closed_by(row, ending.session):
                return ChangeSet({})
            drift = find_drift(bead_id, self.selected[bead_id], row, claim_id=token)
            if drift:
                raise BeadDrifted(drift.reason)
            return close(
                snapshot, bead_id, ending, actor=RUNNER, now=now, claim_id=token, cascade=False
            )

        self._tracker.change(decide)

    def release(self, bead_id: str, *, kind: str, summary: str, body: str, charged: bool) -> None:
        """Free again, with a note of what happened; a bead that is no longer ours is left alone."""
        if bead_id not in self.tokens:
            return

        def decide(snapshot: Snapshot, now: str) -> ChangeSet:
            row = snapshot.find(bead_id)
            if row is None or bead_id not in snapshot:
                return ChangeSet({})
            try:
                require_claim(row, self.tokens[bead_id])
            except ConcurrentChange:
                return ChangeSet({})
            freed = unclaim(snapshot, bead_id, claim_id=self.tokens[bead_id], now=now)
            said = event(kind, summary=summary, body=body, actor=RUNNER, at=now)
            working = WorkingCopy(snapshot, now=now)
            row = with_event(freed.put.get(bead_id, row), said)
            if charged:
                row = {**row, "attempts": _count(row) + 1}
            working.put(row)
            return changed(working.changes(), remarks=freed.remarks)

        self._tracker.change(decide)

    def _require_disjoint(
        self, bead_id: str, row: Row, busy: Mapping[str, tuple[str, ...]]
    ) -> None:
        for other, paths in busy.items():
            if other not in self.tokens and Bead.of(row).overlaps(paths):
                raise ConcurrentChange(
                    f"{bead_id} shares paths with {other}, which is being worked on"
                )


def _is_closed_by(row: Row, session: str) -> bool:
    return status_of(row) == "closed" and text_of(row, "session_id") == session != ""


def _count(row: Row) -> int:
    found = text_of(row, "attempts")
    return int(found) if found.isdigit() else 0


Fingerprint = dict[str, str]
"""The governing fields of one bead; absent and empty are equal."""


def find_drift(
    bead_id: str, selected: Fingerprint, row: Row | None, *, claim_id: str = ""
) -> Drift | None:
    """How the bead differs from what was selected and, once claimed, from what our claim wrote."""
    if row is None:
        return Drift(bead_id, ("it is gone",))
    now = Bead.of(row).fingerprint
    fields = [name for name in now if now[name] != selected.get(name, "")]
    if claim_id:
        expected = {"status": "in_progress", "owner": RUNNER, "claim-id": claim_id}
        found = {"status": status_of(row), **{key: text_of(row, key) for key in list(expected)[1:]}}
        fields += [name for name in expected if found[name] != expected[name]]
    elif status_of(row) != "open":
        fields.append("status")
    return Drift(bead_id, tuple(fields)) if fields else None


def settle(
    site: AttemptContext, outcome: Outcome, claims: AttemptClaims, record: RecordWriter
) -> Outcome:
    """What the tracker learns of an attempt; the outcome says if a landed bead stayed open."""
    match outcome:
        case Landed():
            return close_landed(site, outcome, claims, record)
        case NoChanges(status=AttemptStatus.ALREADY_SATISFIED):
            ending = BeadClosure(
                "every check passes already",
                session=outcome.facts.attempt,
                evidence=evidence_of(outcome.facts),
            )
            return changed(outcome, left_open=_close(site, claims, record, outcome.facts, ending))
        case Preserved(is_pending=True):
            write_pending(
                site.project.ddx(*PENDING),
                PendingLanding(
                    attempt=outcome.facts.attempt,
                    beads=outcome.facts.beads,
                    ref=outcome.ref,
                    commit=outcome.facts.result,
                    reason=outcome.facts.reason,
                    at=site.clock.stamp(),
                ),
            )
        case Preserved() | NoChanges() | Failed():
            pass
    for bead_id in outcome.facts.beads:
        release(claims, bead_id, outcome)
    record.tell("released", outcome.facts.reason, status=str(outcome.status))
    return outcome


def close_landed(
    site: AttemptContext, outcome: Landed, claims: AttemptClaims, record: RecordWriter
) -> Landed:
    """The branch has it: new floors hold, and its beads are closed unless they drifted."""
    facts = outcome.facts
    record_floors(site.project, facts.measured, commit=outcome.commit, at=site.clock.stamp())
    ending = BeadClosure(
        f"landed on {facts.target.removeprefix('refs/heads/')}",
        commit=outcome.commit,
        session=facts.attempt,
        evidence=evidence_of(facts),
    )
    return changed(outcome, left_open=_close(site, claims, record, facts, ending))


def release(claims: AttemptClaims, bead_id: str, outcome: Outcome) -> None:
    facts = outcome.facts
    lines = [f"{ATTEMPT_MARK}{facts.attempt}"]
    if isinstance(outcome, Preserved):
        lines.append(f"kept: {outcome.ref}")
    claims.release(
        bead_id,
        kind=ATTEMPT_EVENT,
        summary=f"{outcome.word}, {outcome.status}: {facts.reason}",
        body="\n".join(lines),
        charged=outcome.status in CHARGED and len(facts.beads) == 1,  # S-8: a batch costs nobody
    )


def evidence_of(facts: AttemptFacts) -> str:
    """Which checks passed, for the closing event."""
    return "\n".join(
        f"{'passed' if check.passed else 'failed'}: {check.command or check.name} ({check.origin})"
        for check in facts.checks
    )


def _close(
    site: AttemptContext,
    claims: AttemptClaims,
    record: RecordWriter,
    facts: AttemptFacts,
    ending: BeadClosure,
) -> str:
    """Close every bead of the attempt; why one was left open, or an empty text."""
    left_open = []
    for bead_id in facts.beads:
        try:
            claims.close(bead_id, ending)
        except (BeadDrifted, ConcurrentChange, Refused) as problem:
            left_open.append(problem.message)
            claims.release(
                bead_id,
                kind=ATTEMPT_EVENT,
                summary=f"its work is done, but it was left open: {problem.message}",
                body=f"landed: {ending.commit or facts.base}\n{ATTEMPT_MARK}{facts.attempt}",
                charged=False,
            )
            record.tell("left-open", problem.message, bead=bead_id)
        else:
            record.tell("closed", bead_id, commit=ending.commit)
    if site.settings.tracker_commit == "on-close":
        try:
            commit_tracker(site.project, message=f"tracker: close {', '.join(facts.beads)}")
        except DdxError as problem:  # the bead is closed; the commit can be made by hand
            record.tell("tracker-not-committed", problem.message)
    return "; ".join(left_open)
