"""How definitions and runs are shown: as JSON, as a line, as a cell of a table."""

from __future__ import annotations

import os

from ddx.cli.place import CLOCK
from ddx.console.screen import dim, say
from ddx.graph.proof.measuring import shown
from ddx.graph.proof.records import STDERR, STDOUT, as_row, folder_of, read_log
from ddx.instants import in_words, seconds_between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.graph.proof.definitions import Definitions, Execution
    from ddx.graph.proof.records import Record
    from ddx.project import Project

NEVER = "never run"
_TAIL_LINES = 8


def definition_row(execution: Execution) -> dict[str, Any]:
    command = execution.command
    return {
        **execution.__dict__,
        "command": command if isinstance(command, str) else list(command),
        "env": dict(execution.env),
        "artifact_ids": list(execution.artifact_ids),
        "measures": [metric.name for metric in execution.measures],
    }


def run_row(project: Project, record: Record) -> dict[str, Any]:
    """A record, and where its logs are."""
    return {**as_row(record), "logs": logs_of(project, record)}


def logs_of(project: Project, record: Record) -> str:
    return os.path.relpath(folder_of(project, record.run_id), project.root)


def command_line(execution: Execution) -> str:
    if isinstance(execution.command, str):
        return execution.command
    from shlex import join

    return join(execution.command)


def spoken_status(record: Record) -> str:
    return record.status.replace("_", " ")


def ago(record: Record) -> str:
    elapsed_s = seconds_between(record.started_at, CLOCK.stamp())
    return record.started_at if elapsed_s is None else f"{in_words(elapsed_s)} ago"


def took(record: Record) -> str:
    elapsed_s = seconds_between(record.started_at, record.finished_at)
    if elapsed_s is None:
        return ""
    return f"{elapsed_s * 1000:.0f} ms" if elapsed_s < 1 else in_words(elapsed_s)


def outcome(record: Record, definitions: Definitions) -> str:
    """The numbers of a good run, the reason of a bad one."""
    units = {metric.name: metric.unit for metric in definitions.metrics.values()}
    numbers = (f"{name} {shown(it, units.get(name, ''))}" for name, it in record.metrics.items())
    return record.reason or ", ".join(numbers)


def print_ending(project: Project, record: Record, definitions: Definitions) -> None:
    """How a run ended; of one that failed also the last lines it printed."""
    told = outcome(record, definitions)
    say(f"  {spoken_status(record)}{f', {told}' if told else ''}: {logs_of(project, record)}")
    if not record.ok:
        for line in tail(project, record):
            say(dim(f"    {line}"))


def tail(project: Project, record: Record, *, most: int = _TAIL_LINES) -> list[str]:
    """The last lines of what it complained, else of what it printed."""
    for name in (STDERR, STDOUT):
        lines = read_log(project, record.run_id, name).rstrip().splitlines()
        if lines:
            return lines[-most:]
    return []
