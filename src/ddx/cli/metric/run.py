"""`ddx metric run`"""

from __future__ import annotations

from ddx.cli.exec_.rendering import command_line, logs_of, print_ending, run_row
from ddx.cli.exec_.session import load_definitions, load_history, this_checkout
from ddx.cli.metric.rendering import amount, spoken
from ddx.cli.place import CLOCK
from ddx.console.screen import answer, bold, say
from ddx.console.spec import JSON, Argument, Command
from ddx.environment import refuse_inside_an_attempt
from ddx.graph.proof.measuring import judge
from ddx.text import listed
from ddx.trust import require_trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.measuring import Metric
    from ddx.graph.proof.records import History, Record

FAILED = 1


def run(*, name: tuple[str, ...], json: bool) -> int:
    from ddx.graph.proof.running import run_execution

    project, definitions = load_definitions()
    refuse_inside_an_attempt(
        project, what="running in the checkout", instead="run the command itself in your workspace"
    )
    before = load_history(project)
    metrics = list(dict.fromkeys(definitions.metric(each).name for each in name))
    require_trust(project, to_run=listed(metrics))
    records: dict[str, Record] = {}
    for each in metrics:
        execution = definitions.runs[each]
        if not json:
            say(bold(each), f"  {command_line(execution)}")
        record = next((it for it in records.values() if each in it.metrics), None)
        if record is None:  # one run may measure several of them
            record = run_execution(project, execution, clock=CLOCK, place=this_checkout())
            records[record.run_id] = record
        if not json:
            if record.ok:
                change = _change(definitions.metrics[each], record, before)
                say(f"  {change}: {logs_of(project, record)}")
            else:
                print_ending(project, record, definitions)
    if json:
        answer({"runs": [run_row(project, record) for record in records.values()]})
    return 0 if all(record.ok for record in records.values()) else FAILED


def _change(metric: Metric, record: Record, before: History) -> str:
    """The new value, beside the one before it."""
    now = record.metrics[metric.name]
    for _, last in before.measured(metric.name)[-1:]:
        return f"{amount(metric, now)}, {spoken(judge(metric, now, last))} {amount(metric, last)}"
    return amount(metric, now)


COMMAND = Command(
    "metric run",
    "Measure: run a metric's command and keep the number (exit 1 if there is none).",
    run,
    "ddx metric run start-up",
    arguments=(Argument("name", "names of metrics, or ids of their documents", many=True),),
    flags=(JSON,),
    schema="exec-run",
)
