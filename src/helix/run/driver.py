"""The driver of `helix run`: looks, decides, and says what to do. It holds no rule and no loop.

A build is a cycle; everything else that a run carries out is here: review, check, polish, and the
passes that write documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ddx.attempts import Attempt, End, Landed, Pass, Rest
from ddx.base import ConcurrentChange, CorruptFile, DdxError, NotFound, Refused, changed, listed
from ddx.tracker import BeadClosure
from helix.passes import (
    CheckResult,
    CleanReview,
    PassEnd,
    ReviewFindings,
    UnreadableTrailer,
    check,
    file_unfiled,
    make_pass,
    order_pass,
    polish,
    review,
    scope_subject,
)
from helix.run import aftermath as steps
from helix.run.build_policy import file_review, learn, read_landed
from helix.run.cycle import begin_cycle, block_worn_out, end_cycle, told, trace_failures
from helix.run.journal import write_report
from helix.run.model import EXIT_CODES, TERMINAL, Action, Ask, Gap, Refuse, declined, permission
from helix.run.routing import next_action
from helix.run.upkeep import look_again, recover_claims

if TYPE_CHECKING:
    from ddx.attempts import Answer, Engine, Idle, Outcome
    from ddx.attempts import View as EngineView
    from helix.passes import PassOrder, PassResult
    from helix.project import PassContext
    from helix.run.build_policy import ReviewResult
    from helix.run.model import Decision, RunView
    from helix.run.run import Run

_WATCH_S = 1.0


def work(run: Run, engine: Engine) -> End:
    """One run until something ends it; however it ends, its state says so."""
    run.enter("recovering")
    try:
        end = engine.run()
    except DdxError as problem:
        run.decision = None
        is_corrupt = isinstance(problem, CorruptFile)  # never improvise (S-37)
        said = problem.message
        if problem.hint and not is_corrupt:
            said = f"{said} ({problem.hint})"
        end = End(said, 4 if is_corrupt else problem.exit_code)
    _finish(run, end)
    return end


class RunDriver:
    """Asked by the engine; everything that it knows is the run's."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._has_begun = False
        self._watched: RunView | None = None
        """What was seen when there was nothing to do; another sight ends the watch (S-33)."""

    def next(self, view: EngineView) -> Answer:
        """One look, one decision."""
        run = self._run
        if not self._has_begun:
            self._begin()
        if view.is_over:
            run.progress = steps.stop(run.progress)
        for attempt in view.owed:
            run.progress = steps.owe_review(run.progress, attempt)
        look = look_again(run)
        seen = run.view(look)
        if not view.is_over and changed(seen, now="") == self._watched:
            return Rest(run.site.clock.stamp(after_s=_WATCH_S))
        self._watched = None
        run.enter()
        decision = next_action(seen, run.progress, run.plan.rules)
        if view.running and not run.goes_beside(decision):
            return Rest()
        run.decision = decision
        run.journal.decided(decision)
        run.write(last_decision=decision.as_row())
        if decision.action in TERMINAL or decision.action is Action.WAIT:
            return self._rest_or_end(decision, seen)
        if end := self._forbidden(decision):
            return end
        if decision.action is Action.BUILD:
            return Attempt(
                run.desk.builder.harness,
                lambda harness: begin_cycle(run, decision, seen, look, run.agent_of(harness)),
                name=decision.beads[0],
            )
        is_review = decision.action is Action.REVIEW
        agent = run.desk.reviewer if is_review else run.desk.builder
        return Pass(agent.harness, lambda harness: self._pass(decision, seen, harness))

    def ended(self, attempt: Attempt, outcome: Outcome | Idle) -> None:
        end_cycle(self._run, attempt.name, outcome)

    def recovered(self, outcome: Outcome, sentence: str) -> None:
        self._run.journal.say(sentence)
        self._learn_late(outcome)

    def landed_late(self, outcome: Outcome) -> None:
        run = self._run
        run.journal.say(f"{listed(outcome.facts.beads)} had waited to land: {outcome.status}")
        if isinstance(outcome, Landed):
            self._learn_late(outcome)
            self._take_over_landed()

    def parked(self, reason: str) -> None:
        self._run.journal.say(reason)
        self._run.enter("parked")

    def paused(self) -> None:
        self._run.journal.say("paused; go on with: helix resume")
        self._run.enter("paused")

    def resumed(self) -> None:
        self._run.enter()

    def review_lost(self, attempt: str) -> None:
        journal = self._run.journal
        journal.say(f"attempt {attempt} was to be reviewed, and cannot be: its record is gone")
        journal.note("review", attempt=attempt, verdict="lost")

    def _begin(self) -> None:
        """What earlier runs have left comes first (X-19, S-17, S-18)."""
        run, self._has_begun = self._run, True
        self._take_over_landed()
        recover_claims(run)
        block_worn_out(run)
        run.refresh_context(run.look(), now=True)

    def _take_over_landed(self) -> None:
        """What landed while nobody waited for it left drafts: they become beads."""
        for sentence in file_unfiled(self._run.desk):
            self._run.journal.say(sentence)

    def _learn_late(self, outcome: Outcome) -> None:
        """Memory hears of what ended without us, too (M-8)."""
        for remark in learn(self._run.desk, outcome):
            self._run.journal.remark(remark)

    def _pass(self, decision: Decision, seen: RunView, harness: str) -> End | None:
        """A review, check, polish or the like; one that somebody is in the way of is counted."""
        run = self._run
        is_review = decision.action is Action.REVIEW
        agent = run.agent_of(harness, reviews=is_review)
        try:
            with run.asking(agent, reviews=is_review), run.during(str(decision.action)):
                return carry_out(run, decision, seen)
        except (Refused, ConcurrentChange) as problem:
            failed_pass(run, decision, problem, seen)
            return None

    def _forbidden(self, decision: Decision) -> End | None:
        run = self._run
        has_terminal = run.confirm is not None
        match permission(decision, run.plan.rules.autonomy, has_terminal=has_terminal):
            case Refuse(reason=reason, exit_code=code):
                return End(reason, code)
            case Ask(question=question) if run.confirm and not run.confirm(question):
                run.decision = declined(decision)
                return End(run.decision.least_power_explanation)
        return None

    def _rest_or_end(self, decision: Decision, seen: RunView) -> Answer:
        run = self._run
        if decision.until:
            run.enter("cooling")
            return Rest(decision.until)
        is_asked = run.progress.stop_asked or decision.action not in (Action.STOP, Action.WAIT)
        if run.plan.watch and not is_asked and not run.is_counted_out:
            run.enter("watching")
            self._watched = changed(seen, now="")
            return Rest(run.site.clock.stamp(after_s=_WATCH_S))
        reason = decision.question or decision.least_power_explanation
        return End(reason, EXIT_CODES[decision.action])


