"""`helix objective list`"""

from __future__ import annotations

import os

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer, say, table, when
from ddx.console.spec import JSON, Command

DAMAGED = "damaged"
"""Its log cannot be read; `helix objective status --objective ID` says where."""


def run(*, json: bool) -> int:
    from ddx.project import find_project
    from helix.objective import Orchestrator
    from helix.objective.events import find_objectives

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
        now = SYSTEM_CLOCK.stamp()
        cells = [
            (it["id"], it["state"], when(it["updated_at"], now=now), it["objective"]) for it in rows
        ]
        table(("ID", "STATE", "UPDATED", "OBJECTIVE"), cells)
    return 0


COMMAND = Command(
    "objective list",
    "All objectives of this project, the last one first.",
    run,
    "helix objective list",
    flags=(JSON,),
    schema="helix-objective-list",
)
