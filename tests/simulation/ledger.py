"""What really happened in a simulated world, kept apart from what the product believes.

Every write of the tracker passes here with the row before it, whoever makes it. What must never be
is a `Violation`, at the very write that does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ddx.tracker.model import FINISHED, Row, links_of, status_of, text_of, type_of

GOVERNING = (
    "spec-id",
    "parent",
    "superseded-by",
    "replaces",
    "dependencies",
    "execution-eligible",
    "issue_type",
)
"""The fields of D-6, spelled out here a second time on purpose."""


class Violation(AssertionError):
    """Something that must never be."""

    log = ""


def governing(row: Row) -> dict[str, object]:
    return {name: row.get(name) or None for name in GOVERNING}


@dataclass
class Truth:
    """One attempt as the world saw it."""

    tokens: Mapping[str, str]
    selected: Mapping[str, dict[str, object]]
    commit: str = ""
    is_proven: bool = False
    is_reviewed: bool = False
    closed: set[str] = field(default_factory=set)


class Ledger:
    def __init__(self, *, max_attempts: int) -> None:
        self._max_attempts = max_attempts
        self.attempts: dict[str, Truth] = {}
        self.known: set[str] = set()
        self.spent = 0
        """Tokens of the run that is under way."""
        self.asked: Counter[str] = Counter()
        """States of which check was asked, in this run."""
        self._charges: Counter[str] = Counter()
        self._blocked: set[str] = set()
        self._touched: set[str] = set()
        """Since they were last selected."""
        self._said: dict[str, str] = {}
        """By attempt, the title of what it leaves for later."""
        self._left: dict[str, str] = {}
        """Of these, what our process has heard: from then on it must become a bead, once."""
        self._filed: Counter[str] = Counter()

    # -- what happens --------------------------------------------------------------------------

    def run_begins(self) -> None:
        self.spent = 0
        self.asked.clear()

    def selected(self, attempt: str, tokens: Mapping[str, str], rows: Mapping[str, Row]) -> None:
        chosen = {bead_id: governing(row) for bead_id, row in rows.items()}
        self.attempts[attempt] = Truth(tokens, chosen)

    def will_leave(self, attempt: str) -> str:
        self._said[attempt] = f"Left over by {attempt}"
        return self._said[attempt]

    def heard(self, attempt: str) -> None:
        if attempt in self._said:
            self._left[attempt] = self._said[attempt]

    def charged(self, beads: Collection[str]) -> None:
        """A batch that fails costs none of its members anything (S-8)."""
        if len(beads) == 1 and not self._touched & set(beads):
            self._charges.update(beads)

    def touched(self, *beads: str) -> None:
        """Somebody gave it another chance; without a name: all of them."""
        for bead_id in beads or tuple(self.known):
            self._charges.pop(bead_id, None)
            self._blocked.discard(bead_id)
            self._touched.add(bead_id)

    def wrote(
        self, rows: Mapping[str, Row], before: Mapping[str, Row], *, everything: Mapping[str, Row]
    ) -> None:
        """`everything` is the tracker as it stands after the write."""
        for bead_id, row in rows.items():
            old = before.get(bead_id, {})
            if bead_id not in self.known:
                self._filed_anew(text_of(row, "title"))
            self.known.add(bead_id)
            self._hands(bead_id, old, row)
            if status_of(row) == "in_progress" != status_of(old) and self._is_ours(row):
                self._claimed(bead_id)
            if status_of(row) == "closed" != status_of(old):
                self._charges.pop(bead_id, None)  # a review that opens it again begins anew
                self._closed(bead_id, old, row, everything)
            is_settled = bead_id not in self._touched  # else it changed on the way to its block
            if status_of(row) == "blocked" != status_of(old) and is_settled:
                self._blocked.add(bead_id)

    # -- what must hold --------------------------------------------------------------------------

    def _filed_anew(self, title: str) -> None:
        self._filed[title] += 1
        if self._filed[title] > 1 and title in self._said.values():
            raise Violation(f"{title!r} was filed {self._filed[title]} times")

    def _is_ours(self, row: Row) -> bool:
        token = text_of(row, "claim-id")
        return any(token in truth.tokens.values() for truth in self.attempts.values())

    def _claimed(self, bead_id: str) -> None:
        if bead_id in self._blocked:
            raise Violation(f"{bead_id} was blocked, nothing has changed, and it is tried again")
        if self._charges[bead_id] >= self._max_attempts:
            raise Violation(f"{bead_id} has failed {self._charges[bead_id]} times already")
        self._touched.discard(bead_id)

    def _hands(self, bead_id: str, old: Row, row: Row) -> None:
        both = status_of(old) == status_of(row) == "in_progress"
        if both and text_of(old, "claim-id") != text_of(row, "claim-id"):
            raise Violation(f"{bead_id} was taken from {text_of(old, 'claim-id')} by another")

    def _closed(self, bead_id: str, old: Row, row: Row, everything: Mapping[str, Row]) -> None:
        attempt = text_of(row, "session_id")
        if attempt:
            self._closed_by_attempt(attempt, bead_id, old, row)
        elif text_of(row, "close_reason") == "by hand":
            return
        elif type_of(row) == "epic":
            children = [it for it in everything.values() if text_of(it, "parent") == bead_id]
            left = [
                it["id"]
                for it in children
                if status_of(it) not in FINISHED and not links_of(it, "superseded-by")
            ]
            if left or not children:
                raise Violation(f"the epic {bead_id} was closed with {left or 'no children'}")
        else:
            raise Violation(f"{bead_id} was closed, and nobody has landed it")

    def _closed_by_attempt(self, attempt: str, bead_id: str, old: Row, row: Row) -> None:
        truth = self.attempts.get(attempt)
        if truth is None or bead_id not in truth.selected:
            raise Violation(f"{bead_id} was closed by {attempt}, which was never at it")
        if not truth.is_proven:
            raise Violation(f"{bead_id} was closed, and its checks have not passed")
        if text_of(row, "closing_commit_sha") != truth.commit:
            raise Violation(f"{bead_id} was closed for a commit that did not land")
        if governing(old) != truth.selected[bead_id]:
            raise Violation(f"{bead_id} had drifted and was closed")
        if status_of(old) == "in_progress" and text_of(old, "claim-id") != truth.tokens[bead_id]:
            raise Violation(f"{bead_id} was closed out of another's hands")
        truth.closed.add(bead_id)

    def run_ended(
        self, state: Mapping[str, object], rows: Mapping[str, Row], *, reviews: bool
    ) -> None:
        """A run that came to its end has told the truth and left nothing behind."""
        if lost := self.known - rows.keys():
            raise Violation(f"beads are lost: {sorted(lost)}")
        attempted, completed = (
            int(str(state["attempted_cycles"])),
            int(str(state["completed_cycles"])),
        )
        if completed > attempted:
            raise Violation(f"{completed} cycles completed of {attempted}")
        if state["exit_code"] is None or not state["stop_reason"]:
            raise Violation("the run ended and does not say how")
        if state["total_tokens"] != self.spent:
            raise Violation(f"{state['total_tokens']} tokens are told, {self.spent} were used")
        ours = {token for truth in self.attempts.values() for token in truth.tokens.values()}
        held = [it["id"] for it in rows.values() if status_of(it) == "in_progress"]
        if left := [it for it in held if text_of(rows[it], "claim-id") in ours]:
            raise Violation(f"the run ended and still holds {left}")
        if lost_ideas := [it for it in self._left.values() if not self._filed[it]]:
            raise Violation(f"it was left for later and is lost: {lost_ideas}")
        owed = {state["pending_review"], *_texts(state["owed_reviews"])}
        for attempt, truth in self.attempts.items():
            is_due = reviews and truth.commit and set(truth.selected) == truth.closed
            if is_due and not truth.is_reviewed and attempt not in owed:
                raise Violation(f"attempt {attempt} landed, and nobody reviews it")


def _texts(found: object) -> list[str]:
    return [str(it) for it in found] if isinstance(found, list | tuple) else []
