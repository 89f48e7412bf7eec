"""`ddx metric compare`"""

from __future__ import annotations

from ddx.cli.exec_.session import load_definitions, load_history
from ddx.cli.metric.rendering import amount, point_row, spoken
from ddx.cli.metric.show import NAME
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import DdxError, NotFound
from ddx.graph.proof.measuring import WORSE, best, judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.definitions import Definitions
    from ddx.graph.proof.measuring import Metric
    from ddx.graph.proof.records import History, Record

    Point = tuple[Record, float]

LATEST, BEST = "latest", "best"
GOT_WORSE = 1


def run(*, name: str, against: str, json: bool) -> int:
    project, definitions = load_definitions()
    metric = definitions.metric(name)
    history = load_history(project)
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


def _require_last_run_good(metric: Metric, definitions: Definitions, history: History) -> None:
    """An old value must not stand in for one that could not be measured (X-11)."""
    last = history.last(definitions.runs[metric.name].id)
    if last is not None and not last.ok:
        raise DdxError(
            f"the last run of {metric.name} gave no value: {last.reason}",
            hint=f"see what it printed: ddx exec show {last.run_id}",
        )


def _points(metric: Metric, history: History) -> tuple[Point, ...]:
    points = history.measured(metric.name)
    if len(points) < 2:
        had = "one value" if points else "no value"
        raise NotFound(
            f"{metric.name} has {had} so far, and a comparison needs two",
            hint=f"ddx metric run {metric.name}",
        )
    return points


def _reference(metric: Metric, earlier: list[Point], against: str) -> Point:
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


COMMAND = Command(
    "metric compare",
    "Say whether a metric's newest value is better or worse than an earlier one (exit 1: worse).",
    run,
    "ddx metric compare start-up --against best",
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
