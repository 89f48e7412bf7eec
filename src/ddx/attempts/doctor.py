"""Whether attempts can be made here: git, trust, the sandbox, room for workspaces (X-13, X-22)."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from ddx.attempts.context import fix_target, workspace_root
from ddx.attempts.records import read_attempts
from ddx.attempts.sandbox import require_bubblewrap
from ddx.base import DdxError, Finding, listed
from ddx.git import OLDEST, version

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.base import Clock
    from ddx.project import Project, Settings

LEAST_FREE = 1 << 30
"""Bytes: a clone and what a set-up installs should fit."""
_ELSEWHERE = "or name another folder: `workspace: {root: ...}` in .ddx/config.yaml"


def examine_surroundings(project: Project, settings: Settings, *, clock: Clock) -> list[Finding]:
    """What every attempt needs besides its agent."""
    looks: dict[str, Callable[[], str]] = {
        "git": lambda: _look_at_git(project),
        "head": lambda: f"work lands on {fix_target(project).name}",
        "trust": lambda: _look_at_trust(project),
        "workspaces": lambda: _look_at_room(project, settings),
        "leftovers": lambda: _look_for_the_dead(project, clock),
    }
    if settings.sandbox.kind != "none":
        looks["sandbox"] = lambda: _look_at_sandbox(settings)
    return [Finding.look(name, look) for name, look in looks.items()]


def _look_at_git(project: Project) -> str:
    numbers = version(project.root)
    spoken, oldest = (".".join(map(str, it)) for it in (numbers, OLDEST))
    if not numbers:
        raise DdxError("there is no git here", hint=f"install git {oldest} or newer")
    if numbers < OLDEST:
        raise DdxError(
            f"git {spoken} cannot merge without a checkout", hint=f"install git {oldest} or newer"
        )
    return f"git {spoken}"


def _look_at_trust(project: Project) -> str:
    if project.is_trusted():
        return "this repository is trusted"
    raise DdxError(
        "this repository is not trusted, so nothing of it is run",
        hint="look at it, then: helix trust",
    )


def _look_at_sandbox(settings: Settings) -> str:
    require_bubblewrap(network=settings.sandbox.network)
    network = "with" if settings.sandbox.network else "without"
    return f"bubblewrap works; agents run in it, {network} the network"


def _look_at_room(project: Project, settings: Settings) -> str:
    root = workspace_root(project, settings)
    place = root
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    below = os.path.join(place, os.path.relpath(root, place).split(os.sep)[0])
    in_the_way = below if os.path.lexists(below) and not os.path.isdir(below) else ""
    if in_the_way or not os.access(place, os.W_OK | os.X_OK):
        why = f"{in_the_way} is no folder" if in_the_way else f"{place} may not be written"
        raise DdxError(f"workspaces go to {root}, but {why}", hint=f"allow it, {_ELSEWHERE}")
    free = shutil.disk_usage(place).free
    spoken = f"workspaces go to {root}, where {free / (1 << 30):.1f} GiB are free"
    if free < LEAST_FREE:
        raise DdxError(spoken, hint=f"make room, {_ELSEWHERE}")
    return spoken


def _look_for_the_dead(project: Project, clock: Clock) -> str:
    dead = read_attempts(project).dead(clock)
    if not dead:
        return "no attempt has left anything behind"
    one = len(dead) == 1
    raise DdxError(
        f"{listed(dead)} died and left {'its' if one else 'their'} claims and workspaces behind",
        hint="the next ddx agent execute-loop, execute-bead or run cleans up before it begins",
    )
