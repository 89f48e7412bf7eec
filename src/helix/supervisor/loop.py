"""The loop of `helix run`: look, decide, carry out, write down. It holds no rule."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from ddx.errors import ChangedFirst, CorruptFile, DdxError, Refused
from ddx.execution.model import Landed
from ddx.execution.orders import Begin, Ended, Stop, Wait
from ddx.files import identity_of
from ddx.instants import seconds_between
from ddx.text import listed
from ddx.tracker.committing import commit_tracker
from ddx.values import changed
from helix.desk import Agent
from helix.policy import progress as steps
from helix.policy.autonomy import Ask, Refuse, declined, permission
from helix.policy.model import EXIT_CODES, TERMINAL, Action
from helix.policy.routing import next_action
from helix.supervisor import controls
from helix.supervisor.blockers import write_report
from helix.supervisor.cycle import begin_cycle, block_worn_out, end_cycle, fly, recover_claims
from helix.supervisor.passes import carry_out, failed_pass
from helix.supervisor.run import RunEnd
from helix.supervisor.upkeep import learn_late, look_again, take_over_landed

if TYPE_CHECKING:
    from ddx.execution.work import Site
    from helix.policy.model import Decision, View
    from helix.supervisor.run import Flight, Run
    from helix.supervisor.view import Look

_POLL_S = 0.25
_WATCH_S = 1.0
_ENDS = {Ended.DENIED: 4}


class Loop:
    """One run from its start to its end."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._sites: list[Site] = []

    def work(self) -> RunEnd:
        """Until something ends it; however it ends, its state says so."""
        run = self._run
        try:
            with ThreadPoolExecutor(run.plan.workers, thread_name_prefix="worker") as pool:
                end = self._turns(pool)
        except CorruptFile as problem:  # never improvise (S-37)
            end = RunEnd(problem.message, 4)
        except DdxError as problem:
            said = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
            end = RunEnd(said, problem.exit_code)
        self._finish(end)
        return end

    def _turns(self, pool: ThreadPoolExecutor) -> RunEnd:
        with self._run.during("recovering"):
            self._start()
        end = None
        while end is None or self._run.flights:
            if end is not None or len(self._run.flights) == self._run.plan.workers:
                self._land_one()
            else:
                end = self._turn(pool)
        return end

    def _start(self) -> None:
        """What earlier runs have left comes first (X-19, S-17, S-18)."""
        run = self._run
        for done in run.bench.reconcile(run.site):
            run.journal.say(done.sentence)
            learn_late(run, done.outcome)
        take_over_landed(run)
        recover_claims(run)
        block_worn_out(run)
        run.refresh_context(run.look(), now=True)

    def _turn(self, pool: ThreadPoolExecutor) -> RunEnd | None:
        """One look, one decision, one thing done about it."""
        run = self._run
        self._heed_wishes()
        self._land_waiting()
        look = look_again(run)
        view = run.view(look)
        decision = next_action(view, run.progress, run.plan.rules)
        if run.flights and not run.goes_beside(decision):
            self._land_one()
            return None
        run.journal.decided(decision)
        run.write(last_decision=decision.as_row())
        if decision.action in TERMINAL or decision.action is Action.WAIT:
            return self._rest_or_end(decision, view)
        if end := self._forbidden(decision):
            return end
        return self._carry_out(decision, view, look, pool)

    def _carry_out(
        self, decision: Decision, view: View, look: Look, pool: ThreadPoolExecutor
    ) -> RunEnd | None:
        run = self._run
        is_review = decision.action is Action.REVIEW
        agent = run.desk.reviewer if is_review else run.desk.builder
        match run.meter.step(agent.harness):
            case Stop(ended=ended, reason=reason):
                return RunEnd(reason, _ENDS.get(ended, 1), decision)
            case Wait(reason=reason, until=until):
                run.journal.say(reason)
                if run.flights:
                    self._land_one()
                else:
                    self._rest("parked", until)
                return None
            case Begin(harness=harness) if harness != agent.harness:
                run.journal.say(f"{agent.harness} cannot go on; {harness} takes over")
                agent = Agent(harness)
        if decision.action is Action.BUILD:
            flight = begin_cycle(run, decision, view, look, agent)
            site = self._sites.pop() if self._sites else run.open_site()
            future = pool.submit(fly, run.bench, site, flight.policy)
            run.flights[future] = flight
            future.add_done_callback(lambda _: self._sites.append(site))
            run.write()
            return None
        try:
            with run.asking(agent, reviews=is_review):
                return carry_out(run, decision, view)
        except (Refused, ChangedFirst) as problem:
            failed_pass(run, decision, problem, view)
            return None

    def _forbidden(self, decision: Decision) -> RunEnd | None:
        run = self._run
        has_terminal = run.confirm is not None
        match permission(decision, run.plan.rules.autonomy, has_terminal=has_terminal):
            case Refuse(reason=reason, exit_code=code):
                return RunEnd(reason, code, decision)
            case Ask(question=question) if run.confirm and not run.confirm(question):
                no = declined(decision)
                return RunEnd(no.least_power_explanation, 0, no)
        return None

    # -- waiting -----------------------------------------------------------------------------

    def _land_one(self) -> None:
        """Wait a while for an attempt to end: not for ever, or Ctrl-C may not be heard (S-21)."""
        run = self._run
        done, _ = wait(run.flights, _WATCH_S, return_when=FIRST_COMPLETED)
        for future in list(done)[:1]:  # its review comes before the next one is looked at
            flight: Flight = run.flights.pop(future)
            end_cycle(run, flight, future.result())

    def _rest_or_end(self, decision: Decision, view: View) -> RunEnd | None:
        run = self._run
        if decision.until:
            self._rest("cooling", decision.until)
            return None
        is_asked = run.progress.stop_asked or decision.action not in (Action.STOP, Action.WAIT)
        if run.plan.watch and not is_asked and not run.is_counted_out:
            self._watch(view)
            return None
        reason = decision.question or decision.least_power_explanation
        return RunEnd(reason, EXIT_CODES[decision.action], decision)

    def _rest(self, phase: str, until: str) -> None:
        """A while, unless somebody changes the queue or asks us to stop."""
        site = self._run.site
        seen = identity_of(site.tracker.path)
        with self._run.during(phase):
            while not self._is_over and identity_of(site.tracker.path) == seen:
                left_s = seconds_between(site.clock.stamp(), until)
                if left_s is None or left_s <= 0:
                    return
                site.clock.sleep(min(left_s, _POLL_S))

    def _watch(self, view: View) -> None:
        """Until queue or documents are not what they were; nobody is asked anything (S-33)."""
        run = self._run
        with run.during("watching"):
            while not self._is_over:
                run.site.clock.sleep(_WATCH_S)
                if changed(run.view(run.look()), now="") != changed(view, now=""):
                    return

    @property
    def _is_over(self) -> bool:
        run = self._run
        is_asked = controls.is_asked(run.site.project, controls.Wish.STOP)
        return run.winding_down or bool(run.site.stop.asked) or is_asked

    def _heed_wishes(self) -> None:
        """Stop and pause, from the keyboard or from a second terminal (S-21, S-26)."""
        run = self._run
        project = run.site.project
        if controls.is_asked(project, controls.Wish.PAUSE) and not self._is_over:
            run.journal.say("paused; go on with: helix resume")
            with run.during("paused"):
                while controls.is_asked(project, controls.Wish.PAUSE) and not self._is_over:
                    run.site.clock.sleep(_POLL_S)
        if self._is_over:
            run.progress = steps.stop(run.progress)

    # -- boundaries --------------------------------------------------------------------------

    def _land_waiting(self) -> None:
        """What was proven and could not land may be able to now (X-13)."""
        run = self._run
        for outcome in run.bench.land_waiting(run.site):
            run.journal.say(f"{listed(outcome.facts.beads)} had waited to land: {outcome.status}")
            if isinstance(outcome, Landed):
                learn_late(run, outcome)
                take_over_landed(run)

    def _finish(self, end: RunEnd) -> None:
        run = self._run
        project = run.site.project
        report = write_report(project.root, run.journal.stamp, tuple(run.blockers.values()))
        if run.site.settings.tracker_commit == "on-stop":
            try:
                commit_tracker(project, message="tracker: after a run")
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
