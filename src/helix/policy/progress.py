"""How far a run has come, and how each step changes that (S-5 to S-13). Pure.

The loop carries decisions out and calls the one function here that tells of it; it knows no rule.

    build     begun, then after_cycle with what followed, then after_review where one was owed;
              not_begun instead where the bead was lost before the claim
    review    after_review, or after_epic where an epic was closed, or after_pass for a request
    check     after_check, or after_recovery where the decision says `recovers`
    align     after_align          design, polish, evolve     after_pass
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ddx.values import changed
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
)
from helix.policy.model import Action, Gap
from helix.policy.review import Clean, Findings
from helix.policy.routing import is_alignment_due
from helix.policy.trailers import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helix.policy.aftermath import Follow
    from helix.policy.model import Candidate, Checked, Decision, Progress, Rules, View
    from helix.policy.review import Verdict

_MOST_ANSWERS = 64


def begun(progress: Progress, decision: Decision, view: View) -> Progress:
    """An attempt starts: it counts as attempted, and the epic of its bead is the focus (S-9)."""
    bead = next((bead for bead in view.ready if bead.id == decision.target), None)
    focused = progress if bead is None else focus_on(progress, bead, view)
    return changed(
        focused, attempted=progress.attempted + 1, idle_passes=0, failures=0, recovered=False
    )


def not_begun(progress: Progress, beads: Sequence[Candidate]) -> Progress:
    """Drifted or taken before the claim: nothing was attempted, and it is left alone (S-6)."""
    left = skipped(progress, {bead.id: bead.revision for bead in beads})
    return changed(left, attempted=progress.attempted - 1)


def after_cycle(
    progress: Progress, follow: Follow, beads: Sequence[Candidate], *, attempt: str, reviews: bool
) -> Progress:
    """The attempt has ended; `beads` are its own, as it left them, `reviews`: one is due now."""
    match follow:
        case Completed(needs_review=needs_review):
            free = changed(progress, alone=progress.alone - {bead.id for bead in beads})
            return owe_review(free, attempt) if needs_review and reviews else _completed(free)
        case Retry():
            return progress
        case Block(reason=reason, question=question):
            free = _released_by_block(progress, beads)
            return ask_person(free, Gap(reason, question)) if question else free
        case Polish() | Skip() | AwaitLanding(by_person=True):
            return skipped(progress, {bead.id: bead.revision for bead in beads})
        case AwaitLanding():  # the tracker holds its beads back meanwhile
            return progress
        case Guide(reason=reason, question=question):
            return ask_person(progress, Gap(reason, question))
        case Park():
            return changed(progress, harness_faults=progress.harness_faults + 1)
        case RunAlone():
            return changed(progress, alone=progress.alone | {bead.id for bead in beads})
        case Stop():
            return stop(progress)
        case other:
            assert_never(other)


def after_review(progress: Progress, verdict: Verdict) -> Progress:
    """Only a clean one completes the cycle; one that cannot be read is still owed (D-10, S-17)."""
    match verdict:
        case Clean():
            return _completed(forgo_review(progress))
        case Findings():
            return forgo_review(progress)
        case Unreadable():
            return progress
        case other:
            assert_never(other)


def forgo_review(progress: Progress) -> Progress:
    """No longer owed, and no cycle is completed by that; the next one is."""
    following, *later = (*progress.owed_reviews, "")
    return changed(
        progress,
        pending_review=following,
        owed_reviews=tuple(filter(None, later)),
        failures=0,
    )


def after_epic(progress: Progress, epic: str, view: View) -> Progress:
    """It was closed and looked at, or could not be: no second time in this state (S-11)."""
    done = skipped(progress, {epic: view.state})
    return release(done) if progress.focus == epic else done


def after_check(progress: Progress, checked: Checked) -> Progress:
    """The answer is kept by its state, so that nothing is asked twice (S-14)."""
    older = {state: kept for state, kept in progress.answers.items() if state != checked.state}
    answers = dict([*older.items(), (checked.state, checked)][-_MOST_ANSWERS:])
    return changed(progress, checked=checked, answers=answers, failures=0)


def after_recovery(progress: Progress, freed: int) -> Progress:
    """The loop breaker looked for orphans; what it freed is worth another look (S-13)."""
    return changed(progress, recovered=not freed)


def after_pass(
    progress: Progress, decision: Decision, view: View, *, has_changed: bool
) -> Progress:
    """A pass is over; a request is answered once, until somebody changes it.

    A check or a review that is no request's comes here only if it could not be carried out.
    """
    requests = {request.id: request.revision for request in view.requests}
    answered = {each: requests[each] for each in decision.beads if each in requests}
    is_pass = bool(answered) or decision.action not in (Action.CHECK, Action.REVIEW)
    idle = progress.idle_passes + (decision.action in (Action.DESIGN, Action.POLISH))
    return changed(
        skipped(progress, answered),
        passes=progress.passes + 1,
        idle_passes=0 if has_changed else idle,
        failures=0 if is_pass else progress.failures + 1,
        recovered=progress.recovered and not has_changed,
    )


def after_align(progress: Progress, rules: Rules) -> Progress:
    """The periodic one is done for its count; else it was the one that check may ask for (S-12)."""
    if is_alignment_due(progress, rules):
        return changed(progress, aligned_at=progress.completed)
    return changed(progress, aligns=progress.aligns + 1)


def skipped(progress: Progress, revisions: Mapping[str, str]) -> Progress:
    """Left alone, each until its revision is another one (S-6)."""
    if not revisions:
        return progress
    return changed(progress, skipped={**progress.skipped, **revisions})


def focus_on(progress: Progress, bead: Candidate, view: View) -> Progress:
    """The epic of the picked bead, unless a child of it was blocked (S-5, S-10)."""
    is_epic = bead.parent in view.epics_with_work
    may_hold = is_epic and bead.parent not in progress.unfocused
    return changed(progress, focus=bead.parent if may_hold else "")


def release(progress: Progress) -> Progress:
    return changed(progress, focus="")


def ask_person(progress: Progress, gap: Gap) -> Progress:
    """The next decision is guidance, as far as this level of autonomy asks (S-34)."""
    return progress if gap in progress.gaps else changed(progress, gaps=(*progress.gaps, gap))


def owe_review(progress: Progress, attempt: str) -> Progress:
    """One review at a time, in the order of the landings, and none twice (S-38)."""
    if attempt in (progress.pending_review, *progress.owed_reviews):
        return progress
    if progress.pending_review:
        return changed(progress, owed_reviews=(*progress.owed_reviews, attempt))
    return changed(progress, pending_review=attempt)


def stop(progress: Progress) -> Progress:
    return changed(progress, stop_asked=True)


def _completed(progress: Progress) -> Progress:
    """Progress that gives everything back; a cycle of an earlier run does not count in this one."""
    return changed(
        progress,
        completed=min(progress.completed + 1, progress.attempted),
        passes=0,
        idle_passes=0,
        aligns=0,
        recovered=False,
    )


def _released_by_block(progress: Progress, beads: Iterable[Candidate]) -> Progress:
    epics = {bead.parent for bead in beads if bead.parent}
    free = release(progress) if progress.focus in epics else progress
    return changed(free, unfocused=progress.unfocused | epics)
