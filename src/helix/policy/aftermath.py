"""What follows an attempt: one table from the status it ended in (S-35, S-10). Pure.

That an attempt was preserved says nothing here: it only ended the attempt. The status counts.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias, assert_never

from ddx.execution.model import Status
from ddx.text import counted
from ddx.values import value
from helix.policy.backoff import delay_s

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix.policy.model import Rules


@value
class Completed:
    """Landed and closed, or done already; a cycle once its review is clean (D-11)."""

    reason: str
    needs_review: bool


@value
class Retry:
    """The same bead again when it has rested; other work may run meanwhile (D-7)."""

    reason: str
    after_s: float


@value
class Block:
    """Tried often enough: it rests until somebody changes what it stands on (S-10)."""

    reason: str
    attempts: int
    question: str = ""
    """What a person must decide as well; empty: nothing."""


@value
class Polish:
    """What governs the bead changed: it is looked at before it is built again (S-23)."""

    reason: str


@value
class Skip:
    """The bead itself changed: left alone in this run until it changes again (S-6)."""

    reason: str


@value
class Guide:
    """Only a person can say how it goes on (X-27)."""

    reason: str
    question: str


@value
class AwaitLanding:
    """Proven and kept: it lands when the checkout lets it, or when a person says so (X-13)."""

    reason: str
    by_person: bool


@value
class Park:
    """The harness failed, not the bead: the harness's health tells how it goes on (X-8)."""

    reason: str


@value
class RunAlone:
    """A batch that did not land: no member is charged, each runs alone next (S-8)."""

    reason: str


@value
class Stop:
    """The run was interrupted."""

    reason: str


Follow: TypeAlias = (
    Completed | Retry | Block | Polish | Skip | Guide | AwaitLanding | Park | RunAlone | Stop
)


class Way(Enum):
    """What a status leads to, before attempts, batches and drift are weighed."""

    REVIEW = auto()
    DONE = auto()
    AGAIN = auto()
    LOOK = auto()
    ASK = auto()
    LAND = auto()
    LAND_BY_HAND = auto()
    HEALTH = auto()
    END = auto()


WAYS: Mapping[Status, tuple[Way, str]] = {
    Status.SUCCESS: (Way.REVIEW, "it landed"),
    Status.ALREADY_SATISFIED: (Way.DONE, "every check passes already"),
    Status.CHECK_FAILED: (Way.AGAIN, "a check failed"),
    Status.RATCHET_FAILED: (Way.AGAIN, "a number got worse"),
    Status.NOTHING_DONE: (Way.AGAIN, "nothing was done"),
    Status.AGENT_FAILED: (Way.AGAIN, "the agent failed"),
    Status.TIMEOUT: (Way.AGAIN, "the time was up"),
    Status.LAND_CONFLICT: (Way.AGAIN, "it clashes with what landed meanwhile"),
    Status.AUTHORITY: (Way.ASK, "it edits a document above its own authority"),
    Status.DRIFT: (Way.LOOK, "what governs it changed during the attempt"),
    Status.OPERATOR_EDITS: (Way.LAND, "it is proven and waits for edits in the checkout"),
    Status.UNMERGED: (Way.LAND_BY_HAND, "it is kept and was not to be merged"),
    Status.HARNESS_FAULT: (Way.HEALTH, "the harness failed"),
    Status.INTERRUPTED: (Way.END, "the attempt was interrupted"),
}

_SHARED_FATE = frozenset({Way.AGAIN, Way.ASK, Way.LOOK})
"""Of a batch: one member's fault may be behind these, and nobody can tell whose."""


def follow(
    status: Status,
    attempts: int,
    rules: Rules,
    *,
    was_batch: bool = False,
    left_open: str = "",
    documents_drifted: bool = True,
) -> Follow:
    """What is done about the bead now.

    `attempts` counts those charged to it, this one included; `left_open` is why a bead whose work
    is done was not closed; a drift that is not the documents' is the bead's own.
    """
    way, reason = WAYS[status]
    if was_batch and way in _SHARED_FATE:
        return RunAlone(f"{reason}; its beads run alone next")
    match way:
        case Way.REVIEW | Way.DONE if left_open:
            return Skip(f"{reason}, but it was left open: {left_open}")
        case Way.REVIEW | Way.DONE:
            return Completed(reason, needs_review=way is Way.REVIEW)
        case Way.AGAIN:
            return _again(reason, attempts, rules)
        case Way.LOOK if documents_drifted:
            return Polish(reason)
        case Way.LOOK:
            return Skip("the bead was changed during the attempt")
        case Way.ASK:
            question = "may it? name the document in the bead, or change the bead"
            if attempts >= rules.max_attempts:
                return _worn_out(reason, attempts, question)
            return Guide(reason, question)
        case Way.LAND | Way.LAND_BY_HAND:
            return AwaitLanding(reason, by_person=way is Way.LAND_BY_HAND)
        case Way.HEALTH:
            return Park(reason)
        case Way.END:
            return Stop(reason)
        case other:
            assert_never(other)


def _again(reason: str, attempts: int, rules: Rules) -> Retry | Block:
    """The last one allowed is followed by no wait (D-7)."""
    if attempts >= rules.max_attempts:
        return _worn_out(reason, attempts)
    rest_s = delay_s(max(attempts, 1)) if rules.backoff_s is None else rules.backoff_s
    return Retry(f"{reason}; it is tried again in {rest_s:g} s", rest_s)


def _worn_out(reason: str, attempts: int, question: str = "") -> Block:
    tried = counted(attempts, "attempt")
    return Block(f"{reason} for the last time: {tried}", attempts, question)
