"""`helix memory value`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command, Flag
from ddx.text import counted
from helix.cli.memory.session import open_session

if TYPE_CHECKING:
    from helix.memory.value import Interval, Lift, Rate, Value

_MOST_SHOWN = 20
_DIGITS = 4


def run(*, limit: int | None, json: bool) -> int:
    from helix.memory.crediting import all_trials
    from helix.memory.value import value_of

    with open_session() as session:
        found = value_of(all_trials(session.store))
    shown = found.memories[: _MOST_SHOWN if limit is None else limit]
    if json:
        answer(_row(found, found.memories[:limit]))
        return 0
    rows = [
        ("with memories", *_cells(found.injected)),
        ("held out", *_cells(found.withheld)),
    ]
    table(("attempts", "passed", "of", "share", "95 % interval"), rows)
    if found.difference is not None and found.interval is not None:
        say(f"difference {found.difference:+.0%}, 95 % interval {_spoken(found.interval)}")
    say(found.verdict)
    if found.open:
        say(f"left out: {counted(found.open, 'attempt')} that no check has judged")
    if shown:
        say("")
        table(("memory", "passed", "of", "share", "lift", "95 % of the lift"), [*map(_line, shown)])
        say("lift: over all held-out attempts; what is shown for hard work looks worse than it is")
    return 0


def _row(found: Value, memories: tuple[Lift, ...]) -> dict[str, Any]:
    return {
        "injected": _rate_row(found.injected),
        "held_out": _rate_row(found.withheld),
        "open": found.open,
        "difference": _number(found.difference),
        "interval": None if found.interval is None else _interval_row(found.interval),
        "verdict": found.verdict,
        "memories": [
            {
                "name": it.name,
                **_rate_row(it.rate),
                "base": _number(it.base.share),
                "lift": _number(it.lift),
                "lift_interval": None if it.interval is None else _interval_row(it.interval),
            }
            for it in memories
        ],
    }


def _rate_row(rate: Rate) -> dict[str, Any]:
    return {
        "passed": rate.passed,
        "total": rate.total,
        "share": _number(rate.share),
        "interval": _interval_row(rate.interval),
    }


def _interval_row(interval: Interval) -> list[float]:
    return [round(interval.low, _DIGITS), round(interval.high, _DIGITS)]


def _number(number: float | None) -> float | None:
    return None if number is None else round(number, _DIGITS)


def _cells(rate: Rate) -> tuple[str, str, str, str]:
    share = "-" if rate.share is None else f"{rate.share:.0%}"
    return str(rate.passed), str(rate.total), share, _spoken(rate.interval) if rate.total else "-"


def _line(it: Lift) -> tuple[str, ...]:
    lift = "-" if it.lift is None else f"{it.lift:+.0%}"
    return (it.name, *_cells(it.rate)[:3], lift, _spoken(it.interval) if it.interval else "-")


def _spoken(interval: Interval) -> str:
    return f"{interval.low:.0%} to {interval.high:.0%}"


COMMAND = Command(
    "memory value",
    "Show whether memories help: success with and without them, with the margin of chance.",
    run,
    "helix memory value",
    flags=(Flag("--limit", "at most so many memories", kind="number"), JSON),
    schema="memory-value",
)
