"""`helix task extract-mapping`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command
from helix.cli.task.parse_output import TEXT, said


def run(*, text: str, json: bool) -> int:
    from helix.objective import extract_mapping

    found = extract_mapping(said(text))
    if json:
        answer(found)
    else:
        for seq, bead in found.items():
            say(f"{seq} -> {bead}")
    return 0


COMMAND = Command(
    "task extract-mapping",
    "Which task is which bead, as a planner says it below TASK_MAPPING.",
    run,
    "helix task extract-mapping 'TASK_MAPPING: see plan.md' --json",
    arguments=(TEXT,),
    flags=(JSON,),
    schema="task-mapping",
)
