"""Everything a run carries out besides builds: review, check, polish, design, evolve, align."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ddx.errors import ChangedFirst, DdxError, NotFound, Refused
from ddx.tracker.lifecycle import Ending, close
from ddx.tracker.model import RUNNER, link_of, text_of
from helix.actions.model import Ended
from helix.policy import progress as steps
from helix.policy.model import Action, Checked, Gap
from helix.policy.review import Clean
from helix.policy.trailers import Unreadable
from helix.supervisor import reviews
from helix.supervisor.cycle import recover_claims, told
from helix.supervisor.measuring import trace_failures
from helix.supervisor.run import RunEnd
from helix.work import file_review

if TYPE_CHECKING:
    from helix.actions.model import Pass
    from helix.policy.model import Decision, View
    from helix.supervisor.run import Run
    from helix.work import ReviewOf

FAILED, PERSON = 1, 4


def carry_out(run: Run, decision: Decision, view: View) -> RunEnd | None:
    """One pass and what follows from it; an end if the run must not go on."""
    with run.during(str(decision.action)):
        return _carried_out(run, decision, view)


def _carried_out(run: Run, decision: Decision, view: View) -> RunEnd | None:
    match decision.action:
        case Action.CHECK if decision.recovers:
            run.progress = steps.after_recovery(run.progress, recover_claims(run))
            return None
        case Action.CHECK:
            return _check(run, decision, view)
        case Action.REVIEW:
            return _review(run, decision, view)
        case Action.ALIGN:
            _told_of(run, decision, run.bench.align(run.desk, decision.target))
            run.progress = steps.after_align(run.progress, run.plan.rules)
            return None
        case Action.POLISH | Action.DESIGN | Action.EVOLVE:
            done = _pass(run, decision)
            _told_of(run, decision, done)
            run.progress = steps.after_pass(
                run.progress, decision, view, has_changed=done.has_changed
            )
            return None
        case _:
            raise ValueError(f"{decision.action} is no pass")


def _check(run: Run, decision: Decision, view: View) -> RunEnd | None:
    match run.bench.check(run.desk, run.scope, always_ask=run.plan.rules.always_ask):
        case Checked() as checked:
            run.journal.note("check", answer=str(checked.answer), reason=checked.reason)
            run.journal.remark(f"check says {checked.answer}: {checked.reason}")
            run.progress = steps.after_check(run.progress, checked)
            return None
        case Unreadable() if run.is_parked(run.desk.builder):
            return None
        case Unreadable(reason=reason):
            return RunEnd(f"check cannot be read: {reason}", FAILED, decision)
        case other:
            assert_never(other)


def _pass(run: Run, decision: Decision) -> Pass:
    desk = run.desk
    match decision.action:
        case Action.POLISH:
            return run.bench.polish(desk, decision.target, decision.beads)
        case Action.DESIGN:
            return run.bench.design(desk, decision.target)
        case _:
            row = run.site.tracker.snapshot().row(decision.beads[0])
            words = "\n\n".join(filter(None, (text_of(row, "title"), text_of(row, "description"))))
            return run.bench.evolve(desk, words, artifact=link_of(row, "spec-id"))


def _told_of(run: Run, decision: Decision, done: Pass) -> None:
    run.journal.note("pass", action=done.action, ended=str(done.ended), reason=done.reason)
    run.journal.remark(f"{done.action}: {done.word or done.ended}; {done.reason}".rstrip("; "))
    if done.ended in (Ended.GUIDANCE, Ended.BLOCKED):
        reason = f"{done.action} needs a person: {done.word}"
        question = done.values.get("CONFLICTS") or done.reason or reason
        run.progress = steps.ask_person(run.progress, Gap(reason, question, decision.target))


# -- review --------------------------------------------------------------------------------


def _review(run: Run, decision: Decision, view: View) -> RunEnd | None:
    """Of an attempt, of an epic that is finished, or because a request asks for it."""
    if decision.target == run.progress.pending_review:
        return _review_attempt(run, decision)
    if decision.target in view.finished_epics:
        return _review_epic(run, decision, view)
    seen = file_review(run.desk, run.bench.review_scope(run.desk, decision.target))
    run.journal.remark(seen.sentence)
    if isinstance(seen.verdict, Unreadable):
        return RunEnd(seen.sentence, PERSON, decision)
    _ask(run, seen)
    run.progress = steps.after_pass(
        run.progress, decision, view, has_changed=seen.filed.has_changed
    )
    return None


def _review_attempt(run: Run, decision: Decision) -> RunEnd | None:
    attempt = decision.target
    try:
        seen = run.bench.review_landed(run.desk, attempt)
    except NotFound as problem:
        run.journal.say(f"attempt {attempt} was to be reviewed, and cannot be: {problem.message}")
        run.journal.note("review", attempt=attempt, verdict="lost")
        run.progress = steps.forgo_review(run.progress)
        reviews.forget(run.site.project, attempt)
        if flight := run.landed.pop(attempt, None):
            told(run, flight, "NOT REVIEWED", reason=problem.message)
        return None
    run.journal.note("review", attempt=attempt, verdict=type(seen.verdict).__name__.lower())
    run.journal.remark(f"{', '.join(seen.beads)}: {seen.sentence}")
    run.progress = steps.after_review(run.progress, seen.verdict)
    if isinstance(seen.verdict, Unreadable):
        if run.is_parked(run.desk.reviewer):
            return None  # it is still owed
        return RunEnd(seen.sentence, PERSON, decision)
    reviews.forget(run.site.project, attempt)
    _ask(run, seen)
    if flight := run.landed.pop(attempt, None):
        word = "COMPLETE" if isinstance(seen.verdict, Clean) else "FINDINGS"
        told(run, flight, word, reason=seen.sentence)
    return None


def _review_epic(run: Run, decision: Decision, view: View) -> RunEnd | None:
    """Closed first; then the whole is looked at, by its governing document (S-11)."""
    epic = decision.target
    row = run.site.tracker.snapshot().row(epic)
    ending = Ending("all its children are closed")
    try:
        run.site.tracker.change(
            lambda snapshot, now: close(snapshot, epic, ending, actor=RUNNER, now=now)
        )
    except (Refused, ChangedFirst) as problem:
        run.journal.say(f"{epic} could not be closed: {problem.message}")
        run.progress = steps.after_epic(run.progress, epic, view)
        return None
    run.journal.say(f"{epic} is closed: all its children are")
    run.journal.note("epic-closed", epic=epic)
    run.progress = steps.after_epic(run.progress, epic, view)
    trace_failures(run, epic)
    scope = link_of(row, "spec-id")
    if not run.plan.reviews or not scope:
        return None
    seen = file_review(run.desk, run.bench.review_scope(run.desk, scope), (epic,))
    run.journal.remark(f"{epic}: {seen.sentence}")
    _ask(run, seen)
    return RunEnd(seen.sentence, PERSON, decision) if isinstance(seen.verdict, Unreadable) else None


def _ask(run: Run, seen: ReviewOf) -> None:
    """A chain of findings about findings is a person's to end (S-13)."""
    if seen.filed.question:
        gap = Gap("findings about findings go too deep", seen.filed.question)
        run.progress = steps.ask_person(run.progress, gap)


def failed_pass(run: Run, decision: Decision, problem: DdxError, view: View) -> None:
    """Somebody holds what the pass needs: it changed nothing, and that is counted (S-13)."""
    run.journal.say(f"{decision.action} was not carried out: {problem.message}")
    if decision.action is Action.ALIGN:
        run.progress = steps.after_align(run.progress, run.plan.rules)
    else:
        run.progress = steps.after_pass(run.progress, decision, view, has_changed=False)
