"""`helix next` and `helix explain`: what a run would do now, and why a bead is or is not next.

Without a run: by the same view and the same rules, and with no effect (S-4).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.attempts import Limits, OwedReviews
from ddx.base import Clock, value
from ddx.console import JSON, Argument, Command
from ddx.project import find_project
from helix.cli.context import present
from helix.cli.read_context import open_to_look
from helix.passes import REPO, find_pages, kept_answers, resolve_scope, state_hash
from helix.project import Agent, Autonomy, PassContext, read_helix_settings, read_slider
from helix.run import Progress, ProjectSnapshot, RoutingRules, holds_focus, next_action, read_view
from helix.status import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.project import Project
    from ddx.tracker import BeadExplanation
    from helix.project import HelixSettings
    from helix.run import Decision, RunView
    from helix.status import RunStatus

_MOST_NAMED = 3


@Command.of(example="helix next", flags=(JSON,), schema="helix-next")
def next_step(*, json: bool) -> int:
    """Say what a run would do now, and why; nothing is done."""
    found = read_outlook()
    columns = found.look.snapshot.columns
    named = dict.fromkeys((found.decision.target, *found.decision.beads))
    titles = {it: columns.titles[columns.place[it]] for it in named if it in found.look.snapshot}
    row = {
        "decision": found.decision.as_row(),
        "titles": titles,
        "run_active": found.run is not None,
    }
    return present(row, _lines(found.decision, titles), json=json)


def _lines(decision: Decision, titles: dict[str, str]) -> Iterator[str]:
    yield " ".join(filter(None, (str(decision.action), decision.target)))
    yield from (f"  {bead_id}  {title}" for bead_id, title in titles.items())
    for label, said in (
        ("because ", decision.least_power_explanation),
        ("what must be settled first: ", decision.blocking_authority),
        ("", decision.queue_drift_reason),
        ("for you: ", decision.question),
        ("until ", decision.until),
    ):
        if said:
            yield f"  {label}{said}"


@value
class BlockingReason:
    """One thing in the way of a bead, and what would change that."""

    kind: str
    reason: str
    cure: str = ""


@Command.of(
    example="helix explain app-1a2b3c4d",
    arguments=(Argument("bead", "the bead's id"),),
    flags=(JSON,),
    schema="helix-explain",
)
def explain(*, bead: str, json: bool) -> int:
    """Say why a bead is or is not next, and what would change that."""
    found = read_outlook()
    standing = found.look.site.tracker.explain(bead, found.look.queue)
    is_next = standing.bead_id in found.decision.beads
    reasons = [] if is_next or standing.standing == "finished" else [*_reasons(found, standing)]
    row = {
        "id": standing.bead_id,
        "standing": standing.standing,
        "is_next": is_next,
        "queue_place": standing.place or None,
        "reasons": [reason.__dict__ for reason in reasons],
        "decision": found.decision.as_row(),
        "run_active": found.run is not None,
    }
    return present(row, _explanation(found.decision, standing, reasons), json=json)


def _reasons(found: NextDecision, standing: BeadExplanation) -> Iterator[BlockingReason]:
    """First what holds the bead itself, then what the run has against it."""
    from ddx.tracker import typed

    bead_id = standing.bead_id
    for held in standing.blockers:
        cure = standing.cure(held) or _CURES.get(held.kind, "")
        yield BlockingReason(held.kind, held.reason, cure)
    yield from _of_the_run(found, bead_id)
    if standing.blockers:
        return
    ahead = [it for it in standing.ahead if it in {bead.id for bead in found.view.ready}]
    if ahead:
        names = ", ".join(ahead[:_MOST_NAMED])
        more = f" and {len(ahead) - _MOST_NAMED} more" if len(ahead) > _MOST_NAMED else ""
        yield BlockingReason(
            "queue-order",
            f"picked before it: {names}{more}",
            f"ddx bead update {typed(bead_id)} --priority 0",
        )
    if str(found.decision.action) != "build":
        said = found.decision.question or found.decision.least_power_explanation
        yield BlockingReason(
            "decision", f"first comes {found.decision.action}: {said}", "see: helix next"
        )


def _of_the_run(found: NextDecision, bead_id: str) -> Iterator[BlockingReason]:
    run, focus = found.run, found.progress.focus
    if run is not None and bead_id in run.table("skipped"):
        why = str(run.table("skipped")[bead_id])
        yield BlockingReason(
            "skipped", f"this run leaves it alone: {why}", "change the bead, or run anew"
        )
    snapshot = found.look.snapshot
    outside = bead_id not in snapshot or snapshot.parent(bead_id) != focus
    if outside and holds_focus(found.view, found.progress):
        yield BlockingReason(
            "focus",
            f"the run is focused on {focus}, and this is outside of it",
            f"it waits until {focus} has no child left that can run",
        )
    if run is not None and (until := run.text("parked_until")):
        yield BlockingReason(
            "parked", f"{run.text('agent')} has reached its limit", f"it ends at {until}"
        )


_CURES = {
    "document-missing": "write the document, or let the bead name another one",
    "document-uncommitted": "commit the document, or put the edits aside",
}


def _explanation(
    decision: Decision, standing: BeadExplanation, reasons: Sequence[BlockingReason]
) -> Iterator[str]:
    if standing.bead_id in decision.beads:
        why = decision.least_power_explanation
        yield f"{standing.bead_id} is next: {decision.action}{f', {why}' if why else ''}"
    elif standing.standing == "finished":
        yield f"{standing.bead_id} is finished"
    else:
        place = f"; it is number {standing.place} in the queue" if standing.place else ""
        yield f"{standing.bead_id} is not next{place}"
    for reason in reasons:
        yield f"  {reason.kind}: {reason.reason}"
        if reason.cure:
            yield f"    {reason.cure}"


# -- the decision, and all that it is made of ------------------------------------------------


@value
class NextDecision:
    """The next decision and all that it was made of."""

    look: ProjectSnapshot
    view: RunView
    progress: Progress
    decision: Decision
    run: RunStatus | None
    """The active run; None: there is none."""


def read_outlook() -> NextDecision:
    project = find_project(os.getcwd())
    settings = read_helix_settings(project, clock=Clock())
    desk = _desk(project, settings)
    run = read_run(project, now=Clock().stamp())
    active = run if run is not None and run.state == "running" else None
    scope = active.text("scope") if active is not None else ""
    seen = resolve_scope(desk.site, scope or REPO)
    look = ProjectSnapshot(desk, seen)
    view = read_view(look, state=state_hash(desk.site, seen))
    progress = _progress(look, active, settings)
    decision = next_action(view, progress, _rules(settings, active, _autonomy(project, active)))
    return NextDecision(look, view, progress, decision=decision, run=active)


def _desk(project: Project, settings: HelixSettings) -> PassContext:
    """Enough to look; nobody can be asked from here, so no trust is needed."""
    return PassContext(
        site=open_to_look(project, "helix next"),
        settings=settings,
        pages=find_pages(project),
        builder=Agent(settings.agent),
        reviewer=Agent(settings.review_agent),
        limits=Limits(),
        on_call=lambda action, reply: None,
        dry_run=True,
    )


def _progress(look: ProjectSnapshot, run: RunStatus | None, settings: HelixSettings) -> Progress:
    """As far as the active run's file tells; without one, what the next run would begin with."""
    project = look.site.project
    answers = kept_answers(project)
    if run is None:
        return Progress(pending_review=_owed(project, settings), answers=answers)
    known = (bead_id for bead_id in run.table("skipped") if bead_id in look.snapshot)
    return Progress(
        focus=run.text("focused_epic"),
        attempted=run.count("attempted_cycles"),
        completed=run.count("completed_cycles"),
        skipped={bead_id: look.snapshot.revision(bead_id) for bead_id in known},
        pending_review=run.text("pending_review"),
        aligned_at=run.count("completed_cycles"),
        answers=answers,
    )


def _owed(project: Project, settings: HelixSettings) -> str:
    """The review that comes first, where reviews are made at all (S-17)."""
    if not settings.reviews:
        return ""
    return next(iter(OwedReviews(project, threshold=settings.review_threshold).read().owed), "")


def _autonomy(project: Project, run: RunStatus | None) -> Autonomy:
    """The active run's, else what the next one would have (I-3)."""
    levels = {str(level): level for level in Autonomy}
    known = levels.get(run.text("autonomy")) if run is not None else None
    return known or read_slider(project, clock=Clock()).autonomy


def _rules(settings: HelixSettings, run: RunStatus | None, autonomy: Autonomy) -> RoutingRules:
    return RoutingRules(
        autonomy=autonomy,
        review_every=settings.review_every,
        auto_align=settings.aligns,
        batch=settings.batch_size,
        max_attempts=settings.max_attempts,
        backoff_s=settings.backoff_s,
        scope=run.text("scope") if run is not None and run.text("scope") else REPO,
    )
