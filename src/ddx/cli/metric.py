"""`ddx metric`: what metrics there are, the values they had, and measuring a new one."""

from __future__ import annotations

from ddx.base import DdxError, Instant, NotFound, listed, quantity
from ddx.cli.exec_ import runs
from ddx.console import (
    JSON,
    USUAL_WIDTH,
    Argument,
    Command,
    Flag,
    answer,
    bold,
    dim,
    say,
    table,
    terminal_width,
)
from ddx.documents import HIGHER, LOWER, METRIC, SAME, WORSE, best, judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.documents import Definitions, Metric, RunHistory, RunRecord

    MetricPoint = tuple[RunRecord, float]

NAME = Argument("name", "the metric's name, or the id of its document")
RECENT, LAST_SHOWN = 10, 100
LATEST, BEST = "latest", "best"
GOT_WORSE = 1
FAILED = 1
_ARROWS = {LOWER: "↓", HIGHER: "↑"}


def metric_row(definitions: Definitions, metric: Metric) -> dict[str, Any]:
    execution = definitions.runs[metric.name]
    return {
        "name": metric.name,
        "id": metric.id,
        "path": metric.path,
        "unit": metric.unit,
        "direction": metric.direction,
        "tolerance": str(metric.tolerance),
        "output_pattern": metric.pattern,
        "command": runs.command_row(execution),
        "measured_by": execution.id,
    }


def point_row(record: RunRecord, number: float) -> dict[str, Any]:
    return {"run_id": record.run_id, "at": record.started_at, "value": number}


def extremes(metric: Metric, points: tuple[MetricPoint, ...]) -> dict[str, Any]:
    numbers = [number for _, number in points]
    if not numbers:
        return dict.fromkeys(("min", "max", "best", "last"))
    return {
        "min": min(numbers),
        "max": max(numbers),
        "best": best(metric, numbers),
        "last": numbers[-1],
    }


def wish(metric: Metric) -> str:
    return f"{_ARROWS[metric.direction]} {metric.direction}"


def spoken(verdict: str) -> str:
    return "the same as" if verdict == SAME else f"{verdict} than"


def amount(metric: Metric, number: float) -> str:
    return quantity(number, metric.unit)


@Command.of(example="ddx metric list", flags=(JSON,), schema="metric-list")
def list_metrics(*, json: bool) -> int:
    """List the metrics with their last values."""
    project, definitions = runs.load_definitions()
    runs.tell_broken(definitions, METRIC)
    history = runs.load_history(project)
    metrics = sorted(definitions.metrics.values(), key=lambda metric: metric.name)
    rows, cells = [], []
    for metric in metrics:
        last, value, age = None, runs.NEVER, ""
        for record, number in history.measured(metric.name)[-1:]:
            last, value, age = point_row(record, number), amount(metric, number), runs.ago(record)
        rows.append({**metric_row(definitions, metric), "last": last})
        command = runs.command_line(definitions.runs[metric.name])
        cells.append((metric.name, value, wish(metric), age, command))
    if json:
        answer(rows)
    elif metrics:
        table(("metric", "last", "better", "when", "command"), cells)
    else:
        say('no metrics yet: ddx doc new metric "Start-up time"')
    return 0


@Command.of(
    example="ddx metric show start-up", arguments=(NAME,), flags=(JSON,), schema="metric-shown"
)
def show(*, name: str, json: bool) -> int:
    """Show a metric: how it is measured, and its last values."""
    project, definitions = runs.load_definitions()
    metric = definitions.metric(name)
    points = runs.load_history(project).measured(metric.name)
    if json:
        recent = [point_row(*point) for point in points[-RECENT:]]
        answer({**metric_row(definitions, metric), **extremes(metric, points), "recent": recent})
        return 0
    _print_definition(definitions, metric)
    say()
    if not points:
        say(f"{runs.NEVER}; do it: ddx metric run {metric.name}")
        return 0
    table(
        ("run", "value", "when"),
        [
            (record.run_id, amount(metric, number), runs.ago(record))
            for record, number in reversed(points[-RECENT:])
        ],
    )
    return 0


def _print_definition(definitions: Definitions, metric: Metric) -> None:
    execution = definitions.runs[metric.name]
    say(bold(metric.name), f"  {metric.path}")
    unit = f" in {metric.unit}" if metric.unit else ""
    say(f"{wish(metric)} is better{unit}; within {metric.tolerance} counts as the same")
    say(f"command: {runs.command_line(execution)}")
    if execution.id != metric.id:
        say(f"measured by: {execution.id}")
    if metric.pattern:
        say(f"output pattern: {metric.pattern}")


@Command.of(
    example="ddx metric trend start-up --last 30",
    arguments=(NAME,),
    flags=(Flag("--last", f"this many values; {LAST_SHOWN} if not given", kind="number"), JSON),
    schema="metric-trend",
)
def trend(*, name: str, last: int | None, json: bool) -> int:
    """Draw how a metric went, oldest value first."""
    project, definitions = runs.load_definitions()
    metric = definitions.metric(name)
    history = runs.load_history(project)
    wanted = LAST_SHOWN if last is None else last
    points = history.measured(metric.name)[-wanted:] if wanted else ()
    failed = sum(not record.ok for record in history.of(definitions.runs[metric.name].id))
    if json:
        course = {"points": [point_row(*point) for point in points], "failed_runs": failed}
        answer({**metric_row(definitions, metric), **extremes(metric, points), **course})
    elif points:
        _plot(metric, points, failed=failed)
    else:
        say(f"{metric.name} has no values yet: ddx metric run {metric.name}")
    return 0


