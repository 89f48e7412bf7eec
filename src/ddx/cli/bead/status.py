"""`ddx bead status`"""

from __future__ import annotations

from ddx.base import Instant, in_words
from ddx.cli.context import CLOCK, open_tracker
from ddx.console import JSON, Command, answer, bold, say
from ddx.tracker import (
    STATUSES,
    blocker,
    health,
    holder_of,
    queue_context,
    ready,
    ready_for_execution,
    text_of,
    unfinished,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.tracker import QueueContext, Snapshot


@Command.of(example="ddx bead status --json", flags=(JSON,), schema="bead-status")
def run(*, json: bool) -> int:
    """The queue in numbers: counts, ready, blocked by kind, claims, findings."""
    tracker = open_tracker()
    found = summary(tracker.snapshot(), queue_context(tracker), now=CLOCK.stamp())
    if json:
        answer(found)
    else:
        _print(found)
    return 0


def summary(view: Snapshot, around: QueueContext, *, now: str) -> dict[str, Any]:
    """The queue in numbers, who holds what, and what the doctor would say."""
    columns = view.columns
    words = sorted({*columns.statuses}.difference(STATUSES))
    counts = {word: columns.statuses.count(word) for word in (*STATUSES, *words)}
    kinds: dict[str, int] = {}
    executable = ready_for_execution(columns, around)
    for n in {*unfinished(columns)}.difference(executable):
        held = blocker(columns, n, around)
        if held is not None:
            kinds[held.kind] = kinds.get(held.kind, 0) + 1
    return {
        "total": len(columns),
        "statuses": {word: count for word, count in counts.items() if count},
        "ready": len(ready(columns, around)),
        "ready_for_execution": len(executable),
        "blocked": kinds,
        "claims": [
            _claim(view, n, now=now)
            for n, status in enumerate(columns.statuses)
            if status == "in_progress"
        ],
        "findings": [
            {"kind": item.kind, "where": item.where, "what": item.what} for item in health(view)
        ],
    }


def _claim(view: Snapshot, n: int, *, now: str) -> dict[str, Any]:
    row = view.row(view.columns.ids[n])
    since = text_of(row, "claimed-at") or text_of(row, "updated_at")
    return {
        "id": row["id"],
        "title": text_of(row, "title"),
        "holder": holder_of(row),
        "age_s": Instant(since).seconds_until(now),
    }


def _print(found: dict[str, Any]) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found["statuses"].items())
    say(bold(f"{found['total']} beads"), f": {counts}" if counts else "")
    say(f"ready: {found['ready']}, for execution: {found['ready_for_execution']}")
    if found["blocked"]:
        kinds = sorted(found["blocked"].items(), key=lambda item: -item[1])
        say(f"not ready: {', '.join(f'{count} {kind}' for kind, count in kinds)}")
    for claim in found["claims"]:
        age = f", {in_words(claim['age_s'])} ago" if claim["age_s"] is not None else ""
        say(f"  {claim['id']} held by {claim['holder']}{age}: {claim['title']}")
    for finding in found["findings"][:5]:
        say(f"! {finding['where']}: {finding['what']}")
    if found["findings"]:
        say(f"{len(found['findings'])} findings; details: ddx bead doctor")
