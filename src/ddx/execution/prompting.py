"""One prompt that is no bead's: asked in a throw-away workspace, and only the answer stays (X-21).

The same harness, limits, environment, sandbox and accounting as in an attempt, and a record of the
same form, but no claim and no landing. What the agent changes is named and goes with the workspace.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ddx import __version__
from ddx.errors import DdxError, UsageError
from ddx.execution.attempt import Task, intent_of, open_workspace
from ddx.execution.calling import Called, call_agent
from ddx.execution.committing import ASIDE
from ddx.execution.landing import Target
from ddx.execution.model import Failed, Preparation, Status
from ddx.execution.preparing import SetupFailed, prepare
from ddx.execution.record import MANIFEST, PROMPT, USAGE, Record, new_attempt_id
from ddx.execution.results import masked_reply, result_row
from ddx.execution.sandbox import wrapper
from ddx.execution.shapes import find_misfit
from ddx.execution.verdict import reason_of_call
from ddx.execution.workspace import workspace_path
from ddx.git import commit_id
from ddx.git.commits import make_tree
from ddx.git.repository import read_head
from ddx.harnesses.base import End, Reply, Request
from ddx.harnesses.registry import find_harness
from ddx.text import listed
from ddx.values import changed, value

if TYPE_CHECKING:
    from ddx.execution.model import Facts, Limits
    from ddx.execution.work import Site
    from ddx.execution.workspace import Workspace
    from ddx.harnesses.base import Harness
    from ddx.project import Project

PROMPTED = "prompt"
ANSWERED = "answered"
"""The outcome of a prompt whose reply is complete; any other has failed."""
THROWN_AWAY = "thrown-away"

_NO_BRANCH = "refs/heads/detached"
"""What a workspace calls its base where the operator is on no branch: nothing lands from here."""


@value
class _Question:
    """What is asked, and of whom."""

    task: Task
    harness: Harness
    prompt: str
    read_only: bool
    schema: str


def ask_once(
    site: Site,
    *,
    prompt: str,
    harness: str,
    model: str,
    effort: str,
    limits: Limits,
    action: str = PROMPTED,
    read_only: bool,
    schema: str = "",
    base: str = "",
) -> Reply:
    """What an agent answers to a prompt, in a workspace at `base` (HEAD if that is empty).

    A reply of any kind is returned; only what keeps us from asking at all is raised.
    """
    attempt = new_attempt_id(site.clock)
    agent = find_harness(harness, site.settings)
    task = Task(
        site.project,
        site.settings,
        (),
        attempt,
        Preparation(harness, model, effort, limits=limits, action=action),
        _fix_base(site.project, base),
        workspace_path(site.project, site.settings, attempt),
        agent.homes,
        merge=False,
    )
    record = Record.begin(
        site.project,
        attempt,
        bare_intent(task),
        clock=site.clock,
        masker=site.masker,
        on_event=site.on_event,
    )
    facts = changed(task.facts, folder=record.folder)
    try:
        with open_workspace(task, record) as workspace:
            question = _Question(task, agent, prompt, read_only, schema)
            called = _ask(site, question, workspace, record)
            paths = _changes(workspace, record)
    except BaseException as problem:
        reason = problem.message if isinstance(problem, DdxError) else repr(problem)
        record.tell("error", reason)
        record.finish(_result(facts, Called(Reply(End.CRASHED, reason=reason))))
        raise
    record.finish(_result(changed(facts, paths=paths), called))
    return masked_reply(_fitting(called.reply, schema), site.masker)


def _fitting(reply: Reply, schema: str) -> Reply:
    """What does not fit the schema is no structured reply, whoever says that it is."""
    if not schema or reply.structured is None:
        return reply
    misfit = find_misfit(reply.structured, schema)
    return changed(reply, structured=None, reason=misfit) if misfit else reply


def _fix_base(project: Project, base: str) -> Target:
    """Where to look from; nothing lands, so that a detached HEAD will do."""
    head = read_head(project.root)
    commit = commit_id(project.root, base) if base else head.commit
    if not commit:
        what = f"there is no commit {base!r}" if base else "there is no commit yet"
        raise UsageError(f"{project.root}: {what}, so there is nothing to look at")
    return Target(head.repository, head.branch or _NO_BRANCH, commit)


def bare_intent(task: Task) -> dict[str, Any]:
    """Of work that is no bead's."""
    empty: dict[str, Any] = {name: {} for name in ("claims", "selected", "titles", "paths")}
    return {**empty, "beads": [], **intent_of(task)}


def _ask(site: Site, question: _Question, workspace: Workspace, record: Record) -> Called:
    task = question.task
    preparation = task.preparation
    record.write_text(PROMPT, question.prompt)
    record.write(MANIFEST, _manifest(question))
    try:
        room = prepare(task, workspace, record, clock=site.clock, stop=site.stop)
    except SetupFailed as problem:
        return Called(Reply(End.CRASHED, reason=problem.message), is_fault=True)
    scratch, evidence = record.path("scratch"), room.env["DDX_EVIDENCE_DIR"]
    called = call_agent(
        question.harness,
        Request(
            question.prompt,
            room.path,
            scratch,
            model=preparation.model,
            effort=preparation.effort,
            read_only=question.read_only,
            schema=question.schema,
            max_cost_usd=preparation.limits.max_cost_usd,
            in_sandbox=task.settings.sandbox.kind != "none",
        ),
        record=record,
        env=room.env,
        limits=preparation.limits,
        clock=site.clock,
        stop=site.stop,
        wrap=wrapper(task, room.workspace.path, scratch=(scratch, evidence)),
        name=preparation.harness,
    )
    record.write(USAGE, called.reply.usage.as_row())
    return called


def _manifest(question: _Question) -> dict[str, Any]:
    task = question.task
    return {
        "version": __version__,
        "harness": task.preparation.harness,
        "model": task.preparation.model,
        "effort": task.preparation.effort,
        "action": task.preparation.action,
        "base": task.target.base,
        "target": task.target.branch,
        "beads": {},
        "read_only": question.read_only,
        "schema": question.schema,
        "limits": dict(task.preparation.limits.__dict__),
        "prompt_sha256": hashlib.sha256(question.prompt.encode("utf-8", "replace")).hexdigest(),
    }


def _changes(workspace: Workspace, record: Record) -> tuple[str, ...]:
    """What the agent changed; a workspace that cannot be read any more is no reason to fail."""
    try:
        paths = make_tree(
            workspace.work, may_land=lambda path: True, aside=record.path(ASIDE)
        ).paths
    except DdxError as problem:
        record.tell("unreadable", problem.message)
        return ()
    if paths:
        record.tell(THROWN_AWAY, listed(paths), paths=list(paths))
    return paths


def _result(facts: Facts, called: Called) -> dict[str, Any]:
    """In the form of every attempt's result, in words of its own (X-15 knows only beads)."""
    is_completed = called.reply.end is End.COMPLETED
    told = changed(
        facts,
        reply=called.reply,
        usage=called.reply.usage,
        reason="" if is_completed else reason_of_call(called),
    )
    return {
        **result_row(Failed(told, Status.AGENT_FAILED)),
        "outcome": ANSWERED if is_completed else "failed",
        "status": str(called.reply.end),
        "completed": is_completed,
    }
