"""The third phase: every task as a managed attempt, side by side where that is safe (O-6).

The tracker is the truth: what is closed there was delivered, whoever did it and whatever we had
time to write down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from ddx.attempts import Attempt, End, Idle, Rest, read_attempts
from ddx.base import Instant, NotFound, Refused, listed, value
from helix.objective.agents import RESUME
from helix.objective.model import Event, State, TaskResult
from helix.objective.plan import FAILURE
from helix.objective.task_beads import find_freed, read_beads
from helix.objective.task_outcome import (
    Delivered,
    GivenUp,
    Interrupted,
    RetryTask,
    TaskAwaitsLanding,
    judge_outcome,
)
from helix.objective.task_prompt import TaskPolicy, context_of
from helix.run import BuildPolicy, RoutingRules, take_stock

if TYPE_CHECKING:
    from ddx.attempts import Answer, Outcome, View
    from ddx.tracker import Bead
    from helix.objective.agents import AgentCalls
    from helix.objective.operator import Operator
    from helix.objective.orchestrator import Orchestrator
    from helix.objective.task_beads import TaskBeads

INJECTED = "injected"
"""The note of which memories a task's prompt carried."""

_LOOK_S = 0.5
_LONGEST_REASON = 600
_GONE = "no longer in the queue"
_NEEDS_PERSON = 4


@value
class RunningTask:
    """A task whose attempt is running."""

    policy: TaskPolicy
    began_at: str
    paths: tuple[str, ...]


