"""`helix objective transitions`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command


def run(*, json: bool) -> int:
    from helix.objective.machine import TRANSITIONS

    rows = [
        {"from": str(state), "event": str(event), "to": str(target)}
        for (state, event), target in TRANSITIONS.items()
    ]
    if json:
        answer(rows)
    else:
        for row in rows:
            say(f"{row['from']} --{row['event']}--> {row['to']}")
    return 0


COMMAND = Command(
    "objective transitions",
    "The table of the machine: which event leads from which state to which.",
    run,
    "helix objective transitions",
    flags=(JSON,),
    schema="helix-objective-transitions",
)
