"""How an attempt ended, as types, as a row of result.json and in words. Pure.

It ends in one of four ways (X-15), and each is a type:

    Landed      the target branch holds the new commit, and we looked
    Preserved   something was made and kept at a ref, but did not land
    NoChanges   nothing was made; `already_satisfied` if every check passes without it
    Failed      nothing was made, and the agent or the harness is the reason
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.agents import CallEnd, Reply, Usage
from ddx.base import changed, counted, cut, listed, shown, value
from ddx.proof import Check, MetricReading
from ddx.tracker import BeadId

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.attempts.call import CallResult
    from ddx.attempts.context import Limits
    from ddx.base import Masker
    from ddx.proof import Proof

AttemptId: TypeAlias = str
_LONGEST_REPLY = 4000
_COUNTED = re.compile(r"(\d+) (?:insertion|deletion)")


class AttemptStatus(StrEnum):
    """Why an attempt ended as it did."""

    SUCCESS = "success"
    ALREADY_SATISFIED = "already_satisfied"
    UNMERGED = "unmerged"
    CHECK_FAILED = "check_failed"
    RATCHET_FAILED = "ratchet_failed"
    LAND_CONFLICT = "land_conflict"
    OPERATOR_EDITS = "operator_edits"
    DRIFT = "drift"
    AUTHORITY = "authority"
    TIMEOUT = "timeout"
    HARNESS_FAULT = "harness_fault"
    AGENT_FAILED = "agent_failed"
    INTERRUPTED = "interrupted"
    NOTHING_DONE = "nothing_done"


CHARGED = frozenset(
    {
        AttemptStatus.CHECK_FAILED,
        AttemptStatus.RATCHET_FAILED,
        AttemptStatus.NOTHING_DONE,
        AttemptStatus.AGENT_FAILED,
        AttemptStatus.TIMEOUT,
        AttemptStatus.LAND_CONFLICT,
        AttemptStatus.AUTHORITY,
    }
)
"""What counts against the bead; the rest is nobody's fault or the harness's (X-15)."""


@value
class AttemptFacts:
    """What review, credit, follow-ups and cost need to know of an attempt (X-15)."""

    attempt: AttemptId
    beads: tuple[BeadId, ...]
    harness: str
    model: str
    base: str
    target: str
    result: str = ""
    """The attempt's own commit; empty if nothing was made."""
    ref: str = ""
    checks: tuple[Check, ...] = ()
    diffstat: str = ""
    paths: tuple[str, ...] = ()
    usage: Usage = Usage()
    reply: Reply | None = None
    folder: str = ""
    reason: str = ""
    measured: tuple[MetricReading, ...] = ()

    @property
    def changed_lines(self) -> int:
        """How much there is to look at (D-24)."""
        return changed_lines(self.diffstat)


def changed_lines(diffstat: str) -> int:
    """How much there is to look at: git's insertions and deletions together (D-24)."""
    return sum(map(int, _COUNTED.findall(diffstat.rstrip().rpartition("\n")[2])))


class _Ending:
    """What can be asked of every outcome."""

    facts: AttemptFacts
    status: AttemptStatus
    word = ""
    """landed, preserved, no_changes or failed, as it stands in records and answers."""

    @property
    def is_completed(self) -> bool:
        """Did the bead's work end well: landed, or there already (D-11 without the review)?"""
        return False

    def as_row(self) -> dict[str, Any]:
        """Everything that review, credit, follow-ups and cost need (X-15)."""
        facts = self.facts
        return {
            "attempt": facts.attempt,
            "beads": list(facts.beads),
            "outcome": self.word,
            "status": str(self.status),
            "completed": self.is_completed,
            "reason": facts.reason,
            "left_open": "",
            "harness": facts.harness,
            "model": facts.model,
            "base": facts.base,
            "target": facts.target,
            "result": facts.result,
            "commit": "",
            "ref": "",
            "paths": list(facts.paths),
            "diffstat": facts.diffstat,
            "checks": [check.as_row() for check in facts.checks],
            "usage": facts.usage.as_row(),
            "reply": None if facts.reply is None else reply_row(facts.reply),
            "folder": facts.folder,
        }

    def in_words(self) -> Iterator[str]:
        """The same in a few lines for a person."""
        facts = self.facts
        word, status = (str(it).replace("_", " ") for it in (self.word, self.status))
        yield f"{listed(facts.beads)}: {word}, {status}"
        yield from (f"  {line}" for line in self._particulars())
        yield f"  {facts.usage.in_words}; the story: ddx agent log {facts.attempt}"

    def _particulars(self) -> Iterator[str]:
        yield shown(self.facts.reason)


@value
class Landed(_Ending):
    facts: AttemptFacts
    commit: str
    """The tip of the target branch: the attempt's commit, or its merge."""
    left_open: str = ""
    """Why the bead was not closed although its work landed (X-18)."""
    status: AttemptStatus = AttemptStatus.SUCCESS
    word = "landed"

    @property
    def is_completed(self) -> bool:
        return not self.left_open

    def as_row(self) -> dict[str, Any]:
        return {**super().as_row(), "left_open": self.left_open, "commit": self.commit}

    def _particulars(self) -> Iterator[str]:
        branch = self.facts.target.removeprefix("refs/heads/")
        passed = counted(len(self.facts.checks), "check")
        yield f"{self.commit[:12]} on {branch}; {passed} passed"
        if self.left_open:
            yield f"left open: {shown(self.left_open)}"


