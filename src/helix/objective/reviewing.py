"""The reviews that an objective owes for what landed: on record from the first, paid in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import NotFound
from ddx.execution.record import read_record
from helix.policy.trailers import Unreadable
from helix.work import review_landed

if TYPE_CHECKING:
    from helix.objective.session import Halt, Session

LANDED, REVIEWED = "landed", "reviewed"
"""Notes: what landed and is owed a review; what had it."""


class Reviews:
    """What landed is looked at before more is built on it; findings are filed (S-16)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._orchestrator = session.orchestrator

    def owe(self, task: str, attempt: str) -> None:
        """Before the end of the task is on record, so that no crash can lose it."""
        self._orchestrator.note(LANDED, {"task_id": task, "attempt": attempt})

    def owe_if_landed(self, task: str, attempt: str) -> None:
        """For a task that ended without us: a person may have closed it with nothing to look at."""
        try:
            result = read_record(self._session.desk.site.project, attempt).result if attempt else {}
        except NotFound:
            return
        if result.get("outcome") == "landed":
            self.owe(task, attempt)

    def pay(self) -> Halt | None:
        """All that are owed; a halt where one could not be made: it stays owed."""
        if not self._session.reviews:
            return None
        paid = {note["attempt"] for note in self._orchestrator.notes(REVIEWED)}
        for note in self._orchestrator.notes(LANDED):
            if note["attempt"] in paid:
                continue
            if halt := self._session.halted():
                return halt
            said = self._look_at(str(note["attempt"]))
            if not said:
                return self._session.interrupted()
            self._orchestrator.note(REVIEWED, {**note, "found": said})
            self._session.tell(f"{note['task_id']}: {said}")
        return None

    def _look_at(self, attempt: str) -> str:
        """What the review found; empty if it was interrupted."""
        desk = self._session.desk
        try:
            found = review_landed(desk, attempt)
        except NotFound as problem:
            return f"not reviewed: {problem.message}"
        is_torn = desk.site.stop.asked and isinstance(found.verdict, Unreadable)
        return "" if is_torn else found.sentence
