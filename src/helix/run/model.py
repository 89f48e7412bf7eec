"""The words of routing: what is seen, how far a run has come, what is decided. Pure.

Besides, which beads may be picked and in which order (S-5, S-8), which ones a person means by a
word or two, and how often a person is asked before something is done (S-34, D-26).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from ddx.base import Instant, value
from helix.passes import CheckResult, identity
from helix.project import Autonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


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
class BuildCandidate:
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
class CoolingBead:
    """A bead that only has to wait a while after a failed attempt (D-7)."""

    id: str
    until: str
    parent: str = ""


class RequestKind(StrEnum):
    """What an open request bead asks for (S-1)."""

    FUNCTIONALITY = "functionality-change"
    ARTIFACT = "artifact-revision"
    EXECUTION = "execution"
    REVIEW = "review"
    METRIC = "metric-goal"


@value
class RequestBead:
    """An open bead that asks for something other than code."""

    id: str
    intent: RequestKind
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
class RunView:
    """The project at one instant, as far as the next action depends on it (S-1)."""

    ready: tuple[BuildCandidate, ...] = ()
    """For execution, in the queue's order (D-12)."""
    cooling: tuple[CoolingBead, ...] = ()
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
    requests: tuple[RequestBead, ...] = ()
    gaps: tuple[Gap, ...] = ()
    finished_epics: tuple[str, ...] = ()
    """Open epics whose children are all closed, the deepest first (S-11)."""
    epics_with_work: frozenset[str] = frozenset()
    """Epics that have a runnable or cooling child."""
    state: str = ""
    """A hash of queue and documents: nothing is asked twice about the same state (S-14)."""
    now: str = ""


@value
class Progress:
    """How far a run has come; every boundary makes a new one (helix.run.aftermath)."""

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
    checked: CheckResult | None = None
    """The last answer of check."""
    answers: Mapping[str, CheckResult] = {}
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

    def answer_to(self, state: str) -> CheckResult | None:
        """What check said of this very state."""
        if self.checked is not None and self.checked.state == state:
            return self.checked
        return self.answers.get(state)


@value
class RoutingRules:
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


def best_first(beads: Sequence[BuildCandidate]) -> list[BuildCandidate]:
    """In the queue's order, ties to the better specified (S-5)."""
    return sorted(beads, key=_order)


def selectable(view: RunView, progress: Progress) -> list[BuildCandidate]:
    """Of the focused epic while that has work at all, else of the whole queue; best first."""
    free = _free(view, progress)
    if holds_focus(view, progress):
        free = [bead for bead in free if bead.parent == progress.focus]
    return best_first(free)


def holds_focus(view: RunView, progress: Progress) -> bool:
    """While its children run or cool, outside work waits, whatever its priority (S-5)."""
    if not progress.focus:
        return False
    parents = {bead.parent for bead in _free(view, progress)}
    return progress.focus in parents | {bead.parent for bead in resting(view)}


def resting(view: RunView) -> list[CoolingBead]:
    """The beads that wait after a failed attempt; a rest that is over holds nothing back."""
    now = Instant(view.now).sort_key if view.now else ""
    return [bead for bead in view.cooling if Instant(bead.until).sort_key > now]


def is_skipped(progress: Progress, bead_id: str, revision: str) -> bool:
    """Left alone in this run, until it is another one than it was then (S-6)."""
    return bead_id in progress.skipped and progress.skipped[bead_id] == revision


def batch_for(
    primary: BuildCandidate,
    candidates: Sequence[BuildCandidate],
    *,
    size: int,
    alone: frozenset[str],
) -> tuple[str, ...]:
    """The primary and up to `size` - 1 others of its parent or document, else of its area (S-8)."""
    if size < 2 or primary.is_epic or primary.id in alone:
        return (primary.id,)
    others = [
        bead
        for bead in candidates
        if bead.id != primary.id and not bead.is_epic and bead.id not in alone
    ]
    siblings = [bead for bead in others if primary.parent and bead.parent == primary.parent]
    known = {bead.id for bead in siblings}
    kin = siblings + [
        bead
        for bead in others
        if primary.spec_id and bead.spec_id == primary.spec_id and bead.id not in known
    ]
    if not kin:
        kin = [bead for bead in others if primary.areas & bead.areas]
    return (primary.id, *(bead.id for bead in kin[: size - 1]))


def _free(view: RunView, progress: Progress) -> list[BuildCandidate]:
    return [bead for bead in view.ready if not is_skipped(progress, bead.id, bead.revision)]


def _order(bead: BuildCandidate) -> tuple[bool, int, bool, int, str, bool, str]:
    """D-12; between beads that it does not tell apart but by id, the better specified first."""
    specified = bool(bead.spec_id) and bead.has_acceptance
    return (
        bead.is_epic,
        bead.priority,
        bead.rank is None,
        bead.rank or 0,
        Instant(bead.created_at).sort_key,
        not specified,
        bead.id,
    )


STARTS_SOMETHING = frozenset(Action) - TERMINAL - {Action.WAIT}
"""The other actions only end a run or make it wait: there is nothing to confirm."""


@value
class Proceed:
    """Nobody has to be asked."""


@value
class Ask:
    """A person at the terminal says whether it may start."""

    question: str


@value
class Refuse:
    """A person would have to be asked, and none is there."""

    reason: str
    exit_code: int = 4


Permission: TypeAlias = Proceed | Ask | Refuse


def needs_confirmation(decision: Decision, autonomy: Autonomy) -> bool:
    """Low confirms each action before it starts; the other levels stop at gaps alone."""
    starts = decision.action in STARTS_SOMETHING and not decision.recovers
    return starts and autonomy is Autonomy.LOW


def permission(decision: Decision, autonomy: Autonomy, *, has_terminal: bool) -> Permission:
    """May this start now? Where nobody can answer, nothing is done and the run ends (S-34)."""
    if not needs_confirmation(decision, autonomy):
        return Proceed()
    what = " ".join(filter(None, (str(decision.action), *(decision.beads or (decision.target,)))))
    why = decision.least_power_explanation
    if has_terminal:
        return Ask(f"{what}? {why}" if why else f"{what}?")
    return Refuse(f"low autonomy confirms each action, and there is no terminal to ask: {what}")


def declined(decision: Decision) -> Decision:
    """A person said no: an orderly stop."""
    said = f"{decision.action} was not confirmed"
    return Decision(Action.STOP, target=decision.target, least_power_explanation=said)


def stops_at(gap: Gap, autonomy: Autonomy) -> bool:
    """High autonomy goes on where something is only unclear; nobody goes on against physics."""
    return not gap.is_ambiguity or gap.is_physics or autonomy is not Autonomy.HIGH


def meant(selector: str, ready: Sequence[BuildCandidate]) -> tuple[BuildCandidate, ...]:
    """Of the ready ones, best first; the first way of naming that names any decides.

    An id, the parent, the document, a label, and last the words of the title.
    """
    word = selector.strip()
    order = best_first(ready)
    if not word:
        return tuple(order)
    for names in _WAYS:
        if found := tuple(bead for bead in order if names(bead, word)):
            return found
    return ()


def _says(bead: BuildCandidate, words: str) -> bool:
    wanted, title = (identity(text)[0].split() for text in (words, bead.title))
    return bool(wanted) and set(wanted) <= set(title)


_WAYS: tuple[Callable[[BuildCandidate, str], bool], ...] = (
    lambda bead, word: bead.id == word,
    lambda bead, word: bead.parent == word,
    lambda bead, word: bead.spec_id.casefold() == word.casefold(),
    lambda bead, word: word in bead.labels,
    _says,
)
