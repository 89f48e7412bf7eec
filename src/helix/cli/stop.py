"""`helix stop`"""

from __future__ import annotations

import os
import signal

from ddx.console.screen import say
from ddx.console.spec import Command, Flag
from ddx.errors import DdxError
from ddx.process import is_alive
from helix.cli.control import comes_true, controlled_project
from helix.run_lock import find_holder
from helix.supervisor.controls import Wish, ask

_WAIT_S = 10
_WAIT_NOW_S = 60
_HIGHEST_WAIT_S = 86_400


def run(*, now: bool, wait: int | None) -> int:
    project = controlled_project()
    holder = find_holder(project)
    if holder is None:
        say(f"no run is active in {project.root}")
        return 0

    what = f"the {holder.kind} (pid {holder.pid})"
    ask(project, Wish.STOP, run=holder.name)
    if now:
        _terminate(holder.pid)
    wait_s = wait if wait is not None else _WAIT_NOW_S if now else _WAIT_S
    if comes_true(
        lambda: not is_alive(holder.pid, holder.pid_start), within_s=min(wait_s, _HIGHEST_WAIT_S)
    ):
        say(f"{what} has stopped")
        return 0
    if now:
        raise DdxError(
            f"{what} is still ending after {wait_s} s",
            hint="see what it does: helix logs -f",
        )
    say(f"{what} will stop at its next boundary; sooner: helix stop --now")
    return 0


def _terminate(pid: int) -> None:
    """The second kind of stop: the agent is ended, its work kept, its claim freed (S-21)."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has just ended by itself
    except PermissionError:
        raise DdxError(f"the run (pid {pid}) belongs to another user") from None


COMMAND = Command(
    "stop",
    "Ask the run to stop at its next boundary.",
    run,
    "helix stop --wait 60",
    flags=(
        Flag("--now", "end the agent at once; its work is kept", kind="switch"),
        Flag("--wait", "seconds to wait for its end (10; with --now 60)", kind="number"),
    ),
)
