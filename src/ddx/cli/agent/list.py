"""`ddx agent list`"""

from __future__ import annotations

from ddx.cli.place import here, settings
from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command
from ddx.errors import DdxError, UsageError
from ddx.trust import is_trusted
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ddx.harnesses.base import Detected
    from ddx.project import Project
    from ddx.settings import Settings

USED = "the one that is used"


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


def run(*, json: bool) -> int:
    project = here()
    found = examine(project, settings(project))
    if json:
        answer([harness_row(item) for item in found])
        return 0
    table(
        ("harness", "kind", "installed", "version", "note"),
        [
            (
                item.name,
                item.kind,
                "yes" if item.is_installed else "no",
                item.detected.version or "-",
                item.detected.problem or (USED if item.is_chosen else ""),
            )
            for item in found
        ],
    )
    if not any(item.is_chosen for item in found):
        say("several would do, or none: say which by --harness NAME")
    return 0


def examine(project: Project, found: Settings, names: Sequence[str] = ()) -> list[Examined]:
    """Every harness, or those named; their programs are asked side by side."""
    from concurrent.futures import ThreadPoolExecutor

    from ddx.harnesses.registry import find_harness, known_harnesses

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


def harness_row(item: Examined) -> dict[str, Any]:
    there = item.detected
    return {
        "name": item.name,
        "kind": item.kind,
        "installed": item.is_installed,
        "usable": there.ok,
        "chosen": item.is_chosen,
        "program": there.program,
        "path": there.path,
        "version": there.version,
        "capabilities": sorted(there.capabilities),
        "problem": there.problem,
    }


def _detected(project: Project, found: Settings, name: str) -> Detected:
    """One that is not set up as it should be hides no other."""
    from ddx.harnesses.base import Detected
    from ddx.harnesses.registry import find_harness

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
    from ddx.harnesses.registry import choose_harness

    try:
        return choose_harness(None, found)
    except UsageError:  # there are several, or none
        return ""


COMMAND = Command(
    "agent list",
    "List the harnesses: which agent programs are installed, and which one would be used.",
    run,
    "ddx agent list",
    flags=(JSON,),
    schema="agent-list",
)
