"""What an agent program tells a hook on its stdin; hostile and perhaps not JSON at all."""

from __future__ import annotations

import os

from ddx.base import ATTEMPT, NotFound, loads, value, variable
from ddx.project import find_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO

    from ddx.project import Project

_LARGEST = 8 << 20
"""A write of a whole file comes with its text."""


@value
class HookEvent:
    """One event, and the project that it belongs to."""

    fields: Mapping[str, Any]
    project: Project | None
    """None: HELIX was never set up here, so nothing is written here either."""

    def text(self, name: str) -> str:
        found = self.fields.get(name)
        return found if isinstance(found, str) else ""


def read_event(stream: BinaryIO) -> HookEvent:
    """What was told; what cannot be read tells nothing but the folder that we stand in."""
    try:
        told = loads(stream.read(_LARGEST + 1).decode("utf-8", "replace"))
    except ValueError:
        told = {}
    fields = told if isinstance(told, dict) else {}
    said = fields.get("cwd")
    return HookEvent(fields, _project(said if isinstance(said, str) and said else os.getcwd()))


def _project(folder: str) -> Project | None:
    if variable(ATTEMPT):  # an attempt keeps its own record
        return None
    try:
        project = find_project(folder)
    except NotFound:
        return None
    ours = (os.path.join(project.root, name) for name in (".ddx", ".helix"))
    return project if any(map(os.path.isdir, ours)) else None