def _plot(metric: Metric, points: tuple[MetricPoint, ...], *, failed: int) -> None:
    from ddx.console import line_chart

    unit = f" in {metric.unit}" if metric.unit else ""
    say(bold(metric.name), f"{unit}, {wish(metric)} is better\n")
    first, final = points[0][0], points[-1][0]
    for line in line_chart(
        [number for _, number in points],
        width=terminal_width() or USUAL_WIDTH,
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
    for line in _flowing(parts, terminal_width() or USUAL_WIDTH):
        say(dim(line))


def _minute(record: RunRecord) -> str:
    moment = Instant(record.started_at).moment
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


@Command.of(
    example="ddx metric compare start-up --against best",
    arguments=(NAME,),
    flags=(
        Flag(
            "--against",
            "latest (the value before it), best (of all before it), or a run",
            default=LATEST,
        ),
        JSON,
    ),
    schema="metric-compared",
)
def compare(*, name: str, against: str, json: bool) -> int:
    """Say whether a metric's newest value is better or worse than an earlier one
    (exit 1: worse).
    """
    project, definitions = runs.load_definitions()
    metric = definitions.metric(name)
    history = runs.load_history(project)
    _require_last_run_good(metric, definitions, history)
    *earlier, now = _points(metric, history)
    reference = _reference(metric, earlier, against)
    verdict = judge(metric, now[1], reference[1])
    if json:
        answer(
            {
                "name": metric.name,
                "unit": metric.unit,
                "direction": metric.direction,
                "tolerance": str(metric.tolerance),
                "verdict": verdict,
                "value": point_row(*now),
                "reference": point_row(*reference),
            }
        )
    else:
        known = f"{amount(metric, reference[1])} ({reference[0].run_id})"
        say(f"{metric.name}: {amount(metric, now[1])} is {spoken(verdict)} {known}")
    return GOT_WORSE if verdict == WORSE else 0


def _require_last_run_good(metric: Metric, definitions: Definitions, history: RunHistory) -> None:
    """An old value must not stand in for one that could not be measured (X-11)."""
    last = history.last(definitions.runs[metric.name].id)
    if last is not None and not last.ok:
        raise DdxError(
            f"the last run of {metric.name} gave no value: {last.reason}",
            hint=f"see what it printed: ddx exec show {last.run_id}",
        )


def _points(metric: Metric, history: RunHistory) -> tuple[MetricPoint, ...]:
    points = history.measured(metric.name)
    if len(points) < 2:
        had = "one value" if points else "no value"
        raise NotFound(
            f"{metric.name} has {had} so far, and a comparison needs two",
            hint=f"ddx metric run {metric.name}",
        )
    return points


def _reference(metric: Metric, earlier: list[MetricPoint], against: str) -> MetricPoint:
    if against == LATEST:
        return earlier[-1]
    if against == BEST:
        wanted = best(metric, (number for _, number in earlier))
        return next(point for point in reversed(earlier) if point[1] == wanted)
    for point in earlier:
        if point[0].run_id == against:
            return point
    raise NotFound(
        f"{metric.name} has no earlier value of a run {against!r}",
        hint=f"its runs: ddx metric show {metric.name}",
    )


@Command.of(
    example="ddx metric run start-up",
    arguments=(Argument("name", "names of metrics, or ids of their documents", many=True),),
    flags=(JSON,),
    schema="exec-run",
)
def run(*, name: tuple[str, ...], json: bool) -> int:
    """Measure: run a metric's command and keep the number (exit 1 if there is none)."""
    project, definitions = runs.load_runnable()
    before = runs.load_history(project)
    metrics = list(dict.fromkeys(definitions.metric(each).name for each in name))
    project.require_trust(to_run=listed(metrics))
    records: dict[str, RunRecord] = {}
    for each in metrics:
        execution = definitions.runs[each]
        if not json:
            say(bold(each), f"  {runs.command_line(execution)}")
        record = next((it for it in records.values() if each in it.metrics), None)
        if record is None:  # one run may measure several of them
            record = runs.run_here(project, execution)
            records[record.run_id] = record
        if not json:
            if record.ok:
                change = _change(definitions.metrics[each], record, before)
                say(f"  {change}: {runs.logs_of(project, record)}")
            else:
                runs.print_ending(project, record, definitions)
    if json:
        answer({"runs": [runs.run_row(project, record) for record in records.values()]})
    return 0 if all(record.ok for record in records.values()) else FAILED


def _change(metric: Metric, record: RunRecord, before: RunHistory) -> str:
    """The new value, beside the one before it."""
    now = record.metrics[metric.name]
    for _, last in before.measured(metric.name)[-1:]:
        return f"{amount(metric, now)}, {spoken(judge(metric, now, last))} {amount(metric, last)}"
    return amount(metric, now)
