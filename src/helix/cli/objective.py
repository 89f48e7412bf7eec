"""`helix objective`: begin or resume one, see where they stand, forget them."""

from __future__ import annotations

import os
from typing import Any

from ddx.base import Clock, NeedsPerson, NotFound, UsageError
from ddx.console import JSON, Argument, Command, Flag, answer, bold, say, table, when
from ddx.project import find_project
from helix.cli.context import AGENT, EFFORT, MODEL, ON_LIMIT, controlled_project, present

DAMAGED = "damaged"
"""Its log cannot be read; `helix objective status --objective ID` says where."""
_EXAMPLE = 'helix objective "Throttle logins"'
_LISTS = ("completed", "partial", "blocked", "skipped", "pending", "questions", "warnings")

OBJECTIVE = Flag("--objective", "its words or its id; without it the one that was worked on last")
FLAGS = (
    AGENT,
    MODEL,
    EFFORT,
    Flag("--explorers", "explorers at most, memory and framework included", "number"),
    Flag("--workers", "so many tasks at once (3); they land one at a time", "number"),
    Flag("--max-attempts", "failed attempts after which a task is blocked", "number"),
    Flag("--max-cost", "US dollars for all of it"),
    Flag("--max-tokens", "tokens for all of it", "number"),
    ON_LIMIT,
    Flag("--no-auto-review", "land without review", "switch"),
    Flag(
        "--on-stall",
        "what to do when no task can go on; without it a person is asked",
        "choice",
        choices=("replan", "skip", "abort"),
    ),
    Flag("--answer", "an answer to the planner's questions", many=True),
    Flag(
        "--orphans",
        "what becomes of tasks that an earlier objective left in progress",
        "choice",
        choices=("reset", "block", "ignore"),
    ),
    JSON,
)


@Command.of(
    example='helix objective "Throttle logins" --workers 2',
    arguments=(Argument("text", "what shall be true in the end"),),
    flags=FLAGS,
    schema="helix-objective",
)
def begin(*, text: str, **given: Any) -> int:
    """Work on one objective: explore, plan, build every task, observe what it taught."""
    from helix.cli.objective_setup import conduct, open_project
    from helix.objective import TERMINAL, Orchestrator, State, objective_id

    objective = text.strip()
    if not objective:
        raise UsageError("an objective needs words", hint=_EXAMPLE)
    if objective.isascii() and objective.islower() and len(objective.split()) == 1:
        raise UsageError(
            f"{objective!r} is no command here, and for an objective it says too little",
            hint=f"see: helix objective --help; stop or pause one: helix stop, helix pause; "
            f"begin one: {_EXAMPLE}",
        )
    project = open_project(given)

    def begin() -> Orchestrator:
        found = Orchestrator.resume(objective, project.root)
        if found.state not in (State.INIT, *TERMINAL):
            raise NeedsPerson(
                f"this objective was begun already and stands at {found.state}",
                hint=f"go on: helix objective resume --objective {found.id}; "
                f"or forget it first: helix objective clear --objective {found.id}",
            )
        return Orchestrator(objective, project.root)

    return conduct(project, objective_id(objective), begin, given)


@Command.of(
    example="helix objective resume --on-stall skip",
    flags=(OBJECTIVE, *FLAGS),
    schema="helix-objective",
)
def resume(*, objective: str | None, **given: Any) -> int:
    """Go on with an objective where it stands, after a crash, a stop or a question."""
    from helix.cli.objective_setup import conduct, open_project
    from helix.objective import Orchestrator, find_objective, words_of

    project = open_project(given)
    known = find_objective(project.root, objective or "")
    text = words_of(known)
    return conduct(project, known.id, lambda: Orchestrator.resume(text, project.root), given)


# -- where they stand -------------------------------------------------------------------------


@Command.of(
    example='helix objective status --objective "Throttle logins" --json',
    flags=(OBJECTIVE, JSON),
    schema="helix-objective-status",
)
def status(*, objective: str | None, json: bool) -> int:
    """Where an objective stands, task by task, and what can be done about it."""
    from helix.objective import Orchestrator

    root = find_project(os.getcwd()).root
    row = Orchestrator.resume(_meant(root, objective or ""), root).status()
    if json:
        answer(row)
    else:
        _show_status(row)
    return 0


def _meant(root: str, said: str) -> str:
    """The words of an objective; of one that nobody has begun, too: it stands at INIT."""
    from helix.objective import find_objective, words_of

    try:
        return words_of(find_objective(root, said))
    except NotFound:
        if not said:
            raise
        return said


def _show_status(row: dict[str, Any]) -> None:
    say(bold(row["state"]), f"  {row['id']}")
    say(row["objective"])
    for name in _LISTS:
        if row[name]:
            say(f"{name}: {', '.join(row[name])}")
    if row["error_reason"]:
        say(f"{row['error_reason']}: {row['recovery']}")


@Command.of(example="helix objective list", flags=(JSON,), schema="helix-objective-list")
def list_objectives(*, json: bool) -> int:
    """All objectives of this project, the last one first."""
    from helix.objective import Orchestrator, find_objectives

    root = find_project(os.getcwd()).root
    rows = []
    for known in find_objectives(root):
        state = DAMAGED if known.damage else Orchestrator.resume(known.objective, root).state
        fields = {"id": known.id, "objective": known.objective, "state": str(state)}
        rows.append({**fields, "updated_at": known.updated_at})
    if json:
        answer(rows)
    elif not rows:
        say('there is no objective here; begin one: helix objective "<text>"')
    else:
        now = Clock().stamp()
        cells = [
            (it["id"], it["state"], when(it["updated_at"], now=now), it["objective"]) for it in rows
        ]
        table(("ID", "STATE", "UPDATED", "OBJECTIVE"), cells)
    return 0


@Command.of(
    example="helix objective transitions", flags=(JSON,), schema="helix-objective-transitions"
)
def transitions(*, json: bool) -> int:
    """The table of the machine: which event leads from which state to which."""
    from helix.objective import TRANSITIONS

    rows = [
        {"from": str(state), "event": str(event), "to": str(target)}
        for (state, event), target in TRANSITIONS.items()
    ]
    lines = (f"{row['from']} --{row['event']}--> {row['to']}" for row in rows)
    return present(rows, lines, json=json)


@Command.of(
    example="helix objective clear",
    flags=(Flag("--objective", "its words or its id; without it all of them"), JSON),
    schema="helix-objective-cleared",
)
def clear(*, objective: str | None, json: bool) -> int:
    """Forget where objectives stand, to start afresh; their beads stay."""
    from helix.objective import clear, find_objective
    from helix.run import only_run

    project = controlled_project()
    with only_run(project, Clock()):
        id = find_objective(project.root, objective).id if objective else ""
        checkpoints, objectives = clear(project.root, id)
    line = f"objectives forgotten: {objectives}; checkpoints cleared: {checkpoints}"
    return present({"cleared": checkpoints, "objectives": objectives}, (line,), json=json)
