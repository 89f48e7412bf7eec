"""`ddx agent list`"""

from __future__ import annotations

from ddx.cli.place import here, settings
from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.harnesses.examining import Examined

USED = "the one that is used"


def run(*, json: bool) -> int:
    from ddx.harnesses.examining import examine

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


COMMAND = Command(
    "agent list",
    "List the harnesses: which agent programs are installed, and which one would be used.",
    run,
    "ddx agent list",
    flags=(JSON,),
    schema="agent-list",
)
