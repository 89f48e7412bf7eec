"""One objective from where it stands to its end, phase by phase (O-6). It holds no rule.

Whatever phase it dies in, the log says where it stood: the next driver goes on from there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, assert_never

from ddx.text import counted
from ddx.values import value
from helix.objective.asking import Unanswered
from helix.objective.beads import find_freed, read_beads
from helix.objective.building import Building
from helix.objective.exploring import explore
from helix.objective.machine import TERMINAL
from helix.objective.observing import observe
from helix.objective.plan import Broken, Plan, Unclear
from helix.objective.planning import (
    ANSWER,
    FAILURE,
    FILING,
    close_epic,
    file_noted,
    file_plan,
    make_plan,
)
from helix.objective.session import RESUME, Halt
from helix.objective.states import Event, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix.objective.session import Choose, Session

MOST_REPLANS = 2
"""More plans than that do not help: a person must look."""
MOST_ROUNDS = 3
"""So often a planner may come back with questions."""
ASKED, REPLANNED = "asked", "replanned"
WAYS = ("replan", "skip", "abort")


@value
class Conclusion:
    """Why the driver stopped, and how the command ends because of it."""

    reason: str
    exit_code: int


def drive(session: Session) -> Conclusion:
    """On from the state that it is in, until it is done, has failed, or needs a person."""
    orchestrator = session.orchestrator
    answered = len(orchestrator.notes(ANSWER))
    while True:
        halt = _before(session)
        if halt is not None:
            return Conclusion(halt.reason, halt.exit_code)
        match orchestrator.state:
            case State.INIT:
                orchestrator.transition(Event.START)
            case State.EXPLORING:
                halt = _explore(session)
            case State.EXPLORED:
                orchestrator.transition(Event.START_PLANNING)
            case State.PLANNING:
                is_unused = len(orchestrator.notes(ANSWER)) == answered
                halt = _plan(session, session.wishes.answers if is_unused else ())
            case State.PLANNED:
                orchestrator.transition(Event.START_BUILDING)
            case State.BUILDING:
                halt = Building(session).work()
            case State.STALLED:
                halt = _unstall(session)
            case State.BUILT:
                orchestrator.transition(Event.START_OBSERVING)
            case State.OBSERVING:
                halt = _observe(session)
            case State.DONE:
                return _conclude(session)
            case State.ERROR:
                return Conclusion(_spoken_error(session), 1)
            case other:
                assert_never(other)
        if halt is not None:
            return Conclusion(halt.reason, halt.exit_code)


def _before(session: Session) -> Halt | None:
    """What holds it up before a state is entered; what has ended is always told."""
    if session.orchestrator.state in TERMINAL:
        return None
    session.rest_while_paused()
    return session.interrupted() if session.is_over else None


def _explore(session: Session) -> Halt | None:
    found = explore(session)
    if isinstance(found, Halt):
        return found
    files = found["targets"]["files"]
    session.tell(f"explored: {counted(len(files), 'file')} to look at")
    session.orchestrator.transition(Event.EXPLORATION_COMPLETE, found)
    return None


# -- planning ------------------------------------------------------------------------------


def _plan(session: Session, answers: tuple[str, ...]) -> Halt | None:
    desk, orchestrator = session.desk, session.orchestrator
    if noted := orchestrator.fresh_notes(FILING):  # we died between the plan and its beads
        orchestrator.transition(Event.TASKS_CREATED, file_noted(desk, orchestrator, noted[-1]))
        return None
    if halt := _ask_person(session, answers):
        return halt
    session.tell("planning")
    match make_plan(session):
        case Halt() as halt:
            return halt
        case Unanswered(reason=reason):
            return Halt(f"there is no plan: {reason}; {RESUME}", 1)
        case Unclear(questions=questions):
            asked = {"questions": list(questions)}
            orchestrator.note(ASKED, asked)
            orchestrator.transition(Event.CLARIFY_NEEDED, asked)
            return None
        case Broken(cycles=cycles) if cycles:
            edges = {one: [other] for ring in cycles for one, other in pairwise(ring)}
            told = {"task_ids": list(edges), "dependencies": edges}
            orchestrator.transition(Event.TASKS_CREATED, told)
            return None
        case Broken(reason=reason):
            orchestrator.note(FAILURE, {"reason": f"a plan could not be carried out: {reason}"})
            return Halt(f"the plan cannot be carried out: {reason}; {RESUME}", 1)
        case Plan(tasks=()):
            orchestrator.transition(Event.TASKS_CREATED, {"task_ids": []})
            return None
        case Plan() as plan:
            told = file_plan(desk, orchestrator, plan)
            session.tell(f"planned: {counted(len(plan.tasks), 'task')} below {told['epic']}")
            orchestrator.transition(Event.TASKS_CREATED, told)
            return None


def _ask_person(session: Session, texts: tuple[str, ...]) -> Halt | None:
    """The planner's questions, answered by flags or on a terminal; else it stops for them."""
    orchestrator = session.orchestrator
    asked, rounds = orchestrator.fresh_notes(ASKED), len(orchestrator.fresh_notes(ANSWER))
    if rounds == len(asked):
        return None
    questions = tuple(map(str, asked[-1]["questions"]))
    if questions != orchestrator.standing.questions:  # we died between the note and the event
        orchestrator.transition(Event.CLARIFY_NEEDED, asked[-1])
    if not texts and session.choose is not None and rounds < MOST_ROUNDS:
        texts = _answers(session.choose, questions)
    if not texts:
        open_ones = "; ".join(questions)
        return Halt(f"a person must answer: {open_ones} (helix objective resume --answer '...')", 4)
    orchestrator.note(ANSWER, {"texts": list(texts)})
    return None


