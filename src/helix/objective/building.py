"""The third phase: every task as a managed attempt, side by side where that is safe (O-6).

The tracker is the truth: what is closed there was delivered, whoever did it and whatever we had
time to write down. Only this thread tells the orchestrator anything.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, assert_never

from ddx.errors import NotFound, Refused
from ddx.execution.model import Idle, Landed
from ddx.execution.orders import Begin, Wait
from ddx.execution.record import MANIFEST, read_record
from ddx.execution.relanding import land_pending
from ddx.execution.selecting import overlap
from ddx.execution.work import work_one
from ddx.instants import seconds_between
from ddx.text import listed
from ddx.tracker.lifecycle import block
from ddx.tracker.model import FINISHED, RUNNER, holder_of, status_of, text_of, texts_of
from ddx.tracker.pending import PENDING, held_by_pending
from ddx.values import value
from helix.desk import Agent
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
from helix.objective.session import Halt
from helix.objective.states import Event, State
from helix.objective.task_policy import TaskPolicy
from helix.objective.telling import context_of
from helix.work import BuildPolicy, is_worth_reviewing, learn, take_stock

if TYPE_CHECKING:
    from collections.abc import Collection

    from ddx.execution.model import Outcome
    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes
    from helix.objective.session import Session

INJECTED = "injected"
"""The note of which memories a task's prompt carried."""