class ObjectiveTasks:
    """The tasks of one plan, from the first that is begun to the last that has ended."""

    def __init__(self, calls: AgentCalls, orchestrator: Orchestrator, operator: Operator) -> None:
        self._calls = calls
        self._context = calls.context
        self._site = calls.context.site
        self._orchestrator = orchestrator
        self._tell = operator.tell
        settings = calls.context.settings
        self._rules = RoutingRules(max_attempts=settings.max_attempts, backoff_s=settings.backoff_s)
        self._running: dict[str, RunningTask] = {}
        self._rests_until: dict[str, str] = {}
        self._disturbed: dict[str, int] = {}
        self._uncharged: dict[str, int] = {}
        self.end: End | None = None
        """Why nothing more is begun."""

    def next(self, view: View) -> Answer | None:
        """What to do with the tasks now; None: the machine is in another state."""
        beads = read_beads(self._site, self._orchestrator.task_ids)
        pending = self._orchestrator.standing.pending
        if not pending and not view.running:
            self._orchestrator.transition(Event.ALL_COMPLETE)
            return None
        if self.end or view.is_over:
            return self.end or self._calls.interrupted()
        for task in self._ready(beads):
            bead = beads.beads[task]
            if not any(bead.overlaps(it.paths) for it in self._running.values()):
                return self._attempt(task, bead)
        return Rest() if view.running else self._rest_or_end(beads)

    # -- what the tracker knows --------------------------------------------------------------

    def look(self) -> None:
        """Tasks that ended without us, or whose end we had no time to write down; or did not."""
        beads = read_beads(self._site, self._orchestrator.task_ids)
        if freed := find_freed(self._orchestrator.standing, beads):
            self._orchestrator.transition(Event.UNBLOCKED, {"task_ids": freed})
            self._tell(f"somebody has seen to {listed(freed)}")
        for task in self._orchestrator.standing.pending:
            if task in self._running or self._orchestrator.state is not State.BUILDING:
                continue
            bead, status = beads.beads.get(task), beads.status(task)
            if bead and status == "closed":
                told = {"summary": bead.close_reason, "attempt": bead.session}
                self._ended(task, TaskResult.DELIVERED, told)
            elif beads.is_replaced(task):
                self._failed(task, TaskResult.BLOCKED, "another bead replaces it", {})
            elif beads.is_over(task):
                reason = (bead.blocked_reason if bead else "") or f"it is {status or _GONE}"
                self._failed(task, TaskResult.BLOCKED, reason, {})

    # -- beginning ---------------------------------------------------------------------------

    def _ready(self, beads: TaskBeads) -> list[str]:
        now = self._site.clock.stamp()
        return [
            task
            for task in beads.to_begin(self._orchestrator.standing.pending, set(self._running))
            if self._rests_until.get(task, "") <= now
        ]

    def _attempt(self, task: str, bead: Bead) -> Attempt:
        def policy(harness: str) -> TaskPolicy:
            build = BuildPolicy(
                self._context,
                (task,),
                self._calls.agent(harness),
                limits=lambda beads: self._calls.meter.limits(self._site, beads),
                context=context_of(self._orchestrator, bead),
            )
            made = TaskPolicy(build, self._site.project)
            now = self._site.clock.stamp()
            self._running[task] = RunningTask(made, now, bead.paths)
            self._tell(f"building {task}: {bead.title}")
            return made

        return Attempt(self._context.builder.harness, policy, name=task)

    # -- ending ------------------------------------------------------------------------------

    def ended(self, task: str, result: Outcome | Idle) -> None:
        """What came of the attempt on a task; the tracker and the machine learn of it."""
        running = self._running.pop(task)
        if isinstance(result, Idle):
            self._not_begun(task, result)
        else:
            self._settle(task, running, result)

    def _not_begun(self, task: str, idle: Idle) -> None:
        """Taken or changed before the claim: looked at again, but not for ever."""
        self._disturbed[task] = self._disturbed.get(task, 0) + 1
        if not idle.again or self._disturbed[task] > 3:
            self._give_up(task, GivenUp(TaskResult.BLOCKED, idle.reason))

    def _settle(self, task: str, running: RunningTask, outcome: Outcome) -> None:
        policy = running.policy
        self._note_injected(task, policy.attempt)
        if policy.outside:
            self._uncharged[task] = self._uncharged.get(task, 0) + 1
        verdict = judge_outcome(
            outcome,
            tries=self._tries(task),
            disturbances=self._disturbed.get(task, 0),
            rules=self._rules,
            outside=policy.outside,
        )
        for remark in take_stock(self._context, policy.injection, outcome):
            self._tell(remark)  # before its end is on record: a crash between loses nothing
        took_s = Instant(running.began_at).seconds_until(self._site.clock.stamp())
        match verdict:
            case Delivered(summary=summary):
                attempt = outcome.facts.attempt
                told = {"summary": summary, "attempt": attempt, "duration_s": took_s}
                self._ended(task, TaskResult.DELIVERED, told)
            case RetryTask(reason=reason, after_s=after_s, is_disturbance=is_disturbance):
                self._disturbed[task] = self._disturbed.get(task, 0) + is_disturbance
                self._rests_until[task] = self._later(after_s)
                self._tell(f"{task}: {reason}")
            case GivenUp():
                self._give_up(task, verdict, duration_s=took_s)
            case TaskAwaitsLanding(reason=reason):
                self._tell(f"{task}: {reason}")
            case Interrupted():  # by a person, or by the budget that it was given
                reply = outcome.facts.reply
                cut_off = self._calls.cut_off(reply.end) if reply else None
                self.end = cut_off or self._calls.interrupted()
            case other:
                assert_never(other)

    def _tries(self, task: str) -> int:
        bead = self._site.tracker.snapshot().find_bead(task)
        return (bead.attempts if bead else 0) + self._uncharged.get(task, 0)

    def _note_injected(self, task: str, attempt: str) -> None:
        """What a task's prompt carried stays with the objective (O-6)."""
        try:
            policy = read_attempts(self._site.project).read(attempt).manifest.get("policy")
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
        elif read_beads(self._site, (task,)).status(task) in ("open", "in_progress"):
            self.end = _for_person(f"{task} was to be blocked ({end.reason}), but: {refusal}")

    def _block(self, task: str, reason: str) -> str:
        """Why the tracker did not take it; empty: it did."""
        said = reason[:_LONGEST_REASON]
        try:
            self._site.tracker.edit(lambda edit: edit.block(task, reason=said))
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
        self._tell(f"{task} is {result}{f': {said}' if said else ''}")
        for warning in happened.data.get("warnings", ()):
            self._tell(f"warning: {warning}")

    # -- nothing runs ------------------------------------------------------------------------

    def _rest_or_end(self, beads: TaskBeads) -> Answer | None:
        """Something rests, somebody else holds it, or it is stalled."""
        pending = self._orchestrator.standing.pending
        if any(map(beads.is_over, pending)):  # since the last look
            return None
        tasks = self._task_list(beads)
        stalls, stall = self._orchestrator.check_stalled(tasks)
        able = [str(task["id"]) for task in self._orchestrator.get_ready_tasks(tasks)]
        rests = [it for it in (self._rest_of(task, beads) for task in pending) if it]
        if stalls and not rests:
            self._orchestrator.transition(Event.STALLED, stall)
            return None
        if rests:
            return Rest(min(rests))
        if waits := [it for it in pending if it in beads.landing]:
            return _for_person(f"{waits[0]} is proven and waits for edits in the checkout")
        if held := [it for it in pending if beads.status(it) == "in_progress"]:
            return _for_person(f"{held[0]} is held by {beads.beads[held[0]].holder}")
        if stuck := [it for it in able if it in beads.held]:
            why = f"{beads.held[stuck[0]].reason} (ddx bead why {stuck[0]})"
            return _for_person(f"{stuck[0]} cannot be worked on: {why}")
        return Rest(self._later(_LOOK_S))

    def _later(self, seconds: float) -> str:
        return self._site.clock.stamp(after_s=seconds)

    def _rest_of(self, task: str, beads: TaskBeads) -> str:
        """Until when it rests, by us or by the tracker; empty: it does not."""
        own, held = self._rests_until.get(task, ""), beads.held.get(task)
        until = max(own, held.next_eligible_at if held else "")
        left_s = Instant(self._site.clock.stamp()).seconds_until(until) if until else None
        return until if left_s is not None and left_s > 0 else ""

    def _task_list(self, beads: TaskBeads) -> list[dict[str, Any]]:
        """The tasks as `check_stalled` reads them."""
        standing = self._orchestrator.standing
        running = {it for it in beads.beads if beads.status(it) == "in_progress"} | beads.landing
        return [
            {
                "id": task,
                "subject": beads.beads[task].title if task in beads.beads else "",
                "status": "in_progress" if task in running else "pending",
                "blockedBy": list(standing.dependencies.get(task, ())),
            }
            for task in standing.task_ids
        ]


def _for_person(reason: str) -> End:
    return End(f"{reason}; {RESUME}", _NEEDS_PERSON)
