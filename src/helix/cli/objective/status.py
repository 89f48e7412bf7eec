"""`helix objective status`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.console.screen import answer, bold, say
from ddx.console.spec import JSON, Command
from ddx.errors import NotFound
from helix.cli.objective.resume import OBJECTIVE

if TYPE_CHECKING:
    from typing import Any

_LISTS = ("completed", "partial", "blocked", "skipped", "pending", "questions", "warnings")


def run(*, objective: str | None, json: bool) -> int:
    from ddx.project import find_project
    from helix.objective import Orchestrator

    root = find_project(os.getcwd()).root
    row = Orchestrator.resume(_meant(root, objective or ""), root).status()
    if json:
        answer(row)
    else:
        _show(row)
    return 0


def _meant(root: str, said: str) -> str:
    """The words of an objective; of one that nobody has begun, too: it stands at INIT."""
    from helix.objective.events import find_objective, words_of

    try:
        return words_of(find_objective(root, said))
    except NotFound:
        if not said:
            raise
        return said


def _show(row: dict[str, Any]) -> None:
    say(bold(row["state"]), f"  {row['id']}")
    say(row["objective"])
    for name in _LISTS:
        if row[name]:
            say(f"{name}: {', '.join(row[name])}")
    if row["error_reason"]:
        say(f"{row['error_reason']}: {row['recovery']}")


COMMAND = Command(
    "objective status",
    "Where an objective stands, task by task, and what can be done about it.",
    run,
    'helix objective status --objective "Throttle logins" --json',
    flags=(OBJECTIVE, JSON),
    schema="helix-objective-status",
)
