"""`helix objective`"""

from __future__ import annotations

from typing import Any

from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.errors import NeedsPerson, UsageError
from helix.cli.opening import AGENT, EFFORT, MODEL

_EXAMPLE = 'helix objective "Throttle logins"'

FLAGS = (
    AGENT,
    MODEL,
    EFFORT,
    Flag("--explorers", "explorers at most, memory and framework included", kind="number"),
    Flag("--workers", "so many tasks at once (3); they land one at a time", kind="number"),
    Flag("--max-attempts", "failed attempts after which a task is blocked", kind="number"),
    Flag("--max-cost", "US dollars for all of it"),
    Flag("--max-tokens", "tokens for all of it", kind="number"),
    Flag(
        "--on-limit",
        "at a usage limit wait for its end, stop, or switch to limits.alternate",
        kind="choice",
        choices=("wait", "stop", "switch"),
    ),
    Flag("--no-auto-review", "land without review", kind="switch"),
    Flag(
        "--on-stall",
        "what to do when no task can go on; without it a person is asked",
        kind="choice",
        choices=("replan", "skip", "abort"),
    ),
    Flag("--answer", "an answer to the planner's questions", many=True),
    Flag(
        "--orphans",
        "what becomes of tasks that an earlier objective left in progress",
        kind="choice",
        choices=("reset", "block", "ignore"),
    ),
    JSON,
)


def run(*, text: str, **given: Any) -> int:
    from helix.cli.objective.session import conduct, open_project
    from helix.objective import Orchestrator
    from helix.objective.events import objective_id
    from helix.objective.machine import TERMINAL
    from helix.objective.states import State

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


COMMAND = Command(
    "objective",
    "Work on one objective: explore, plan, build every task, observe what it taught.",
    run,
    'helix objective "Throttle logins" --workers 2',
    arguments=(Argument("text", "what shall be true in the end"),),
    flags=FLAGS,
    schema="helix-objective",
)
