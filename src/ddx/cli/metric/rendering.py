"""How metrics and their values are shown."""

from __future__ import annotations

from ddx.graph.proof.measuring import HIGHER, LOWER, SAME, best, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.graph.proof.definitions import Definitions
    from ddx.graph.proof.measuring import Metric
    from ddx.graph.proof.records import Record

_ARROWS = {LOWER: "↓", HIGHER: "↑"}


def metric_row(definitions: Definitions, metric: Metric) -> dict[str, Any]:
    execution = definitions.runs[metric.name]
    command = execution.command
    return {
        "name": metric.name,
        "id": metric.id,
        "path": metric.path,
        "unit": metric.unit,
        "direction": metric.direction,
        "tolerance": str(metric.tolerance),
        "output_pattern": metric.pattern,
        "command": command if isinstance(command, str) else list(command),
        "measured_by": execution.id,
    }


def point_row(record: Record, number: float) -> dict[str, Any]:
    return {"run_id": record.run_id, "at": record.started_at, "value": number}


def extremes(metric: Metric, points: tuple[tuple[Record, float], ...]) -> dict[str, Any]:
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
    return f"{arrow(metric)} {metric.direction} is better"


def arrow(metric: Metric) -> str:
    return _ARROWS[metric.direction]


def spoken(verdict: str) -> str:
    return "the same as" if verdict == SAME else f"{verdict} than"


def amount(metric: Metric, number: float) -> str:
    return shown(number, metric.unit)
