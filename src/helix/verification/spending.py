"""What agents used: sums in which an unknown cost stays unknown (X-7). Pure."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from ddx.instants import parse
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKENS = ("input", "cache_read", "cache_write", "output")


@value
class Spent:
    """What some calls used; a cost that nobody reported is counted as unknown, never as 0."""

    key: str
    calls: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost_usd: float | None = None
    unknown: int = 0
    """Calls that used tokens at a cost which is not known."""

    @property
    def tokens(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output

    def plus(self, usage: Mapping[str, Any]) -> Spent:
        counts = {name: _count(usage.get(name)) for name in _TOKENS}
        cost = cost_in(usage)
        is_unknown = cost is None and any(counts.values())
        return changed(
            self,
            calls=self.calls + 1,
            **{name: getattr(self, name) + count for name, count in counts.items()},
            cost_usd=self.cost_usd if cost is None else (self.cost_usd or 0.0) + cost,
            unknown=self.unknown + is_unknown,
        )

    @property
    def spoken_cost(self) -> str:
        if self.cost_usd is None:
            return "unknown" if self.unknown else "-"
        at_least = "at least " if self.unknown else ""
        return f"{at_least}${self.cost_usd:,.2f}"

    @property
    def row(self) -> dict[str, Any]:
        return {**self.__dict__, "tokens": self.tokens}


def cost_in(usage: Mapping[str, Any]) -> float | None:
    """In dollars; None where nobody said it."""
    given = usage.get("cost_usd")
    if not isinstance(given, int | float) or isinstance(given, bool):
        return None
    return float(given) if isfinite(given) else None


def local_day(at: str) -> str:
    """As the person's calendar has it (C-4)."""
    moment = parse(at)
    return f"{moment.astimezone():%Y-%m-%d}" if moment is not None else "unknown"


def _count(given: Any) -> int:
    return given if isinstance(given, int) and not isinstance(given, bool) else 0
