"""The words of managed execution: what is asked, what happened, what it came to. Pure.

An attempt ends in one of four ways (X-15), and each is a type:

    Landed      the target branch holds the new commit, and we looked
    Preserved   something was made and kept at a ref, but did not land
    NoChanges   nothing was made; `already_satisfied` if every check passes without it
    Failed      nothing was made, and the agent or the harness is the reason
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ddx.harnesses.base import Reply, Usage
from ddx.tracker.model import Row, link_of, text_of, texts_of
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

AttemptId: TypeAlias = str
BeadId: TypeAlias = str


class Status(StrEnum):
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
        Status.CHECK_FAILED,
        Status.RATCHET_FAILED,
        Status.NOTHING_DONE,
        Status.AGENT_FAILED,
        Status.TIMEOUT,
        Status.LAND_CONFLICT,
        Status.AUTHORITY,
    }
)
"""What counts against the bead; the rest is nobody's fault or the harness's (X-15)."""


@value
class Bead:
    """A bead as it was when we looked."""

    id: BeadId
    row: Row
    revision: str = ""

    @property
    def title(self) -> str:
        return text_of(self.row, "title")

    @property
    def spec_id(self) -> str:
        return link_of(self.row, "spec-id")

    @property
    def paths(self) -> tuple[str, ...]:
        return texts_of(self.row, "paths")


@value
class Section:
    """A part of the prompt; what is quoted is data and never an instruction (X-26)."""

    title: str
    text: str
    quoted: bool = False


@value
class Limits:
    """How long and how much one attempt may take (X-6, X-7)."""

    wall_s: float = 2700.0
    idle_s: float = 900.0
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    is_of_run: bool = False
    """The budget is what is left of the whole run's: to reach it is not the bead's fault."""


@value
class Product:
    """What an agent has left behind, before anybody believes it."""

    folder: str
    """Where the project lies in the workspace."""
    base: str
    commit: str
    """The tree in question: the agent's own, its merge, or the base if nothing was made."""
    paths: tuple[str, ...]
    """What the agent changed, seen from the project; outside of it, they begin with `../`."""
    reply: Reply | None = None
    """None: nobody was asked, what was kept earlier is to land."""


if TYPE_CHECKING:
    Prover: TypeAlias = Callable[[Product], tuple["Check", ...]]
    """All checks of one product; asked again where a merge is to land."""


@value
class Preparation:
    """What the policy hands over for one attempt; `manifest` is kept verbatim."""

    harness: str
    model: str = ""
    effort: str = ""
    sections: tuple[Section, ...] = ()
    closing_sections: tuple[Section, ...] = ()
    """These come after the bead's own sections, such as notes on conflicts."""
    manifest: Mapping[str, Any] = {}
    limits: Limits = Limits()
    action: str = "build"
    checks: Prover | None = None
    """Another proof than the beads' own criteria, for work that is no build (A-10)."""
    is_free: bool = False
    """Its whole purpose is to write documents: authority is the policy's to judge (X-27)."""
    on_reply: Callable[[Reply], None] | None = None
    """Told what the agent said, before anything is done with what it made."""


class Boundary(StrEnum):
    """Where the world is looked at again (X-18)."""

    CLAIM = "before claim"
    LANDING = "before landing"
    CLOSE = "before close"


@value
class Drift:
    """What governs the bead has changed since it was selected."""

    bead: BeadId
    fields: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"{self.bead} changed meanwhile: {', '.join(self.fields)}"


class Policy(Protocol):
    """What to do next and how: the caller's part of one piece of work."""

    def pick(self, ready: Sequence[Bead]) -> tuple[BeadId, ...]:
        """The beads of the next attempt, in the queue's order; none: nothing to do now."""

    def prepare(self, beads: Sequence[Bead], attempt: AttemptId) -> Preparation:
        """The prompt's sections, the harness and the limits."""

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        """The policy's own reason not to go on, besides the fingerprint's."""


@value
class Check:
    """One thing that was run or looked at, and how it ended (X-11)."""

    name: str
    command: str
    origin: str
    """What asked for it: `verify`, `acceptance line 2`, `checks.default`, `.ddx/checks/x.yaml`."""
    passed: bool
    exit_code: int | None = None
    seconds: float = 0.0
    reason: str = ""
    output_tail: str = ""
    log: str = ""
    """The file with all of its output, below the record."""
    is_ratchet: bool = False


@value
class Measured:
    """A metric's new value, to become its floor once the attempt has landed (X-12)."""

    metric: str
    number: float
    run_id: str
    direction: str = ""
    unit: str = ""
    defined: float | None = None
    """The floor that a person had set when it was measured."""


@value
class Proof:
    """All checks of one tree."""

    commit: str
    checks: tuple[Check, ...]
    measured: tuple[Measured, ...] = ()

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    @property
    def ok(self) -> bool:
        """No check at all proves nothing."""
        return bool(self.checks) and not self.failures


@value
class Facts:
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
    measured: tuple[Measured, ...] = ()


@value
class Landed:
    facts: Facts
    commit: str
    """The tip of the target branch: the attempt's commit, or its merge."""
    left_open: str = ""
    """Why the bead was not closed although its work landed (X-18)."""
    status: Status = Status.SUCCESS


@value
class Preserved:
    facts: Facts
    status: Status
    ref: str
    is_pending: bool = False
    """Proven, and only the way is not free: it lands by itself at a later boundary (X-13)."""


@value
class NoChanges:
    facts: Facts
    status: Status
    left_open: str = ""


@value
class Failed:
    facts: Facts
    status: Status


Outcome: TypeAlias = Landed | Preserved | NoChanges | Failed


@value
class Idle:
    """Nothing was done, and why; `again`: the queue has moved, so it is worth another look."""

    reason: str
    again: bool = False


@value
class Happening:
    """One line of an attempt's story, for whoever watches and for events.jsonl."""

    at: str
    attempt: AttemptId
    kind: str
    text: str = ""
    data: Mapping[str, Any] = {}


if TYPE_CHECKING:
    OnEvent: TypeAlias = Callable[[Happening], None]


def is_completed(outcome: Outcome) -> bool:
    """Did the bead's work end well: landed, or there already (D-11 without the review)?"""
    match outcome:
        case Landed():
            return not outcome.left_open
        case NoChanges(status=Status.ALREADY_SATISFIED):
            return not outcome.left_open
        case _:
            return False


def word_of(outcome: Outcome) -> str:
    """landed, preserved, no_changes or failed, as it stands in records and answers."""
    match outcome:
        case Landed():
            return "landed"
        case Preserved():
            return "preserved"
        case NoChanges():
            return "no_changes"
        case Failed():
            return "failed"
