"""The last phase, in which what the tasks showed becomes memory, and the end (O-6, M-10, C-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.attempts import End
from ddx.base import DdxError, cut
from helix.objective.agents import Answered
from helix.objective.model import State
from helix.objective.plan import FAILURE

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix.objective.agents import QuestionOutcome
    from helix.objective.orchestrator import Orchestrator
    from helix.project import PassContext

_LONGEST_TEXT = 600
_UNKNOWN = "it failed: nobody knows why"


def learn_from(
    context: PassContext, answer: QuestionOutcome, tell: Callable[[str], None]
) -> dict[str, Any]:
    """What was learned; an observer that says nothing worth reading costs nobody anything."""
    from helix.memory import learn_observation, open_store, wits_of

    failed = {"status": "failed", "stored": [], "edges": 0}
    if not isinstance(answer, Answered):
        tell(f"nothing was learned: {answer.reason}")
        return {**failed, "reason": answer.reason}
    site = context.site
    try:
        wits = wits_of(site.project, context.settings, clock=site.clock)
        with open_store(site.project) as store:
            learned = learn_observation(store, answer.found, wits, now=site.clock.stamp())
    except (DdxError, OSError) as problem:  # trouble with memory never stops work
        tell(f"nothing was remembered: {problem}")
        return {**failed, "reason": str(problem)}
    for remark in learned.remarks:
        tell(remark)
    return {
        "status": str(answer.found.get("status", "complete")),
        "stored": list(learned.added),
        "edges": learned.edges,
    }


def story_of(orchestrator: Orchestrator) -> dict[str, Any]:
    """Every task with how it went, and what failed on the way."""
    standing = orchestrator.standing
    names = {bead: seq for seq, bead in standing.task_mapping.items()}
    return {
        "objective": orchestrator.objective,
        "task_ids": list(standing.task_ids),
        "tasks": [
            {
                "id": task,
                "task": names.get(task, ""),
                "ended": str(standing.outcomes.get(task, "skipped")),
                "summary": cut(standing.summaries.get(task, ""), _LONGEST_TEXT),
            }
            for task in standing.task_ids
        ],
        "failures": [
            cut(str(note.get("reason", "")), _LONGEST_TEXT) for note in orchestrator.notes(FAILURE)
        ],
    }


def conclude(orchestrator: Orchestrator) -> End:
    """Done; tasks that are left undone are a person's, unless they skipped them (C-2)."""
    if orchestrator.state is State.ERROR:
        reason = orchestrator.error_reason
        return End(f"it failed: {reason.name}. {reason.recovery}" if reason else _UNKNOWN, 1)
    parts = [
        f"{len(found)} {word}"
        for word, found in (
            ("delivered", orchestrator.completed),
            ("partial", orchestrator.partial),
            ("blocked", orchestrator.blocked),
            ("skipped", orchestrator.skipped),
        )
        if found
    ]
    said = f"done: {', '.join(parts) or 'nothing was to be done'}"
    undone = (*orchestrator.blocked, *orchestrator.partial)
    if not undone or orchestrator.skipped:
        return End(said, 0)
    return End(f"{said}; a person must see to {undone[0]}: ddx bead show {undone[0]}", 4)
