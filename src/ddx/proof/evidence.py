"""What a proof is made of: checks, and numbers that may not get worse (X-11, X-12).

Floors are kept in `.ddx/floors.jsonl`, one line for each value that landed and was better than the
one before. The file is the operator's, like the tracker: nothing that an attempt leaves under
`.ddx` lands, so only a landing can raise a floor. It is for git, and the best line counts, so two
branches of it merge by keeping all lines. A floor that a person sets anew in the definition
replaces what was reached before; so does another direction or another unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.agents import StopCause
from ddx.base import CorruptFile, append, loads, quantity, to_bytes, value
from ddx.documents import BETTER, WORSE, Metric, Tolerance, best, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.agents import SupervisedExit
    from ddx.project import Project


@value
class Check:
    """One thing that was run or looked at, and how it ended (X-11)."""

    name: str
    command: str
    origin: str
    """What asked for it: `verify`, `acceptance line 2`, `checks.default`, `.ddx/checks/x.yaml`."""
    passed: bool
    exit_code: int | None = None
    seconds: float = 0.0
    reason: str = ""
    output_tail: str = ""
    log: str = ""
    """The file with all of its output, below the record."""
    is_ratchet: bool = False

    def as_row(self) -> dict[str, Any]:
        """The check as a record holds it."""
        return dict(self.__dict__)


@value
class MetricReading:
    """A metric's new value, to become its floor once the attempt has landed (X-12)."""

    metric: str
    number: float
    run_id: str
    direction: str = ""
    unit: str = ""
    defined: float | None = None
    """The floor that a person had set when it was measured."""


@value
class Proof:
    """All checks of one tree."""

    commit: str
    checks: tuple[Check, ...]
    measured: tuple[MetricReading, ...] = ()

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    @property
    def ok(self) -> bool:
        """No check at all proves nothing."""
        return bool(self.checks) and not self.failures


def fault_of(ended: SupervisedExit, timeout_s: float) -> str:
    """Why a command that must exit 0 has failed; empty: it has not."""
    if ended.stopped is StopCause.TIMED_OUT:
        return f"was ended after {timeout_s:g} s, its time limit"
    if ended.stopped is not StopCause.BY_ITSELF:
        return str(ended.stopped)
    if ended.code < 0:
        return f"was ended by signal {-ended.code}"
    return f"exit code {ended.code}" if ended.code else ""


def code_of(ended: SupervisedExit) -> int | None:
    """The exit code of a command that ended by itself."""
    return ended.code if ended.stopped is StopCause.BY_ITSELF and ended.code >= 0 else None


@value
class RatchetVerdict:
    """What a new value of a ratchet comes to."""

    passed: bool
    is_new_floor: bool
    reason: str
    """In words, whether it passed or not."""


@value
class Floors:
    """Every value that became a floor, oldest first."""

    readings: Sequence[MetricReading] = ()

    @classmethod
    def read(cls, project: Project) -> Floors:
        """What the project's file of floors holds."""
        try:
            with open(path_of(project), encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().split("\n")
        except FileNotFoundError:
            return cls()
        return cls(
            tuple(
                _measured(project, number, line)
                for number, line in enumerate(lines, start=1)
                if line.strip()
            )
        )

    def of(self, metric: Metric) -> float | None:
        """The best value that landed under the definition as it is now, or the floor in it."""
        landed = [
            item.number
            for item in self.readings
            if (item.metric, item.direction, item.unit, item.defined)
            == (metric.name, metric.direction, metric.unit, metric.floor)
        ]
        known = landed if metric.floor is None else [metric.floor, *landed]
        return best(metric, known) if known else None


def path_of(project: Project) -> str:
    return project.ddx("floors.jsonl")


def judge_ratchet(metric: Metric, number: float, floors: Floors) -> RatchetVerdict:
    """Worse than the floor beyond the tolerance is a miss; better than it is the next floor."""
    floor = floors.of(metric)
    now = quantity(number, metric.unit)
    if floor is None:
        return RatchetVerdict(True, True, f"{now} is the first value, so it becomes the floor")
    verdict = judge(metric, number, floor)
    limit = f"the floor {quantity(floor, metric.unit)}"
    if verdict == WORSE:
        margin = f", beyond the tolerance of {metric.tolerance}" if metric.tolerance.amount else ""
        return RatchetVerdict(False, False, f"{now} is worse than {limit}{margin}")
    if verdict == BETTER:
        return RatchetVerdict(True, True, f"{now} is better than {limit}")
    return RatchetVerdict(True, False, f"{now} holds {limit}")


def record_floors(
    project: Project, measured: Sequence[MetricReading], *, at: str, commit: str = ""
) -> None:
    """What has landed is the floor from now on; a value that is no better changes nothing.

    Call it after the branch has moved; to call it again for the same landing is harmless.
    """
    known = list(Floors.read(project).readings) if measured else []
    lines = b""
    for item in measured:
        floor = Floors(known).of(_metric(item))
        if floor is None or judge(_metric(item), item.number, floor) == BETTER:
            known.append(item)
            lines += to_bytes({**item.__dict__, "at": at, "commit": commit}) + b"\n"
    if lines:
        append(path_of(project), lines)


def _metric(item: MetricReading) -> Metric:
    """Its definition, as far as comparing needs it: whether it counts was decided before."""
    return Metric(
        name=item.metric,
        id="",
        path="",
        unit=item.unit,
        direction=item.direction,
        pattern="",
        tolerance=Tolerance(),
        is_ratchet=True,
        floor=item.defined,
    )


def _measured(project: Project, number: int, line: str) -> MetricReading:
    try:
        row = loads(line)
        defined = row["defined"]
        return MetricReading(
            metric=str(row["metric"]),
            number=float(row["number"]),
            run_id=str(row["run_id"]),
            direction=str(row["direction"]),
            unit=str(row["unit"]),
            defined=None if defined is None else float(defined),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CorruptFile(
            f"{path_of(project)}:{number}: not a floor of a metric",
            hint="mend or remove that line",
        ) from None
