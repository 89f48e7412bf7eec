"""`ddx metric show`"""

from __future__ import annotations

from ddx.cli.exec_.rendering import NEVER, ago, command_line
from ddx.cli.exec_.session import load_definitions, load_history
from ddx.cli.metric.rendering import amount, extremes, metric_row, point_row, wish
from ddx.console.screen import answer, bold, say, table
from ddx.console.spec import JSON, Argument, Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.definitions import Definitions
    from ddx.graph.proof.measuring import Metric

RECENT = 10
NAME = Argument("name", "the metric's name, or the id of its document")


def run(*, name: str, json: bool) -> int:
    project, definitions = load_definitions()
    metric = definitions.metric(name)
    points = load_history(project).measured(metric.name)
    if json:
        answer(
            {
                **metric_row(definitions, metric),
                **extremes(metric, points),
                "recent": [point_row(*point) for point in points[-RECENT:]],
            }
        )
        return 0
    _print_definition(definitions, metric)
    say()
    if not points:
        say(f"{NEVER}; do it: ddx metric run {metric.name}")
        return 0
    table(
        ("run", "value", "when"),
        [
            (record.run_id, amount(metric, number), ago(record))
            for record, number in reversed(points[-RECENT:])
        ],
    )
    return 0


def _print_definition(definitions: Definitions, metric: Metric) -> None:
    execution = definitions.runs[metric.name]
    say(bold(metric.name), f"  {metric.path}")
    unit = f" in {metric.unit}" if metric.unit else ""
    say(f"{wish(metric)}{unit}; within {metric.tolerance} counts as the same")
    say(f"command: {command_line(execution)}")
    if execution.id != metric.id:
        say(f"measured by: {execution.id}")
    if metric.pattern:
        say(f"output pattern: {metric.pattern}")


COMMAND = Command(
    "metric show",
    "Show a metric: how it is measured, and its last values.",
    run,
    "ddx metric show start-up",
    arguments=(NAME,),
    flags=(JSON,),
    schema="metric-shown",
)