def _finish(run: Run, end: End) -> None:
    project = run.site.project
    report = write_report(project.root, run.journal.stamp, tuple(run.blockers.values()))
    if run.site.settings.tracker_commit == "on-stop":
        try:
            run.site.tracker.commit(message="tracker: after a run")
        except DdxError as problem:
            run.journal.say(f"the tracker was not committed: {problem.message}")
    run.write(phase="ended", stop_reason=end.reason, exit_code=end.exit_code)
    run.journal.note("end", reason=end.reason, exit_code=end.exit_code, report=report)
    done = run.progress
    run.journal.say(
        f"run complete: {done.attempted} attempted, {done.completed} completed, "
        f"{len(run.blockers)} skipped or blocked, {run.meter.usage.tokens} tokens: {end.reason}"
    )
    if report:
        run.journal.say(f"what is in the way: {report}")


FAILED, PERSON = 1, 4
_VERDICT_WORDS = {CleanReview: "clean", ReviewFindings: "findings", UnreadableTrailer: "unreadable"}


def carry_out(run: Run, decision: Decision, view: RunView) -> End | None:
    """One pass and what follows from it; an end if the run must not go on."""
    match decision.action:
        case Action.CHECK if decision.recovers:
            run.progress = steps.after_recovery(run.progress, recover_claims(run))
            return None
        case Action.CHECK:
            return _check(run, decision, view)
        case Action.REVIEW if decision.target == run.progress.pending_review:
            return _review_attempt(run, decision)
        case Action.REVIEW if decision.target in view.finished_epics:
            return _review_epic(run, decision, view)
        case Action.REVIEW:
            return _review_scope(run, decision, view)
        case Action.ALIGN:
            _told_of(run, decision, make_pass(run.desk, order_of(run.desk, decision)))
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


def _check(run: Run, decision: Decision, view: RunView) -> End | None:
    match check(run.desk, run.scope, always_ask=run.plan.rules.always_ask):
        case CheckResult() as checked:
            run.journal.note("check", answer=str(checked.answer), reason=checked.reason)
            run.journal.remark(f"check says {checked.answer}: {checked.reason}")
            run.progress = steps.after_check(run.progress, checked)
            return None
        case UnreadableTrailer() if run.meter.is_parked(run.desk.builder.harness):
            return None
        case UnreadableTrailer(reason=reason):
            return End(f"check cannot be read: {reason}", FAILED)
        case other:
            assert_never(other)


def _pass(run: Run, decision: Decision) -> PassResult:
    if decision.action is Action.POLISH:
        return polish(run.desk, decision.target, beads=decision.beads)
    return make_pass(run.desk, order_of(run.desk, decision))


