"""`helix pause`"""

from __future__ import annotations

from ddx.console.screen import say
from ddx.console.spec import Command
from helix.cli.control import active_run, controlled_project
from helix.supervisor.controls import Wish, ask


def run() -> int:
    project = controlled_project()
    holder = active_run(project)
    ask(project, Wish.PAUSE, run=holder.name)
    say(f"the {holder.kind} (pid {holder.pid}) pauses at its next boundary; go on: helix resume")
    return 0


COMMAND = Command(
    "pause", "Let the run or objective rest from its next boundary on.", run, "helix pause"
)
