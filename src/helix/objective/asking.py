"""One question to an explorer, a planner or an observer, judged by its contract (O-6, O-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.execution.model import Section
from ddx.execution.prompt import render
from ddx.fastjson import dumps
from ddx.harnesses.base import End
from ddx.values import changed, value
from helix.actions.asking import ask
from helix.meter import FAULTS
from helix.objective.contracts import AgentContract
from helix.objective.outputs import find_object
from helix.objective.session import Halt
from helix.prompts import READING, defused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix.desk import Agent, Desk
    from helix.objective.session import Session

EXPLORER, PLANNER, OBSERVER = "explorer", "planner", "observer"
MARKS = {EXPLORER: "EXPLORER_FINDINGS", PLANNER: "PLAN", OBSERVER: "OBSERVATION"}
"""What each puts before its answer."""


@value
class Answered:
    """What it says, in the form that its contract asks for."""

    found: Mapping[str, Any]


@value
class Unanswered:
    """It could not be asked to the end, or what it said is no answer."""

    reason: str
    end: End = End.COMPLETED
    """Completed: asking the same again may well give the same."""


Answer: TypeAlias = Answered | Unanswered


def ask_in_turn(session: Session, name: str, given: Mapping[str, Any]) -> Answer | Halt:
    """Its answer, asked for again while only the harness fails; what does not fit is told once."""
    misfit = ""
    while True:
        desk = session.desk_for_asking()
        if isinstance(desk, Halt):
            return desk
        answer = ask_agent(desk, name, given, misfit=misfit)
        if isinstance(answer, Answered):
            return answer
        if halt := session.cut_off(answer.end):
            return halt
        if answer.end is End.COMPLETED and not misfit:
            misfit = answer.reason
        elif answer.end not in FAULTS:
            return answer


def ask_agent(desk: Desk, name: str, given: Mapping[str, Any], *, misfit: str = "") -> Answer:
    """Its answer to one call; `misfit` says what was wrong with the one before."""
    contract = AgentContract(name)
    fits, error = contract.validate_input(dict(given))
    if not fits:
        return Unanswered(error, End.CRASHED)
    prompt = prompt_for(desk, contract.name, given, misfit=misfit)
    asked = ask(desk, _agent(desk, contract), action=contract.name, prompt=prompt)
    if asked.failure:
        return Unanswered(asked.failure, asked.reply.end)
    found = find_object(asked.reply.text, MARKS[contract.name])
    if found is None:
        return Unanswered(f"there is no JSON object after {MARKS[contract.name]}")
    fits, error = contract.validate_output(found)
    return Answered(found) if fits else Unanswered(error)


def prompt_for(desk: Desk, name: str, given: Mapping[str, Any], *, misfit: str = "") -> str:
    """The page of an agent, the principles, and each thing that it is given, as data."""
    complaint = f"{misfit}\nAnswer again, in the form that your page asks for."
    return render(
        (
            Section("How you work", READING),
            Section(f"Your part: {name}", desk.pages.read(f"agents/{name}.md")),
            Section("Principles", desk.pages.principles),
            *map(defused, _sections(given)),
            *([Section("Your last answer was not taken", complaint)] if misfit else ()),
        )
    )


def _sections(given: Mapping[str, Any]) -> Sequence[Section]:
    """Short texts together as `NAME: text`; what has parts is JSON under a title of its own."""
    texts = [f"{key.upper()}: {said}" for key, said in given.items() if isinstance(said, str)]
    parts = [
        Section(key.upper(), dumps(said), quoted=True)
        for key, said in given.items()
        if not isinstance(said, str) and said
    ]
    return [Section("Your assignment", "\n".join(texts), quoted=True), *parts]


def _agent(desk: Desk, contract: AgentContract) -> Agent:
    """The model that a person named, else the one that the contract needs, where it is known."""
    builder = desk.builder
    known = desk.site.settings.models.get(builder.harness, {})
    if builder.model or contract.model not in known:
        return builder
    return changed(builder, model=contract.model)
