"""`helix objective resume`"""

from __future__ import annotations

from typing import Any

from ddx.console.spec import Command, Flag
from helix.cli.objective.begin import FLAGS

OBJECTIVE = Flag("--objective", "its words or its id; without it the one that was worked on last")


def run(*, objective: str | None, **given: Any) -> int:
    from helix.cli.objective.session import conduct, open_project
    from helix.objective import Orchestrator
    from helix.objective.events import find_objective, words_of

    project = open_project(given)
    known = find_objective(project.root, objective or "")
    text = words_of(known)

    def restore() -> Orchestrator:
        return Orchestrator.resume(text, project.root)

    return conduct(project, known.id, restore, given)


COMMAND = Command(
    "objective resume",
    "Go on with an objective where it stands, after a crash, a stop or a question.",
    run,
    "helix objective resume --on-stall skip",
    flags=(OBJECTIVE, *FLAGS),
    schema="helix-objective",
)
