"""What really happened in a simulated world, kept apart from what the product believes.

Every write of the tracker passes here with the row before it, whoever makes it. What must never be
is a `Violation`, at the very write that does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

from tests.simulation.checks import passes

from ddx.attempts.outcome import CHARGED, AttemptStatus
from ddx.tracker.bead import Bead
from ddx.tracker.row import FINISHED, Row, links_of, status_of, text_of, texts_of, type_of
from helix.passes.scope import is_supervisory

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


_ATTEMPT = "Helix-Attempt: "


class Violation(BaseException):
    """Something that must never be; no program of ours may take it for a failure of an attempt."""

    log = ""


def governing(row: Row) -> dict[str, object]:
    return {name: row.get(name) or None for name in GOVERNING}


@dataclass
class Truth:
    """One attempt as the world saw it."""

    tokens: Mapping[str, str]
    base: str
    action: str = ""
    selected: dict[str, dict[str, object]] = field(default_factory=dict)
    commit: str = ""
    is_reviewed: bool = False
    closed: set[str] = field(default_factory=set)


class Ledger:
    """What happened, and what must hold; `git` has the branch that all of it is about."""

    def __init__(self, *, max_attempts: int, max_tokens: int | None = None, workers: int) -> None:
        self._max_attempts = max_attempts
        self._max_tokens = max_tokens
        self._workers = workers
        self.once = False
        """Each bead is tried once in a run, unless its agent had reached a limit."""
        self.heeds_pause = True
        self.files: Callable[[str], Mapping[str, object]] = lambda commit: {}
        """The files of a commit."""
        self.history: Callable[[], Mapping[str, str]] = dict
        """The commits of the branch, merges left out, and what each says."""
        self.holds: Callable[[str], bool] = lambda commit: False
        """Does the branch hold the commit?"""
        self.attempts: dict[str, Truth] = {}
        self.rows: dict[str, Row] = {}
        self.known: set[str] = set()
        self.spent = 0
        """Tokens of the run that is under way."""
        self.is_paused = False
        self._claims: Counter[str] = Counter()
        self._claims_in_pause = 0
        self._parked: set[str] = set()
        self._charges: Counter[str] = Counter()
        self._blocked: set[str] = set()
        self._touched: set[str] = set()
        """Since they were last selected."""
        self._meddled: set[str] = set()
        """Ever."""
        self._bereft: set[str] = set()
        """A person has moved a child of theirs elsewhere."""
        self._said: dict[str, str] = {}
        """By attempt, the title of what it leaves for later."""
        self._speaking: dict[int, str] = {}
        """By thread, the attempt whose agent has just ended."""
        self._left: dict[str, str] = {}
        """Of these, what our process has heard: from then on it must become a bead, once."""
        self._filed: Counter[str] = Counter()

    # -- what happens --------------------------------------------------------------------------

    def run_begins(self) -> None:
        self.spent = 0
        self._claims.clear()
        self._parked.clear()
        self._speaking.clear()

    def paused(self, is_paused: bool) -> None:
        if is_paused != self.is_paused:
            self._claims_in_pause = 0
        self.is_paused = is_paused

    def begun(self, attempt: str, intent: Mapping[str, Any]) -> None:
        """As its record says it, before it claims anything."""
        claims = {} if "lands" in intent else dict(intent["claims"])
        self.attempts[attempt] = Truth(claims, str(intent["base"]), str(intent["action"]))

    def used(self, action: str, tokens: int) -> None:
        self.spent += tokens

    def will_leave(self, attempt: str) -> str:
        self._said[attempt] = f"Left over by {attempt}"
        return self._said[attempt]

    def ended(self, attempt: str) -> None:
        """An agent has said its last word; nobody may have heard it yet."""
        self._speaking[get_ident()] = attempt

    def went_on(self, thread: int) -> None:
        """Whoever called the agent is at the next step, so it has heard what it said."""
        attempt = self._speaking.pop(thread, "")
        if attempt in self._said:
            self._left[attempt] = self._said[attempt]

    def reviewed(self, prompt: str) -> None:
        """A reviewer was shown this; every file of an agent names its attempt."""
        for attempt, truth in self.attempts.items():
            if attempt in prompt:
                truth.is_reviewed = True

    def released(self, attempt: str, status: str) -> None:
        """A batch that fails costs none of its members anything (S-8)."""
        beads = set(self.attempts[attempt].tokens)
        if status == AttemptStatus.HARNESS_FAULT:
            self._parked |= beads
        if status in CHARGED and len(beads) == 1 and not self._touched & beads:
            self._charges.update(beads)

    def touched(self, *beads: str) -> None:
        """Somebody gave it another chance; without a name: all of them."""
        for bead_id in beads or tuple(self.known):
            self._charges.pop(bead_id, None)
            self._blocked.discard(bead_id)
            self._touched.add(bead_id)
            self._meddled.add(bead_id)

    def wrote(
        self,
        rows: Mapping[str, Row],
        before: Mapping[str, Row],
        *,
        everything: Mapping[str, Row],
        ours: bool,
    ) -> None:
        """`everything` is the tracker as it stands after the write."""
        self.rows.update(everything)
        for bead_id, row in rows.items():
            old = before.get(bead_id, {})
            if bead_id not in self.known:
                self._filed_anew(text_of(row, "title"))
            self.known.add(bead_id)
            self._hands(bead_id, old, row)
            if not ours and text_of(old, "parent") != text_of(row, "parent"):
                self._meddled.add(text_of(row, "parent"))  # with open children it stays open
                self._bereft.add(text_of(old, "parent"))
            if status_of(row) == "in_progress" != status_of(old) and self._is_ours(row):
                self._claimed(bead_id, old, text_of(row, "claim-id"))
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

    def _claimed(self, bead_id: str, old: Row, token: str) -> None:
        for truth in self.attempts.values():
            if truth.tokens.get(bead_id) == token:
                truth.selected[bead_id] = governing(old)
        if is_supervisory(Bead.of(old)):
            return
        if bead_id in self._blocked:
            raise Violation(f"{bead_id} was blocked, nothing has changed, and it is tried again")
        if self._charges[bead_id] >= self._max_attempts:
            raise Violation(f"{bead_id} has failed {self._charges[bead_id]} times already")
        self._touched.discard(bead_id)
        is_spent = self._max_tokens is not None and self.spent >= self._max_tokens
        if is_spent and self._workers == 1:
            raise Violation(f"{bead_id} is begun, and the budget is spent")
        self._claims[bead_id] += 1
        if self.once and self._claims[bead_id] > 1 and bead_id not in self._parked:
            raise Violation(f"{bead_id} is tried twice in one drain")
        if bead_id not in self._meddled and self._has_landed_unclosed(bead_id):
            raise Violation(f"{bead_id} has landed, nobody closed it, and it is built again")
        self._claims_in_pause += self.is_paused and self.heeds_pause
        if self._claims_in_pause > self._workers:
            raise Violation(f"{bead_id} is begun during a pause")

    def _has_landed_unclosed(self, bead_id: str) -> bool:
        """Does the branch hold work for it that the tracker knows nothing of?"""
        closed = {name for name, truth in self.attempts.items() if bead_id in truth.closed}
        for message in self.history().values():
            lines = message.splitlines()
            attempt = next((it for it in lines if it.startswith(_ATTEMPT)), "")
            if f"Helix-Bead: {bead_id}" in lines and attempt.removeprefix(_ATTEMPT) not in closed:
                return True
        return False

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
            if left or not (children or bead_id in self._bereft):
                raise Violation(f"the epic {bead_id} was closed with {left or 'no children'}")
        else:
            raise Violation(f"{bead_id} was closed, and nobody has landed it")

    def _closed_by_attempt(self, attempt: str, bead_id: str, old: Row, row: Row) -> None:
        truth = self.attempts.get(attempt)
        if truth is None or bead_id not in truth.selected:
            raise Violation(f"{bead_id} was closed by {attempt}, which was never at it")
        commit = text_of(row, "closing_commit_sha")
        if commit and not self.holds(commit):
            raise Violation(f"{bead_id} was closed for a commit that did not land")
        files = self.files(commit or truth.base)
        for command in () if is_supervisory(Bead.of(old)) else texts_of(old, "verify"):
            if not passes(command, files.__contains__):
                raise Violation(f"{bead_id} was closed, and its checks have not passed")
        if governing(old) != truth.selected[bead_id]:
            raise Violation(f"{bead_id} had drifted and was closed")
        if status_of(old) == "in_progress" and text_of(old, "claim-id") != truth.tokens[bead_id]:
            raise Violation(f"{bead_id} was closed out of another's hands")
        truth.closed.add(bead_id)
        truth.commit = commit

    def told_usage(self, tokens: int) -> None:
        if tokens != self.spent:
            raise Violation(f"{tokens} tokens are told, {self.spent} were used")

    def state_told(self, state: Mapping[str, object], *, reviews: bool) -> None:
        """What a run says of itself at its end is so."""
        attempted, completed = (
            int(str(state[f"{word}_cycles"])) for word in ("attempted", "completed")
        )
        if completed > attempted:
            raise Violation(f"{completed} cycles completed of {attempted}")
        if state["exit_code"] is None or not state["stop_reason"]:
            raise Violation("the run ended and does not say how")
        self.told_usage(int(str(state["total_tokens"])))
        owed = {str(state["pending_review"]), *_texts(state["owed_reviews"])}
        if reviews:
            self.require_reviews(owed)

    def require_reviews(self, owed: Collection[str]) -> None:
        for attempt, truth in self.attempts.items():
            is_whole = bool(truth.selected) and set(truth.selected) == truth.closed
            is_due = truth.action == "build" and truth.commit and is_whole
            if is_due and not truth.is_reviewed and attempt not in owed:
                raise Violation(f"attempt {attempt} landed, and nobody reviews it")

    def run_ended(self, rows: Mapping[str, Row], *, files_leftovers: bool) -> None:
        """Whoever came to its end has left nothing behind."""
        if lost := self.known - rows.keys():
            raise Violation(f"beads are lost: {sorted(lost)}")
        ours = {token for truth in self.attempts.values() for token in truth.tokens.values()}
        held = [it["id"] for it in rows.values() if status_of(it) == "in_progress"]
        if left := [it for it in held if text_of(rows[it], "claim-id") in ours]:
            raise Violation(f"the run ended and still holds {left}")
        lost_ideas = [it for it in self._left.values() if not self._filed[it]]
        if files_leftovers and lost_ideas:
            raise Violation(f"it was left for later and is lost: {lost_ideas}")
        landed = Counter(
            line.removeprefix(_ATTEMPT)
            for message in self.history().values()
            for line in message.splitlines()
            if line.startswith(_ATTEMPT)
        )
        if twice := [attempt for attempt, times in landed.items() if times > 1]:
            raise Violation(f"attempts have landed more than once: {twice}")


def _texts(found: object) -> list[str]:
    return [str(it) for it in found] if isinstance(found, list | tuple) else []
