"""What follows from a step of a run: about the bead, and how far the run has come. Pure.

After an attempt, one table from the status that it ended in (S-35, S-10). That it was preserved
says nothing here: it only ended the attempt. The status counts.

Then, how each step changes the progress (S-5 to S-13). The loop carries decisions out and calls the
one function here that tells of it; it knows no rule.

    build     begun, then after_cycle with what followed, then after_review where one was owed;
              not_begun instead where the bead was lost before the claim
    review    after_review, or after_epic where an epic was closed, or after_pass for a request
    check     after_check, or after_recovery where the decision says `recovers`
    align     after_align          design, polish, evolve     after_pass
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias, assert_never

from ddx.attempts import AttemptStatus
from ddx.base import changed, counted, value
from helix.passes import CleanReview, ReviewFindings, UnreadableTrailer
from helix.run.model import Action, Gap
from helix.run.routing import is_alignment_due

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helix.passes import CheckResult, ReviewVerdict
    from helix.run.model import BuildCandidate, Decision, Progress, RoutingRules, RunView


@value
class Completed:
    """Landed and closed, or done already; a cycle once its review is clean (D-11)."""

    reason: str
    needs_review: bool


@value
class Retry:
    """The same bead again when it has rested; other work may run meanwhile (D-7)."""

    reason: str
    after_s: float


@value
class BlockBead:
    """Tried often enough: it rests until somebody changes what it stands on (S-10)."""

    reason: str
    attempts: int
    question: str = ""
    """What a person must decide as well; empty: nothing."""


@value
class Polish:
    """What governs the bead changed: it is looked at before it is built again (S-23)."""

    reason: str


@value
class Skip:
    """The bead itself changed: left alone in this run until it changes again (S-6)."""

    reason: str


@value
class Guide:
    """Only a person can say how it goes on (X-27)."""

    reason: str
    question: str


@value
class AwaitLanding:
    """Proven and kept: it lands when the checkout lets it, or when a person says so (X-13)."""

    reason: str
    by_person: bool


@value
class Park:
    """The harness failed, not the bead: the harness's health tells how it goes on (X-8)."""

    reason: str


@value
class RunAlone:
    """A batch that did not land: no member is charged, each runs alone next (S-8)."""

    reason: str


@value
class StopRun:
    """The run was interrupted."""

    reason: str


Follow: TypeAlias = (
    Completed | Retry | BlockBead | Polish | Skip | Guide | AwaitLanding | Park | RunAlone | StopRun
)


class FollowKind(Enum):
    """What a status leads to, before attempts, batches and drift are weighed."""

    REVIEW = auto()
    DONE = auto()
    AGAIN = auto()
    LOOK = auto()
    ASK = auto()
    LAND = auto()
    LAND_BY_HAND = auto()
    HEALTH = auto()
    END = auto()


WAYS: Mapping[AttemptStatus, tuple[FollowKind, str]] = {
    AttemptStatus.SUCCESS: (FollowKind.REVIEW, "it landed"),
    AttemptStatus.ALREADY_SATISFIED: (FollowKind.DONE, "every check passes already"),
    AttemptStatus.CHECK_FAILED: (FollowKind.AGAIN, "a check failed"),
    AttemptStatus.RATCHET_FAILED: (FollowKind.AGAIN, "a number got worse"),
    AttemptStatus.NOTHING_DONE: (FollowKind.AGAIN, "nothing was done"),
    AttemptStatus.AGENT_FAILED: (FollowKind.AGAIN, "the agent failed"),
    AttemptStatus.TIMEOUT: (FollowKind.AGAIN, "the time was up"),
    AttemptStatus.LAND_CONFLICT: (FollowKind.AGAIN, "it clashes with what landed meanwhile"),
    AttemptStatus.AUTHORITY: (FollowKind.ASK, "it edits a document above its own authority"),
    AttemptStatus.DRIFT: (FollowKind.LOOK, "what governs it changed during the attempt"),
    AttemptStatus.OPERATOR_EDITS: (
        FollowKind.LAND,
        "it is proven and waits for edits in the checkout",
    ),
    AttemptStatus.UNMERGED: (FollowKind.LAND_BY_HAND, "it is kept and was not to be merged"),
    AttemptStatus.HARNESS_FAULT: (FollowKind.HEALTH, "the harness failed"),
    AttemptStatus.INTERRUPTED: (FollowKind.END, "the attempt was interrupted"),
}
_SHARED_FATE = frozenset({FollowKind.AGAIN, FollowKind.ASK, FollowKind.LOOK})
"""Of a batch: one member's fault may be behind these, and nobody can tell whose."""


def follow(
    status: AttemptStatus,
    attempts: int,
    rules: RoutingRules,
    *,
    was_batch: bool = False,
    left_open: str = "",
    documents_drifted: bool = True,
) -> Follow:
    """What is done about the bead now.

    `attempts` counts those charged to it, this one included; `left_open` is why a bead whose work
    is done was not closed; a drift that is not the documents' is the bead's own.
    """
    way, reason = WAYS[status]
    if was_batch and way in _SHARED_FATE:
        return RunAlone(f"{reason}; its beads run alone next")
    match way:
        case FollowKind.REVIEW | FollowKind.DONE if left_open:
            return Skip(f"{reason}, but it was left open: {left_open}")
        case FollowKind.REVIEW | FollowKind.DONE:
            return Completed(reason, needs_review=way is FollowKind.REVIEW)
        case FollowKind.AGAIN:
            return _again(reason, attempts, rules)
        case FollowKind.LOOK if documents_drifted:
            return Polish(reason)
        case FollowKind.LOOK:
            return Skip("the bead was changed during the attempt")
        case FollowKind.ASK:
            question = "may it? name the document in the bead, or change the bead"
            if attempts >= rules.max_attempts:
                return _worn_out(reason, attempts, question)
            return Guide(reason, question)
        case FollowKind.LAND | FollowKind.LAND_BY_HAND:
            return AwaitLanding(reason, by_person=way is FollowKind.LAND_BY_HAND)
        case FollowKind.HEALTH:
            return Park(reason)
        case FollowKind.END:
            return StopRun(reason)
        case other:
            assert_never(other)


