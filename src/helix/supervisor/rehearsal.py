"""What a run would do next, in full, and not a byte is written for it (S-31)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.execution.agent import earlier_failures
from ddx.execution.excerpts import document_sections
from ddx.execution.governing import read_governing
from ddx.execution.model import Bead
from ddx.execution.planning import spoken_plan
from ddx.execution.project_checks import read_project_checks
from ddx.execution.prompt import write_prompt
from ddx.execution.record import attempts, read_record
from ddx.execution.workspace import workspace_path
from ddx.git import commit_id
from ddx.harnesses.base import Request
from ddx.harnesses.registry import find_harness
from ddx.project import Project
from ddx.tracker.model import link_of, text_of
from ddx.values import value
from helix.actions.align import order_align
from helix.actions.check import check_prompt, kept_answers, state_hash
from helix.actions.design import order_design
from helix.actions.evolve import order_evolve
from helix.actions.polish import polish_prompt
from helix.actions.review import landed_subject, review_prompt, scope_subject
from helix.actions.scope import resolve_scope
from helix.desk import model_for
from helix.policy.activities import BUILD
from helix.policy.model import Action, Progress
from helix.policy.routing import next_action
from helix.supervisor.context import context_of
from helix.supervisor.view import Look, read_view
from helix.work import sections_of

if TYPE_CHECKING:
    from helix.actions.review import Subject
    from helix.actions.scope import Scope
    from helix.desk import Agent, Desk
    from helix.policy.model import Decision, Rules

_ATTEMPT = "ATTEMPT"
"""Stands for the attempt's id, which nobody has drawn yet."""
_READS = (Action.CHECK, Action.REVIEW, Action.POLISH)


class Untouched(Project):
    """The project, but for its caches: those lie where nothing can be written."""

    def ddx(self, *names: str) -> str:
        if names[:1] == ("cache",):
            return os.path.join(os.devnull, *names)
        return super().ddx(*names)


@value
class Rehearsal:
    """One decision, and how it would be carried out; a decision that asks nobody has no command."""

    decision: Decision
    command: tuple[str, ...] = ()
    prompt: str = ""


def rehearse(desk: Desk, scope: Scope, rules: Rules, *, pending_review: str = "") -> Rehearsal:
    """The first turn of a run, up to the point where it would start something."""
    look = Look(desk, scope)
    answers = {} if rules.always_ask else kept_answers(desk.site.project)
    progress = Progress(pending_review=pending_review, answers=answers)
    view = read_view(look, state=state_hash(desk.site, scope))
    return rehearse_decision(desk, scope, next_action(view, progress, rules), look)


def rehearse_decision(desk: Desk, scope: Scope, decision: Decision, look: Look) -> Rehearsal:
    """How this would be carried out."""
    prompt = _prompt(desk, scope, decision, look)
    if not prompt:
        return Rehearsal(decision)
    agent = desk.reviewer if decision.action is Action.REVIEW else desk.builder
    scripts = [text_of(look.rows[it], "script") for it in decision.beads if it in look.rows]
    command = command_for(
        desk,
        agent,
        str(decision.action),
        prompt,
        read_only=decision.action in _READS,
        script="\n".join(filter(None, scripts)) if decision.action == BUILD else "",
    )
    return Rehearsal(decision, command, prompt)


def _prompt(desk: Desk, scope: Scope, decision: Decision, look: Look) -> str:
    match decision.action:
        case Action.BUILD:
            return _build_prompt(desk, decision, look)
        case Action.ALIGN:
            return order_align(desk, decision.target).prompt
        case Action.DESIGN:
            return order_design(desk, decision.target).prompt
        case Action.EVOLVE:
            row = look.rows[decision.beads[0]]
            words = "\n\n".join(filter(None, (text_of(row, "title"), text_of(row, "description"))))
            return order_evolve(desk, words, artifact=link_of(row, "spec-id")).prompt
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


def _reviewed(desk: Desk, decision: Decision, look: Look) -> Subject | None:
    """An attempt that landed, the document of an epic that is done, or what a request names."""
    if decision.target in attempts(desk.site.project):
        return landed_subject(desk.site, read_record(desk.site.project, decision.target).result)
    epic = look.rows.get(decision.target, {})
    is_epic = decision.target in look.epics()
    about = link_of(epic, "spec-id") if is_epic else decision.target
    return scope_subject(desk.site, about) if about else None


def _build_prompt(desk: Desk, decision: Decision, look: Look) -> str:
    """As the attempt would write it: the base is the last commit, which the checkout holds."""
    site = desk.site
    beads = [Bead(it, look.rows[it], look.snapshot.revision(it)) for it in decision.beads]
    root = site.project.root
    governing = read_governing(
        site.project,
        beads,
        checkout=root,
        base=commit_id(root, "HEAD"),
        settings=site.settings,
    )
    return write_prompt(
        beads,
        before=sections_of(desk, beads, context_of(look)),
        checks=spoken_plan(beads, governing, read_project_checks(root), site.settings),
        documents=document_sections(governing, root),
        failures=list(earlier_failures(site.project, beads)),
    )


def command_for(
    desk: Desk, agent: Agent, action: str, prompt: str, *, read_only: bool, script: str = ""
) -> tuple[str, ...]:
    """The program and its words; the prompt goes to its stdin or is one of them."""
    site = desk.site
    request = Request(
        prompt,
        workspace_path(site.project, site.settings, _ATTEMPT),
        site.project.ddx("executions", _ATTEMPT, "scratch"),
        model=model_for(action, agent, site),
        effort=agent.effort,
        read_only=read_only,
        in_sandbox=site.settings.sandbox.kind != "none",
        script=script,
    )
    return tuple(find_harness(agent.harness, site.settings).command(request).argv)
