"""`helix run --dry-run`: what would be done next, in full (S-31)."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, Any

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer, bold, say
from ddx.execution.work import open_site
from helix.actions.scope import REPO, resolve_scope
from helix.cli.opening import make_desk
from helix.cli.run_session import plan_of, with_flags
from helix.settings import read_helix_settings
from helix.supervisor.rehearsal import Untouched
from helix.supervisor.rehearsal import rehearse as look_ahead
from helix.supervisor.reviews import read_promises

if TYPE_CHECKING:
    from ddx.project import Project
    from helix.supervisor.rehearsal import Rehearsal


def rehearse(project: Project, given: dict[str, Any]) -> int:
    """It ends well whatever it shows: nothing was started and nothing was written."""
    untouched = Untouched(project.root, project.repository)
    settings = with_flags(read_helix_settings(untouched, clock=SYSTEM_CLOCK, keep=False), given)
    site = open_site(untouched, lambda happening: None, clock=SYSTEM_CLOCK)
    desk = make_desk(site, settings, model=given["model"], effort=given["effort"])
    plan = plan_of(desk, given, keep=False)
    desk.pages.read_all()
    owed = read_promises(untouched, threshold=plan.review_threshold).owed if plan.reviews else ()
    scope = resolve_scope(site, given["scope"] or REPO)
    pending = next(iter(owed), "")
    show(look_ahead(desk, scope, plan.rules, pending_review=pending), json=given["json"])
    return 0


def show(found: Rehearsal, *, json: bool) -> None:
    """The decision, the exact command and the prompt (S-31)."""
    decision = found.decision
    if json:
        row = {"decision": decision.as_row(), "command": list(found.command)}
        answer({**row, "prompt": found.prompt})
        return
    what = " ".join(filter(None, (str(decision.action), *(decision.beads or (decision.target,)))))
    say(bold("Decision: "), what)
    for line in (decision.least_power_explanation, decision.queue_drift_reason, decision.question):
        if line:
            say(f"  {line}")
    if found.command:
        say(bold("Command: "), join(found.command))
        say(bold("Prompt:"))
        say(found.prompt)
