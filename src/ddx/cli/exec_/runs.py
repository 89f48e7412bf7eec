"""What `ddx exec` and `ddx metric` share: what can be run here, what was run, how it is shown."""

from __future__ import annotations

import os

from ddx.base import Instant, in_words, quantity
from ddx.cli.context import CLOCK, document_roots, here, load_documents, tell
from ddx.console import dim, say
from ddx.documents import (
    STDERR,
    STDOUT,
    as_row,
    folder_of,
    read_definitions,
    read_history,
    read_log,
)
from ddx.project import find_checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.documents import Definitions, Execution, RunHistory, RunRecord
    from ddx.project import Project

NEVER = "never run"
_TAIL_LINES = 8


def load_definitions() -> tuple[Project, Definitions]:
    """What can be run here; its records are the project's, whichever copy we stand in."""
    checkout, graph = load_documents()
    return here(), read_definitions(checkout.root, document_roots(), graph)


def load_runnable() -> tuple[Project, Definitions]:
    """The same for a command that runs some of it, which no agent may do in our checkout."""
    project, definitions = load_definitions()
    project.refuse_inside_an_attempt(
        what="running in the checkout", instead="run the command itself in your workspace"
    )
    return project, definitions


def run_here(project: Project, execution: Execution) -> RunRecord:
    """Run it in the copy of the project that we stand in, and keep its record."""
    from ddx.proof import Place, run_execution

    place = Place(find_checkout(os.getcwd()).root)
    return run_execution(project, execution, clock=CLOCK, place=place)


def load_history(project: Project) -> RunHistory:
    """The runs that can be read; the others are named."""
    found = read_history(project)
    for path in found.unreadable:
        tell(f"{path} is no record of a run any more and is left out")
    return found


def tell_broken(definitions: Definitions, kind: str) -> bool:
    """One bad definition must not hide the good ones, nor be hidden; False: there is none."""
    broken = [item.finding for item in definitions.broken if item.kind == kind]
    for finding in broken:
        tell(f"{finding.where}:{finding.line}: {finding.what}")
    return bool(broken)


def command_row(execution: Execution) -> str | list[str]:
    """A line for a shell, or the words of a command."""
    return execution.command if isinstance(execution.command, str) else list(execution.command)


def definition_row(execution: Execution) -> dict[str, Any]:
    return {
        **execution.__dict__,
        "command": command_row(execution),
        "env": dict(execution.env),
        "artifact_ids": list(execution.artifact_ids),
        "measures": [metric.name for metric in execution.measures],
    }


def run_row(project: Project, record: RunRecord) -> dict[str, Any]:
    """A record, and where its logs are."""
    return {**as_row(record), "logs": logs_of(project, record)}


def logs_of(project: Project, record: RunRecord) -> str:
    return os.path.relpath(folder_of(project, record.run_id), project.root)


def command_line(execution: Execution) -> str:
    if isinstance(execution.command, str):
        return execution.command
    from shlex import join

    return join(execution.command)


def spoken_status(record: RunRecord) -> str:
    return record.status.replace("_", " ")


def ago(record: RunRecord) -> str:
    elapsed_s = Instant(record.started_at).seconds_until(CLOCK.stamp())
    return record.started_at if elapsed_s is None else f"{in_words(elapsed_s)} ago"


def took(record: RunRecord) -> str:
    elapsed_s = Instant(record.started_at).seconds_until(record.finished_at)
    if elapsed_s is None:
        return ""
    return f"{elapsed_s * 1000:.0f} ms" if elapsed_s < 1 else in_words(elapsed_s)


def outcome(record: RunRecord, definitions: Definitions) -> str:
    """The numbers of a good run, the reason of a bad one."""
    units = {metric.name: metric.unit for metric in definitions.metrics.values()}
    numbers = (f"{name} {quantity(it, units.get(name, ''))}" for name, it in record.metrics.items())
    return record.reason or ", ".join(numbers)


def print_ending(project: Project, record: RunRecord, definitions: Definitions) -> None:
    """How a run ended; of one that failed also the last lines it printed."""
    told = outcome(record, definitions)
    say(f"  {spoken_status(record)}{f', {told}' if told else ''}: {logs_of(project, record)}")
    if not record.ok:
        for line in tail(project, record):
            say(dim(f"    {line}"))


def tail(project: Project, record: RunRecord, *, most: int = _TAIL_LINES) -> list[str]:
    """The last lines of what it complained, else of what it printed."""
    for name in (STDERR, STDOUT):
        lines = read_log(project, record.run_id, name).rstrip().splitlines()
        if lines:
            return lines[-most:]
    return []
