"""After the attempt: the bead is closed with its evidence, or free again with a note (X-18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import ChangedFirst, DdxError, Refused
from ddx.execution.agent import ATTEMPT_EVENT, ATTEMPT_MARK
from ddx.execution.claims import Drifted
from ddx.execution.model import CHARGED, Failed, Landed, NoChanges, Preserved, Status, word_of
from ddx.execution.ratchets import record_floors
from ddx.tracker.committing import commit_tracker
from ddx.tracker.lifecycle import Ending
from ddx.tracker.pending import PENDING, Pending, write_pending
from ddx.values import changed

if TYPE_CHECKING:
    from ddx.execution.claims import Claims
    from ddx.execution.model import Facts, Outcome
    from ddx.execution.record import Record
    from ddx.execution.work import Site


def settle(site: Site, outcome: Outcome, claims: Claims, record: Record) -> Outcome:
    """What the tracker learns of an attempt; the outcome says if a landed bead stayed open."""
    match outcome:
        case Landed():
            return close_landed(site, outcome, claims, record)
        case NoChanges(status=Status.ALREADY_SATISFIED):
            ending = Ending(
                "every check passes already",
                session=outcome.facts.attempt,
                evidence=evidence_of(outcome.facts),
            )
            return changed(outcome, left_open=_close(site, claims, record, outcome.facts, ending))
        case Preserved(is_pending=True):
            write_pending(
                site.project.ddx(*PENDING),
                Pending(
                    outcome.facts.attempt,
                    outcome.facts.beads,
                    outcome.ref,
                    outcome.facts.result,
                    outcome.facts.reason,
                    site.clock.stamp(),
                ),
            )
        case Preserved() | NoChanges() | Failed():
            pass
    for bead_id in outcome.facts.beads:
        release(claims, bead_id, outcome)
    record.tell("released", outcome.facts.reason, status=str(outcome.status))
    return outcome


def close_landed(site: Site, outcome: Landed, claims: Claims, record: Record) -> Landed:
    """The branch has it: new floors hold, and its beads are closed unless they drifted."""
    facts = outcome.facts
    record_floors(site.project, facts.measured, commit=outcome.commit, at=site.clock.stamp())
    ending = Ending(
        f"landed on {facts.target.removeprefix('refs/heads/')}",
        commit=outcome.commit,
        session=facts.attempt,
        evidence=evidence_of(facts),
    )
    return changed(outcome, left_open=_close(site, claims, record, facts, ending))


def release(claims: Claims, bead_id: str, outcome: Outcome) -> None:
    facts = outcome.facts
    lines = [f"{ATTEMPT_MARK}{facts.attempt}"]
    if isinstance(outcome, Preserved):
        lines.append(f"kept: {outcome.ref}")
    claims.release(
        bead_id,
        kind=ATTEMPT_EVENT,
        summary=f"{word_of(outcome)}, {outcome.status}: {facts.reason}",
        body="\n".join(lines),
        charged=outcome.status in CHARGED and len(facts.beads) == 1,  # S-8: a batch costs nobody
    )


def evidence_of(facts: Facts) -> str:
    """Which checks passed, for the closing event."""
    return "\n".join(
        f"{'passed' if check.passed else 'failed'}: {check.command or check.name} ({check.origin})"
        for check in facts.checks
    )


def _close(site: Site, claims: Claims, record: Record, facts: Facts, ending: Ending) -> str:
    """Close every bead of the attempt; why one was left open, or an empty text."""
    left_open = []
    for bead_id in facts.beads:
        try:
            claims.close(bead_id, ending)
        except (Drifted, ChangedFirst, Refused) as problem:
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