def _answers(choose: Choose, questions: Sequence[str]) -> tuple[str, ...]:
    """Each question with its answer; none at all if a person leaves one open."""
    texts: list[str] = []
    for question in questions:
        said = choose(question, ())
        if not said:
            return ()
        texts.append(f"{question} {said}")
    return tuple(texts)


# -- a stall -------------------------------------------------------------------------------


def _unstall(session: Session) -> Halt | None:
    """On, if somebody has seen to it; else replan, skip or abort: as a person said or says now."""
    orchestrator = session.orchestrator
    if _is_unblocked(session):
        return None
    blocked = ", ".join(orchestrator.blocked or orchestrator.partial)
    pending = ", ".join(orchestrator.standing.pending)
    question = f"{pending} cannot go on because of {blocked or 'what is not in the plan'}"
    way = session.wishes.on_stall
    replans = len(orchestrator.notes(REPLANNED))
    if way == "replan" and replans >= MOST_REPLANS:
        session.tell(f"planned {replans + 1} times already")
        way = ""
    if not way and session.choose is not None:
        way = session.choose(f"{question}: replan, skip or abort?", WAYS)
    if way not in WAYS:
        hint = "see to it and resume, or: helix objective resume --on-stall replan, skip or abort"
        return Halt(f"stalled: {question}; {hint}", 4)
    if way == "replan":
        orchestrator.note(REPLANNED, {"failures": _failures(session)})
    orchestrator.transition(way, {"chosen": way})
    return None


def _is_unblocked(session: Session) -> bool:
    """The tracker says otherwise by now: something was closed or opened again by hand (O-3)."""
    orchestrator = session.orchestrator
    standing = orchestrator.standing
    beads = read_beads(session.desk.site, standing.task_ids)
    told = {
        "task_ids": find_freed(standing, beads),
        "ready": [task for task in standing.pending if task in beads.ready],
    }
    return any(told.values()) and orchestrator.transition(Event.UNBLOCKED, told).success


def _failures(session: Session) -> list[str]:
    return [str(note.get("reason", "")) for note in session.orchestrator.notes(FAILURE)]


# -- the end -------------------------------------------------------------------------------


def _observe(session: Session) -> Halt | None:
    orchestrator = session.orchestrator
    session.tell("observing")
    told = observe(session)
    if isinstance(told, Halt):
        return told
    if remark := close_epic(session.desk, orchestrator):
        session.tell(remark)
    orchestrator.transition(Event.OBSERVATION_COMPLETE, told)
    return None


def _conclude(session: Session) -> Conclusion:
    """Done; tasks that are left undone are a person's, unless they skipped them (C-2)."""
    orchestrator = session.orchestrator
    parts = [
        f"{len(found)} {word}"
        for word, found in (
            ("delivered", orchestrator.completed),
            ("partial", orchestrator.partial),
            ("blocked", orchestrator.blocked),
            ("skipped", orchestrator.skipped),
        )
        if found
    ]
    said = f"done: {', '.join(parts) or 'nothing was to be done'}"
    undone = (*orchestrator.blocked, *orchestrator.partial)
    if not undone or orchestrator.skipped:
        return Conclusion(said, 0)
    return Conclusion(f"{said}; a person must see to {undone[0]}: ddx bead show {undone[0]}", 4)


def _spoken_error(session: Session) -> str:
    reason = session.orchestrator.error_reason
    said = f"{reason.name}. {reason.recovery}" if reason else "nobody knows why"
    return f"it failed: {said}"
