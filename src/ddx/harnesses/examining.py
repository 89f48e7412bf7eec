"""Which harnesses there are here, and whether their programs answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from ddx.errors import DdxError, UsageError
from ddx.harnesses.base import Detected
from ddx.harnesses.registry import choose_harness, find_harness, known_harnesses
from ddx.trust import is_trusted
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.project import Project
    from ddx.settings import Settings

SCRIPTED = ("script", "replay")
"""These say what a file tells them, and are always there."""


@value
class Examined:
    """A harness, and whether its program is there."""

    name: str
    kind: str
    detected: Detected
    is_chosen: bool = False
    """It is the one that would work if nobody names another."""

    @property
    def is_installed(self) -> bool:
        return self.detected.ok or bool(self.detected.path)


def examine(project: Project, found: Settings, names: Sequence[str] = ()) -> list[Examined]:
    """Every harness, or those named; their programs are asked side by side."""
    for name in names:
        find_harness(name, found)  # an unknown one is a mistake
    wanted = list(dict.fromkeys(names)) or known_harnesses(found)
    chosen = _chosen(found)
    with ThreadPoolExecutor(max(len(wanted), 1)) as pool:
        detected = list(pool.map(lambda name: _detected(project, found, name), wanted))
    return [
        Examined(name, _kind(name, found), there, name == chosen)
        for name, there in zip(wanted, detected, strict=True)
    ]


def _detected(project: Project, found: Settings, name: str) -> Detected:
    """One that is not set up as it should be hides no other."""
    if _is_foreign(project, found, name) and not is_trusted(project):
        return Detected(name, problem="this repository sets it up and is not trusted: helix trust")
    try:
        return find_harness(name, found).detect()
    except DdxError as problem:
        return Detected(name, problem=problem.message)


def _is_foreign(project: Project, found: Settings, name: str) -> bool:
    """Does the repository say what to start? To ask for its version would be to run it (X-22)."""
    own = project.ddx("config.yaml")
    return any(
        key.startswith(f"harnesses.{name}.") and origin == own
        for key, origin in found.origins.items()
    )


def _kind(name: str, found: Settings) -> str:
    own = found.harnesses.get(name)
    return own.kind if own else name


def _chosen(found: Settings) -> str:

    try:
        return choose_harness(None, found)
    except UsageError:  # there are several, or none
        return ""
