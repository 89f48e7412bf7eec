"""One cycle: an attempt on one bead or a batch, and what follows from its end (S-5 to S-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ddx.clock import stamp
from ddx.errors import NotFound, Refused
from ddx.execution.model import Idle, Landed, NoChanges, Preserved, Status
from ddx.instants import seconds_between
from ddx.values import changed
from helix.policy import progress as steps
from helix.policy.aftermath import (
    AwaitLanding,
    Block,
    Completed,
    Guide,
    Park,
    Polish,
    Retry,
    RunAlone,
    Skip,
    Stop,
    follow,
)
from helix.supervisor import bookkeeping, reviews
from helix.supervisor.blockers import Blocker
from helix.supervisor.measuring import trace_failures
from helix.supervisor.recovery import recover
from helix.supervisor.run import Flight
from helix.work import BuildPolicy, is_worth_reviewing, take_stock

if TYPE_CHECKING:
    from ddx.execution.model import Outcome
    from ddx.execution.work import Site
    from helix.desk import Agent
    from helix.policy.aftermath import Follow
    from helix.policy.model import Candidate, Decision, View
    from helix.supervisor.bench import Bench
    from helix.supervisor.run import Run
    from helix.supervisor.view import Look

_WORDS = {
    Completed: "COMPLETE",
    Retry: "RETRY",
    Block: "BLOCKED",
    Polish: "DRIFTED",
    Skip: "SKIPPED",
    Guide: "GUIDANCE",
    AwaitLanding: "WAITING TO LAND",
    Park: "HARNESS FAULT",
    RunAlone: "ALONE NEXT",
    Stop: "INTERRUPTED",
}
_UNPROVEN = (Status.CHECK_FAILED, Status.RATCHET_FAILED)
_FAILED = (Retry, Block, RunAlone, Park)


def begin_cycle(run: Run, decision: Decision, view: View, look: Look, agent: Agent) -> Flight:
    """All that is fixed before the attempt starts; the bead counts as attempted from here."""
    run.progress = steps.begun(run.progress, decision, view)
    run.take_up(decision.beads)
    run.refresh_context(look)
    beads = tuple(look.candidate(bead_id) for bead_id in decision.beads)
    rows = {bead.id: look.rows[bead.id] for bead in beads}

    def replied(attempt: str) -> None:
        if run.plan.reviews:
            reviews.promise(run.site.project, attempt)

    policy = BuildPolicy(
        run.desk,
        decision.beads,
        agent,
        limits=run.limits,
        context=run.context,
        begun=lambda attempt: run.write(),
        replied=replied,
    )
    flight = Flight(
        run.progress.attempted,
        beads,
        agent,
        run.site.clock.stamp(),
        {bead_id: look.upstream.hashes(row) for bead_id, row in rows.items()},
        policy,
    )
    run.journal.cycle_begun(flight.number, flight.ids, len(view.ready))
    return flight


def fly(bench: Bench, site: Site, policy: BuildPolicy) -> Outcome | Idle:
    """The attempt itself; a bead that may no longer be handed out is no attempt at all (S-6)."""
    try:
        return bench.build(site, policy)
    except (Refused, NotFound) as problem:
        if policy.attempt:
            raise
        return Idle(problem.message, again=True)


def end_cycle(run: Run, flight: Flight, result: Outcome | Idle) -> None:
    """What the tracker, the journal and the next decision must know of it."""
    now = run.site.clock.stamp()
    seconds = seconds_between(flight.began_at, now) or 0.0
    for bead_id in flight.ids:
        run.spent_s[bead_id] = run.spent_s.get(bead_id, 0.0) + seconds
    if isinstance(result, Idle):
        _lost(run, flight, result)
    else:
        _settle(run, flight, result)
    run.write(
        cycle_start=flight.began_at,
        cycle_end=now,
        cycle_duration=round(seconds, 3),
    )


def _lost(run: Run, flight: Flight, idle: Idle) -> None:
    """Drifted or taken before the claim: nothing was attempted (S-6)."""
    beads = _as_left(run, flight)
    run.progress = steps.not_begun(run.progress, beads)
    for bead in beads:
        run.skip(bead, idle.reason)
    run.journal.note("cycle-ended", cycle=flight.number, beads=list(flight.ids), word="NOT BEGUN")


def _settle(run: Run, flight: Flight, outcome: Outcome) -> None:
    run.meter.attempted(flight.agent.harness, outcome)
    for remark in take_stock(run.desk, flight.policy.injection, outcome):
        run.journal.remark(remark)  # before the bead is skipped or blocked as it is then
    followed = _followed(run, flight, outcome)
    is_reviewed = run.plan.reviews and is_worth_reviewing(outcome, run.plan.review_threshold)
    if isinstance(followed, Completed) and followed.needs_review and not is_reviewed:
        why = "it is off" if not run.plan.reviews else "so little changed"
        run.journal.remark(f"{flight.ids[0]} is not reviewed: {why}")
    _carry_out(run, flight, outcome, followed)
    run.progress = steps.after_cycle(
        run.progress,
        followed,
        _as_left(run, flight),
        attempt=outcome.facts.attempt,
        reviews=is_reviewed,
    )
    if isinstance(followed, Stop) and run.is_spent:  # nobody asked: the gate says why it ends
        run.progress = changed(run.progress, stop_asked=run.winding_down)
    attempt = outcome.facts.attempt
    if attempt in (run.progress.pending_review, *run.progress.owed_reviews):
        run.landed[attempt] = flight
    else:
        if not isinstance(followed, AwaitLanding):
            reviews.forget(run.site.project, attempt)
        told(run, flight, _WORDS[type(followed)], reason=followed.reason, outcome=outcome)
    if isinstance(followed, _FAILED):
        recover_claims(run)


def told(
    run: Run, flight: Flight, word: str, *, reason: str, outcome: Outcome | None = None
) -> None:
    """The line that ends a cycle."""
    most = run.plan.rules.max_cycles or run.progress.attempted
    facts = outcome.facts if outcome else None
    run.journal.cycle_ended(
        flight.number,
        flight.ids,
        word,
        done=f"{run.progress.completed}/{most}",
        tokens=run.meter.usage.tokens,
        reason=reason,
        attempt=facts.attempt if facts else flight.policy.attempt,
        status=str(outcome.status) if outcome else "",
    )
    if word != "COMPLETE":
        detail = facts.reason if facts else ""
        run.journal.remark(f"{', '.join(flight.ids)}: {reason}{f' ({detail})' if detail else ''}")


def recover_claims(run: Run) -> int:
    """How many orphaned claims were set free; each claim is one line (S-18)."""
    ours = [bead_id for flight in run.flights.values() for bead_id in flight.ids]
    found = recover(run.site, threshold_s=run.plan.orphan_threshold_s, ours=ours)
    for one in found:
        run.journal.say(one.sentence)
        run.journal.note("claim", bead=one.bead, released=one.released, reason=one.reason)
    return sum(one.released for one in found)


def _followed(run: Run, flight: Flight, outcome: Outcome) -> Follow:
    look = run.look()
    row = look.snapshot.find(flight.ids[0]) or {}
    return follow(
        outcome.status,
        bookkeeping.attempts_of(row),
        run.plan.rules,
        was_batch=len(flight.beads) > 1,
        left_open=outcome.left_open if isinstance(outcome, Landed | NoChanges) else "",
        documents_drifted=any(
            look.upstream.hashes(look.snapshot.find(bead_id) or {}) != seen
            for bead_id, seen in flight.seen.items()
        ),
    )


def _carry_out(run: Run, flight: Flight, outcome: Outcome, followed: Follow) -> None:
    """What the tracker learns of it, beyond what the attempt itself wrote."""
    site, first = run.site, flight.ids[0]
    why, refs = _in_full(followed.reason, outcome), _refs(outcome)
    match followed:
        case Retry(after_s=after_s):
            until = stamp(site.clock.now_ns() + int(after_s * 1e9))
            bookkeeping.rest(site, first, until=until, seen=flight.seen[first])
        case Block():
            _block(run, flight, outcome, why)
        case RunAlone():
            bookkeeping.remember(site, flight.ids, flight.seen)
        case Polish() | Skip():
            bookkeeping.remember(site, flight.ids, flight.seen)
            for bead in flight.beads:
                run.skip(bead, why, refs=refs)
        case Guide():
            bookkeeping.remember(site, flight.ids, flight.seen)
            run.skip(flight.beads[0], why, refs=refs)
        case AwaitLanding() | Completed() | Park() | Stop():
            pass
        case other:
            assert_never(other)


def _in_full(reason: str, outcome: Outcome) -> str:
    detail = outcome.facts.reason
    return f"{reason}: {detail}" if detail and detail not in reason else reason


def _refs(outcome: Outcome) -> tuple[str, ...]:
    return (outcome.ref,) if isinstance(outcome, Preserved) else ()


def _block(run: Run, flight: Flight, outcome: Outcome, why: str) -> None:
    """One last review of what was made, then it rests until its basis changes (S-10)."""
    bead = flight.beads[0]
    if outcome.status in _UNPROVEN:
        trace_failures(run, bead.id, beads=(bead.id,))
    findings: tuple[str, ...] = ()
    if run.plan.reviews and isinstance(outcome, Preserved):
        with run.during("review"):
            findings = run.bench.review_failure(run.desk, outcome)
    _hold(run, bead, why, refs=_refs(outcome), findings=findings)


def block_worn_out(run: Run) -> None:
    """What used up its attempts in a run that died before it could say so (S-10)."""
    for bead in run.look().worn_out(run.plan.rules.max_attempts):
        _hold(run, bead, f"{bead.attempts} attempts have failed")


def _hold(
    run: Run,
    bead: Candidate,
    why: str,
    *,
    refs: tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
) -> None:
    look = run.look()
    row = look.snapshot.find(bead.id) or {}
    basis = bookkeeping.basis_of(row, look.upstream, commit=run.bench.head(run.site.project.root))
    epic = bookkeeping.block_bead(run.site, bead.id, reason=why, basis=basis, findings=findings)
    run.blockers[bead.id] = Blocker(
        bead.id,
        bead.title,
        why,
        is_blocked=True,
        attempts=bookkeeping.attempts_of(row),
        seconds=run.spent_s.get(bead.id, 0.0),
        epic=epic,
        refs=refs,
        findings=findings,
    )
    run.journal.note("blocked", **run.blockers[bead.id].as_row())
    impact = f"; its epic {epic} is held up" if epic else ""
    run.journal.say(f"BLOCKED {bead.id} after {bookkeeping.attempts_of(row)} attempts{impact}")


def _as_left(run: Run, flight: Flight) -> list[Candidate]:
    """The beads of an attempt as it left them; one that is gone is as it was."""
    look = run.look()
    return [look.candidate(bead.id) if bead.id in look.snapshot else bead for bead in flight.beads]
