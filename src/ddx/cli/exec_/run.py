"""`ddx exec run`"""

from __future__ import annotations

from ddx.cli.exec_.rendering import command_line, print_ending, run_row
from ddx.cli.exec_.session import load_definitions, tell_broken, this_checkout
from ddx.cli.place import CLOCK
from ddx.console.screen import answer, bold, say
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.environment import refuse_inside_an_attempt
from ddx.errors import UsageError
from ddx.graph.proof.definitions import EXECUTION
from ddx.text import listed
from ddx.trust import require_trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.definitions import Definitions, Execution

FAILED = 1


def run(*, id: tuple[str, ...], required: bool, json: bool) -> int:
    from ddx.graph.proof.running import run_execution

    project, definitions = load_definitions()
    refuse_inside_an_attempt(
        project, what="running in the checkout", instead="run the command itself in your workspace"
    )
    wanted = _wanted(definitions, id, required=required)
    if wanted:
        require_trust(project, to_run=listed(item.id for item in wanted))
    records = []
    for execution in wanted:
        if not json:
            say(bold(execution.id), f"  {command_line(execution)}")
        record = run_execution(project, execution, clock=CLOCK, place=this_checkout())
        records.append(record)
        if not json:
            print_ending(project, record, definitions)
    if json:
        answer({"runs": [run_row(project, record) for record in records]})
    elif not wanted:
        say("no execution document is required")
    passed = all(record.ok for record in records)
    if required and tell_broken(definitions, EXECUTION):
        passed = False  # one of those may be required: never a skip
    return 0 if passed else FAILED


def _wanted(definitions: Definitions, names: tuple[str, ...], *, required: bool) -> list[Execution]:
    if not names and not required:
        raise UsageError("which one shall run?", hint="name ids, or: ddx exec run --required")
    found = [definitions.execution(name) for name in names]
    if required:
        found += [item for item in definitions.executions.values() if item.required]
    return list({item.id: item for item in found}.values())


COMMAND = Command(
    "exec run",
    "Run execution documents and keep a record of each (exit 1 if one does not succeed).",
    run,
    "ddx exec run EXEC-001",
    arguments=(Argument("id", "the documents to run", many=True, required=False),),
    flags=(Flag("--required", "all that must pass", kind="switch"), JSON),
    schema="exec-run",
)
