"""Numbers that programs print: reading one, and whether it is better than another (X-12). Pure."""

from __future__ import annotations

import re
from math import isclose

from ddx.base import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LOWER, HIGHER = "lower", "higher"
BETTER, SAME, WORSE = "better", "same", "worse"

_LARGEST = 1e300
_NUMBER = re.compile(
    r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(?P<unit>[^\d\s].*)?",
    re.DOTALL,
)


@value
class Tolerance:
    """How far two values may lie apart and still count as the same."""

    amount: float = 0.0
    is_percent: bool = False

    def around(self, reference: float) -> float:
        return abs(reference) * self.amount / 100 if self.is_percent else self.amount

    def __str__(self) -> str:
        return f"{self.amount:g}{'%' if self.is_percent else ''}"


@value
class Metric:
    """A number worth watching, and how to find it in what its command prints."""

    name: str
    id: str
    """Its document, or its name where it has a file of its own."""
    path: str
    unit: str
    direction: str
    pattern: str
    """Its first group is the number; empty: the whole output is."""
    tolerance: Tolerance
    is_ratchet: bool = False
    """No attempt lands that makes it worse (X-12)."""
    floor: float | None = None
    """What a person set as the worst value; None: the first one that lands."""


@value
class UnreadableNumber:
    """No number, and why; that is a failure and never a skip (X-11)."""

    reason: str


def read_value(metric: Metric, output: str) -> float | UnreadableNumber:
    """The number in an output: the last one, since programs sum up at the end."""
    text = output.strip()
    if metric.pattern:
        matches = list(re.finditer(metric.pattern, output, re.MULTILINE))
        if not matches:
            return UnreadableNumber(f"no line of the output fits {metric.pattern!r}")
        text = (matches[-1][1] if matches[-1].re.groups else matches[-1][0]) or ""
    return read_number(text.strip(), unit=metric.unit)


def read_number(text: str, *, unit: str) -> float | UnreadableNumber:
    """A number with or without its unit: `1,234.5 ms`, `93%`, `1e-3`."""
    found = _NUMBER.fullmatch(text)
    said = text if len(text) <= 60 else f"{text[:60]}..."
    if found is None or not any(map(str.isdigit, found["number"])):
        return UnreadableNumber(f"{said!r} is no number")
    if found["unit"] and found["unit"] != unit:
        return UnreadableNumber(
            f"{said!r} is not in {unit or 'the unit of the metric: it has none'}"
        )
    number = float(found["number"].replace(",", ""))
    return number if abs(number) < _LARGEST else UnreadableNumber(f"{said!r} is too large")


def judge(metric: Metric, measured: float, reference: float) -> str:
    """Better, worse, or the same within the tolerance."""
    gain = measured - reference if metric.direction == HIGHER else reference - measured
    margin = metric.tolerance.around(reference)
    if abs(gain) <= margin or isclose(abs(gain), margin):
        return SAME
    return BETTER if gain > 0 else WORSE


def best(metric: Metric, measured: Iterable[float]) -> float:
    return max(measured) if metric.direction == HIGHER else min(measured)
