"""One cycle: an attempt on one bead or a batch, and what follows from its end (S-5 to S-11).

Failing tests are traced before a bead is blocked, and before an epic is reviewed (S-36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ddx.attempts import AttemptStatus, Idle, Landed, NoChanges, Preserved
from ddx.base import DdxError, Instant, changed, listed
from ddx.git import Repository
from helix.passes import resolve_scope
from helix.run import aftermath as steps
from helix.run import upkeep
from helix.run.aftermath import (
    AwaitLanding,
    BlockBead,
    Completed,
    Guide,
    Park,
    Polish,
    Retry,
    RunAlone,
    Skip,
    StopRun,
    follow,
)
from helix.run.build_policy import BuildPolicy, is_worth_reviewing, review_failure, take_stock
from helix.run.journal import UnfinishedBead
from helix.run.run import Cycle
from helix.run.upkeep import recover_claims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.attempts import Outcome
    from helix.project import Agent
    from helix.run.aftermath import Follow
    from helix.run.model import BuildCandidate, Decision, RunView
    from helix.run.run import Run
    from helix.run.view import ProjectSnapshot

_WORDS = {
    Completed: "COMPLETE",
    Retry: "RETRY",
    BlockBead: "BLOCKED",
    Polish: "DRIFTED",
    Skip: "SKIPPED",
    Guide: "GUIDANCE",
    AwaitLanding: "WAITING TO LAND",
    Park: "HARNESS FAULT",
    RunAlone: "ALONE NEXT",
    StopRun: "INTERRUPTED",
}
_UNPROVEN = (AttemptStatus.CHECK_FAILED, AttemptStatus.RATCHET_FAILED)
_FAILED = (Retry, BlockBead, RunAlone, Park)


def begin_cycle(
    run: Run, decision: Decision, view: RunView, look: ProjectSnapshot, agent: Agent
) -> BuildPolicy:
    """All that is fixed before the attempt starts; the bead counts as attempted from here."""
    run.progress = steps.begun(run.progress, decision, view)
    run.take_up(decision.beads)
    run.refresh_context(look)
    beads = tuple(look.candidate(bead_id) for bead_id in decision.beads)
    rows = {bead.id: look.beads[bead.id] for bead in beads}
    policy = BuildPolicy(
        run.desk,
        decision.beads,
        agent,
        limits=lambda found: run.meter.limits(run.site, found),
        context=run.context,
        begun=lambda attempt: run.write(),
    )
    cycle = Cycle(
        run.progress.attempted,
        beads,
        agent,
        began_at=run.site.clock.stamp(),
        seen={bead_id: look.upstream.hashes(row) for bead_id, row in rows.items()},
        policy=policy,
    )
    run.journal.cycle_begun(cycle.number, cycle.ids, len(view.ready))
    run.running[cycle.ids[0]] = cycle
    return policy


def end_cycle(run: Run, first: str, result: Outcome | Idle) -> None:
    """What the tracker, the journal and the next decision must know of the attempt on this bead."""
    cycle = run.running.pop(first)
    now = run.site.clock.stamp()
    seconds = Instant(cycle.began_at).seconds_until(now) or 0.0
    for bead_id in cycle.ids:
        run.spent_s[bead_id] = run.spent_s.get(bead_id, 0.0) + seconds
    if isinstance(result, Idle):
        _lost(run, cycle, result)
    else:
        _settle(run, cycle, result)
    run.write(cycle_start=cycle.began_at, cycle_end=now, cycle_duration=round(seconds, 3))


def _lost(run: Run, cycle: Cycle, idle: Idle) -> None:
    """Drifted or taken before the claim: nothing was attempted (S-6)."""
    beads = _as_left(run, cycle)
    run.progress = steps.not_begun(run.progress, beads)
    for bead in beads:
        run.skip(bead, idle.reason)
    run.journal.note("cycle-ended", cycle=cycle.number, beads=list(cycle.ids), word="NOT BEGUN")


def _settle(run: Run, cycle: Cycle, outcome: Outcome) -> None:
    for remark in take_stock(run.desk, cycle.policy.injection, outcome):
        run.journal.remark(remark)  # before the bead is skipped or blocked as it is then
    followed = _followed(run, cycle, outcome)
    is_reviewed = run.plan.reviews and is_worth_reviewing(outcome, run.plan.review_threshold)
    if isinstance(followed, Completed) and followed.needs_review and not is_reviewed:
        why = "it is off" if not run.plan.reviews else "so little changed"
        run.journal.remark(f"{cycle.ids[0]} is not reviewed: {why}")
    _carry_out(run, cycle, outcome, followed)
    run.progress = steps.after_cycle(
        run.progress,
        followed,
        _as_left(run, cycle),
        attempt=outcome.facts.attempt,
        reviews=is_reviewed,
    )
    if isinstance(followed, StopRun) and run.meter.is_spent:  # nobody asked: the gate says why
        run.progress = changed(run.progress, stop_asked=run.wishes.winding_down)
    attempt = outcome.facts.attempt
    if attempt in (run.progress.pending_review, *run.progress.owed_reviews):
        run.landed[attempt] = cycle
    else:
        if not isinstance(followed, AwaitLanding):
            run.reviews.forget(attempt)
        told(run, cycle, _WORDS[type(followed)], reason=followed.reason, outcome=outcome)
    if isinstance(followed, _FAILED):
        recover_claims(run)


def told(run: Run, cycle: Cycle, word: str, *, reason: str, outcome: Outcome | None = None) -> None:
    """The line that ends a cycle."""
    most = run.plan.rules.max_cycles or run.progress.attempted
    facts = outcome.facts if outcome else None
    run.journal.cycle_ended(
        cycle.number,
        cycle.ids,
        word,
        done=f"{run.progress.completed}/{most}",
        tokens=run.meter.usage.tokens,
        reason=reason,
        attempt=facts.attempt if facts else cycle.policy.attempt,
        status=str(outcome.status) if outcome else "",
    )
    if word != "COMPLETE":
        detail = facts.reason if facts else ""
        run.journal.remark(f"{', '.join(cycle.ids)}: {reason}{f' ({detail})' if detail else ''}")


def _followed(run: Run, cycle: Cycle, outcome: Outcome) -> Follow:
    look = run.look()
    row = look.bead(cycle.ids[0])
    return follow(
        outcome.status,
        row.attempts,
        run.plan.rules,
        was_batch=len(cycle.beads) > 1,
        left_open=outcome.left_open if isinstance(outcome, Landed | NoChanges) else "",
        documents_drifted=any(
            look.upstream.hashes(look.bead(bead_id)) != seen for bead_id, seen in cycle.seen.items()
        ),
    )


def _carry_out(run: Run, cycle: Cycle, outcome: Outcome, followed: Follow) -> None:
    """What the tracker learns of it, beyond what the attempt itself wrote."""
    site, first = run.site, cycle.ids[0]
    why, refs = _in_full(followed.reason, outcome), _refs(outcome)
    match followed:
        case Retry(after_s=after_s):
            until = site.clock.stamp(after_s=after_s)
            upkeep.rest(site, first, until=until, seen=cycle.seen[first])
        case BlockBead():
            _block(run, cycle, outcome, why)
        case RunAlone():
            upkeep.remember(site, cycle.ids, cycle.seen)
        case Polish() | Skip():
            upkeep.remember(site, cycle.ids, cycle.seen)
            for bead in cycle.beads:
                run.skip(bead, why, refs=refs)
        case Guide():
            upkeep.remember(site, cycle.ids, cycle.seen)
            run.skip(cycle.beads[0], why, refs=refs)
        case AwaitLanding() | Completed() | Park() | StopRun():
            pass
        case other:
            assert_never(other)


def _in_full(reason: str, outcome: Outcome) -> str:
    detail = outcome.facts.reason
    return f"{reason}: {detail}" if detail and detail not in reason else reason


def _refs(outcome: Outcome) -> tuple[str, ...]:
    return (outcome.ref,) if isinstance(outcome, Preserved) else ()


def _block(run: Run, cycle: Cycle, outcome: Outcome, why: str) -> None:
    """One last review of what was made, then it rests until its basis changes (S-10)."""
    bead = cycle.beads[0]
    if outcome.status in _UNPROVEN:
        trace_failures(run, bead.id, beads=(bead.id,))
    findings: tuple[str, ...] = ()
    if run.plan.reviews and isinstance(outcome, Preserved):
        with run.during("review"):
            findings = review_failure(run.desk, outcome.as_row())
    _hold(run, bead, why, refs=_refs(outcome), findings=findings)


def block_worn_out(run: Run) -> None:
    """What used up its attempts in a run that died before it could say so (S-10)."""
    for bead in run.look().worn_out(run.plan.rules.max_attempts):
        _hold(run, bead, f"{bead.attempts} attempts have failed")


def _hold(
    run: Run,
    bead: BuildCandidate,
    why: str,
    *,
    refs: tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
) -> None:
    look = run.look()
    row = look.bead(bead.id)
    head = Repository(run.site.project.root).commit_id()
    basis = upkeep.basis_of(row, look.upstream, commit=head)
    epic = upkeep.block_bead(run.site, bead.id, reason=why, basis=basis, findings=findings)
    run.blockers[bead.id] = UnfinishedBead(
        bead.id,
        bead.title,
        why,
        is_blocked=True,
        attempts=row.attempts,
        seconds=run.spent_s.get(bead.id, 0.0),
        epic=epic,
        refs=refs,
        findings=findings,
    )
    run.journal.note("blocked", **run.blockers[bead.id].as_row())
    impact = f"; its epic {epic} is held up" if epic else ""
    run.journal.say(f"BLOCKED {bead.id} after {row.attempts} attempts{impact}")


def _as_left(run: Run, cycle: Cycle) -> list[BuildCandidate]:
    """The beads of an attempt as it left them; one that is gone is as it was."""
    look = run.look()
    return [look.candidate(bead.id) if bead.id in look.snapshot else bead for bead in cycle.beads]


def trace_failures(run: Run, about: str, *, beads: Sequence[str] = ()) -> None:
    """What cannot be measured is said, and the run goes on without."""
    if not run.plan.slider.auto_traceback:
        return
    from helix.verification import measure

    site, slider = run.site, run.plan.slider
    with run.during("measure"):
        try:
            done = measure(site, slider, resolve_scope(site, about), beads=beads)
        except (DdxError, OSError) as problem:
            why = problem.message if isinstance(problem, DdxError) else str(problem)
            run.journal.say(f"{about} could not be measured: {why}")
            return
    filed = {"created": list(done.created), "closed": list(done.closed)}
    run.journal.note("measure", scope=about, passed=done.passed, path=done.path, **filed)
    parts = [
        f"{about} was measured: {'everything holds' if done.passed else 'not all holds'}",
        f"filed {listed(done.created)}" if done.created else "",
        f"closed {listed(done.closed)}" if done.closed else "",
        *done.problems,
        *done.remarks,
    ]
    run.journal.remark("; ".join(filter(None, parts)))
