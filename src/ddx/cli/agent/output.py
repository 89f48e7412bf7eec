"""How attempts are shown: as JSON, as a row of a table, as a story. Pure but for the local time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.base import Instant, cut, in_words, shown, value
from ddx.cli.agent.attempt_lookup import AttemptState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.cli.agent.attempt_lookup import ListedAttempt
    from ddx.project import Project

UNKNOWN = "unknown"
NOTHING = "-"
COUNTED = ("input", "cache_read", "cache_write", "output")
_BETWEEN = 2
_NARROWEST = 10
_LONGEST_LINE = 500
_LONGEST_FACT = 60

_KINDS = {
    "agent-said": "says",
    "agent-tool": "uses",
    "agent-notice": "notes",
    "agent-waiting": "waits",
    "agent-usage": "has used",
    "agent-denied": "was denied",
    "agent-fault": "reports a fault",
    "agent-result": "last word",
}
"""Other kinds are words already."""


# -- JSON --------------------------------------------------------------------------------------


def attempt_row(attempt: ListedAttempt, project: Project) -> dict[str, Any]:
    """An attempt as every list of them has it; what is not known yet is null or empty."""
    result = attempt.record.result
    return {
        "attempt": attempt.id,
        "beads": list(attempt.record.beads),
        "action": attempt.record.of_both("action"),
        "state": str(attempt.state),
        "outcome": str(result.get("outcome", "")),
        "status": str(result.get("status", "")),
        "reason": str(result.get("reason", "")),
        "harness": attempt.record.of_both("harness"),
        "model": attempt.record.of_both("model"),
        "began_at": attempt.record.began_at,
        "seen_at": attempt.seen_at,
        "seconds": seconds_of(attempt),
        "usage": usage_row(attempt.record.usage),
        "ref": attempt.ref,
        "commit": str(result.get("commit", "")),
        "folder": os.path.relpath(attempt.record.folder, project.root),
    }


def usage_row(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where nothing was counted: that is not the same as nothing used (X-7)."""
    if not tokens_in(usage) and usage.get("cost_usd") is None:
        return None
    counts = {name: int(usage.get(name, 0)) for name in COUNTED}
    cost, source = usage.get("cost_usd"), usage.get("cost_source", UNKNOWN)
    return {**counts, "cost_usd": cost, "cost_source": source}


# -- words -------------------------------------------------------------------------------------


def outcome_in_words(attempt: ListedAttempt) -> str:
    """How it ended and why, as short as can be."""
    if attempt.state is not AttemptState.ENDED:
        return str(attempt.state)
    outcome = spoken(attempt.record.result.get("outcome", ""))
    status = spoken(attempt.record.result.get("status", ""))
    if status in ("success", "completed", ""):
        return f"{outcome}, left open" if attempt.record.result.get("left_open") else outcome
    if attempt.record.result.get("outcome") == "no_changes":  # either way the status says as much
        return status
    return f"{'kept' if outcome == 'preserved' and attempt.ref else outcome}: {status}"


def spoken(word: object) -> str:
    return str(word).replace("_", " ")


def beads_in_words(attempt: ListedAttempt) -> str:
    return ", ".join(attempt.record.beads) or NOTHING


def tokens_in(usage: Mapping[str, Any]) -> int:
    return sum(int(usage.get(name, 0)) for name in COUNTED)


def tokens_in_words(usage: Mapping[str, Any]) -> str:
    """Three figures are enough for a table."""
    count = tokens_in(usage)
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            scaled = count / size
            return f"{scaled:.0f}{unit}" if scaled >= 100 else f"{scaled:.3g}{unit}"
    return str(count) if count else UNKNOWN


def cost_in_words(usage: Mapping[str, Any]) -> str:
    cost = usage.get("cost_usd")
    if cost is None:
        return UNKNOWN
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def usage_in_words(usage: Mapping[str, Any]) -> str:
    """In full, for one attempt."""
    if not tokens_in(usage):
        tokens = "tokens unknown"
    else:
        parts = [
            f"{count:,} {spoken(name)}" for name in COUNTED if (count := int(usage.get(name, 0)))
        ]
        tokens = f"{tokens_in(usage):,} tokens ({', '.join(parts)})"
    if usage.get("cost_usd") is None:
        return f"{tokens}, cost unknown"
    return f"{tokens}, {cost_in_words(usage)} {usage.get('cost_source', UNKNOWN)}"


