"""The third phase: every task as a managed attempt, side by side where that is safe (O-6).

The tracker is the truth: what is closed there was delivered, whoever did it and whatever we had
time to write down. Only this thread tells the orchestrator anything.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, assert_never

from ddx.errors import NotFound, Refused
from ddx.execution.model import Idle, Landed
from ddx.execution.orders import Wait
from ddx.execution.record import MANIFEST, read_record
from ddx.execution.relanding import land_pending
from ddx.execution.selecting import overlap
from ddx.execution.work import work_one
from ddx.instants import seconds_between
from ddx.text import listed
from ddx.tracker.lifecycle import block
from ddx.tracker.model import RUNNER, holder_of, text_of, texts_of
from ddx.values import value
from helix.desk import Agent
from helix.objective.beads import find_freed, read_beads
from helix.objective.judging import (
    Again,
    AwaitsLanding,
    Delivered,
    GivenUp,
    Interrupted,
    judge_outcome,
)
from helix.objective.planning import FAILURE
from helix.objective.readiness import TaskResult
from helix.objective.reviewing import Reviews
from helix.objective.session import RESUME, Halt
from helix.objective.states import Event, State
from helix.objective.task_policy import TaskPolicy
from helix.objective.telling import context_of
from helix.work import BuildPolicy, is_worth_reviewing, learn, take_stock

if TYPE_CHECKING:
    from ddx.execution.model import Outcome
    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes
    from helix.objective.beads import Beads
    from helix.objective.session import Session

INJECTED = "injected"
"""The note of which memories a task's prompt carried."""

_WATCH_S = 0.5
_LONGEST_REASON = 600
_GONE = "no longer in the queue"


@value
class Flight:
    """One attempt that is running."""

    task: str
    policy: TaskPolicy
    agent: Agent
    began_at: str
    paths: tuple[str, ...]


