"""`helix start`"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import say
from ddx.console.spec import Command
from ddx.environment import for_children
from ddx.errors import DdxError
from ddx.text import shown
from helix.cli.control import comes_true, controlled_project
from helix.cli.run import COMMAND as RUN
from helix.run_lock import RunActive, find_holder, require_tracker
from helix.status.runs import LOGS, read_run

if TYPE_CHECKING:
    from ddx.project import Project
    from ddx.supervision.background import Background

OUTPUT = "background.out"
_WAIT_S = 30.0
_TAIL = 4000
_FOREGROUND = ("--dry-run", "--json")
_FLAGS = tuple(flag for flag in RUN.flags if flag.name not in _FOREGROUND)


def run(**given: Any) -> int:
    from ddx.supervision.background import start_in_background

    project = controlled_project()
    require_tracker(project)
    holder = find_holder(project)
    if holder is not None:
        raise RunActive(
            holder.sentence,
            hint="see it: helix status; or ask it to stop: helix stop",
        )
    output = _fresh_output(project)
    child = start_in_background(_argv(given), cwd=project.root, env=for_children(), output=output)
    comes_true(lambda: _has_begun(project, child), within_s=_WAIT_S)
    code = child.find_code()
    if code is not None:
        return _ended(code, output)
    found = read_run(project, now=SYSTEM_CLOCK.stamp())
    if found is None or found.row.get("pid") != child.pid:
        raise DdxError(
            f"the run (pid {child.pid}) has not begun after {_WAIT_S:.0f} s",
            hint=f"what it printed is in {output}",
        )
    say(f"running in the background: pid {child.pid}, log {found.text('log')}")
    say("  watch it: helix status --watch; its log: helix logs -f; stop it: helix stop")
    return 0


def _argv(given: dict[str, Any]) -> list[str]:
    """The same program by the same Python, as a run with these flags."""
    import helix

    program = os.path.join(os.path.dirname(os.path.abspath(helix.__file__)), "__main__.py")
    lean = [
        *(["-I"] if sys.flags.isolated else []),
        *(["-S"] if sys.flags.no_site else []),
    ]
    return [sys.executable, *lean, program, "run", *words_of(given)]


def words_of(given: dict[str, Any]) -> list[str]:
    """What was typed after `helix start`, as it is typed after `helix run`."""
    words = []
    for flag in _FLAGS:
        said = given[flag.key]
        if said != flag.absent:
            words += [flag.name] if flag.kind == "switch" else [flag.name, str(said)]
    scopes = (given[argument.name] for argument in RUN.arguments)
    return [*words, *(scope for scope in scopes if scope is not None)]


def _fresh_output(project: Project) -> str:
    """A new file, so that an earlier run that still prints does not print into ours."""
    from ddx.graph.cache import make_folder

    folder = os.path.join(project.root, LOGS)
    make_folder(folder)
    path = os.path.join(folder, OUTPUT)
    if os.path.lexists(path):
        os.unlink(path)
    return path


def _has_begun(project: Project, child: Background) -> bool:
    """It has written its state, which it does once the lock is its own; or it has ended."""
    if child.find_code() is not None:
        return True
    found = read_run(project, now=SYSTEM_CLOCK.stamp())
    return found is not None and found.row.get("pid") == child.pid


def _ended(code: int, output: str) -> int:
    """It was over before we could look: its words, and its exit code."""
    with open(output, "rb") as file:
        file.seek(max(os.path.getsize(output) - _TAIL, 0))
        said = file.read(_TAIL).decode("utf-8", "replace").rstrip("\n")
    print(shown(said), file=sys.stderr)
    return code if code >= 0 else 128 - code


COMMAND = Command(
    "start",
    "Begin a run in the background, with the flags of `helix run`.",
    run,
    "helix start --max-cycles 3",
    arguments=RUN.arguments,
    flags=_FLAGS,
)
