"""Numbers that may not get worse: what was reached, and whether a new value holds it (X-12).

Floors are kept in `.ddx/floors.jsonl`, one line for each value that landed and was better than the
one before. The file is the operator's, like the tracker: nothing that an attempt leaves under
`.ddx` lands, so only a landing can raise a floor. It is for git, and the best line counts, so two
branches of it merge by keeping all lines. A floor that a person sets anew in the definition
replaces what was reached before; so does another direction or another unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import CorruptFile
from ddx.execution.model import Measured
from ddx.fastjson import loads, to_bytes
from ddx.files import append
from ddx.graph.proof.measuring import BETTER, WORSE, Metric, Tolerance, best, judge, shown
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ddx.project import Project


@value
class Held:
    """What a new value of a ratchet comes to."""

    passed: bool
    is_new_floor: bool
    reason: str
    """In words, whether it passed or not."""


def path_of(project: Project) -> str:
    return project.ddx("floors.jsonl")


def judge_ratchet(metric: Metric, number: float, floors: Iterable[Measured]) -> Held:
    """Worse than the floor beyond the tolerance is a miss; better than it is the next floor."""
    floor = floor_of(metric, floors)
    now = shown(number, metric.unit)
    if floor is None:
        return Held(True, True, f"{now} is the first value, so it becomes the floor")
    verdict = judge(metric, number, floor)
    limit = f"the floor {shown(floor, metric.unit)}"
    if verdict == WORSE:
        margin = f", beyond the tolerance of {metric.tolerance}" if metric.tolerance.amount else ""
        return Held(False, False, f"{now} is worse than {limit}{margin}")
    if verdict == BETTER:
        return Held(True, True, f"{now} is better than {limit}")
    return Held(True, False, f"{now} holds {limit}")


def floor_of(metric: Metric, floors: Iterable[Measured]) -> float | None:
    """The best value that landed under the definition as it is now, or the floor in it."""
    landed = [
        item.number
        for item in floors
        if (item.metric, item.direction, item.unit, item.defined)
        == (metric.name, metric.direction, metric.unit, metric.floor)
    ]
    known = landed if metric.floor is None else [metric.floor, *landed]
    return best(metric, known) if known else None


def read_floors(project: Project) -> tuple[Measured, ...]:
    """Every value that became a floor, oldest first."""
    try:
        with open(path_of(project), encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return ()
    return tuple(
        _measured(project, number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )


def record_floors(
    project: Project, measured: Sequence[Measured], *, at: str, commit: str = ""
) -> None:
    """What has landed is the floor from now on; a value that is no better changes nothing.

    Call it after the branch has moved; to call it again for the same landing is harmless.
    """
    known = list(read_floors(project)) if measured else []
    lines = b""
    for item in measured:
        floor = floor_of(_metric(item), known)
        if floor is None or judge(_metric(item), item.number, floor) == BETTER:
            known.append(item)
            lines += to_bytes({**item.__dict__, "at": at, "commit": commit}) + b"\n"
    if lines:
        append(path_of(project), lines)


def _metric(item: Measured) -> Metric:
    """Its definition, as far as comparing needs it: whether it counts was decided before."""
    return Metric(
        item.metric, "", "", item.unit, item.direction, "", Tolerance(), True, item.defined
    )


def _measured(project: Project, number: int, line: str) -> Measured:
    try:
        row = loads(line)
        defined = row["defined"]
        return Measured(
            str(row["metric"]),
            float(row["number"]),
            str(row["run_id"]),
            str(row["direction"]),
            str(row["unit"]),
            None if defined is None else float(defined),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CorruptFile(
            f"{path_of(project)}:{number}: not a floor of a metric",
            hint="mend or remove that line",
        ) from None
