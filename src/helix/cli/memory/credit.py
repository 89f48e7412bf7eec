"""`helix memory`: what checks say of lessons, and whether lessons help at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.base import UsageError, changed, counted, listed
from ddx.console import JSON, Command, Flag, answer, say, table
from helix.cli.context import present, tell
from helix.cli.memory.context import open_session, read_names

if TYPE_CHECKING:
    from helix.memory import Interval, Lift, MemoryValue, SuccessRate

_WORDS = {"true": True, "false": False}
_MOST_SHOWN = 20
_DIGITS = 4


@Command.of(
    example="""helix memory feedback --utilized '["a-name"]' --injected '["a-name", "another"]'""",
    flags=(
        Flag("--utilized", "the names that it says to have used, as a JSON list", required=True),
        Flag("--injected", "the names that it was shown, as a JSON list", required=True),
        JSON,
    ),
    schema="memory-feedback",
)
def feedback(*, utilized: str, injected: str, json: bool) -> int:
    """Credit memories by a builder's own word (deprecated: use feedback-verify)."""
    from helix.memory import credit_report

    used = read_names(utilized, flag="--utilized")
    shown = read_names(injected, flag="--injected")
    tell("feedback is deprecated: a builder's word is no proof; use helix memory feedback-verify")
    with open_session(writes="crediting memories") as session:
        done = credit_report(session.store, used, shown)
    row = {"helped": done.helped, "unhelpful": done.unhelpful, "missing": list(done.missing)}
    line = f"{done.helped} helped, {done.unhelpful} did not, {len(done.missing)} unknown"
    return present(row, (line,), json=json)


@Command.of(
    example="helix memory feedback-verify --task-id app-1 --verify-passed true --injected "
    "'[\"a-name\"]'",
    flags=(
        Flag("--task-id", "the task; its last outcome is the one that counts", required=True),
        Flag("--verify-passed", "did its checks pass: true or false", required=True),
        Flag("--injected", "the names that it was shown, as a JSON list", required=True),
        JSON,
    ),
    schema="memory-credited",
)
def feedback_verify(*, task_id: str, verify_passed: str, injected: str, json: bool) -> int:
    """Credit the memories that a task was shown with what its checks said."""
    from helix.memory import credit

    passed = _WORDS.get(verify_passed.strip().lower())
    if passed is None:
        raise UsageError(f"--verify-passed must be true or false, not {verify_passed!r}")
    if not task_id.strip():
        raise UsageError("--task-id is empty: credit is given once for each task")
    names = read_names(injected, flag="--injected")
    with open_session(writes="crediting memories") as session:
        done = credit(session.store, task_id.strip(), names, passed=passed, now=session.now)
    if done.unknown:
        tell(f"no memory is called {listed(done.unknown, joiner='or')}")
    row = {
        "credited": len(done.credited),
        "task_id": done.bead,
        "verify_passed": done.passed,
        "injected_count": len(dict.fromkeys(names)),
        "unchanged": list(done.unchanged),
        "unknown": list(done.unknown),
    }
    word = "helped" if passed else "failed"
    already = f", {len(done.unchanged)} had this outcome already" if done.unchanged else ""
    return present(row, (f"{len(done.credited)} credited as {word}{already}",), json=json)


OF_TASK = changed(
    feedback_verify,
    example=feedback_verify.example.replace("memory", "task", 1),
)
"""The same by the name that builders know."""


# -- whether memories help -------------------------------------------------------------------


@Command.of(
    example="helix memory value",
    flags=(Flag("--limit", "at most so many memories", "number"), JSON),
    schema="memory-value",
)
def value(*, limit: int | None, json: bool) -> int:
    """Show whether memories help: success with and without them, with the margin of chance."""
    from helix.memory import all_trials, value_of

    with open_session() as session:
        found = value_of(all_trials(session.store))
    shown = found.memories[: _MOST_SHOWN if limit is None else limit]
    if json:
        answer(_row(found, found.memories[:limit]))
        return 0
    rows = [("with memories", *_cells(found.injected)), ("held out", *_cells(found.withheld))]
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


def _row(found: MemoryValue, memories: tuple[Lift, ...]) -> dict[str, Any]:
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


def _rate_row(rate: SuccessRate) -> dict[str, Any]:
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


def _cells(rate: SuccessRate) -> tuple[str, str, str, str]:
    share = "-" if rate.share is None else f"{rate.share:.0%}"
    return str(rate.passed), str(rate.total), share, _spoken(rate.interval) if rate.total else "-"


def _line(it: Lift) -> tuple[str, ...]:
    lift = "-" if it.lift is None else f"{it.lift:+.0%}"
    return (it.name, *_cells(it.rate)[:3], lift, _spoken(it.interval) if it.interval else "-")


def _spoken(interval: Interval) -> str:
    return f"{interval.low:.0%} to {interval.high:.0%}"