@value
class Preserved(_Ending):
    facts: AttemptFacts
    status: AttemptStatus
    ref: str
    is_pending: bool = False
    """Proven, and only the way is not free: it lands by itself at a later boundary (X-13)."""
    word = "preserved"

    def as_row(self) -> dict[str, Any]:
        return {**super().as_row(), "ref": self.ref}

    def _particulars(self) -> Iterator[str]:
        yield from super()._particulars()
        yield f"kept at {self.ref}"


@value
class NoChanges(_Ending):
    facts: AttemptFacts
    status: AttemptStatus
    left_open: str = ""
    word = "no_changes"

    @property
    def is_completed(self) -> bool:
        return self.status is AttemptStatus.ALREADY_SATISFIED and not self.left_open

    def as_row(self) -> dict[str, Any]:
        return {**super().as_row(), "left_open": self.left_open}

    def _particulars(self) -> Iterator[str]:
        yield f"left open: {shown(self.left_open)}" if self.left_open else shown(self.facts.reason)


@value
class Failed(_Ending):
    facts: AttemptFacts
    status: AttemptStatus
    word = "failed"


Outcome: TypeAlias = Landed | Preserved | NoChanges | Failed


def masked(outcome: Outcome, masker: Masker) -> Outcome:
    """The same as others may see it: on a screen, in the tracker, in an answer (X-24)."""
    facts = outcome.facts
    reply = None if facts.reply is None else masked_reply(facts.reply, masker)
    facts = changed(facts, reason=masker.mask(facts.reason), reply=reply)
    return changed(outcome, facts=facts)


def masked_reply(reply: Reply, masker: Masker) -> Reply:
    structured = masker.mask_row({"it": reply.structured})["it"]
    return changed(
        reply,
        text=masker.mask(reply.text),
        reason=masker.mask(reply.reason),
        structured=structured,
    )


def reply_row(reply: Reply) -> dict[str, Any]:
    return {
        "end": str(reply.end),
        "text": cut(reply.text, _LONGEST_REPLY),
        "reason": reply.reason,
        "until": reply.until,
        "denied": list(reply.denied),
        "session": reply.session,
        "retries": reply.retries,
        "structured": reply.structured,
    }


_ENDS = {
    CallEnd.LIMIT_TURNS: AttemptStatus.AGENT_FAILED,
    CallEnd.LIMIT_BUDGET: AttemptStatus.AGENT_FAILED,
    CallEnd.INTERRUPTED: AttemptStatus.INTERRUPTED,
    CallEnd.STALLED: AttemptStatus.TIMEOUT,
    CallEnd.TIMED_OUT: AttemptStatus.TIMEOUT,
}
_WORDS = {
    CallEnd.DENIED: "the agent was not allowed to use what it needed",
    CallEnd.LIMIT_TURNS: "the agent reached its limit of turns",
    CallEnd.LIMIT_BUDGET: "the budget was spent",
    CallEnd.RATE_LIMITED: "the usage limit was reached",
    CallEnd.AUTH: "the agent is not logged in",
    CallEnd.API_ERROR: "the model's service reported an error",
    CallEnd.INTERRUPTED: "interrupted",
    CallEnd.CRASHED: "the agent's program failed",
    CallEnd.STALLED: "the agent stalled: no output and no activity",
    CallEnd.TIMED_OUT: "the time limit was reached",
}


def status_of_call(called: CallResult, limits: Limits) -> AttemptStatus | None:
    """Why the call may not land; None if the agent completed it. Unknown ends are failures."""
    end = called.reply.end
    if end is CallEnd.COMPLETED:
        return None
    if end is CallEnd.LIMIT_BUDGET and limits.is_of_run:
        return AttemptStatus.INTERRUPTED
    if called.is_fault:
        return AttemptStatus.HARNESS_FAULT
    return _ENDS.get(end, AttemptStatus.AGENT_FAILED)


def reason_of_call(called: CallResult) -> str:
    words = _WORDS.get(called.reply.end, str(called.reply.end))
    said = called.reply.reason
    return f"{words}: {said}" if said and said != words else words


def status_of_proof(proof: Proof) -> AttemptStatus | None:
    """Why the tree may not land; None if every check passed."""
    if proof.ok:
        return None
    if proof.failures and all(check.is_ratchet for check in proof.failures):
        return AttemptStatus.RATCHET_FAILED
    return AttemptStatus.CHECK_FAILED


def reason_of_proof(proof: Proof) -> str:
    if not proof.checks:
        return "nothing could be checked"
    failed = [f"{check.name} ({check.reason})" for check in proof.failures]
    return f"failed: {listed(failed)}" if failed else ""
