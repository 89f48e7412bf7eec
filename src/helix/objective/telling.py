"""What a builder hears of the objective that its task is a part of. Pure but for the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.fastjson import dumps
from ddx.text import cut
from ddx.tracker.model import text_of, texts_of
from helix.objective.context import build_lineage, task_lines
from helix.objective.plan import FRAMEWORK_KEY, IDIOMS_KEY, TASK_KEY

if TYPE_CHECKING:
    from ddx.tracker.model import Row
    from helix.objective.orchestrator import Orchestrator

_LONGEST_OBJECTIVE = 2000
_LONGEST_SUMMARY = 200


def context_of(orchestrator: Orchestrator, row: Row) -> str:
    """The task's own lines, the whole objective, and what the tasks before it delivered."""
    task = {
        "subject": text_of(row, TASK_KEY) or text_of(row, "title"),
        "description": cut(orchestrator.objective, _LONGEST_OBJECTIVE),
    }
    metadata = {
        "delta": texts_of(row, "paths"),
        "verify": " && ".join(texts_of(row, "verify")),
        "budget": row.get("budget"),
        "framework": text_of(row, FRAMEWORK_KEY),
        "idioms": row.get(IDIOMS_KEY) or {},
    }
    deliveries = build_lineage(_before(orchestrator, text_of(row, "id")))
    return "\n".join((*task_lines(task, metadata), f"PARENT_DELIVERIES: {dumps(deliveries)}"))


def _before(orchestrator: Orchestrator, task: str) -> list[dict[str, Any]]:
    """The tasks that it waits for, by name, with what each said it delivered."""
    names = {bead: seq for seq, bead in orchestrator.standing.task_mapping.items()}
    summaries = orchestrator.standing.summaries
    return [
        {
            "subject": names.get(it, it),
            "metadata": {"delivered": cut(summaries.get(it, ""), _LONGEST_SUMMARY)},
        }
        for it in orchestrator.standing.dependencies.get(task, ())
    ]
