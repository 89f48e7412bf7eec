"""A run from a second terminal: start, pause, resume and stop it, and recover what one left."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from ddx.base import Clock, DdxError, NotFound, is_alive, shown
from ddx.console import JSON, Argument, Command, Flag, say
from helix.cli.context import controlled_project, present, tell
from helix.cli.run import run
from helix.run import ControlRequest, RunActive, ask, find_holder, require_tracker, withdraw
from helix.status import LOGS, read_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.agents import BackgroundProgram
    from ddx.attempts import AttemptContext
    from ddx.project import Project
    from helix.run import RecoveredClaim, RunHolder

OUTPUT = "background.out"
_WAIT_S = 30.0
_WAIT_STOP_S, _WAIT_NOW_S, _HIGHEST_WAIT_S = 10, 60, 86_400
_PAUSE_S = 0.1
_TAIL = 4000
_FOREGROUND = ("--dry-run", "--json")
_FLAGS = tuple(flag for flag in run.flags if flag.name not in _FOREGROUND)


@Command.of(example="helix start --max-cycles 3", arguments=run.arguments, flags=_FLAGS)
def start(**given: Any) -> int:
    """Begin a run in the background, with the flags of `helix run`."""
    from ddx.agents import BackgroundProgram

    project = controlled_project()
    require_tracker(project)
    holder = find_holder(project)
    if holder is not None:
        hint = "see it: helix status; or ask it to stop: helix stop"
        raise RunActive(holder.sentence, hint=hint)
    output = _fresh_output(project)
    child = BackgroundProgram.start(_argv(given), cwd=project.root, output=output)
    _comes_true(lambda: _has_begun(project, child), within_s=_WAIT_S)
    code = child.find_code()
    if code is not None:
        return _ended(code, output)
    found = read_run(project, now=Clock().stamp())
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
    lean = [*(["-I"] * sys.flags.isolated), *(["-S"] * sys.flags.no_site)]
    return [sys.executable, *lean, program, "run", *words_of(given)]


def words_of(given: dict[str, Any]) -> list[str]:
    """What was typed after `helix start`, as it is typed after `helix run`."""
    words = []
    for flag in _FLAGS:
        said = given[flag.key]
        if said != flag.absent:
            words += [flag.name] if flag.kind == "switch" else [flag.name, str(said)]
    scopes = (given[argument.name] for argument in run.arguments)
    return [*words, *(scope for scope in scopes if scope is not None)]


def _fresh_output(project: Project) -> str:
    """A new file, so that an earlier run that still prints does not print into ours."""
    from ddx.base import make_folder

    folder = os.path.join(project.root, LOGS)
    make_folder(folder)
    path = os.path.join(folder, OUTPUT)
    if os.path.lexists(path):
        os.unlink(path)
    return path


def _has_begun(project: Project, child: BackgroundProgram) -> bool:
    """It has written its state, which it does once the lock is its own; or it has ended."""
    if child.find_code() is not None:
        return True
    found = read_run(project, now=Clock().stamp())
    return found is not None and found.row.get("pid") == child.pid


def _ended(code: int, output: str) -> int:
    """It was over before we could look: its words, and its exit code."""
    with open(output, "rb") as file:
        file.seek(max(os.path.getsize(output) - _TAIL, 0))
        said = file.read(_TAIL).decode("utf-8", "replace").rstrip("\n")
    print(shown(said), file=sys.stderr)
    return code if code >= 0 else 128 - code


@Command.of(example="helix pause")
def pause() -> int:
    """Let the run or objective rest from its next boundary on."""
    project = controlled_project()
    holder = _active_run(project)
    ask(project, ControlRequest.PAUSE, run=holder.name)
    say(f"the {holder.kind} (pid {holder.pid}) pauses at its next boundary; go on: helix resume")
    return 0


@Command.of(example="helix resume")
def resume() -> int:
    """Let a paused run or objective go on."""
    project = controlled_project()
    holder = _active_run(project)
    was_asked = withdraw(project, ControlRequest.PAUSE)
    say(f"the {holder.kind} (pid {holder.pid}) {'goes on' if was_asked else 'was not paused'}")
    return 0


def _active_run(project: Project) -> RunHolder:
    """The run or the objective that can be paused and resumed."""
    found = find_holder(project)
    if found is None:
        raise NotFound(f"no run is active in {project.root}", hint="begin one: helix start")
    return found


@Command.of(
    example="helix stop --wait 60",
    flags=(
        Flag("--now", "end the agent at once; its work is kept", "switch"),
        Flag("--wait", "seconds to wait for its end (10; with --now 60)", "number"),
    ),
)
def stop(*, now: bool, wait: int | None) -> int:
    """Ask the run to stop at its next boundary."""
    project = controlled_project()
    holder = find_holder(project)
    if holder is None:
        say(f"no run is active in {project.root}")
        return 0
    what = f"the {holder.kind} (pid {holder.pid})"
    ask(project, ControlRequest.STOP, run=holder.name)
    if now:
        _terminate(holder.pid)
    wait_s = wait if wait is not None else _WAIT_NOW_S if now else _WAIT_STOP_S
    if _comes_true(
        lambda: not is_alive(holder.pid, holder.pid_start), within_s=min(wait_s, _HIGHEST_WAIT_S)
    ):
        say(f"{what} has stopped")
        return 0
    if now:
        hint = "see what it does: helix logs -f"
        raise DdxError(f"{what} is still ending after {wait_s} s", hint=hint)
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


def _comes_true(condition: Callable[[], bool], *, within_s: float) -> bool:
    """Looked at again and again; False if it has not come true in time."""
    deadline_ns = Clock().now_ns() + int(within_s * 1e9)
    while not condition():
        if Clock().now_ns() >= deadline_ns:
            return False
        Clock().sleep(_PAUSE_S)
    return True


# -- after a crash ---------------------------------------------------------------------------


@Command.of(
    example="helix recover",
    arguments=(
        Argument(
            "ids", "beads to release; without any, all claims of runners", True, required=False
        ),
    ),
    flags=(JSON,),
    schema="helix-recovered",
)
def recover(*, ids: tuple[str, ...], json: bool) -> int:
    """End what dead attempts left, and release the claims that nobody holds any more."""
    from ddx.attempts import open_site, reconcile

    site = open_site(controlled_project(), lambda happening: None, tell=tell)
    for bead_id in ids:
        site.tracker.snapshot().bead(bead_id)  # an unknown one is an error before anything is done
    dead = reconcile(site)
    claims = _release(site, ids)
    attempts, released = [one.as_row() for one in dead], [one.__dict__ for one in claims]
    lines = [*(one.sentence for one in dead), *(one.sentence for one in claims)]
    none = "there is nothing to recover: no dead attempt, and no claim of a runner"
    return present({"attempts": attempts, "claims": released}, lines or [none], json=json)


def _release(site: AttemptContext, ids: tuple[str, ...]) -> list[RecoveredClaim]:
    """Named beads at once, whatever their age; without a name those of this machine (D-23)."""
    from helix.project import read_helix_settings
    from helix.run import RecoveredClaim, recover

    settings = read_helix_settings(site.project, clock=site.clock)
    claimed = _claimed(site)
    found = recover(
        site,
        threshold_s=settings.orphan_threshold_s,
        ours=[bead_id for bead_id in claimed if ids and bead_id not in ids],  # let alone
        asked=ids or [bead_id for bead_id, machine in claimed.items() if _is_here(machine)],
    )
    judged = {one.bead for one in found}
    return [
        *found,
        *(RecoveredClaim(it, False, "no runner holds it") for it in ids if it not in judged),
    ]


def _claimed(site: AttemptContext) -> dict[str, str]:
    """Every bead in progress, with the machine that claimed it."""
    held = site.tracker.snapshot().with_status("in_progress")
    return {bead.id: bead.text("claimed-machine") for bead in held}


def _is_here(machine: str) -> bool:
    """Another machine's claims are judged by their age alone (S-18)."""
    return machine in ("", os.uname().nodename)