class Building:
    """The tasks of one plan, from the first that is begun to the last that has ended."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._desk = session.desk
        self._site = session.desk.site
        self._orchestrator = session.orchestrator
        self._flights: dict[Future[Outcome | Idle], Flight] = {}
        self._sites: list[Site] = []
        self._rests_until: dict[str, str] = {}
        self._disturbed: dict[str, int] = {}
        self._uncharged: dict[str, int] = {}
        self._reviews = Reviews(session)
        self._halt: Halt | None = None

    def work(self) -> Halt | None:
        """None: the machine is in another state now."""
        with ThreadPoolExecutor(self._session.workers, thread_name_prefix="builder") as pool:
            while self._orchestrator.state is State.BUILDING:
                self._land_waiting()
                self._look()
                if not self._flights:
                    self._session.rest_while_paused()
                if self._session.is_over or not self._session.pause_asked():
                    self._go_on(pool)  # else what runs ends, and nothing begins
                if self._flights:
                    self._settle_one()
                elif self._halt is not None:
                    return self._halt
                elif self._orchestrator.state is State.BUILDING:
                    self._rest_or_end()
            while self._flights:
                self._settle_one()
        if owed := self._reviews.pay():  # what landed while it failed
            self._session.tell(owed.reason)
        return None

    def _go_on(self, pool: ThreadPoolExecutor) -> None:
        """The reviews that are owed, then as much more as may be begun."""
        if self._halt is None:
            self._halt = self._reviews.pay()
        if self._halt is None and self._orchestrator.state is State.BUILDING:
            self._begin(pool)

    # -- what the tracker knows --------------------------------------------------------------

    def _land_waiting(self) -> None:
        for outcome in land_pending(self._site):
            if isinstance(outcome, Landed):
                self._session.tell(f"{listed(outcome.facts.beads)} had waited to land: it has now")
                for remark in learn(self._desk, outcome):
                    self._session.tell(remark)

    def _look(self) -> None:
        """Tasks that ended without us, or whose end we had no time to write down; or did not."""
        beads = self._read()
        if freed := find_freed(self._orchestrator.standing, beads):
            self._orchestrator.transition(Event.UNBLOCKED, {"task_ids": freed})
            self._session.tell(f"somebody has seen to {listed(freed)}")
        flying = {flight.task for flight in self._flights.values()}
        for task in self._orchestrator.standing.pending:
            if task in flying or self._orchestrator.state is not State.BUILDING:
                continue
            row, status = beads.rows.get(task, {}), beads.status(task)
            if status == "closed":
                attempt = text_of(row, "session_id")
                self._reviews.owe_if_landed(task, attempt)
                told = {"summary": text_of(row, "close_reason"), "attempt": attempt}
                self._ended(task, TaskResult.DELIVERED, told)
            elif beads.is_replaced(task):
                self._failed(task, TaskResult.BLOCKED, "another bead replaces it", {})
            elif beads.is_over(task):
                reason = text_of(row, "blocked-reason") or f"it is {status or _GONE}"
                self._failed(task, TaskResult.BLOCKED, reason, {})

    def _read(self) -> Beads:
        return read_beads(self._site, self._orchestrator.task_ids)

    # -- beginning ---------------------------------------------------------------------------

    def _begin(self, pool: ThreadPoolExecutor) -> None:
        """As many as there are workers, none whose paths overlap with one that runs (X-20)."""
        beads = self._read()
        for task in self._ready(beads):
            if len(self._flights) == self._session.workers:
                return
            paths = texts_of(beads.rows[task], "paths")
            if any(overlap(paths, flight.paths) for flight in self._flights.values()):
                continue
            agent = self._gate()
            if agent is None:
                return
            self._launch(pool, task, beads.rows[task], agent)

    def _ready(self, beads: Beads) -> list[str]:
        pending = self._orchestrator.standing.pending
        flying = {flight.task for flight in self._flights.values()}
        now = self._site.clock.stamp()
        return [
            task
            for task in beads.to_begin(pending, flying)
            if self._rests_until.get(task, "") <= now
        ]

    def _gate(self) -> Agent | None:
        """Who builds now; None: nobody may, and why is known (X-7, X-8)."""
        match self._session.gate(self._desk.builder):
            case Agent() as agent:
                return agent
            case Halt() as halt:
                self._halt = halt
            case Wait(reason=reason, until=until) if not self._flights:
                self._session.tell(reason)
                self._session.rest(until)
        return None

    def _launch(self, pool: ThreadPoolExecutor, task: str, row: Row, agent: Agent) -> None:
        build = BuildPolicy(
            self._desk,
            (task,),
            agent,
            limits=self._session.limits,
            context=context_of(self._orchestrator, row),
        )
        policy = TaskPolicy(build, self._site.project)
        now = self._site.clock.stamp()
        site = self._sites.pop() if self._sites else self._session.open_site()
        future = pool.submit(_fly, site, policy)
        self._flights[future] = Flight(task, policy, agent, now, texts_of(row, "paths"))
        future.add_done_callback(lambda _: self._sites.append(site))
        self._session.tell(f"building {task}: {text_of(row, 'title')}")

    # -- ending ------------------------------------------------------------------------------

    def _settle_one(self) -> None:
        """Wait for an attempt to end; now and then the queue is looked at."""
        done, _ = wait(self._flights, _WATCH_S, return_when=FIRST_COMPLETED)
        for future in list(done)[:1]:
            flight = self._flights.pop(future)
            result = future.result()
            if isinstance(result, Idle):
                self._not_begun(flight, result)
            else:
                self._settle(flight, result)

    def _not_begun(self, flight: Flight, idle: Idle) -> None:
        """Taken or changed before the claim: looked at again, but not for ever."""
        task = flight.task
        self._disturbed[task] = self._disturbed.get(task, 0) + 1
        if not idle.again or self._disturbed[task] > 3:
            self._give_up(task, GivenUp(TaskResult.BLOCKED, idle.reason))

    def _settle(self, flight: Flight, outcome: Outcome) -> None:
        session, task = self._session, flight.task
        session.meter.attempted(flight.agent.harness, outcome)
        self._note_injected(task, flight.policy.attempt)
        if flight.policy.outside:
            self._uncharged[task] = self._uncharged.get(task, 0) + 1
        verdict = judge_outcome(
            outcome,
            tries=self._tries(task),
            disturbances=self._disturbed.get(task, 0),
            rules=session.rules,
            outside=flight.policy.outside,
        )
        for remark in take_stock(self._desk, flight.policy.injection, outcome):
            session.tell(remark)  # before its end is on record: a crash between loses nothing
        took_s = seconds_between(flight.began_at, self._site.clock.stamp())
        match verdict:
            case Delivered(summary=summary, needs_review=needs_review):
                attempt = outcome.facts.attempt
                if needs_review and is_worth_reviewing(outcome, session.review_threshold):
                    self._reviews.owe(task, attempt)
                told = {"summary": summary, "attempt": attempt, "duration_s": took_s}
                self._ended(task, TaskResult.DELIVERED, told)
            case Again(reason=reason, after_s=after_s, is_disturbance=is_disturbance):
                self._disturbed[task] = self._disturbed.get(task, 0) + is_disturbance
                self._rests_until[task] = session.later(after_s)
                session.tell(f"{task}: {reason}")
            case GivenUp():
                self._give_up(task, verdict, duration_s=took_s)
            case AwaitsLanding(reason=reason):
                session.tell(f"{task}: {reason}")
            case Interrupted():  # by a person, or by the budget that it was given
                reply = outcome.facts.reply
                self._halt = session.cut_off(reply.end) if reply else None
                self._halt = self._halt or session.interrupted()
            case other:
                assert_never(other)

    def _tries(self, task: str) -> int:
        row = self._site.tracker.snapshot().find(task) or {}
        charged = text_of(row, "attempts")
        return (int(charged) if charged.isdigit() else 0) + self._uncharged.get(task, 0)

    def _note_injected(self, task: str, attempt: str) -> None:
        """What a task's prompt carried stays with the objective (O-6)."""
        try:
            policy = read_record(self._site.project, attempt).file(MANIFEST).get("policy")
        except NotFound:
            return
        names = policy.get("memories") if isinstance(policy, dict) else None
        if isinstance(names, list) and names:
            self._orchestrator.note(
                INJECTED, {"task_id": task, "attempt": attempt, "memories": names}
            )

    def _give_up(self, task: str, end: GivenUp, **told: Any) -> None:
        """The tracker learns it first: nobody else shall pick up what cannot be done."""
        refusal = self._block(task, end.reason) if end.result is TaskResult.BLOCKED else ""
        if not refusal:
            self._failed(task, end.result, end.reason, {**end.told, **told})
        elif self._read().status(task) in ("open", "in_progress"):
            self._stand_still(f"{task} was to be blocked ({end.reason}), but: {refusal}")

    def _block(self, task: str, reason: str) -> str:
        """Why the tracker did not take it; empty: it did."""

        def decide(snapshot: Snapshot, now: str) -> Changes:
            return block(snapshot, task, reason=reason[:_LONGEST_REASON], actor=RUNNER, now=now)

        try:
            self._site.tracker.change(decide)
        except (Refused, NotFound) as problem:
            return problem.message
        return ""

    def _failed(self, task: str, result: TaskResult, reason: str, told: dict[str, Any]) -> None:
        self._orchestrator.note(FAILURE, {"task_id": task, "reason": f"{task}: {reason}"})
        self._ended(task, result, {"reason": reason, **told})

    def _ended(self, task: str, result: TaskResult, told: dict[str, Any]) -> None:
        happened = self._orchestrator.transition(
            Event.TASK_COMPLETE, {"task_id": task, "status": str(result), **told}
        )
        said = told.get("summary") or told.get("reason") or ""
        self._session.tell(f"{task} is {result}{f': {said}' if said else ''}")
        for warning in happened.data.get("warnings", ()):
            self._session.tell(f"warning: {warning}")

    # -- nothing runs ------------------------------------------------------------------------

    def _rest_or_end(self) -> None:
        """Nothing runs: something rests, somebody else holds it, it is stalled, or all is done."""
        session, pending = self._session, self._orchestrator.standing.pending
        if not pending:
            self._orchestrator.transition(Event.ALL_COMPLETE)
            return
        beads = self._read()
        if self._ready(beads) or any(map(beads.is_over, pending)):
            return  # since the last look; there may have been a pause or a usage limit in between
        tasks = self._task_list(beads)
        stalls, stall = self._orchestrator.check_stalled(tasks)
        able = [str(task["id"]) for task in self._orchestrator.get_ready_tasks(tasks)]
        rests = [it for it in (self._rest_of(task, beads) for task in pending) if it]
        if stalls and not rests:
            self._orchestrator.transition(Event.STALLED, stall)
        elif session.is_over:
            self._halt = session.interrupted()
        elif rests:
            session.rest(min(rests))
        elif waits := [it for it in pending if it in beads.landing]:
            self._stand_still(f"{waits[0]} is proven and waits for edits in the checkout")
        elif held := [it for it in pending if beads.status(it) == "in_progress"]:
            self._stand_still(f"{held[0]} is held by {holder_of(beads.rows[held[0]])}")
        elif stuck := [it for it in able if it in beads.held]:
            why = f"{beads.held[stuck[0]].reason} (ddx bead why {stuck[0]})"
            self._stand_still(f"{stuck[0]} cannot be worked on: {why}")
        else:
            session.rest(session.later(_WATCH_S))

    def _stand_still(self, reason: str) -> None:
        self._halt = Halt(f"{reason}; {RESUME}", 4)

    def _rest_of(self, task: str, beads: Beads) -> str:
        """Until when it rests, by us or by the tracker; empty: it does not."""
        own, held = self._rests_until.get(task, ""), beads.held.get(task)
        until = max(own, held.next_eligible_at if held else "")
        left_s = seconds_between(self._site.clock.stamp(), until) if until else None
        return until if left_s is not None and left_s > 0 else ""

    def _task_list(self, beads: Beads) -> list[dict[str, Any]]:
        """The tasks as `check_stalled` reads them."""
        standing = self._orchestrator.standing
        running = {it for it in beads.rows if beads.status(it) == "in_progress"} | beads.landing
        return [
            {
                "id": task,
                "subject": text_of(beads.rows.get(task, {}), "title"),
                "status": "in_progress" if task in running else "pending",
                "blockedBy": list(standing.dependencies.get(task, ())),
            }
            for task in standing.task_ids
        ]


def _fly(site: Site, policy: TaskPolicy) -> Outcome | Idle:
    """The attempt itself; a bead that may no longer be handed out is no attempt at all (S-6)."""
    try:
        return work_one(site, policy)
    except (Refused, NotFound) as problem:
        if policy.attempt:
            raise
        return Idle(problem.message, again=True)
