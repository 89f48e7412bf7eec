"""`ddx exec list`"""

from __future__ import annotations

from ddx.cli.exec_.rendering import (
    NEVER,
    ago,
    command_line,
    definition_row,
    run_row,
    spoken_status,
)
from ddx.cli.exec_.session import load_definitions, load_history, tell_broken
from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command, Flag
from ddx.graph.proof.definitions import EXECUTION


def run(*, required: bool, json: bool) -> int:
    project, definitions = load_definitions()
    tell_broken(definitions, EXECUTION)
    history = load_history(project)
    found = [item for item in definitions.executions.values() if item.required or not required]
    last = {item.id: history.last(item.id) for item in found}
    if json:
        answer(
            [
                {
                    **definition_row(item),
                    "last": run_row(project, record) if (record := last[item.id]) else None,
                }
                for item in found
            ]
        )
    elif found:
        table(
            ("id", "required", "last run", "command"),
            [
                (
                    item.id,
                    "yes" if item.required else "no",
                    f"{spoken_status(record)}, {ago(record)}"
                    if (record := last[item.id])
                    else NEVER,
                    command_line(item),
                )
                for item in found
            ],
        )
    else:
        which = "required execution document" if required else "execution document"
        say(f'no {which}; make one: ddx exec define "unit tests" --command "pytest -q"')
    return 0


COMMAND = Command(
    "exec list",
    "List the execution documents: what each runs, and how its last run ended.",
    run,
    "ddx exec list --required",
    flags=(Flag("--required", "only those that must pass", kind="switch"), JSON),
    schema="exec-list",
)
