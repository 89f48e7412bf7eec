"""What a run would do now, without one: the same view and the same rules, and no effect (S-4)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.clock import SYSTEM_CLOCK
from ddx.execution.model import Limits
from ddx.project import find_project
from ddx.values import value
from helix.actions.check import kept_answers, state_hash
from helix.actions.scope import REPO, resolve_scope
from helix.cli.looking import open_to_look
from helix.desk import Agent, Desk
from helix.policy.model import Autonomy, Progress, Rules
from helix.policy.routing import next_action
from helix.prompts import find_pages
from helix.settings import read_helix_settings
from helix.slider import read_slider
from helix.status.runs import read_run
from helix.supervisor.reviews import read_promises
from helix.supervisor.view import Look, read_view

if TYPE_CHECKING:
    from ddx.project import Project
    from helix.policy.model import Decision, View
    from helix.settings import HelixSettings
    from helix.status.model import Run


@value
class Outlook:
    """The next decision and all that it was made of."""

    look: Look
    view: View
    progress: Progress
    decision: Decision
    run: Run | None
    """The active run; None: there is none."""


def read_outlook() -> Outlook:
    project = find_project(os.getcwd())
    settings = read_helix_settings(project, clock=SYSTEM_CLOCK)
    desk = _desk(project, settings)
    run = read_run(project, now=SYSTEM_CLOCK.stamp())
    active = run if run is not None and run.state == "running" else None
    scope = active.text("scope") if active is not None else ""
    seen = resolve_scope(desk.site, scope or REPO)
    look = Look(desk, seen)
    view = read_view(look, state=state_hash(desk.site, seen))
    progress = _progress(look, active, settings)
    decision = next_action(view, progress, _rules(settings, active, _autonomy(project, active)))
    return Outlook(look, view, progress, decision, active)


def _desk(project: Project, settings: HelixSettings) -> Desk:
    """Enough to look; nobody can be asked from here, so no trust is needed."""
    return Desk(
        open_to_look(project, "helix next"),
        settings,
        find_pages(project),
        Agent(settings.agent),
        Agent(settings.review_agent),
        Limits(),
        on_call=lambda action, reply: None,
        dry_run=True,
    )


def _progress(look: Look, run: Run | None, settings: HelixSettings) -> Progress:
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
    return next(iter(read_promises(project, threshold=settings.review_threshold).owed), "")


def _autonomy(project: Project, run: Run | None) -> Autonomy:
    """The active run's, else what the next one would have (I-3)."""
    levels = {str(level): level for level in Autonomy}
    known = levels.get(run.text("autonomy")) if run is not None else None
    return known or read_slider(project, clock=SYSTEM_CLOCK).autonomy


def _rules(settings: HelixSettings, run: Run | None, autonomy: Autonomy) -> Rules:
    return Rules(
        autonomy=autonomy,
        review_every=settings.review_every,
        auto_align=settings.aligns,
        batch=settings.batch_size,
        max_attempts=settings.max_attempts,
        backoff_s=settings.backoff_s,
        scope=run.text("scope") if run is not None and run.text("scope") else REPO,
    )
