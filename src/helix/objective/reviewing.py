"""The reviews that an objective owes for what landed: on record from the first, paid in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import NotFound
from ddx.values import changed
from helix.actions.unfiled import find_landing
from helix.meter import FAULTS
from helix.objective.session import Halt
from helix.policy.trailers import Unreadable
from helix.work import review_landed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.harnesses.base import End, Reply
    from helix.desk import Desk
    from helix.objective.session import Session

LANDED, REVIEWED = "landed", "reviewed"
"""Notes: what landed and is owed a review; what had it."""

_AGAIN = "ask once more: helix objective resume; go on without: add --no-auto-review"


class Reviews:
    """What landed is looked at before more is built on it; findings are filed (S-16)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._orchestrator = session.orchestrator

    def owe(self, task: str, attempt: str) -> None:
        """Once, and before the end of the task is on record, so that no crash can lose it."""
        if attempt not in {note["attempt"] for note in self._orchestrator.notes(LANDED)}:
            self._orchestrator.note(LANDED, {"task_id": task, "attempt": attempt})

    def owe_if_landed(self, task: str, attempt: str) -> None:
        """For a task that ended without us: a person may have closed it with nothing to look at."""
        landing = find_landing(self._session.desk.site.project, attempt) if attempt else None
        if landing is not None and landing.get("outcome") == "landed":
            self.owe(task, attempt)

    def pay(self) -> Halt | None:
        """All that are owed; a halt where one could not be made: it stays owed."""
        if not self._session.reviews:
            return None
        paid = {note["attempt"] for note in self._orchestrator.notes(REVIEWED)}
        for note in self._orchestrator.notes(LANDED):
            if note["attempt"] in paid:
                continue
            said = self._look_at(str(note["attempt"]))
            if isinstance(said, Halt):
                return said
            self._orchestrator.note(REVIEWED, {**note, "found": said})
            self._session.tell(f"{note['task_id']}: {said}")
        return None

    def _look_at(self, attempt: str) -> str | Halt:
        """What the review found; one that cannot be read is a person's to see (D-10)."""
        session = self._session
        while True:
            desk = session.desk_for_asking(reviews=True)
            if isinstance(desk, Halt):
                return desk
            ends: list[End] = []
            try:
                found = review_landed(changed(desk, on_call=_noting(desk, ends)), attempt)
            except NotFound as problem:
                return f"not reviewed: {problem.message}"
            if not isinstance(found.verdict, Unreadable):
                return found.sentence
            end = ends[-1]
            if halt := session.cut_off(end):
                return halt
            if end not in FAULTS:
                return Halt(f"{', '.join(found.beads)}: {found.sentence}; {_AGAIN}", 4)


def _noting(desk: Desk, ends: list[End]) -> Callable[[str, Reply], None]:
    """Whoever hears of calls at this desk still does; and how they ended is kept."""

    def hear(action: str, reply: Reply) -> None:
        ends.append(reply.end)
        desk.on_call(action, reply)

    return hear
