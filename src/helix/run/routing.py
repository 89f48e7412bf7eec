"""The next action: the smallest that restores progress (S-1 to S-14). Pure.

One function from what is seen and how far the run has come to a decision. The questions are asked
in a fixed order, and the first that has an answer gives it:

    was a stop asked for?                                       stop
    could a check or a review not even be carried out?          guidance
    is a review owed, or an epic finished?                      review
    is the number of completed cycles reached?                  stop
    must a person decide something first?                       guidance
    is the periodic alignment due?                              align
    did documents change under open beads?                      polish
    is something asked for that has no design yet?              design, evolve, review
    can a bead be built?                                        build
    does one only have to rest a while?                         wait, until then
    does the state alone tell what is left?                     wait, guidance
    what does `check` say of this state?                        as it says, within bounds

Why a run ends (S-13). Each decision that does not end it uses up something that only progress
gives back: a build completes its bead, or uses one of its attempts, or marks it as skipped or to be
run alone (what the harness spoils, the harness's breaker bounds); check is asked once a state;
recovery runs once; a pass uses one of MOST_PASSES, and one of MOST_IDLE_PASSES where it changed
nothing; a check or a review that cannot be carried out uses one of MOST_FAILURES; an alignment that
check asks for uses the only one, a periodic one its count of completed cycles; an epic is closed
once a state, a request is answered once a revision. So between two completed cycles there are
finitely many decisions, and beads that could complete are finitely many unless somebody brings new
ones: reviews and follow-ups bring them MOST_DEPTH deep and no deeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import Instant, changed, listed
from helix.passes import CheckAnswer, known_by_state
from helix.run.model import (
    Action,
    Decision,
    RequestKind,
    batch_for,
    holds_focus,
    is_skipped,
    resting,
    selectable,
    stops_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix.run.model import BuildCandidate, Progress, RequestBead, RoutingRules, RunView

__all__ = ["is_alignment_due", "next_action", "stops_at"]
MOST_IDLE_PASSES = 2
MOST_PASSES = 20
MOST_ALIGNS = 1
MOST_FAILURES = 2
_MOST_NAMED = 5


def next_action(view: RunView, progress: Progress, rules: RoutingRules) -> Decision:
    """What to do now; the same view and progress give the same decision."""
    answers = (question(view, progress, rules) for question in _QUESTIONS)
    decision = next(filter(None, answers), None) or _by_check(view, progress, rules)
    left_alone = _left_alone(view, progress)
    if left_alone and not decision.queue_drift_reason:
        return changed(decision, queue_drift_reason=left_alone)
    return decision


def _left_alone(view: RunView, progress: Progress) -> str:
    skipped = [bead.id for bead in view.ready if is_skipped(progress, bead.id, bead.revision)]
    if not skipped:
        return ""
    more = len(skipped) - _MOST_NAMED
    names = [*skipped[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return f"left alone until they change: {listed(names)}"


def _stop(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    if progress.stop_asked:
        return Decision(Action.STOP, least_power_explanation="a stop was asked for")
    return None


def _failing(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    if progress.failures < MOST_FAILURES:
        return None
    said = f"a check or a review could not be carried out {progress.failures} times in a row"
    question = "what stands in its way? the log says why"
    return Decision(Action.GUIDANCE, least_power_explanation=said, question=question)


def _owed_review(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    if progress.pending_review:
        said = "work has landed whose review is owed"
        return Decision(Action.REVIEW, target=progress.pending_review, least_power_explanation=said)
    for epic in view.finished_epics:
        if is_skipped(progress, epic, view.state):  # it could not be closed in this very state
            continue
        said = "all children of the epic are closed: close it, then look at the whole"
        return Decision(Action.REVIEW, target=epic, least_power_explanation=said)
    return None


def _enough(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    if rules.max_cycles and progress.completed >= rules.max_cycles:
        said = f"{progress.completed} cycles are completed, and {rules.max_cycles} were asked for"
        return Decision(Action.STOP, least_power_explanation=said)
    return None


def _guidance(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    """S-3, S-22, S-34: what a person must settle, as far as this level asks for it."""
    for gap in (*progress.gaps, *view.gaps):
        if stops_at(gap, rules.autonomy):
            return Decision(
                Action.GUIDANCE,
                least_power_explanation=gap.reason,
                blocking_authority=gap.authority,
                question=gap.question,
            )
    return None


def _periodic_alignment(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    if not is_alignment_due(progress, rules):
        return None
    said = f"{progress.completed} cycles are completed: time to look at the whole"
    return Decision(Action.ALIGN, target=rules.scope, least_power_explanation=said)


def is_alignment_due(progress: Progress, rules: RoutingRules) -> bool:
    """Once for every so many completed cycles, whatever fails in between (S-9)."""
    every = rules.review_every
    return bool(
        rules.auto_align and every and progress.completed // every > progress.aligned_at // every
    )


def _changed_documents(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    """Until a polish has converged on them, those beads are not what they were (S-3)."""
    if not view.to_polish:
        return None
    said = "documents changed under open beads: those beads are looked at before they are built"
    polish = Decision(
        Action.POLISH,
        target=view.to_polish[0],
        beads=view.to_polish,
        least_power_explanation=said,
        queue_drift_reason="governing documents changed",
    )
    return _within_bounds(polish, progress)


def _requests(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    for request in view.requests:
        answer = _answer_to(request)
        if answer is None or is_skipped(progress, request.id, request.revision):
            continue
        action, said = answer
        decision = Decision(
            action,
            target=request.target or request.id,
            beads=(request.id,),
            least_power_explanation=said,
            blocking_authority=request.target,
        )
        return _within_bounds(decision, progress)
    return None


def _answer_to(request: RequestBead) -> tuple[Action, str] | None:
    """What a request needs before anything is built for it; None: nothing."""
    match request.intent:
        case RequestKind.FUNCTIONALITY if not request.has_design:
            action = Action.EVOLVE if request.target else Action.DESIGN
            return action, "a change of behaviour is asked for and has no design yet"
        case RequestKind.ARTIFACT:
            return Action.EVOLVE, "a document is asked to change"
        case RequestKind.REVIEW:
            return Action.REVIEW, "a review is asked for"
        case _:
            return None


def _within_bounds(decision: Decision, progress: Progress) -> Decision:
    """The pass, or a person's help where passes lead nowhere (S-13)."""
    action = decision.action
    is_idle = action in (Action.DESIGN, Action.POLISH) and progress.idle_passes >= MOST_IDLE_PASSES
    if is_idle:
        said = f"{action} changed neither documents nor queue {progress.idle_passes} times in a row"
    elif progress.passes >= MOST_PASSES:
        said = f"{progress.passes} passes have led to no completed cycle"
    else:
        return decision
    question = f"what is missing? {action} is asked for again: {decision.least_power_explanation}"
    return changed(
        decision, action=Action.GUIDANCE, least_power_explanation=said, question=question
    )


