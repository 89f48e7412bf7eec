"""`ddx exec list`, `run`, `history` and `show`: what is defined, running it, and what was run."""

from __future__ import annotations

from ddx.base import UsageError, listed
from ddx.cli.context import CLOCK
from ddx.cli.exec_ import runs
from ddx.console import JSON, Argument, Command, Flag, answer, bold, dim, excerpt, say, table, when
from ddx.documents import EXECUTION, STDERR, STDOUT, read_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddx.documents import Definitions, Execution, RunHistory, RunRecord
    from ddx.project import Project

LIMIT = 20
FAILED = 1


@Command.of(
    example="ddx exec list --required",
    flags=(Flag("--required", "only those that must pass", kind="switch"), JSON),
    schema="exec-list",
)
def list_executions(*, required: bool, json: bool) -> int:
    """List the execution documents: what each runs, and how its last run ended."""
    project, definitions = runs.load_definitions()
    runs.tell_broken(definitions, EXECUTION)
    history = runs.load_history(project)
    found = [item for item in definitions.executions.values() if item.required or not required]
    rows, cells = [], []
    for item in found:
        last, told = None, runs.NEVER
        if record := history.last(item.id):
            last = runs.run_row(project, record)
            told = f"{runs.spoken_status(record)}, {runs.ago(record)}"
        rows.append({**runs.definition_row(item), "last": last})
        must = "yes" if item.required else "no"
        cells.append((item.id, must, told, runs.command_line(item)))
    if json:
        answer(rows)
    elif found:
        table(("id", "required", "last run", "command"), cells)
    else:
        which = "required execution document" if required else "execution document"
        say(f'no {which}; make one: ddx exec define "unit tests" --command "pytest -q"')
    return 0


@Command.of(
    example="ddx exec run EXEC-001",
    arguments=(Argument("id", "the documents to run", many=True, required=False),),
    flags=(Flag("--required", "all that must pass", kind="switch"), JSON),
    schema="exec-run",
)
def run(*, id: tuple[str, ...], required: bool, json: bool) -> int:
    """Run execution documents and keep a record of each (exit 1 if one does not succeed)."""
    project, definitions = runs.load_runnable()
    wanted = _wanted(definitions, id, required=required)
    if wanted:
        project.require_trust(to_run=listed(item.id for item in wanted))
    records = []
    for execution in wanted:
        if not json:
            say(bold(execution.id), f"  {runs.command_line(execution)}")
        record = runs.run_here(project, execution)
        records.append(record)
        if not json:
            runs.print_ending(project, record, definitions)
    if json:
        answer({"runs": [runs.run_row(project, record) for record in records]})
    elif not wanted:
        say("no execution document is required")
    passed = all(record.ok for record in records)
    if required and runs.tell_broken(definitions, EXECUTION):
        passed = False  # one of those may be required: never a skip
    return 0 if passed else FAILED


def _wanted(definitions: Definitions, names: tuple[str, ...], *, required: bool) -> list[Execution]:
    if not names and not required:
        raise UsageError("which one shall run?", hint="name ids, or: ddx exec run --required")
    found = [definitions.execution(name) for name in names]
    if required:
        found += [item for item in definitions.executions.values() if item.required]
    return list({item.id: item for item in found}.values())


@Command.of(
    example="ddx exec history EXEC-001 --limit 5",
    arguments=(Argument("id", "only this document or metric", required=False),),
    flags=(Flag("--limit", f"at most this many; {LIMIT} if not given", kind="number"), JSON),
    schema="exec-history",
)
def run_history(*, id: str | None, limit: int | None, json: bool) -> int:
    """List what was run, newest first."""
    project, definitions = runs.load_definitions()
    history = runs.load_history(project)
    records = history.of(_definition_id(history, definitions, id)) if id else history.records
    records = tuple(reversed(records))[: LIMIT if limit is None else limit]
    if json:
        answer([runs.run_row(project, record) for record in records])
    elif records:
        table(
            ("run", "definition", "status", "when", "took", "outcome"),
            [
                (
                    record.run_id,
                    record.definition_id,
                    runs.spoken_status(record),
                    runs.ago(record),
                    runs.took(record),
                    runs.outcome(record, definitions),
                )
                for record in records
            ],
        )
    else:
        say(f"{id} was never run" if id else "nothing was run here yet")
    return 0


def _definition_id(history: RunHistory, definitions: Definitions, name: str) -> str:
    """What a document left is found even when the document is gone."""
    known = {record.definition_id.casefold(): record.definition_id for record in history.records}
    if name.casefold() in known:
        return known[name.casefold()]
    if name in definitions.runs:
        return definitions.runs[name].id
    return definitions.execution(name).id


@Command.of(
    example="ddx exec show EXEC-001",
    arguments=(Argument("id", "a run or an execution document"),),
    flags=(JSON,),
    schema="exec-shown",
)
def show(*, id: str, json: bool) -> int:
    """Show a run with what it printed, or an execution document with its last run."""
    project, definitions = runs.load_definitions()
    history = runs.load_history(project)
    record = history.find(id)
    if record is None:
        execution: Execution | None = definitions.execution(id)
        record = history.last(execution.id) if execution else None
    else:
        execution = definitions.executions.get(record.definition_id)
    printed = {
        name: read_log(project, record.run_id, name) if record else "" for name in (STDOUT, STDERR)
    }
    if json:
        answer(
            {
                "definition": runs.definition_row(execution) if execution else None,
                "run": runs.run_row(project, record) if record else None,
                **{name.removesuffix(".log"): text for name, text in printed.items()},
            }
        )
        return 0
    if execution:
        _print_definition(execution)
        say()
    if record:
        _print_run(project, record, definitions, printed)
    else:
        say(runs.NEVER)
    return 0


def _print_definition(execution: Execution) -> None:
    say(bold(execution.id), f"  {execution.path}")
    say(f"command: {runs.command_line(execution)}")
    place = f", in {execution.cwd}" if execution.cwd else ""
    must = "must pass" if execution.required else "need not pass"
    say(f"{must}, within {execution.timeout_ms / 1000:g} s{place}")
    for name, text in execution.env.items():
        say(f"with {name}={text}")
    if execution.artifact_ids:
        say(f"proves: {', '.join(execution.artifact_ids)}")
    if execution.measures:
        say(f"measures: {', '.join(metric.name for metric in execution.measures)}")


def _print_run(
    project: Project, record: RunRecord, definitions: Definitions, printed: Mapping[str, str]
) -> None:
    say(bold(record.run_id), f"  of {record.definition_id}, {runs.spoken_status(record)}")
    if told := runs.outcome(record, definitions):
        say(told)
    say(f"{when(record.started_at, now=CLOCK.stamp())}, took {runs.took(record)}")
    for name, text in printed.items():
        if text:
            say("\n", dim(f"{runs.logs_of(project, record)}/{name}"), "\n", excerpt(text.rstrip()))