def order_of(desk: PassContext, decision: Decision) -> PassOrder:
    """The pass over documents that was decided on; evolve carries the words of its bead."""
    if decision.action is not Action.EVOLVE:
        return order_pass(desk, str(decision.action), decision.target)
    bead = desk.site.tracker.snapshot().bead(decision.beads[0])
    words = "\n\n".join(filter(None, (bead.title, bead.description)))
    return order_pass(desk, str(decision.action), words=words, artifact=bead.spec_id)


def _told_of(run: Run, decision: Decision, done: PassResult) -> None:
    run.journal.note("pass", action=done.action, ended=str(done.ended), reason=done.reason)
    run.journal.remark(f"{done.action}: {done.word or done.ended}; {done.reason}".rstrip("; "))
    if done.ended in (PassEnd.GUIDANCE, PassEnd.BLOCKED):
        reason = f"{done.action} needs a person: {done.word}"
        question = done.values.get("CONFLICTS") or done.reason or reason
        run.progress = steps.ask_person(run.progress, Gap(reason, question, decision.target))


# -- review --------------------------------------------------------------------------------


def _review_scope(run: Run, decision: Decision, view: RunView) -> End | None:
    """Because a request asks for it."""
    seen = file_review(run.desk, review(run.desk, scope_subject(run.site, decision.target)))
    run.journal.remark(seen.sentence)
    if isinstance(seen.verdict, UnreadableTrailer):
        return End(seen.sentence, PERSON)
    _ask(run, seen)
    run.progress = steps.after_pass(
        run.progress, decision, view, has_changed=seen.filed.has_changed
    )
    return None


def _review_attempt(run: Run, decision: Decision) -> End | None:
    attempt = decision.target
    try:
        subject, beads = read_landed(run.desk, attempt)
    except NotFound as problem:
        run.journal.say(f"attempt {attempt} was to be reviewed, and cannot be: {problem.message}")
        run.journal.note("review", attempt=attempt, verdict="lost")
        run.progress = steps.forgo_review(run.progress)
        run.reviews.forget(attempt)
        if cycle := run.landed.pop(attempt, None):
            told(run, cycle, "NOT REVIEWED", reason=problem.message)
        return None
    seen = file_review(run.desk, review(run.desk, subject), beads)
    run.journal.note("review", attempt=attempt, verdict=_VERDICT_WORDS[type(seen.verdict)])
    run.journal.remark(f"{', '.join(seen.beads)}: {seen.sentence}")
    run.progress = steps.after_review(run.progress, seen.verdict)
    if isinstance(seen.verdict, UnreadableTrailer):
        if run.meter.is_parked(run.desk.reviewer.harness):
            return None  # it is still owed
        return End(seen.sentence, PERSON)
    run.reviews.forget(attempt)
    _ask(run, seen)
    if cycle := run.landed.pop(attempt, None):
        word = "COMPLETE" if isinstance(seen.verdict, CleanReview) else "FINDINGS"
        told(run, cycle, word, reason=seen.sentence)
    return None


def _review_epic(run: Run, decision: Decision, view: RunView) -> End | None:
    """Closed first; then the whole is looked at, by its governing document (S-11)."""
    epic = decision.target
    bead = run.site.tracker.snapshot().bead(epic)
    ending = BeadClosure("all its children are closed")
    try:
        run.site.tracker.edit(lambda edit: edit.close(epic, ending))
    except (Refused, ConcurrentChange) as problem:
        run.journal.say(f"{epic} could not be closed: {problem.message}")
        run.progress = steps.after_epic(run.progress, epic, view)
        return None
    run.journal.say(f"{epic} is closed: all its children are")
    run.journal.note("epic-closed", epic=epic)
    run.progress = steps.after_epic(run.progress, epic, view)
    trace_failures(run, epic)
    scope = bead.spec_id
    if not run.plan.reviews or not scope:
        return None
    seen = file_review(run.desk, review(run.desk, scope_subject(run.site, scope)), (epic,))
    run.journal.remark(f"{epic}: {seen.sentence}")
    _ask(run, seen)
    return End(seen.sentence, PERSON) if isinstance(seen.verdict, UnreadableTrailer) else None


def _ask(run: Run, seen: ReviewResult) -> None:
    """A chain of findings about findings is a person's to end (S-13)."""
    if seen.filed.question:
        gap = Gap("findings about findings go too deep", seen.filed.question)
        run.progress = steps.ask_person(run.progress, gap)


def failed_pass(run: Run, decision: Decision, problem: DdxError, view: RunView) -> None:
    """Somebody holds what the pass needs: it changed nothing, and that is counted (S-13)."""
    run.journal.say(f"{decision.action} was not carried out: {problem.message}")
    if decision.action is Action.ALIGN:
        run.progress = steps.after_align(run.progress, run.plan.rules)
    else:
        run.progress = steps.after_pass(run.progress, decision, view, has_changed=False)