def _build(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    free = selectable(view, progress)
    if not free:
        return None
    bead = free[0]
    batch = batch_for(bead, free, size=rules.batch, alone=progress.alone)
    where = f" in the focused epic {progress.focus}" if _is_in_focus(bead, progress) else ""
    said = f"{bead.id} is the first ready bead{where}"
    return Decision(Action.BUILD, target=bead.id, beads=batch, least_power_explanation=said)


def _is_in_focus(bead: BuildCandidate, progress: Progress) -> bool:
    return bool(progress.focus) and bead.parent == progress.focus


def _cooling(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    waiting = resting(view)
    if holds_focus(view, progress):
        waiting = [bead for bead in waiting if bead.parent == progress.focus]
    if not waiting:
        return None
    first = min(waiting, key=lambda bead: (Instant(bead.until).sort_key, bead.id))
    said = f"{first.id} failed a moment ago and is tried again when it has rested"
    return Decision(Action.WAIT, target=first.id, until=first.until, least_power_explanation=said)


def _by_state(view: RunView, progress: Progress, rules: RoutingRules) -> Decision | None:
    if rules.always_ask:
        return None
    known = known_by_state(
        unfinished=view.unfinished,
        epics=view.epics,
        claimed=view.claimed,
        finished=view.finished,
        documents=view.documents,
    )
    if known is None:
        return None
    return Decision(
        Action(known.answer.lower()), least_power_explanation=known.reason, question=known.question
    )


def _by_check(view: RunView, progress: Progress, rules: RoutingRules) -> Decision:
    """One answer a state, obeyed exactly (S-12); what repeats without progress ends (S-13)."""
    checked = progress.answer_to(view.state)
    if checked is None:
        said = "nothing can be built: what is missing is asked once"
        return Decision(Action.CHECK, target=rules.scope, least_power_explanation=said)
    reason = checked.reason or f"check says {checked.answer}"
    match checked.answer:
        case CheckAnswer.STOP | CheckAnswer.WAIT if _is_all_blocked(view):
            return _unblock(view)
        case CheckAnswer.STOP:
            return Decision(Action.STOP, least_power_explanation=reason)
        case CheckAnswer.WAIT:
            return Decision(Action.WAIT, least_power_explanation=reason)
        case CheckAnswer.GUIDANCE:
            question = checked.question or reason
            return Decision(Action.GUIDANCE, least_power_explanation=reason, question=question)
        case CheckAnswer.BACKFILL:
            return Decision(
                Action.BACKFILL,
                target=rules.scope,
                least_power_explanation=reason,
                question=f"run: helix backfill {rules.scope}",
            )
        case CheckAnswer.ALIGN:
            return _align_once(progress, rules, reason)
        case CheckAnswer.DESIGN | CheckAnswer.POLISH:
            action = Action.DESIGN if checked.answer is CheckAnswer.DESIGN else Action.POLISH
            decision = Decision(action, target=rules.scope, least_power_explanation=reason)
            return _within_bounds(decision, progress)
        case CheckAnswer.BUILD:
            return _nothing_to_build(progress, rules, reason)


def _is_all_blocked(view: RunView) -> bool:
    return bool(view.blocked) and len(view.blocked) == view.unfinished - view.epics - view.claimed


def _unblock(view: RunView) -> Decision:
    """Blocked work needs a person, whatever check says of the rest (C-2)."""
    return Decision(
        Action.GUIDANCE,
        target=view.blocked[0],
        beads=view.blocked,
        least_power_explanation="everything that is left is blocked",
        question="see the blocker report: each blocked bead needs a change or a decision",
    )


def _align_once(progress: Progress, rules: RoutingRules, reason: str) -> Decision:
    if rules.auto_align and progress.aligns < MOST_ALIGNS:
        return Decision(Action.ALIGN, target=rules.scope, least_power_explanation=reason)
    again = "asked for again" if rules.auto_align else "asked for, and it is not automatic here"
    return Decision(
        Action.GUIDANCE,
        target=rules.scope,
        least_power_explanation=reason,
        question=f"alignment is {again}; run: helix align {rules.scope}",
    )


def _nothing_to_build(progress: Progress, rules: RoutingRules, reason: str) -> Decision:
    """Nothing could be selected before check said BUILD, and nothing after: two in a row (S-13)."""
    if not progress.recovered:
        said = f"{reason}; but nothing can be selected: are there orphaned claims?"
        return Decision(
            Action.CHECK, target=rules.scope, least_power_explanation=said, recovers=True
        )
    return Decision(
        Action.GUIDANCE,
        target=rules.scope,
        least_power_explanation="check says BUILD, but nothing can be selected",
        question="see what holds the beads back: ddx bead blocked",
    )


_QUESTIONS: tuple[Callable[[RunView, Progress, RoutingRules], Decision | None], ...] = (
    _stop,
    _failing,
    _owed_review,
    _enough,
    _guidance,
    _periodic_alignment,
    _changed_documents,
    _requests,
    _build,
    _cooling,
    _by_state,
)