_WATCH_S = 0.5
_LONGEST_REASON = 600


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
                self._halt = self._reviews.pay() or self._halt
                if self._halt is None and self._orchestrator.state is State.BUILDING:
                    self._begin(pool)
                if self._flights:
                    self._settle_one()
                elif self._halt is not None:
                    return self._halt
                elif self._orchestrator.state is State.BUILDING:
                    self._rest_or_end()
            while self._flights:
                self._settle_one()
        self._reviews.pay()  # what landed while it failed
        return None

    # -- what the tracker knows --------------------------------------------------------------

    def _land_waiting(self) -> None:
        for outcome in land_pending(self._site):
            if isinstance(outcome, Landed):
                self._session.tell(f"{listed(outcome.facts.beads)} had waited to land: it has now")
                for remark in learn(self._desk, outcome):
                    self._session.tell(remark)

    def _look(self) -> None:
        """Tasks that ended without us, or whose end we had no time to write down."""
        snapshot = self._site.tracker.snapshot()
        flying = {flight.task for flight in self._flights.values()}
        for task in self._orchestrator.standing.pending:
            if task in flying or self._orchestrator.state is not State.BUILDING:
                continue
            row = snapshot.find(task)
            status = status_of(row) if row else ""
            if row and status == "closed":
                attempt = text_of(row, "session_id")
                self._reviews.owe_if_landed(task, attempt)
                told = {"summary": text_of(row, "close_reason"), "attempt": attempt}
                self._ended(task, TaskResult.DELIVERED, told)
            elif row is None or status in FINISHED or status == "blocked":
                reason = text_of(row, "blocked-reason") if row else "it is no longer in the queue"
                self._failed(task, TaskResult.BLOCKED, reason or f"it is {status}", {})

    def _waiting_to_land(self) -> Collection[str]:
        """Proven already: only edits in the checkout are in their way (X-13)."""
        return held_by_pending(self._site.project.ddx(*PENDING))

    def _rows(self) -> dict[str, Row]:
        snapshot = self._site.tracker.snapshot()
        rows = {task: snapshot.find(task) for task in self._orchestrator.task_ids}
        return {task: row for task, row in rows.items() if row is not None}

    # -- beginning ---------------------------------------------------------------------------

    def _begin(self, pool: ThreadPoolExecutor) -> None:
        """As many as there are workers, none whose paths overlap with one that runs (X-20)."""
        rows = self._rows()
        for task in self._ready(rows):
            if len(self._flights) == self._session.workers or self._halt is not None:
                return
            paths = texts_of(rows[task], "paths")
            if any(overlap(paths, flight.paths) for flight in self._flights.values()):
                continue
            agent = self._gate()
            if agent is not None:
                self._launch(pool, task, rows, agent)

    def _ready(self, rows: dict[str, Row]) -> list[str]:
        standing = self._orchestrator.standing
        flying = {flight.task for flight in self._flights.values()}
        now = self._site.clock.stamp()
        landing = self._waiting_to_land()
        return [
            task
            for task in standing.pending
            if task not in flying
            and task not in landing
            and task in rows
            and status_of(rows[task]) == "open"
            and self._rests_until.get(task, "") <= now
            and all(
                standing.outcomes.get(it) is TaskResult.DELIVERED
                for it in standing.dependencies.get(task, ())
            )
        ]

    def _gate(self) -> Agent | None:
        """Who builds now; None: nobody may, and why is known (X-7, X-8)."""
        session = self._session
        self._halt = session.halted()
        if self._halt is not None:
            return None
        match session.meter.step():
            case Wait(reason=reason, until=until):
                self._halt = None if self._flights else self._wait_until(reason, until)
            case Begin(harness=harness):
                builder = self._desk.builder
                return builder if harness == builder.harness else Agent(harness)
        return None

    def _wait_until(self, reason: str, until: str) -> Halt | None:
        self._session.tell(reason)
        self._session.rest(until)
        return self._session.interrupted() if self._session.is_over else None

    def _launch(
        self, pool: ThreadPoolExecutor, task: str, rows: dict[str, Row], agent: Agent
    ) -> None:
        build = BuildPolicy(
            self._desk,
            (task,),
            agent,
            limits=self._session.limits,
            context=context_of(self._orchestrator, rows[task]),
        )
        policy = TaskPolicy(build, self._site.project)
        now = self._site.clock.stamp()
        site = self._sites.pop() if self._sites else self._session.open_site()
        future = pool.submit(_fly, site, policy)
        self._flights[future] = Flight(task, policy, agent, now, texts_of(rows[task], "paths"))
        future.add_done_callback(lambda _: self._sites.append(site))
        self._session.tell(f"building {task}: {text_of(rows[task], 'title')}")

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
                self._halt = session.halted() or session.interrupted()
            case other:
                assert_never(other)
        for remark in take_stock(self._desk, flight.policy.injection, outcome):
            session.tell(remark)

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
        """The tracker learns it as well: nobody else shall pick up what cannot be done."""
        if end.result is TaskResult.BLOCKED:
            reason = end.reason[:_LONGEST_REASON]

            def decide(snapshot: Snapshot, now: str) -> Changes:
                return block(snapshot, task, reason=reason, actor=RUNNER, now=now)

            try:
                self._site.tracker.change(decide)
            except (Refused, NotFound) as problem:
                self._session.tell(f"{task} was not blocked: {problem.message}")
        self._failed(task, end.result, end.reason, {**end.told, **told})

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
        standing = self._orchestrator.standing
        if not standing.pending:
            self._orchestrator.transition(Event.ALL_COMPLETE)
            return
        rows, landing = self._rows(), self._waiting_to_land()
        held = [it for it in standing.pending if status_of(rows.get(it, {})) == "in_progress"]
        stalls, stall = self._orchestrator.check_stalled(self._task_list(rows, landing))
        waits = [it for it in standing.pending if it in landing]
        if stalls:
            self._orchestrator.transition(Event.STALLED, stall)
        elif self._session.is_over:
            self._halt = self._session.interrupted()
        elif resting := [it for it in self._rests_until.values() if it > self._site.clock.stamp()]:
            self._session.rest(min(resting))
        elif waits:
            self._halt = Halt(f"{waits[0]} is proven and waits for edits in the checkout", 4)
        elif held:
            self._halt = Halt(f"{held[0]} is held by {holder_of(rows[held[0]])}", 4)
        else:
            self._session.rest(self._session.later(_WATCH_S))

    def _task_list(self, rows: dict[str, Row], landing: Collection[str]) -> list[dict[str, Any]]:
        """The tasks as `check_stalled` reads them."""
        standing = self._orchestrator.standing
        running = {it for it, row in rows.items() if status_of(row) == "in_progress"} | {*landing}
        return [
            {
                "id": task,
                "subject": text_of(rows.get(task, {}), "title"),
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
