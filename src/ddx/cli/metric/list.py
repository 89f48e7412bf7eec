"""`ddx metric list`"""

from __future__ import annotations

from ddx.cli.exec_.rendering import NEVER, ago, command_line
from ddx.cli.exec_.session import load_definitions, load_history, tell_broken
from ddx.cli.metric.rendering import amount, arrow, metric_row, point_row
from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command
from ddx.graph.proof.definitions import METRIC


def run(*, json: bool) -> int:
    project, definitions = load_definitions()
    tell_broken(definitions, METRIC)
    history = load_history(project)
    metrics = sorted(definitions.metrics.values(), key=lambda metric: metric.name)
    last = {metric.name: history.measured(metric.name)[-1:] for metric in metrics}
    if json:
        answer(
            [
                {
                    **metric_row(definitions, metric),
                    "last": next((point_row(*point) for point in last[metric.name]), None),
                }
                for metric in metrics
            ]
        )
    elif metrics:
        rows = []
        for metric in metrics:
            value, age = NEVER, ""
            for record, number in last[metric.name]:
                value, age = amount(metric, number), ago(record)
            command = command_line(definitions.runs[metric.name])
            rows.append((metric.name, value, f"{arrow(metric)} {metric.direction}", age, command))
        table(("metric", "last", "better", "when", "command"), rows)
    else:
        say('no metrics yet: ddx doc new metric "Start-up time"')
    return 0


COMMAND = Command(
    "metric list",
    "List the metrics with their last values.",
    run,
    "ddx metric list",
    flags=(JSON,),
    schema="metric-list",
)
