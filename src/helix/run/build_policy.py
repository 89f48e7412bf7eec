"""One piece of work as the policy wants it: its prompt, its follow-ups, its review (LAYOUT seam 1).

Both drivers, `helix run` and the orchestrator, build through this and through `work_one`. What
every build should know of the project stands in one page, `.helix/context.md` (S-30).
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from ddx.attempts import Landed, Preparation, PromptSection, read_attempts
from ddx.base import MarkdownText, NotFound, cut, replace, shown, value
from ddx.git import Repository
from helix.memory import (
    Injection,
    credit_outcome,
    learn_from_outcome,
    note_injection,
    prepare_injection,
)
from helix.passes import (
    BUILD,
    MARK,
    REFUSALS,
    CleanReview,
    FilingResult,
    ReviewFindings,
    UnreadableTrailer,
    activity_of,
    build_sections,
    defused,
    file_drafts_of_attempt,
    file_findings,
    keep_drafts,
    kept_subject,
    landed_subject,
    not_filed,
    review,
    spoken,
)
from helix.project import model_for, own_folder, path_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.agents import Reply
    from ddx.attempts import Boundary, Drift, Limits, Outcome
    from ddx.project import Project
    from ddx.tracker import Bead
    from helix.passes import ReviewSubject, ReviewVerdict
    from helix.project import Agent, PassContext
    from helix.run.view import ProjectSnapshot

_MOST_FINDINGS = 10
_LONGEST_FINDING = 300


class BuildPolicy:
    """Exactly these beads, by this agent, with what the project knows (X-26)."""

    def __init__(
        self,
        desk: PassContext,
        beads: Sequence[str],
        agent: Agent,
        *,
        limits: Callable[[Sequence[Bead]], Limits],
        context: str = "",
        begun: Callable[[str], None] = lambda attempt: None,
    ) -> None:
        self._desk = desk
        self._beads = tuple(beads)
        self._agent = agent
        self._limits = limits
        self._context = context
        self._begun = begun
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
            harness=agent.harness,
            model=model_for(BUILD, agent, site),
            effort=agent.effort,
            sections=(*sections_of(desk, beads, self._context), *self.injection.sections),
            limits=self._limits(beads),
            manifest=self.injection.manifest,
            action=BUILD,
            on_reply=lambda reply: _keep_leftovers(desk, beads, attempt, reply),
        )

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        return None  # what governs a bead is looked at by the attempt itself (D-6)


def sections_of(
    desk: PassContext, beads: Sequence[Bead], context: str
) -> tuple[PromptSection, ...]:
    """What heads the prompt of an attempt: the project, the page, the principles (S-30, I-8)."""
    about = (defused(PromptSection("Project context", context, quoted=True)),) if context else ()
    activities = dict.fromkeys(activity_of(bead.labels) for bead in beads)
    return (*about, *build_sections(desk, tuple(activities)))


# -- what the attempt has left behind -----------------------------------------------------


def take_stock(desk: PassContext, injection: Injection, outcome: Outcome) -> tuple[str, ...]:
    """Whatever follows from every attempt, whoever drives: follow-ups, credit, a lesson.

    Remarks for a person.
    """
    return (
        *filter(None, (injection.remark, _note_injection(desk, injection, outcome))),
        *_file_leftovers(desk, outcome),
        *learn(desk, outcome),
    )


def _note_injection(desk: PassContext, injection: Injection, outcome: Outcome) -> str:
    facts = outcome.facts
    try:
        note_injection(desk.site.tracker, facts.beads, injection, facts.attempt)
    except NotFound as problem:  # somebody removed the bead under the attempt
        return problem.message
    return ""


def learn(desk: PassContext, outcome: Outcome) -> tuple[str, ...]:
    """What its checks say of the memories that it was shown, and what it teaches (M-8, M-10).

    For what landed late, too: by whom, and when, makes no difference.
    """
    site, settings = desk.site, desk.settings
    first = outcome.facts.beads[:1]
    beads = [site.tracker.snapshot().find_bead(bead_id) for bead_id in first]
    credited = credit_outcome(site.project, outcome, clock=site.clock)
    learned = learn_from_outcome(
        site.project,
        "".join(bead.title for bead in beads if bead),
        outcome,
        settings=settings,
        clock=site.clock,
    )
    return tuple(filter(None, (credited, learned)))


def _keep_leftovers(desk: PassContext, beads: Sequence[Bead], attempt: str, reply: Reply) -> None:
    """Follow-ups are on the disk before anything lands, so that no crash loses them (A-7)."""
    if MARK in reply.text:
        keep_drafts(desk.site, attempt, bead=beads[0].id, reply=reply.text, if_landed=False)


def _file_leftovers(desk: PassContext, outcome: Outcome) -> tuple[str, ...]:
    """Follow-ups that its agent printed become beads (A-7)."""
    facts = outcome.facts
    if facts.reply is None or MARK not in facts.reply.text:
        return ()
    try:
        filed = file_drafts_of_attempt(
            desk, facts.attempt, bead=facts.beads[0], reply=facts.reply.text
        )
    except REFUSALS as problem:
        return (not_filed(facts.attempt, problem),)
    return tuple(filter(None, (spoken(filed), *filed.remarks)))


def is_worth_reviewing(outcome: Outcome, threshold: int) -> bool:
    """Only what landed, unless so little changed that nobody asked for it (D-24)."""
    return isinstance(outcome, Landed) and outcome.facts.changed_lines >= threshold


# -- review --------------------------------------------------------------------------------


@value
class ReviewResult:
    """What a review came to, and what was filed because of it."""

    beads: tuple[str, ...]
    verdict: ReviewVerdict
    filed: FilingResult = FilingResult()

    @property
    def sentence(self) -> str:
        match self.verdict:
            case CleanReview():
                return "the review found nothing"
            case ReviewFindings(findings=findings):
                more = f": {spoken(self.filed)}" if spoken(self.filed) else ""
                return f"the review found {len(findings)}{more}"
            case UnreadableTrailer(reason=reason):
                return f"the review cannot be read: {reason}"


def read_landed(desk: PassContext, attempt: str) -> tuple[ReviewSubject, tuple[str, ...]]:
    """Exactly what an attempt landed, for fresh eyes, and the beads that it was made for.

    NotFound: its record was pruned, or somebody rewrote the history that had its commits.
    """
    project = desk.site.project
    result = read_attempts(project).read(attempt).result
    subject = landed_subject(desk.site, result)
    repository = Repository(project.root)
    for commit in filter(None, (subject.span.base, subject.span.result)):
        if not repository.holds(commit):
            raise NotFound(f"git no longer has {commit}, a commit of attempt {attempt}")
    return subject, tuple(str(bead) for bead in result.get("beads", ()))


def file_review(
    desk: PassContext, verdict: ReviewVerdict, beads: tuple[str, ...] = ()
) -> ReviewResult:
    """The verdict, with its findings filed (S-16)."""
    if not isinstance(verdict, ReviewFindings):
        return ReviewResult(beads, verdict)
    first = beads[0] if beads else ""
    return ReviewResult(beads, verdict, file_findings(desk, verdict.findings, bead=first))


def review_failure(desk: PassContext, result: Mapping[str, object]) -> tuple[str, ...]:
    """What a reviewer says of work that never passed; it goes on the bead and into the report."""
    match review(desk, kept_subject(desk.site, result)):
        case ReviewFindings(findings=findings):
            return tuple(cut(it.sentence, _LONGEST_FINDING) for it in findings[:_MOST_FINDINGS])
        case CleanReview():
            return ("the reviewer found nothing wrong with what was made",)
        case UnreadableTrailer(reason=reason):
            return (f"the review cannot be read: {reason}",)


EVERY = 5
"""Completed cycles after which it is made anew."""

_QUICK = "quick reference"
_LARGEST_FILE = 1 << 20
_LONGEST_QUICK = 4000
_LONGEST_TEXT = 2000
_RULES = """\
- Do what the task asks and prove it with its own checks; nothing more.
- Small work that belongs to the same acceptance is done along with it; the rest is a follow-up.
- Documents above the task's own authority are not yours to change.
- The tracker is the controller's: do not write to it."""


