"""`helix resume`"""

from __future__ import annotations

from ddx.console.screen import say
from ddx.console.spec import Command
from helix.cli.control import active_run, controlled_project
from helix.supervisor.controls import Wish, withdraw


def run() -> int:
    project = controlled_project()
    holder = active_run(project)
    was_asked = withdraw(project, Wish.PAUSE)
    say(f"the {holder.kind} (pid {holder.pid}) {'goes on' if was_asked else 'was not paused'}")
    return 0


COMMAND = Command("resume", "Let a paused run or objective go on.", run, "helix resume")
