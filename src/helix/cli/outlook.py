"""What a run would do now, without one: the same view and the same rules, and no effect (S-4)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.clock import SYSTEM_CLOCK
from ddx.environment import variable
from ddx.execution.model import Limits
from ddx.execution.work import Site
from ddx.masking import Masker
from ddx.project import find_project
from ddx.settings import read_settings
from ddx.supervision import StopRequest
from ddx.tracker.store import Tracker
from ddx.values import value
from helix.actions.check import state_hash
from helix.actions.scope import REPO, resolve_scope
from helix.desk import Agent, Desk
from helix.policy.model import Autonomy, Progress, Rules
from helix.policy.routing import next_action
from helix.prompts import find_pages
from helix.settings import read_helix_settings
from helix.status.runs import read_run
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
    progress = _progress(look, run, is_active=active is not None)
    decision = next_action(view, progress, _rules(settings, active))
    return Outlook(look, view, progress, decision, active)


def _desk(project: Project, settings: HelixSettings) -> Desk:
    """Enough to look; nobody can be asked from here, so no trust is needed."""
    site = Site(
        project,
        read_settings(project, clock=SYSTEM_CLOCK),
        Tracker(project, clock=SYSTEM_CLOCK, command="helix next"),
        SYSTEM_CLOCK,
        Masker({}),
        StopRequest(),
        lambda happening: None,
    )
    return Desk(
        site,
        settings,
        find_pages(project),
        Agent(settings.agent),
        Agent(settings.review_agent),
        Limits(),
        on_call=lambda action, reply: None,
        dry_run=True,
    )


def _progress(look: Look, run: Run | None, *, is_active: bool) -> Progress:
    """As far as the run's file tells; of an earlier one only the review that it owes (S-17)."""
    if run is None:
        return Progress()
    owed = run.text("pending_review")
    if not is_active:
        return Progress(pending_review=owed)
    known = (bead_id for bead_id in run.table("skipped") if bead_id in look.snapshot)
    return Progress(
        focus=run.text("focused_epic"),
        attempted=run.count("attempted_cycles"),
        completed=run.count("completed_cycles"),
        skipped={bead_id: look.snapshot.revision(bead_id) for bead_id in known},
        pending_review=owed,
        aligned_at=run.count("completed_cycles"),
    )


def _rules(settings: HelixSettings, run: Run | None) -> Rules:
    levels = {str(level): level for level in Autonomy}
    said = run.text("autonomy") if run is not None else variable("HELIX_AUTONOMY")
    return Rules(
        autonomy=levels.get(said, Autonomy.MEDIUM),
        review_every=settings.review_every,
        auto_align=settings.aligns,
        batch=settings.batch_size,
        max_attempts=settings.max_attempts,
        backoff_s=settings.backoff_s,
        scope=run.text("scope") if run is not None and run.text("scope") else REPO,
    )
