"""What a second terminal asks of a run: stop, pause, go on (S-26). Each wish is a small file."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.files import replace

if TYPE_CHECKING:
    from ddx.project import Project


class Wish(StrEnum):
    STOP = "stop"
    PAUSE = "pause"


def ask(project: Project, wish: Wish, *, at: str) -> None:
    """Heard at the run's next boundary."""
    replace(_path(project, wish), (f"{at}\n".encode(),), durable=False)


def withdraw(project: Project, wish: Wish) -> bool:
    """False if nobody had asked for it."""
    try:
        os.unlink(_path(project, wish))
    except FileNotFoundError:
        return False
    return True


def is_asked(project: Project, wish: Wish) -> bool:
    return os.path.exists(_path(project, wish))


def forget_all(project: Project) -> None:
    """A wish was meant for the run that was there then, not for the next one."""
    for wish in Wish:
        withdraw(project, wish)


def _path(project: Project, wish: Wish) -> str:
    return project.ddx("state", f"run-{wish}")
