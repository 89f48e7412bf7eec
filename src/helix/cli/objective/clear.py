"""`helix objective clear`"""

from __future__ import annotations

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from helix.cli.control import controlled_project


def run(*, objective: str | None, json: bool) -> int:
    from helix.objective.events import clear, find_objective
    from helix.run_lock import only_run

    project = controlled_project()
    with only_run(project, SYSTEM_CLOCK):
        id = find_objective(project.root, objective).id if objective else ""
        checkpoints, objectives = clear(project.root, id)
    if json:
        answer({"cleared": checkpoints, "objectives": objectives})
    else:
        say(f"objectives forgotten: {objectives}; checkpoints cleared: {checkpoints}")
    return 0


COMMAND = Command(
    "objective clear",
    "Forget where objectives stand, to start afresh; their beads stay.",
    run,
    "helix objective clear",
    flags=(Flag("--objective", "its words or its id; without it all of them"), JSON),
    schema="helix-objective-cleared",
)
