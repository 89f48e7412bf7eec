"""What a run would do next, in full, and not a byte is written for it (S-31)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.agents import Harnesses, Request
from ddx.attempts import build_prompt, read_attempts
from ddx.base import value
from ddx.git import Repository
from ddx.project import Project
from ddx.proof import Governance, read_project_checks, spoken_plan
from helix.passes import (
    BUILD,
    check_prompt,
    kept_answers,
    landed_subject,
    polish_prompt,
    resolve_scope,
    review_prompt,
    scope_subject,
    state_hash,
)
from helix.project import model_for
from helix.run.build_policy import context_of, sections_of
from helix.run.driver import order_of
from helix.run.model import Action, Progress
from helix.run.routing import next_action
from helix.run.view import ProjectSnapshot, read_view

if TYPE_CHECKING:
    from helix.passes import ReviewSubject, Scope
    from helix.project import Agent, PassContext
    from helix.run.model import Decision, RoutingRules

_ATTEMPT = "ATTEMPT"
"""Stands for the attempt's id, which nobody has drawn yet."""
_READS = (Action.CHECK, Action.REVIEW, Action.POLISH)


class ReadOnlyProject(Project):
    """The project, but for its caches: those lie where nothing can be written."""

    def ddx(self, *names: str) -> str:
        if names[:1] == ("cache",):
            return os.path.join(os.devnull, *names)
        return super().ddx(*names)


@value
class DryRun:
    """One decision, and how it would be carried out; a decision that asks nobody has no command."""

    decision: Decision
    command: tuple[str, ...] = ()
    prompt: str = ""


def rehearse(
    desk: PassContext, scope: Scope, rules: RoutingRules, *, pending_review: str = ""
) -> DryRun:
    """The first turn of a run, up to the point where it would start something."""
    look = ProjectSnapshot(desk, scope)
    answers = {} if rules.always_ask else kept_answers(desk.site.project)
    progress = Progress(pending_review=pending_review, answers=answers)
    view = read_view(look, state=state_hash(desk.site, scope))
    return rehearse_decision(desk, scope, next_action(view, progress, rules), look)


def rehearse_decision(
    desk: PassContext, scope: Scope, decision: Decision, look: ProjectSnapshot
) -> DryRun:
    """How this would be carried out."""
    prompt = _prompt(desk, scope, decision, look)
    if not prompt:
        return DryRun(decision)
    agent = desk.reviewer if decision.action is Action.REVIEW else desk.builder
    scripts = [look.beads[it].text("script") for it in decision.beads if it in look.beads]
    command = command_for(
        desk,
        agent,
        str(decision.action),
        prompt,
        read_only=decision.action in _READS,
        script="\n".join(filter(None, scripts)) if decision.action == BUILD else "",
    )
    return DryRun(decision, command, prompt)


def _prompt(desk: PassContext, scope: Scope, decision: Decision, look: ProjectSnapshot) -> str:
    match decision.action:
        case Action.BUILD:
            return _build_prompt(desk, decision, look)
        case Action.ALIGN | Action.DESIGN | Action.EVOLVE:
            return order_of(desk, decision).prompt
        case Action.CHECK if not decision.recovers:
            return check_prompt(desk, scope)
        case Action.POLISH:
            about = resolve_scope(desk.site, decision.target)
            return polish_prompt(desk, about, beads=decision.beads)
        case Action.REVIEW:
            subject = _reviewed(desk, decision, look)
            return review_prompt(desk, subject) if subject else ""
        case _:
            return ""


def _reviewed(desk: PassContext, decision: Decision, look: ProjectSnapshot) -> ReviewSubject | None:
    """An attempt that landed, the document of an epic that is done, or what a request names."""
    records = read_attempts(desk.site.project)
    if decision.target in records:
        return landed_subject(desk.site, records.read(decision.target).result)
    is_epic = decision.target in look.epics()
    about = look.beads[decision.target].spec_id if is_epic else decision.target
    return scope_subject(desk.site, about) if about else None


def _build_prompt(desk: PassContext, decision: Decision, look: ProjectSnapshot) -> str:
    """As the attempt would write it: the base is the last commit, which the checkout holds."""
    site = desk.site
    beads = [look.beads[it] for it in decision.beads]
    root = site.project.root
    governing = Governance.read(
        site.project,
        beads,
        checkout=root,
        base=Repository(root).commit_id(),
        settings=site.settings,
    )
    return build_prompt(
        site.project,
        beads,
        governing,
        checkout=root,
        before=sections_of(desk, beads, context_of(look)),
        checks=spoken_plan(beads, governing, read_project_checks(root), site.settings),
    )


def command_for(
    desk: PassContext, agent: Agent, action: str, prompt: str, *, read_only: bool, script: str = ""
) -> tuple[str, ...]:
    """The program and its words; the prompt goes to its stdin or is one of them."""
    site = desk.site
    request = Request(
        prompt,
        site.workspace(_ATTEMPT),
        site.project.ddx("executions", _ATTEMPT, "scratch"),
        model=model_for(action, agent, site),
        effort=agent.effort,
        read_only=read_only,
        in_sandbox=site.settings.sandbox.kind != "none",
        script=script,
    )
    return tuple(Harnesses(site.settings).find(agent.harness).command(request).argv)
