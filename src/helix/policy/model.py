"""The words of routing: what is seen, how far a run has come, what is decided. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping


class Action(StrEnum):
    """What a run may do next (S-1)."""

    BUILD = "build"
    REVIEW = "review"
    POLISH = "polish"
    DESIGN = "design"
    EVOLVE = "evolve"
    ALIGN = "align"
    CHECK = "check"
    BACKFILL = "backfill"
    GUIDANCE = "guidance"
    WAIT = "wait"
    STOP = "stop"


TERMINAL = frozenset({Action.BACKFILL, Action.GUIDANCE, Action.STOP})
"""After these a run ends; WAIT ends it too, unless it names an instant."""

EXIT_CODES = {Action.STOP: 0, Action.WAIT: 0, Action.GUIDANCE: 4, Action.BACKFILL: 4}
"""How a run ends that ends by this decision (C-2)."""


class Autonomy(StrEnum):
    """How often a person is asked (S-34)."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@value
class Decision:
    """What is done next and why nothing smaller would do (S-1)."""

    action: Action
    target: str = ""
    """A bead, an epic, a document or a scope."""
    beads: tuple[str, ...] = ()
    """Of a build: the primary and its batch; of a pass: the beads that it is about."""
    least_power_explanation: str = ""
    blocking_authority: str = ""
    """What stands above and must be settled first."""
    queue_drift_reason: str = ""
    question: str = ""
    """What a person must decide."""
    until: str = ""
    """Of a wait: when it is over by itself."""
    recovers: bool = False
    """Of a check: it has answered; orphaned claims are looked for instead of asking (S-13)."""

    def as_row(self) -> dict[str, object]:
        return {**self.__dict__, "action": str(self.action), "beads": list(self.beads)}


@value
class Candidate:
    """A bead that could be built, as far as routing and batching care."""

    id: str
    title: str = ""
    parent: str = ""
    spec_id: str = ""
    labels: tuple[str, ...] = ()
    is_epic: bool = False
    has_acceptance: bool = False
    priority: int = 2
    rank: int | None = None
    created_at: str = ""
    revision: str = ""
    attempts: int = 0

    @property
    def areas(self) -> frozenset[str]:
        return frozenset(label for label in self.labels if label.startswith("area:"))


@value
class Cooling:
    """A bead that only has to wait a while after a failed attempt (D-7)."""

    id: str
    until: str
    parent: str = ""


class Intent(StrEnum):
    """What an open request bead asks for (S-1)."""

    FUNCTIONALITY = "functionality-change"
    ARTIFACT = "artifact-revision"
    EXECUTION = "execution"
    REVIEW = "review"
    METRIC = "metric-goal"


@value
class Request:
    """An open bead that asks for something other than code."""

    id: str
    intent: Intent
    target: str = ""
    """The document that it is about; empty: none yet."""
    has_design: bool = False
    revision: str = ""


@value
class Gap:
    """Something that only a person can settle: a decision, a conflict, a missing authority."""

    reason: str
    question: str
    authority: str = ""
    is_physics: bool = False
    is_ambiguity: bool = False
    """Only unclear, or a conflict that authority settles: high autonomy goes on (S-34)."""


@value
class View:
    """The project at one instant, as far as the next action depends on it (S-1)."""

    ready: tuple[Candidate, ...] = ()
    """For execution, in the queue's order (D-12)."""
    cooling: tuple[Cooling, ...] = ()
    claimed: int = 0
    """In progress, by others or by a second terminal."""
    finished: int = 0
    """Beads that are closed or cancelled: with them, an empty queue is a drained one."""
    unfinished: int = 0
    """Beads that are neither closed nor cancelled, epics included."""
    epics: int = 0
    """Of the unfinished: epics with children, which are no work of their own."""
    blocked: tuple[str, ...] = ()
    """Blocked by status, or waiting only for such beads; neither claimed nor an epic."""
    documents: int = 0
    to_polish: tuple[str, ...] = ()
    """Open beads whose documents changed since somebody looked (S-3)."""
    requests: tuple[Request, ...] = ()
    gaps: tuple[Gap, ...] = ()
    finished_epics: tuple[str, ...] = ()
    """Open epics whose children are all closed, the deepest first (S-11)."""
    epics_with_work: frozenset[str] = frozenset()
    """Epics that have a runnable or cooling child."""
    state: str = ""
    """A hash of queue and documents: nothing is asked twice about the same state (S-14)."""
    now: str = ""


class Answer(StrEnum):
    """What `check` may say (S-12)."""

    BUILD = "BUILD"
    DESIGN = "DESIGN"
    POLISH = "POLISH"
    ALIGN = "ALIGN"
    BACKFILL = "BACKFILL"
    WAIT = "WAIT"
    GUIDANCE = "GUIDANCE"
    STOP = "STOP"


@value
class Checked:
    """An answer of `check`, kept by the state that it is about."""

    state: str
    answer: Answer
    reason: str = ""
    question: str = ""


@value
class Progress:
    """How far a run has come; every boundary makes a new one (helix.policy.progress)."""

    focus: str = ""
    unfocused: frozenset[str] = frozenset()
    """Epics with a child that was blocked: the others run in the queue's order (S-10)."""
    attempted: int = 0
    completed: int = 0
    harness_faults: int = 0
    skipped: Mapping[str, str] = {}
    """Beads to leave alone, each until its revision is another one (S-6)."""
    alone: frozenset[str] = frozenset()
    """Beads of a batch that failed: they run alone next (S-8)."""
    aligned_at: int = 0
    """The completed cycles at the last periodic alignment (S-9)."""
    pending_review: str = ""
    """An attempt whose review is owed (S-17)."""
    owed_reviews: tuple[str, ...] = ()
    """Attempts whose review comes after that one (S-38)."""
    gaps: tuple[Gap, ...] = ()
    """What the run itself came upon that only a person can settle."""
    checked: Checked | None = None
    """The last answer of check."""
    answers: Mapping[str, Checked] = {}
    """All of them by the state that each is about: nothing is asked twice (S-14)."""
    recovered: bool = False
    """Orphans were looked for, in vain, since the last progress (S-13)."""
    passes: int = 0
    """Passes since the last cycle that completed, whatever they changed."""
    idle_passes: int = 0
    """In a row: design or polish that changed neither documents nor queue (S-13)."""
    failures: int = 0
    """In a row: a check or a review that could not be carried out at all."""
    aligns: int = 0
    """Alignments that check asked for, since the last cycle that completed (S-12)."""
    stop_asked: bool = False

    def answer_to(self, state: str) -> Checked | None:
        """What check said of this very state."""
        if self.checked is not None and self.checked.state == state:
            return self.checked
        return self.answers.get(state)


@value
class Rules:
    """The settings that routing depends on."""

    autonomy: Autonomy = Autonomy.MEDIUM
    max_cycles: int = 0
    """Completed ones; 0: no limit."""
    review_every: int = 0
    """Completed cycles between two alignments; 0: none."""
    auto_align: bool = True
    batch: int = 1
    max_attempts: int = 4
    backoff_s: float | None = None
    """Replaces every wait after a failed attempt (D-7); None: as the table says."""
    always_ask: bool = False
    """`--check always-agent`."""
    scope: str = "repo"
