"""`ddx exec show`"""

from __future__ import annotations

from ddx.cli.exec_.rendering import (
    NEVER,
    command_line,
    definition_row,
    logs_of,
    outcome,
    run_row,
    spoken_status,
    took,
)
from ddx.cli.exec_.session import load_definitions, load_history
from ddx.cli.place import CLOCK
from ddx.console.screen import answer, bold, dim, excerpt, say, when
from ddx.console.spec import JSON, Argument, Command
from ddx.graph.proof.records import STDERR, STDOUT, read_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.definitions import Definitions, Execution
    from ddx.graph.proof.records import Record
    from ddx.project import Project


def run(*, id: str, json: bool) -> int:
    project, definitions = load_definitions()
    history = load_history(project)
    record = history.find(id)
    if record is None:
        execution: Execution | None = definitions.execution(id)
        record = history.last(execution.id) if execution else None
    else:
        execution = definitions.executions.get(record.definition_id)
    if json:
        answer(
            {
                "definition": definition_row(execution) if execution else None,
                "run": run_row(project, record) if record else None,
                **{
                    name.removesuffix(".log"): read_log(project, record.run_id, name)
                    if record
                    else ""
                    for name in (STDOUT, STDERR)
                },
            }
        )
        return 0
    if execution:
        _print_definition(execution)
        say()
    if record:
        _print_run(project, record, definitions)
    else:
        say(NEVER)
    return 0


def _print_definition(execution: Execution) -> None:
    say(bold(execution.id), f"  {execution.path}")
    say(f"command: {command_line(execution)}")
    place = f", in {execution.cwd}" if execution.cwd else ""
    must = "must pass" if execution.required else "need not pass"
    say(f"{must}, within {execution.timeout_ms / 1000:g} s{place}")
    for name, text in execution.env.items():
        say(f"with {name}={text}")
    if execution.artifact_ids:
        say(f"proves: {', '.join(execution.artifact_ids)}")
    if execution.measures:
        say(f"measures: {', '.join(metric.name for metric in execution.measures)}")


def _print_run(project: Project, record: Record, definitions: Definitions) -> None:
    say(bold(record.run_id), f"  of {record.definition_id}, {spoken_status(record)}")
    if told := outcome(record, definitions):
        say(told)
    say(f"{when(record.started_at, now=CLOCK.stamp())}, took {took(record)}")
    for name in (STDOUT, STDERR):
        text = read_log(project, record.run_id, name)
        if text:
            say("\n", dim(f"{logs_of(project, record)}/{name}"), "\n", excerpt(text.rstrip()))


COMMAND = Command(
    "exec show",
    "Show a run with what it printed, or an execution document with its last run.",
    run,
    "ddx exec show EXEC-001",
    arguments=(Argument("id", "a run or an execution document"),),
    flags=(JSON,),
    schema="exec-shown",
)
