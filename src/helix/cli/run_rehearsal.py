"""`helix run --dry-run`: what would be done next, in full (S-31)."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, Any

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer, bold, say
from ddx.execution.work import open_site
from helix.actions.scope import REPO, resolve_scope
from helix.cli.run_session import desk_of, plan_of, with_flags
from helix.prompts import ACTIONS
from helix.settings import read_helix_settings
from helix.supervisor.rehearsal import Untouched
from helix.supervisor.rehearsal import rehearse as look_ahead
from helix.supervisor.state import read_state

if TYPE_CHECKING:
    from ddx.project import Project


def rehearse(project: Project, given: dict[str, Any]) -> int:
    """It ends well whatever it shows: nothing was started and nothing was written."""
    untouched = Untouched(project.root, project.repository)
    settings = with_flags(read_helix_settings(untouched, clock=SYSTEM_CLOCK, keep=False), given)
    site = open_site(untouched, lambda happening: None, clock=SYSTEM_CLOCK)
    plan = plan_of(settings, site, given)
    desk = desk_of(site, settings, plan, given)
    for action in ACTIONS:
        desk.pages.action(action)
    earlier = read_state(project)
    owed = earlier.pending_review if earlier and plan.reviews else ""
    found = look_ahead(
        desk, resolve_scope(site, given["scope"] or REPO), plan.rules, pending_review=owed
    )
    decision = found.decision
    if given["json"]:
        row = {"decision": decision.as_row(), "command": list(found.command)}
        answer({**row, "prompt": found.prompt})
        return 0
    what = " ".join(filter(None, (str(decision.action), *(decision.beads or (decision.target,)))))
    say(bold("Decision: "), what)
    for line in (decision.least_power_explanation, decision.queue_drift_reason, decision.question):
        if line:
            say(f"  {line}")
    if found.command:
        say(bold("Command: "), join(found.command))
        say(bold("Prompt:"))
        say(found.prompt)
    return 0
