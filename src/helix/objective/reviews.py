"""What landed for a task is looked at before more is built on it; findings are filed (S-16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.agents import CallEnd
from ddx.attempts import End, Pass, read_attempts
from ddx.base import NotFound, changed
from helix.objective.model import State
from helix.passes import UnreadableTrailer, review
from helix.run import file_review, read_landed

if TYPE_CHECKING:
    from ddx.agents import Reply
    from ddx.attempts import OwedReviews, View
    from helix.objective.agents import AgentCalls
    from helix.objective.operator import Operator
    from helix.objective.orchestrator import Orchestrator

REVIEWED = "reviewed"
"""The note of what a review found."""
_AGAIN = "ask once more: helix objective resume; go on without: add --no-auto-review"
_STATES = frozenset({State.BUILDING, State.STALLED, State.BUILT, State.ERROR})
_NEEDS_PERSON = 4


class TaskReviews:
    """The reviews that are owed for this objective's tasks, one after the other."""

    def __init__(
        self,
        calls: AgentCalls,
        orchestrator: Orchestrator,
        operator: Operator,
        *,
        owed: OwedReviews,
    ) -> None:
        self._calls = calls
        self._orchestrator = orchestrator
        self._tell = operator.tell
        self._owed = owed
        self._is_over = False
        """One could not be made after the building had ended: no second try."""

    def next(self, view: View) -> Pass | None:
        """The next that is due now; after a failure of the building, as well."""
        state = self._orchestrator.state
        if state not in _STATES or self._is_over or view.is_over:
            return None
        made = {note.get("attempt") for note in self._orchestrator.notes(REVIEWED)}
        for attempt in made.intersection(view.owed):  # we died between the note and the promise
            self._owed.forget(str(attempt))
        attempt = next((it for it in view.owed if it not in made and self._is_ours(it)), "")
        if not attempt:
            return None
        reviewer, is_building = self._calls.context.reviewer, state is State.BUILDING
        refusal = "" if is_building else self._calls.meter.refusal(reviewer.harness)
        if refusal:
            self._go_on_without(refusal)
            return None

        def work(harness: str) -> End | None:
            end = self._review(attempt, harness)
            if end is None or is_building:
                return end
            self._go_on_without(end.reason)
            return None

        return Pass(reviewer.harness, work)

    def _is_ours(self, attempt: str) -> bool:
        """Others' reviews are for whoever began them, or for the next run."""
        beads = read_attempts(self._calls.context.site.project).read(attempt).beads
        return not {*beads}.isdisjoint(self._orchestrator.task_ids)

    def _go_on_without(self, reason: str) -> None:
        """How the building ended is worth more to a person than a review that cannot be made."""
        self._is_over = True
        self._tell(reason)

    def _review(self, attempt: str, harness: str) -> End | None:
        """One that cannot be read is a person's to see (D-10), unless only the harness failed."""
        ends: list[CallEnd] = []
        metered = self._calls.asking(harness, reviews=True)

        def hear(action: str, reply: Reply) -> None:
            ends.append(reply.end)
            metered.on_call(action, reply)

        context = changed(metered, on_call=hear)
        beads = read_attempts(context.site.project).read(attempt).beads
        try:
            subject, beads = read_landed(context, attempt)
        except NotFound as problem:
            self._made(attempt, beads, f"not reviewed: {problem.message}")
            return None
        found = file_review(context, review(context, subject), beads)
        if not isinstance(found.verdict, UnreadableTrailer):
            self._made(attempt, beads, found.sentence)
            return None
        if end := self._calls.cut_off(ends[-1]):
            return end
        if ends[-1].is_harness_fault:
            return None
        return End(f"{', '.join(found.beads)}: {found.sentence}; {_AGAIN}", _NEEDS_PERSON)

    def _made(self, attempt: str, beads: tuple[str, ...], said: str) -> None:
        told = {"task_id": beads[0], "attempt": attempt, "found": said}
        self._orchestrator.note(REVIEWED, told)
        self._owed.forget(attempt)
        self._tell(f"{beads[0]}: {said}")