def write_context(look: ProjectSnapshot, *, focus: str = "") -> str:
    """The page as it stands now; it is on the disk as well."""
    project = look.site.project
    text = context_of(look, focus=focus)
    own_folder(project)
    replace(_path(project), (text.encode("utf-8", "replace"),), durable=False)
    return text


def context_of(look: ProjectSnapshot, *, focus: str = "") -> str:
    """The same, without a write."""
    counts = Counter(look.snapshot.counts())
    ready = len(look.queue.ready_for_execution())
    parts = [
        "# Project context",
        *_section("Build and test", quick_reference(look.site.project.root)),
        *_section(
            "Queue",
            f"{counts['open']} open, {counts['in_progress']} in progress, "
            f"{ready} ready for execution, {counts['closed']} closed",
        ),
        *_section("Focus", _focus(look, focus)),
        *_section("Key rules", _RULES),
    ]
    return "\n\n".join(parts) + "\n"


def quick_reference(root: str) -> str:
    """The Quick Reference of AGENTS.md: how this project is built and tested."""
    try:
        with open(os.path.join(root, "AGENTS.md"), encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST_FILE)
    except OSError:
        return ""
    return cut("\n".join(MarkdownText(text).section_below(_QUICK)).strip(), _LONGEST_QUICK)


def _focus(look: ProjectSnapshot, focus: str) -> str:
    bead = look.snapshot.find_bead(focus) if focus else None
    if bead is None:
        return ""
    parts = [f"{bead.id}: {bead.title}"]
    if spec := bead.spec_id:
        parts.append(f"governing document: {spec}")
    if acceptance := bead.acceptance.strip():
        parts.append(f"acceptance:\n{cut(acceptance, _LONGEST_TEXT)}")
    return shown("\n".join(parts))


def _section(title: str, text: str) -> tuple[str, ...]:
    return (f"## {title}\n\n{text}",) if text else ()


def _path(project: Project) -> str:
    return path_in(project, "context.md")
