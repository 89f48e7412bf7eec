"""The one way in which work is done: pick, claim, attempt, land, close (X-1, LAYOUT seam 1)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from ddx.agents import Harnesses, StopRequest
from ddx.attempts.attempt import (
    AttemptOrder,
    AttemptTask,
    CarriedOut,
    broken_down,
    carry_out,
    intent_of,
    overreach_of,
    prove,
)
from ddx.attempts.claims import AttemptClaims, BeadDrifted, settle
from ddx.attempts.commit import find_kept, keep, signature_of
from ddx.attempts.context import AttemptContext, Boundary, Idle, fix_target, pick_beads
from ddx.attempts.delivery import deliver
from ddx.attempts.outcome import AttemptStatus, Failed, NoChanges, Outcome, Preserved, masked
from ddx.attempts.record import new_attempt_id
from ddx.base import (
    Clock,
    ConcurrentChange,
    Masker,
    NotFound,
    Refused,
    changed,
    for_children,
    listed,
)
from ddx.project import read_settings
from ddx.tracker import Tracker, approval

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.attempts.context import Drift, Policy
    from ddx.attempts.outcome import AttemptFacts
    from ddx.attempts.record import OnEvent
    from ddx.project import Project, Settings


def open_site(
    project: Project,
    on_event: OnEvent,
    *,
    stop: StopRequest | None = None,
    clock: Clock = Clock(),
    tell: Callable[[str], None] = lambda sentence: None,
) -> AttemptContext:
    """A repository that its operator trusts, and from outside of any attempt (X-5, X-22)."""
    project.refuse_inside_an_attempt(what="handing work to agents")
    project.require_trust(to_run="its work")
    tracker = Tracker(
        project, clock=clock, command="ddx agent", tell=tell, approve=approval(project, tell=tell)
    )
    settings = read_settings(project, clock=clock)
    return AttemptContext(
        project=project,
        settings=settings,
        tracker=tracker,
        clock=clock,
        masker=Masker(_known_to_children(settings)),
        stop=stop or StopRequest(),
        on_event=on_event,
    )


def _known_to_children(settings: Settings) -> dict[str, str]:
    """Every variable that an agent may see and print."""
    configured = (harness.env for harness in settings.harnesses.values())
    return {name: text for env in (for_children(), *configured) for name, text in env.items()}


def work_one(
    site: AttemptContext,
    policy: Policy,
    *,
    from_rev: str = "",
    merge: bool = True,
    supervisory: bool = False,
) -> Outcome | Idle:
    """One attempt on what the policy picks, from the claim to the close; Idle if there is none.

    Whatever goes wrong inside the attempt is its outcome. What goes wrong with the tracker itself
    is raised: it would meet the next bead as well (X-18).
    """
    begun = begin(site, policy, from_rev=from_rev, merge=merge, supervisory=supervisory)
    if isinstance(begun, AttemptOrder):
        return conclude(carry_out(begun))
    if begun.refusal is not None:
        raise begun.refusal
    return begun


def begin(
    site: AttemptContext,
    policy: Policy,
    *,
    from_rev: str = "",
    merge: bool = True,
    supervisory: bool = False,
) -> AttemptOrder | Idle:
    """At home: what the policy picks is prepared, recorded and claimed, or nothing is.

    A `supervisory` bead is not for the queue to hand out, and is proven by what its preparation
    says (A-10).
    """
    try:
        beads = pick_beads(site, policy, supervisory=supervisory)
    except (Refused, NotFound) as problem:
        return Idle(problem.message, again=True, refusal=problem)
    if not beads:
        return Idle("nothing is ready")
    attempt = new_attempt_id(site.clock)
    preparation = policy.prepare(beads, attempt)
    task = AttemptTask(
        site,
        tuple(beads),
        attempt,
        preparation=preparation,
        homes=Harnesses(site.settings).find(preparation.harness).homes,
        target=fix_target(site.project, from_rev, merge=merge),
        workspace=site.workspace(attempt),
        merge=merge,
    )
    claims = AttemptClaims.planned(site.tracker, beads)
    record = site.begin_record(attempt, _intent(task, claims))
    try:
        claims.take()
    except (ConcurrentChange, Refused, BeadDrifted) as lost:
        record.discard()
        return Idle(lost.message, again=True)
    except BaseException:
        record.leave()
        raise
    record.tell("claimed", listed(bead.id for bead in beads))
    return AttemptOrder(task, policy, claims, record=record)


def conclude(returned: CarriedOut) -> Outcome:
    """At home: what was made lands or is kept, and the tracker learns of it (X-18)."""
    order = returned.order
    site = order.task.site
    outcome = settle(site, masked(_ended(returned), site.masker), order.claims, order.record)
    order.record.finish(outcome.as_row(), leftover=order.task.workspace)
    return outcome


def _ended(returned: CarriedOut) -> Outcome:
    """On an error what was made is kept before its workspace goes (X-6)."""
    order, facts = returned.order, returned.facts
    try:
        with returned.held or nullcontext():
            hear = order.task.preparation.on_reply
            if hear is not None and facts.reply is not None and not returned.is_heard:
                hear(facts.reply)
            return _delivered(returned)
    except Exception as problem:  # one attempt may fail in any way (STYLE 6)
        return _not_landed(
            order.task, broken_down(order.record, facts, problem), AttemptStatus.HARNESS_FAULT
        )


def _delivered(returned: CarriedOut) -> Outcome:
    """Landed if all is well; authority is asked for again, by whoever carried it out (W-1)."""
    order, facts, room = returned.order, returned.facts, returned.room
    task = order.task
    if returned.status in (AttemptStatus.ALREADY_SATISFIED, AttemptStatus.NOTHING_DONE):
        return NoChanges(facts, returned.status)
    if returned.status is not AttemptStatus.SUCCESS or room is None:
        return _not_landed(task, facts, returned.status)
    if excess := overreach_of(room, facts):
        return _not_landed(task, changed(facts, reason=excess), AttemptStatus.AUTHORITY)
    if not task.merge:
        return _not_landed(task, changed(facts, reason="not to be merged"), AttemptStatus.UNMERGED)
    paths = task.project_paths(facts.paths)

    def look() -> Drift | None:
        return order.claims.find_drift() or order.policy.still_valid(task.beads, Boundary.LANDING)

    return deliver(
        task,
        facts,
        order.record,
        signature=signature_of(task),
        governing=room.governing,
        prove=lambda commit: prove(room, commit, paths, is_merged=True, reply=facts.reply),
        look=look,
    )


def _not_landed(task: AttemptTask, facts: AttemptFacts, status: AttemptStatus) -> Outcome:
    """With something made it is kept at a ref, without it the attempt has failed (X-15)."""
    if facts.result:
        ref = keep(task.project, facts.beads, facts.attempt, facts.result)
    elif status is AttemptStatus.HARNESS_FAULT and (kept := find_kept(task.project, task.attempt)):
        facts, ref = changed(facts, result=kept.commit), kept.ref
    else:
        return Failed(facts, status)
    return Preserved(changed(facts, ref=ref), status, ref)


def _intent(task: AttemptTask, claims: AttemptClaims) -> dict[str, object]:
    return {
        "beads": list(claims.tokens),
        "claims": dict(claims.tokens),
        "selected": {bead_id: dict(found) for bead_id, found in claims.selected.items()},
        "titles": {bead.id: bead.title for bead in task.beads},
        "paths": {bead.id: list(bead.paths) for bead in task.beads},
        **intent_of(task),
    }
