"""What only a person can decide: the planner's questions, a stall, orphaned tasks (O-3, O-6, O-9).

They decide beforehand by flags, or on a terminal; else the objective stops for them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from ddx.attempts import End
from ddx.base import is_alive, value
from ddx.tracker import RUNNER
from helix.objective.model import Event
from helix.objective.plan import ANSWER, ASKED, FAILURE, OBJECTIVE_KEY
from helix.objective.task_beads import find_freed, read_beads
from helix.passes import claim_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.attempts import AttemptContext
    from ddx.tracker import Snapshot, Tracker, TrackerEdit
    from helix.objective.orchestrator import Orchestrator

Choose: TypeAlias = "Callable[[str, tuple[str, ...]], str]"
"""Asks a person for one of these words, or for any where there are none; empty: no answer."""

MOST_ROUNDS = 3
"""So often a planner may come back with questions."""
MOST_REPLANS = 2
"""More plans than that do not help: a person must look."""
REPLANNED = "replanned"
WAYS = ("replan", "skip", "abort")
RESET, BLOCK, IGNORE = CHOICES = ("reset", "block", "ignore")
_DIED = "its objective died while it was being built"


@value
class Operator:
    """The person whose objective it is: how they are told and asked, and what they said before."""

    tell: Callable[[str], None]
    choose: Choose | None = None
    """None: nobody can be asked."""
    on_stall: str = ""
    answers: tuple[str, ...] = ()


def ask_person(
    orchestrator: Orchestrator, operator: Operator, texts: tuple[str, ...]
) -> End | None:
    """The planner's questions, answered by flags or on a terminal; else it stops for them."""
    asked, rounds = orchestrator.fresh_notes(ASKED), len(orchestrator.fresh_notes(ANSWER))
    if rounds == len(asked):
        return None
    questions = tuple(map(str, asked[-1]["questions"]))
    if questions != orchestrator.standing.questions:  # we died between the note and the event
        orchestrator.transition(Event.CLARIFY_NEEDED, asked[-1])
    if not texts and operator.choose is not None and rounds < MOST_ROUNDS:
        texts = _answers(operator.choose, questions)
    if not texts:
        open_ones = "; ".join(questions)
        return End(f"a person must answer: {open_ones} (helix objective resume --answer '...')", 4)
    orchestrator.note(ANSWER, {"texts": list(texts)})
    return None


def _answers(choose: Choose, questions: Sequence[str]) -> tuple[str, ...]:
    """Each question with its answer; none at all if a person leaves one open."""
    texts: list[str] = []
    for question in questions:
        if not (said := choose(question, ())):
            return ()
        texts.append(f"{question} {said}")
    return tuple(texts)


def unstall(site: AttemptContext, orchestrator: Orchestrator, operator: Operator) -> End | None:
    """On, if somebody has seen to it; else replan, skip or abort: as a person said or says now."""
    if _is_unblocked(site, orchestrator):
        return None
    blocked = ", ".join(orchestrator.blocked or orchestrator.partial)
    pending = ", ".join(orchestrator.standing.pending)
    question = f"{pending} cannot go on because of {blocked or 'what is not in the plan'}"
    way, replans = operator.on_stall, len(orchestrator.notes(REPLANNED))
    if way == "replan" and replans >= MOST_REPLANS:
        operator.tell(f"planned {replans + 1} times already")
        way = ""
    if not way and operator.choose is not None:
        way = operator.choose(f"{question}: replan, skip or abort?", WAYS)
    if way not in WAYS:
        hint = "see to it and resume, or: helix objective resume --on-stall replan, skip or abort"
        return End(f"stalled: {question}; {hint}", 4)
    if way == "replan":
        failures = [str(note.get("reason", "")) for note in orchestrator.notes(FAILURE)]
        orchestrator.note(REPLANNED, {"failures": failures})
    orchestrator.transition(way, {"chosen": way})
    return None


def _is_unblocked(site: AttemptContext, orchestrator: Orchestrator) -> bool:
    """The tracker says otherwise by now: something was closed or opened again by hand (O-3)."""
    standing = orchestrator.standing
    beads = read_beads(site, standing.task_ids)
    told = {
        "task_ids": find_freed(standing, beads),
        "ready": [task for task in standing.pending if task in beads.ready],
    }
    return any(told.values()) and orchestrator.transition(Event.UNBLOCKED, told).success


# -- tasks of an earlier objective that a dead process still holds -----------------------------


@value
class OrphanedTask:
    """In progress, of another objective, and nobody works on it."""

    bead: str
    title: str
    objective: str
    claim_id: str


def find_orphans(snapshot: Snapshot, *, besides: str) -> tuple[OrphanedTask, ...]:
    """In progress, of another objective, held by a runner of this machine that is gone."""
    found = []
    for bead in snapshot.with_status("in_progress"):
        objective = bead.text(OBJECTIVE_KEY)
        claim = claim_of(bead)
        if objective in ("", besides) or claim is None or claim.owner != RUNNER:
            continue
        if claim.machine == os.uname().nodename and not is_alive(claim.pid, claim.pid_start):
            found.append(OrphanedTask(bead.id, bead.title, objective, claim_id=claim.claim_id))
    return tuple(found)


def settle_orphans(tracker: Tracker, orphans: Sequence[OrphanedTask], choice: str) -> None:
    """Open again, or blocked; what changed hands meanwhile is left as it is."""

    def decide(edit: TrackerEdit) -> None:
        for orphan in orphans if choice != IGNORE else ():
            bead = edit.find_bead(orphan.bead)
            if bead is None:
                continue
            if bead.claim_id == orphan.claim_id:
                edit.unclaim(orphan.bead, claim_id=orphan.claim_id)
            if choice == BLOCK and edit.status(orphan.bead) == "open":
                edit.block(orphan.bead, reason=_DIED)

    tracker.edit(decide)