def _again(reason: str, attempts: int, rules: RoutingRules) -> Retry | BlockBead:
    """The last one allowed is followed by no wait (D-7)."""
    if attempts >= rules.max_attempts:
        return _worn_out(reason, attempts)
    rest_s = delay_s(max(attempts, 1)) if rules.backoff_s is None else rules.backoff_s
    return Retry(f"{reason}; it is tried again in {rest_s:g} s", rest_s)


def _worn_out(reason: str, attempts: int, question: str = "") -> BlockBead:
    tried = counted(attempts, "attempt")
    return BlockBead(f"{reason} for the last time: {tried}", attempts, question)


FIRST_S = 5.0
LONGEST_S = 40.0


def delay_s(failed: int) -> float:
    """After the n-th failed attempt: 5, 10, 20, 40 and never more."""
    if failed < 1:
        raise ValueError(f"no attempt has failed yet: {failed}")
    return min(FIRST_S * 2.0 ** min(failed - 1, 10), LONGEST_S)


_MOST_ANSWERS = 64


def begun(progress: Progress, decision: Decision, view: RunView) -> Progress:
    """An attempt starts: it counts as attempted, and the epic of its bead is the focus (S-9)."""
    bead = next((bead for bead in view.ready if bead.id == decision.target), None)
    focused = progress if bead is None else focus_on(progress, bead, view)
    return changed(
        focused, attempted=progress.attempted + 1, idle_passes=0, failures=0, recovered=False
    )


def not_begun(progress: Progress, beads: Sequence[BuildCandidate]) -> Progress:
    """Drifted or taken before the claim: nothing was attempted, and it is left alone (S-6)."""
    left = skipped(progress, {bead.id: bead.revision for bead in beads})
    return changed(left, attempted=progress.attempted - 1)


def after_cycle(
    progress: Progress,
    follow: Follow,
    beads: Sequence[BuildCandidate],
    *,
    attempt: str,
    reviews: bool,
) -> Progress:
    """The attempt has ended; `beads` are its own, as it left them, `reviews`: one is due now."""
    match follow:
        case Completed(needs_review=needs_review):
            free = changed(progress, alone=progress.alone - {bead.id for bead in beads})
            return owe_review(free, attempt) if needs_review and reviews else _completed(free)
        case Retry():
            return progress
        case BlockBead(reason=reason, question=question):
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
        case StopRun():
            return stop(progress)
        case other:
            assert_never(other)


def after_review(progress: Progress, verdict: ReviewVerdict) -> Progress:
    """Only a clean one completes the cycle; one that cannot be read is still owed (D-10, S-17)."""
    match verdict:
        case CleanReview():
            return _completed(forgo_review(progress))
        case ReviewFindings():
            return forgo_review(progress)
        case UnreadableTrailer():
            return progress
        case other:
            assert_never(other)


def forgo_review(progress: Progress) -> Progress:
    """No longer owed, and no cycle is completed by that; the next one is."""
    following, *later = (*progress.owed_reviews, "")
    return changed(
        progress, pending_review=following, owed_reviews=tuple(filter(None, later)), failures=0
    )


def after_epic(progress: Progress, epic: str, view: RunView) -> Progress:
    """It was closed and looked at, or could not be: no second time in this state (S-11)."""
    done = skipped(progress, {epic: view.state})
    return release(done) if progress.focus == epic else done


def after_check(progress: Progress, checked: CheckResult) -> Progress:
    """The answer is kept by its state, so that nothing is asked twice (S-14)."""
    older = {state: kept for state, kept in progress.answers.items() if state != checked.state}
    answers = dict([*older.items(), (checked.state, checked)][-_MOST_ANSWERS:])
    return changed(progress, checked=checked, answers=answers, failures=0)


def after_recovery(progress: Progress, freed: int) -> Progress:
    """The loop breaker looked for orphans; what it freed is worth another look (S-13)."""
    return changed(progress, recovered=not freed)


def after_pass(
    progress: Progress, decision: Decision, view: RunView, *, has_changed: bool
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


def after_align(progress: Progress, rules: RoutingRules) -> Progress:
    """The periodic one is done for its count; else it was the one that check may ask for (S-12)."""
    if is_alignment_due(progress, rules):
        return changed(progress, aligned_at=progress.completed)
    return changed(progress, aligns=progress.aligns + 1)


def skipped(progress: Progress, revisions: Mapping[str, str]) -> Progress:
    """Left alone, each until its revision is another one (S-6)."""
    if not revisions:
        return progress
    return changed(progress, skipped={**progress.skipped, **revisions})


def focus_on(progress: Progress, bead: BuildCandidate, view: RunView) -> Progress:
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


def _released_by_block(progress: Progress, beads: Iterable[BuildCandidate]) -> Progress:
    epics = {bead.parent for bead in beads if bead.parent}
    free = release(progress) if progress.focus in epics else progress
    return changed(free, unfocused=progress.unfocused | epics)