def seconds_of(attempt: ListedAttempt) -> float | None:
    """From its begin to its last sign of life."""
    elapsed_s = Instant(attempt.record.began_at).seconds_until(attempt.seen_at)
    return None if elapsed_s is None else round(max(elapsed_s, 0.0), 3)


def age(attempt: ListedAttempt, *, now: str) -> str:
    elapsed_s = Instant(attempt.record.began_at).seconds_until(now)
    return UNKNOWN if elapsed_s is None else in_words(elapsed_s)


def duration(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return f"{seconds:.1f} s" if seconds < 10 else in_words(seconds)


# -- a table that fits ---------------------------------------------------------------------------


@value
class Column:
    """`rank` 0 is always shown; the higher, the earlier it goes where the screen is narrow."""

    head: str
    cells: tuple[str, ...]
    rank: int = 0

    @property
    def width(self) -> int:
        return max(map(len, (self.head, *self.cells)))


def attempt_columns(attempts: Sequence[ListedAttempt], *, now: str) -> list[Column]:
    cells = [
        (
            attempt.id,
            beads_in_words(attempt),
            outcome_in_words(attempt),
            attempt.record.of_both("harness"),
            age(attempt, now=now),
            duration(seconds_of(attempt)),
            tokens_in_words(attempt.record.usage),
            cost_in_words(attempt.record.usage),
            attempt.ref or NOTHING,
        )
        for attempt in attempts
    ]
    heads = ("attempt", "bead", "outcome", "harness", "age", "took", "tokens", "cost", "kept at")
    ranks = (0, 0, 0, 4, 1, 5, 3, 2, 6)
    columns = zip(*cells, strict=True) if cells else [()] * len(heads)
    return [
        Column(head, tuple(shown(cell, one_line=True) for cell in column), rank)
        for head, column, rank in zip(heads, columns, ranks, strict=True)
    ]


def fitting(columns: Sequence[Column], room: int) -> list[Column]:
    """Those that fit side by side, the more important ones first; the order stays."""
    chosen = [column for column in columns if column.rank == 0]
    used = sum(min(column.width, 2 * _NARROWEST + 2) + _BETWEEN for column in chosen) - _BETWEEN
    for column in sorted(columns, key=lambda column: column.rank):
        if column.rank == 0:
            continue
        used += column.width + _BETWEEN
        if used > room:
            break
        chosen.append(column)
    return [column for column in columns if column in chosen]


# -- the story -----------------------------------------------------------------------------------


def local_day(at: str) -> str:
    moment = Instant(at).moment
    return f"{moment.astimezone():%Y-%m-%d}" if moment else at


def local_time(at: str) -> str:
    moment = Instant(at).moment
    return f"{moment.astimezone():%H:%M:%S}" if moment else at


def event_in_words(row: Mapping[str, Any]) -> str:
    """One line of a story: what happened, what was said, and the plain facts beside it."""
    kind, text, facts = str(row.get("kind", "")), row.get("text", ""), row.get("data")
    words = _KINDS.get(kind, kind.replace("-", " "))
    said = str(text).strip()
    beside = _facts(facts, said) if isinstance(facts, dict) else ""
    line = f"{words}: {said}" if said else words
    return cut(shown(f"{line} ({beside})" if beside else line, one_line=True), _LONGEST_LINE)


def _facts(facts: Mapping[str, Any], said: str) -> str:
    """What a person can read of an event's data and was not told already."""
    parts = []
    for name, found in facts.items():
        if name == "usage" and isinstance(found, dict):
            if usage_row(found) is not None and "tokens" not in said:
                parts.append(usage_in_words(found))
        elif not isinstance(found, str | int | float) or not found or found == said:
            continue
        elif name == "seconds":
            parts.append(duration(float(found)))
        else:
            parts.append(f"{spoken(name)} {cut(str(found), _LONGEST_FACT)}")
    return ", ".join(parts)
