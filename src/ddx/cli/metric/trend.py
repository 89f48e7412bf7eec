"""`ddx metric trend`"""

from __future__ import annotations

from ddx.cli.exec_.session import load_definitions, load_history
from ddx.cli.metric.rendering import amount, extremes, metric_row, point_row, wish
from ddx.cli.metric.show import NAME
from ddx.console.screen import answer, bold, dim, say, screen_width
from ddx.console.spec import JSON, Command, Flag
from ddx.instants import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.measuring import Metric
    from ddx.graph.proof.records import Record

LAST = 100


def run(*, name: str, last: int | None, json: bool) -> int:
    project, definitions = load_definitions()
    metric = definitions.metric(name)
    history = load_history(project)
    wanted = LAST if last is None else last
    points = history.measured(metric.name)[-wanted:] if wanted else ()
    failed = sum(not record.ok for record in history.of(definitions.runs[metric.name].id))
    if json:
        answer(
            {
                **metric_row(definitions, metric),
                **extremes(metric, points),
                "points": [point_row(*point) for point in points],
                "failed_runs": failed,
            }
        )
    elif points:
        _plot(metric, points, failed=failed)
    else:
        say(f"{metric.name} has no values yet: ddx metric run {metric.name}")
    return 0


def _plot(metric: Metric, points: tuple[tuple[Record, float], ...], *, failed: int) -> None:
    from ddx.console.chart import line_chart

    unit = f" in {metric.unit}" if metric.unit else ""
    say(bold(metric.name), f"{unit}, {wish(metric)}\n")
    first, final = points[0][0], points[-1][0]
    for line in line_chart(
        [number for _, number in points],
        width=screen_width(),
        first=_minute(first),
        last=_minute(final),
    ):
        say(line)
    numbers = extremes(metric, points)
    parts = [f"{key} {amount(metric, numbers[key])}" for key in ("last", "min", "max")]
    parts.append(f"{len(points)} {'run' if len(points) == 1 else 'runs'}")
    if failed:
        parts.append(f"{failed} failed")
    say()
    for line in _flowing(parts, screen_width()):
        say(dim(line))


def _minute(record: Record) -> str:
    moment = parse(record.started_at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else record.started_at


def _flowing(parts: list[str], width: int) -> list[str]:
    """As many on a line as fit."""
    lines = [""]
    for part in parts:
        joined = f"{lines[-1]}   {part}" if lines[-1] else part
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


COMMAND = Command(
    "metric trend",
    "Draw how a metric went, oldest value first.",
    run,
    "ddx metric trend start-up --last 30",
    arguments=(NAME,),
    flags=(Flag("--last", f"this many values; {LAST} if not given", kind="number"), JSON),
    schema="metric-trend",
)
