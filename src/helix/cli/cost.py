"""`helix cost`"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import CorruptFile, NotFound
from ddx.project import find_project
from ddx.text import shown
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.execution.record import Kept
    from ddx.project import Project

BY = ("bead", "day", "model")
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

    def plus(self, usage: dict[str, Any]) -> Spent:
        counts = {name: _count(usage.get(name)) for name in _TOKENS}
        cost = _cost(usage.get("cost_usd"))
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


def run(*, by: str, json: bool) -> int:
    project = find_project(os.getcwd())
    total = Spent("total")
    found: dict[str, Spent] = {}
    for record in _records(project):
        usage = _usage(record)
        key = _key(record, by)
        found[key] = found.get(key, Spent(key)).plus(usage)
        total = total.plus(usage)
    rows = sorted(found.values(), key=lambda it: it.key, reverse=by == "day")
    if by != "day":
        rows.sort(key=lambda it: (-(it.cost_usd or 0.0), -it.tokens))
    if json:
        answer({"by": by, "rows": [_row(it) for it in rows], "total": _row(total)})
    elif not rows:
        say("no agent was asked yet")
    else:
        _print(by, rows, total)
    return 0


def _records(project: Project) -> Iterator[Kept]:
    from ddx.execution.record import attempts, read_record

    for name in attempts(project):
        try:
            yield read_record(project, name)
        except NotFound:
            continue  # pruned a moment ago
        except CorruptFile as problem:
            print(shown(f"helix: {problem.message}; it is left out"), file=sys.stderr)


def _usage(record: Kept) -> dict[str, Any]:
    from ddx.execution.record import USAGE

    found = record.result.get("usage")
    return found if isinstance(found, dict) else record.file(USAGE)


def _key(record: Kept, by: str) -> str:
    if by == "bead":
        return ", ".join(map(str, record.beads)) or f"({record.intent.get('action') or 'prompt'})"
    if by == "day":
        return _day(str(record.intent.get("at") or ""))
    harness = str(record.result.get("harness") or record.intent.get("harness") or "unknown")
    model = str(record.result.get("model") or record.intent.get("model") or "")
    return f"{harness} {model}".strip()


def _day(at: str) -> str:
    """As the person's calendar has it (C-4)."""
    from ddx.instants import parse

    moment = parse(at)
    return f"{moment.astimezone():%Y-%m-%d}" if moment is not None else "unknown"


def _row(spent: Spent) -> dict[str, Any]:
    return {**spent.__dict__, "tokens": spent.tokens}


def _print(by: str, rows: list[Spent], total: Spent) -> None:
    cells = [
        [it.key, str(it.calls), f"{it.tokens:,}", f"{it.output:,}", it.spoken_cost]
        for it in (*rows, total)
    ]
    table([by, "calls", "tokens", "of them output", "cost"], cells)
    if total.unknown:
        say(f"{total.unknown} of {total.calls} calls did not say what they cost")


def _cost(given: Any) -> float | None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if is_number else None


def _count(given: Any) -> int:
    return given if isinstance(given, int) and not isinstance(given, bool) else 0


COMMAND = Command(
    "cost",
    "Sum up what agents have used, by bead, day or model.",
    run,
    "helix cost --by day",
    flags=(
        Flag("--by", "bead, day or model", kind="choice", choices=BY, default="bead"),
        JSON,
    ),
    schema="helix-cost",
)
