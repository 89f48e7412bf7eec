"""The tracker is the truth about an objective's tasks: what may begin, what was seen to (O-3)."""

from __future__ import annotations

from typing import Any

import pytest

from ddx.tracker.bead import Bead
from helix.objective.model import ObjectiveProgress, TaskResult
from helix.objective.task_beads import TaskBeads, find_freed


def beads(*rows: dict[str, Any], ready: str = "") -> TaskBeads:
    by_id = {row["id"]: Bead.of(row) for row in rows}
    return TaskBeads(by_id, frozenset(ready.split()), {}, landing=frozenset())


def row(task: str, status: str = "open", **fields: Any) -> dict[str, Any]:
    return {"id": task, "status": status, **fields}


def waiting_for(task: str) -> dict[str, Any]:
    return {"dependencies": [{"depends_on_id": task, "type": "blocks"}]}


def test_what_waits_for_a_task_that_flies_does_so_until_that_is_settled() -> None:
    """Its bead is closed a moment before its review is owed (S-16)."""
    found = beads(row("t1", "closed"), row("t2", **waiting_for("t1")), row("t3"), ready="t2 t3")
    assert found.to_begin(("t2", "t3"), {"t1"}) == ["t3"]
    assert found.to_begin(("t2", "t3"), set()) == ["t2", "t3"]
    assert found.to_begin(("t2", "t3"), {"t3"}) == ["t2"]


@pytest.mark.parametrize(
    ("ended", "bead", "is_freed"),
    [
        (TaskResult.BLOCKED, row("t1", "blocked"), False),
        (TaskResult.BLOCKED, row("t1", "open"), True),
        (TaskResult.BLOCKED, row("t1", "in_progress"), True),
        (TaskResult.BLOCKED, row("t1", "closed"), True),
        (TaskResult.BLOCKED, row("t1", "cancelled"), False),
        (TaskResult.BLOCKED, row("t1", "open", **{"superseded-by": "t9"}), False),
        (TaskResult.BLOCKED, row("t2", "open"), False),  # t1 itself is gone
        (TaskResult.PARTIAL, row("t1", "open"), False),
        (TaskResult.PARTIAL, row("t1", "closed"), True),
        (TaskResult.DELIVERED, row("t1", "open"), False),
    ],
)
def test_a_task_is_freed_when_the_tracker_says_otherwise(
    ended: TaskResult, bead: dict[str, Any], is_freed: bool
) -> None:
    standing = ObjectiveProgress(task_ids=("t1",), outcomes={"t1": ended})
    assert find_freed(standing, beads(bead)) == (["t1"] if is_freed else [])
