"""What a second terminal asks of a run: stop, pause, go on (S-26).

Each wish is a small file that names the run it is meant for, so that none is lost while that run
just begins, and none reaches the next one.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.files import replace

if TYPE_CHECKING:
    from ddx.project import Project


_LONGEST = 200


class Wish(StrEnum):
    STOP = "stop"
    PAUSE = "pause"


def ask(project: Project, wish: Wish, *, run: str) -> None:
    """Heard at the run's next boundary."""
    replace(_path(project, wish), (f"{run}\n".encode(),), durable=False)


def withdraw(project: Project, wish: Wish) -> bool:
    """False if nobody had asked for it."""
    try:
        os.unlink(_path(project, wish))
    except FileNotFoundError:
        return False
    return True


def is_asked(project: Project, wish: Wish) -> bool:
    return os.path.exists(_path(project, wish))


def forget_others(project: Project, *, run: str) -> None:
    """What was meant for a run that is over is not for the one that begins."""
    for wish in Wish:
        if _meant_for(project, wish) != run:
            withdraw(project, wish)


def _meant_for(project: Project, wish: Wish) -> str:
    try:
        with open(_path(project, wish), encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST).strip()
    except FileNotFoundError:
        return ""


def _path(project: Project, wish: Wish) -> str:
    return project.ddx("state", f"run-{wish}")
