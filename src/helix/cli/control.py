"""What start, stop, pause and resume share: the project, and the run that is active in it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ddx.clock import SYSTEM_CLOCK
from ddx.environment import refuse_inside_an_attempt
from ddx.errors import NotFound
from ddx.project import find_project
from ddx.text import shown
from helix.run_lock import find_holder

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.project import Project
    from helix.run_lock import Holder

_PAUSE_S = 0.1


def controlled_project() -> Project:
    """The one we stand in; an agent has no say over the run that started it (A-10)."""
    project = find_project(os.getcwd())
    refuse_inside_an_attempt(project, what="starting and stopping runs", instead="")
    return project


def active_run(project: Project) -> Holder:
    """The run or the objective that can be paused and resumed."""
    found = find_holder(project)
    if found is None:
        raise NotFound(f"no run is active in {project.root}", hint="begin one: helix start")
    return found


def comes_true(condition: Callable[[], bool], *, within_s: float) -> bool:
    """Looked at again and again; False if it has not come true in time."""
    deadline_ns = SYSTEM_CLOCK.now_ns() + int(within_s * 1e9)
    while not condition():
        if SYSTEM_CLOCK.now_ns() >= deadline_ns:
            return False
        SYSTEM_CLOCK.sleep(_PAUSE_S)
    return True


def tell(sentence: str) -> None:
    """For the person; stdout is for the result (C-1)."""
    print(shown(f"helix: {sentence}"), file=sys.stderr)
