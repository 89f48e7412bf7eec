"""The driver of `helix objective`: phase by phase from where it stands to its end (O-6).

Whatever phase it dies in, the log says where it stood: the next driver goes on from there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, assert_never

from ddx.agents import CallEnd
from ddx.attempts import End, Landed, Pass, Rest
from ddx.base import counted, listed
from helix.objective.agents import (
    OBSERVER,
    PLANNER,
    RESUME,
    AgentCalls,
    Answered,
    Unanswered,
    ask_agent,
)
from helix.objective.ending import conclude, learn_from, story_of
from helix.objective.event_log import PAUSED, UNPAUSED
from helix.objective.explore import Exploration
from helix.objective.machine import TERMINAL
from helix.objective.model import Event, State
from helix.objective.operator import ask_person, unstall
from helix.objective.plan import (
    ANSWER,
    ASKED,
    FAILURE,
    FILING,
    InvalidPlan,
    TaskPlan,
    UnclearPlan,
    close_epic,
    file_noted,
    file_plan,
    question_for,
    read_plan,
)
from helix.objective.reviews import TaskReviews
from helix.objective.tasks import ObjectiveTasks
from helix.run import learn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ddx.attempts import (
        Answer,
        Attempt,
        Idle,
        Outcome,
        OwedReviews,
        StopControls,
        UsageMeter,
        View,
    )
    from helix.objective.agents import QuestionOutcome as Said
    from helix.objective.operator import Operator
    from helix.objective.orchestrator import Orchestrator
    from helix.project import PassContext

_NEXT = {
    State.INIT: Event.START,
    State.EXPLORED: Event.START_PLANNING,
    State.PLANNED: Event.START_BUILDING,
    State.BUILT: Event.START_OBSERVING,
}


class ObjectiveDriver:
    """Asked by the engine; where it stands is the orchestrator's to know."""

    def __init__(
        self,
        context: PassContext,
        orchestrator: Orchestrator,
        operator: Operator,
        *,
        meter: UsageMeter,
        wishes: StopControls,
        reviews: OwedReviews,
    ) -> None:
        self._context = context
        self._orchestrator = orchestrator
        self._operator = operator
        self._tell = operator.tell
        self._calls = AgentCalls(context, orchestrator, meter, wishes=wishes)
        self._reviews = TaskReviews(self._calls, orchestrator, operator, owed=reviews)
        self._tasks = ObjectiveTasks(self._calls, orchestrator, operator)
        self._exploration: Exploration | None = None
        self._answered = len(orchestrator.notes(ANSWER))
        self._misfit = ""
        """What was wrong with the last answer of an agent that is asked once more."""
        self._is_paused = False
        self._announced = ""

    def next(self, view: View) -> Answer:
        while True:
            state = self._orchestrator.state
            if state is State.BUILDING:
                self._tasks.look()
            elif view.running:
                return Rest()
            else:
                self._tasks = ObjectiveTasks(self._calls, self._orchestrator, self._operator)
            if (due := self._reviews.next(view)) and not self._tasks.end:
                return due
            if view.is_over and state is not State.BUILDING and state not in TERMINAL:
                return self._calls.interrupted()
            answer = self._phase(view)
            if answer is not None:
                return answer

    def _phase(self, view: View) -> Answer | None:
        """What to do in this state; None: the machine has moved on."""
        match self._orchestrator.state:
            case State.INIT | State.EXPLORED | State.PLANNED | State.BUILT as state:
                self._orchestrator.transition(_NEXT[state])
                return None
            case State.EXPLORING:
                return self._explore()
            case State.PLANNING:
                return self._plan()
            case State.BUILDING:
                return self._tasks.next(view)
            case State.STALLED:
                return unstall(self._context.site, self._orchestrator, self._operator)
            case State.OBSERVING:
                self._announce("observing")
                return self._ask(OBSERVER, story_of(self._orchestrator), self._observed)
            case State.DONE | State.ERROR:
                return conclude(self._orchestrator)
            case other:
                assert_never(other)

    def ended(self, attempt: Attempt, outcome: Outcome | Idle) -> None:
        self._tasks.ended(attempt.name, outcome)
        if self._is_paused:
            self._orchestrator.note(PAUSED)  # still: its last word says so

    def recovered(self, outcome: Outcome, sentence: str) -> None:
        self._tell(sentence)

    def landed_late(self, outcome: Outcome) -> None:
        if isinstance(outcome, Landed):
            self._tell(f"{listed(outcome.facts.beads)} had waited to land: it has now")
            for remark in learn(self._context, outcome):
                self._tell(remark)

    def parked(self, reason: str) -> None:
        self._tell(reason)

    def paused(self) -> None:
        self._is_paused = True
        self._orchestrator.note(PAUSED)
        self._tell("paused; go on with: helix resume")

    def resumed(self) -> None:
        self._is_paused = False
        self._orchestrator.note(UNPAUSED)

    def review_lost(self, attempt: str) -> None:
        self._tell(f"attempt {attempt} was to be reviewed, and cannot be: its record is gone")

    def _ask(self, name: str, given: Mapping[str, Any], then: Callable[[Said], End | None]) -> Pass:
        """One call; again while only the harness fails, and what does not fit is told once."""

        def ask(harness: str) -> End | None:
            answer = ask_agent(self._calls.asking(harness), name, given, misfit=self._misfit)
            if isinstance(answer, Unanswered):
                if end := self._calls.cut_off(answer.end):
                    return end
                if answer.end is CallEnd.COMPLETED and not self._misfit:
                    self._misfit = answer.reason
                    return None
                if answer.end.is_harness_fault:
                    return None
            self._misfit = self._announced = ""
            return then(answer)

        return Pass(self._context.builder.harness, ask)

    def _announce(self, phase: str) -> None:
        """Once, however often its agent must be asked."""
        if self._announced != phase:
            self._announced = phase
            self._tell(phase)

    # -- exploring and planning --------------------------------------------------------------

    def _explore(self) -> Answer | None:
        shared = (self._calls, self._orchestrator, self._operator)
        exploration = self._exploration = self._exploration or Exploration(*shared)
        if not exploration.waiting:
            return self._explored(exploration)

        def ask(harness: str) -> End | None:
            end = exploration.ask(self._calls.asking(harness))
            return end if end or exploration.waiting else self._explored(exploration)

        return Pass(self._context.builder.harness, ask)

    def _explored(self, exploration: Exploration) -> End | None:
        """At once with the last answer: somebody may want the end by now."""
        self._exploration = None
        found = exploration.result()
        if isinstance(found, End):
            return found
        files = found["targets"]["files"]
        self._tell(f"explored: {counted(len(files), 'file')} to look at")
        self._orchestrator.transition(Event.EXPLORATION_COMPLETE, found)
        return None

    def _plan(self) -> Answer | None:
        orchestrator, operator = self._orchestrator, self._operator
        if noted := orchestrator.fresh_notes(FILING):  # we died between the plan and its beads
            filed = file_noted(self._context.site, orchestrator, noted[-1])
            orchestrator.transition(Event.TASKS_CREATED, filed)
            return None
        is_unused = len(orchestrator.notes(ANSWER)) == self._answered
        if end := ask_person(orchestrator, operator, operator.answers if is_unused else ()):
            return end
        self._announce("planning")
        return self._ask(PLANNER, question_for(orchestrator), self._planned)

    def _planned(self, answer: Said) -> End | None:
        orchestrator = self._orchestrator
        if not isinstance(answer, Answered):
            return End(f"there is no plan: {answer.reason}; {RESUME}", 1)
        match read_plan(answer.found):
            case UnclearPlan(questions=questions):
                asked = {"questions": list(questions)}
                orchestrator.note(ASKED, asked)
                orchestrator.transition(Event.CLARIFY_NEEDED, asked)
            case InvalidPlan(cycles=cycles) if cycles:
                edges = {one: [other] for ring in cycles for one, other in pairwise(ring)}
                told = {"task_ids": list(edges), "dependencies": edges}
                orchestrator.transition(Event.TASKS_CREATED, told)
            case InvalidPlan(reason=reason):
                orchestrator.note(FAILURE, {"reason": f"a plan could not be carried out: {reason}"})
                return End(f"the plan cannot be carried out: {reason}; {RESUME}", 1)
            case TaskPlan(tasks=()):
                orchestrator.transition(Event.TASKS_CREATED, {"task_ids": []})
            case TaskPlan() as plan:
                filed = file_plan(self._context.site, orchestrator, plan)
                self._tell(f"planned: {counted(len(plan.tasks), 'task')} below {filed['epic']}")
                orchestrator.transition(Event.TASKS_CREATED, filed)
        return None

    def _observed(self, answer: Said) -> End | None:
        told = learn_from(self._context, answer, self._tell)
        if remark := close_epic(self._context.site, self._orchestrator):
            self._tell(remark)
        self._orchestrator.transition(Event.OBSERVATION_COMPLETE, told)
        return conclude(self._orchestrator)  # at once: nobody is asked any more, so no pause holds
