"""One piece of work as the policy wants it: its prompt, its follow-ups, its review (LAYOUT seam 1).

Both drivers, `helix run` and the orchestrator, build through this and through `work_one`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import NotFound
from ddx.execution.model import Landed, Preparation, Section
from ddx.execution.record import read_record
from ddx.git import commit_id
from ddx.text import cut
from ddx.tracker.model import labels_of, text_of
from ddx.values import value
from helix.actions.filing import Filed, file_findings, spoken
from helix.actions.review import kept_subject, landed_subject, review
from helix.actions.unfiled import REFUSALS, file_drafts, keep_drafts, not_filed
from helix.desk import model_for
from helix.memory.injection import (
    Injection,
    credit_outcome,
    note_injection,
    prepare_injection,
)
from helix.memory.lessons import learn_from_outcome
from helix.policy.activities import BUILD, activity_of
from helix.policy.follow_ups import MARK
from helix.policy.review import Clean, Findings, changed_lines
from helix.policy.trailers import Unreadable
from helix.prompts import build_sections, defused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.execution.model import Bead, Boundary, Drift, Limits, Outcome
    from ddx.harnesses.base import Reply
    from helix.desk import Agent, Desk
    from helix.policy.review import Verdict

_MOST_FINDINGS = 10
_LONGEST_FINDING = 300


class BuildPolicy:
    """Exactly these beads, by this agent, with what the project knows (X-26)."""

    def __init__(
        self,
        desk: Desk,
        beads: Sequence[str],
        agent: Agent,
        *,
        limits: Callable[[Sequence[Bead]], Limits],
        context: str = "",
        begun: Callable[[str], None] = lambda attempt: None,
        replied: Callable[[str], None] = lambda attempt: None,
    ) -> None:
        self._desk = desk
        self._beads = tuple(beads)
        self._agent = agent
        self._limits = limits
        self._context = context
        self._begun = begun
        self._replied = replied
        """Told before anything lands."""
        self.attempt = ""
        """Empty until it is prepared."""
        self.injection = Injection()

    def pick(self, ready: Sequence[Bead]) -> tuple[str, ...]:
        return self._beads

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        self.attempt = attempt
        self._begun(attempt)
        agent, desk = self._agent, self._desk
        site = desk.site
        self.injection = prepare_injection(
            site.project, beads, attempt, settings=desk.settings, clock=site.clock
        )
        return Preparation(
            agent.harness,
            model_for(BUILD, agent, site),
            agent.effort,
            (*sections_of(desk, beads, self._context), *self.injection.sections),
            limits=self._limits(beads),
            manifest=self.injection.manifest,
            action=BUILD,
            on_reply=lambda reply: self._hear(beads, attempt, reply),
        )

    def _hear(self, beads: Sequence[Bead], attempt: str, reply: Reply) -> None:
        self._replied(attempt)
        _keep_leftovers(self._desk, beads, attempt, reply)

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        return None  # what governs a bead is looked at by the attempt itself (D-6)


def sections_of(desk: Desk, beads: Sequence[Bead], context: str) -> tuple[Section, ...]:
    """What heads the prompt of an attempt: the project, the page, the principles (S-30, I-8)."""
    about = (defused(Section("Project context", context, quoted=True)),) if context else ()
    activities = dict.fromkeys(activity_of(labels_of(bead.row)) for bead in beads)
    return (*about, *build_sections(desk, tuple(activities)))


# -- what the attempt has left behind -----------------------------------------------------


def take_stock(desk: Desk, injection: Injection, outcome: Outcome) -> tuple[str, ...]:
    """Whatever follows from every attempt, whoever drives: follow-ups, credit, a lesson.

    Remarks for a person.
    """
    return (
        *filter(None, (injection.remark, _note_injection(desk, injection, outcome))),
        *_file_leftovers(desk, outcome),
        *learn(desk, outcome),
    )


def _note_injection(desk: Desk, injection: Injection, outcome: Outcome) -> str:
    facts = outcome.facts
    try:
        note_injection(desk.site.tracker, facts.beads, injection, facts.attempt)
    except NotFound as problem:  # somebody removed the bead under the attempt
        return problem.message
    return ""


def learn(desk: Desk, outcome: Outcome) -> tuple[str, ...]:
    """What its checks say of the memories that it was shown, and what it teaches (M-8, M-10).

    For what landed late, too: by whom, and when, makes no difference.
    """
    site, settings = desk.site, desk.settings
    row = site.tracker.snapshot().find(outcome.facts.beads[0]) if outcome.facts.beads else None
    credited = credit_outcome(site.project, outcome, clock=site.clock)
    learned = learn_from_outcome(
        site.project, text_of(row or {}, "title"), outcome, settings=settings, clock=site.clock
    )
    return tuple(filter(None, (credited, learned)))


def _keep_leftovers(desk: Desk, beads: Sequence[Bead], attempt: str, reply: Reply) -> None:
    """Follow-ups are on the disk before anything lands, so that no crash loses them (A-7)."""
    if MARK in reply.text:
        keep_drafts(desk.site, attempt, bead=beads[0].id, reply=reply.text, if_landed=False)


def _file_leftovers(desk: Desk, outcome: Outcome) -> tuple[str, ...]:
    """Follow-ups that its agent printed become beads (A-7)."""
    facts = outcome.facts
    if facts.reply is None or MARK not in facts.reply.text:
        return ()
    try:
        filed = file_drafts(desk, facts.attempt, bead=facts.beads[0], reply=facts.reply.text)
    except REFUSALS as problem:
        return (not_filed(facts.attempt, problem),)
    return tuple(filter(None, (spoken(filed), *filed.remarks)))


def is_worth_reviewing(outcome: Outcome, threshold: int) -> bool:
    """Only what landed, unless so little changed that nobody asked for it (D-24)."""
    return isinstance(outcome, Landed) and changed_lines(outcome.facts.diffstat) >= threshold


# -- review --------------------------------------------------------------------------------


@value
class ReviewOf:
    """What a review came to, and what was filed because of it."""

    beads: tuple[str, ...]
    verdict: Verdict
    filed: Filed = Filed()

    @property
    def sentence(self) -> str:
        match self.verdict:
            case Clean():
                return "the review found nothing"
            case Findings(findings=findings):
                more = f": {spoken(self.filed)}" if spoken(self.filed) else ""
                return f"the review found {len(findings)}{more}"
            case Unreadable(reason=reason):
                return f"the review cannot be read: {reason}"


def review_landed(desk: Desk, attempt: str) -> ReviewOf:
    """Fresh eyes on exactly what an attempt landed; findings are filed before anything else.

    NotFound: its record was pruned, or somebody rewrote the history that had its commits.
    """
    project = desk.site.project
    result = read_record(project, attempt).result
    beads = tuple(str(bead) for bead in result.get("beads", ()))
    subject = landed_subject(desk.site, result)
    for commit in filter(None, (subject.span.base, subject.span.result)):
        if commit_id(project.root, commit) != commit:
            raise NotFound(f"git no longer has {commit}, a commit of attempt {attempt}")
    return file_review(desk, review(desk, subject), beads)


def file_review(desk: Desk, verdict: Verdict, beads: tuple[str, ...] = ()) -> ReviewOf:
    """The verdict, with its findings filed (S-16)."""
    if not isinstance(verdict, Findings):
        return ReviewOf(beads, verdict)
    first = beads[0] if beads else ""
    return ReviewOf(beads, verdict, file_findings(desk, verdict.findings, bead=first))


def review_failure(desk: Desk, result: Mapping[str, object]) -> tuple[str, ...]:
    """What a reviewer says of work that never passed; it goes on the bead and into the report."""
    match review(desk, kept_subject(desk.site, result)):
        case Findings(findings=findings):
            return tuple(cut(it.sentence, _LONGEST_FINDING) for it in findings[:_MOST_FINDINGS])
        case Clean():
            return ("the reviewer found nothing wrong with what was made",)
        case Unreadable(reason=reason):
            return (f"the review cannot be read: {reason}",)
