"""The last phase: what the tasks showed becomes memory (O-6, M-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.errors import DdxError
from ddx.text import cut
from helix.objective.asking import OBSERVER, Answered, Unanswered, ask_in_turn
from helix.objective.planning import FAILURE
from helix.objective.session import Halt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from helix.desk import Desk
    from helix.objective.orchestrator import Orchestrator
    from helix.objective.session import Session

_LONGEST_TEXT = 600


def observe(session: Session) -> dict[str, Any] | Halt:
    """What was learned; an observer that says nothing worth reading costs nobody anything."""
    answer = ask_in_turn(session, OBSERVER, story_of(session.orchestrator))
    match answer:
        case Answered(found=found):
            return _remember(session.desk, found, session.tell)
        case Unanswered(reason=reason):
            session.tell(f"nothing was learned: {reason}")
            return {"status": "failed", "reason": reason, "stored": [], "edges": 0}
        case Halt() as halt:
            return halt


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


def _remember(desk: Desk, found: Mapping[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    from helix.memory.learning import learn_observation
    from helix.memory.opening import open_store, wits_of

    site = desk.site
    try:
        wits = wits_of(site.project, desk.settings, clock=site.clock)
        with open_store(site.project) as store:
            learned = learn_observation(store, found, wits, now=site.clock.stamp())
    except (DdxError, OSError) as problem:  # trouble with memory never stops work
        tell(f"nothing was remembered: {problem}")
        return {"status": "failed", "reason": str(problem), "stored": [], "edges": 0}
    for remark in learned.remarks:
        tell(remark)
    return {
        "status": str(found.get("status", "complete")),
        "stored": list(learned.added),
        "edges": learned.edges,
    }
