"""One prompt that is no bead's: asked in a throw-away workspace, and only the answer stays (X-21).

The same harness, limits, environment, sandbox and accounting as in an attempt, and a record of the
same form, but no claim and no landing. What the agent changes is named and goes with the workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.agents import CallEnd, Harnesses, Reply, Request
from ddx.attempts.attempt import AttemptTask, intent_of, open_workspace
from ddx.attempts.call import CallResult, call_agent, manifest_of
from ddx.attempts.commit import ASIDE
from ddx.attempts.context import LandingTarget, Limits, Preparation
from ddx.attempts.outcome import AttemptStatus, Failed, masked_reply, reason_of_call
from ddx.attempts.record import MANIFEST, PROMPT, RecordWriter, new_attempt_id
from ddx.attempts.workspace import SetupFailed, prepare
from ddx.base import DdxError, UsageError, changed, find_misfit, listed, value
from ddx.git import commit_id, make_tree, read_head

if TYPE_CHECKING:
    from ddx.attempts.context import AttemptContext
    from ddx.attempts.outcome import AttemptFacts
    from ddx.attempts.workspace import PreparedWorkspace, Workspace
    from ddx.project import Project

PROMPTED = "prompt"
ANSWERED = "answered"
"""The outcome of a prompt whose reply is complete; any other has failed."""
THROWN_AWAY = "thrown-away"
_NO_BRANCH = "refs/heads/detached"
"""What a workspace calls its base where the operator is on no branch: nothing lands from here."""


@value
class AgentQuestion:
    """What is asked, of whom, and where it may look."""

    prompt: str
    harness: str
    read_only: bool
    limits: Limits = Limits()
    model: str = ""
    effort: str = ""
    action: str = PROMPTED
    schema: str = ""
    base: str = ""
    """The commit of the workspace; empty: HEAD."""

    def ask(self, site: AttemptContext) -> Reply:
        """What an agent answers, in a throw-away workspace.

        A reply of any kind is returned; only what keeps us from asking at all is raised.
        """
        attempt = new_attempt_id(site.clock)
        task = AttemptTask(
            site,
            (),
            attempt,
            preparation=Preparation(
                self.harness, self.model, self.effort, limits=self.limits, action=self.action
            ),
            homes=Harnesses(site.settings).find(self.harness).homes,
            target=_fix_base(site.project, self.base),
            workspace=site.workspace(attempt),
            merge=False,
        )
        record = begin_record(site, task)
        facts = changed(task.facts, folder=record.folder)
        try:
            with open_workspace(task, record) as workspace:
                record.write_text(PROMPT, self.prompt)
                asked = {"read_only": self.read_only, "schema": self.schema}
                record.write(MANIFEST, {**manifest_of(task, self.prompt), **asked})
                try:
                    room = prepare(task, workspace, record)
                except SetupFailed as problem:
                    called = CallResult(
                        Reply(CallEnd.CRASHED, reason=problem.message), is_fault=True
                    )
                else:
                    called = call_agent(room, self._request(room))
                paths = _changes(workspace, record)
        except BaseException as problem:
            reason = problem.message if isinstance(problem, DdxError) else repr(problem)
            record.tell("error", reason)
            record.finish(_result(facts, CallResult(Reply(CallEnd.CRASHED, reason=reason))))
            raise
        record.finish(_result(changed(facts, paths=paths), called))
        return masked_reply(_fitting(called.reply, self.schema), site.masker)

    def _request(self, room: PreparedWorkspace) -> Request:
        return Request(
            self.prompt,
            room.path,
            room.record.path("scratch"),
            model=self.model,
            effort=self.effort,
            read_only=self.read_only,
            schema=self.schema,
            max_cost_usd=self.limits.max_cost_usd,
            in_sandbox=room.task.settings.sandbox.kind != "none",
        )


def _fitting(reply: Reply, schema: str) -> Reply:
    """What does not fit the schema is no structured reply, whoever says that it is."""
    if not schema or reply.structured is None:
        return reply
    misfit = find_misfit(reply.structured, schema)
    return changed(reply, structured=None, reason=misfit) if misfit else reply


def _fix_base(project: Project, base: str) -> LandingTarget:
    """Where to look from; nothing lands, so that a detached HEAD will do."""
    head = read_head(project.root)
    commit = commit_id(project.root, base) if base else head.commit
    if not commit:
        what = f"there is no commit {base!r}" if base else "there is no commit yet"
        raise UsageError(f"{project.root}: {what}, so there is nothing to look at")
    return LandingTarget(head.repository, head.branch or _NO_BRANCH, commit)


def begin_record(site: AttemptContext, task: AttemptTask) -> RecordWriter:
    """The record of an attempt that claims no bead."""
    empty: dict[str, Any] = {name: {} for name in ("claims", "selected", "titles", "paths")}
    return site.begin_record(task.attempt, {**empty, "beads": [], **intent_of(task)})


def _changes(workspace: Workspace, record: RecordWriter) -> tuple[str, ...]:
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


def _result(facts: AttemptFacts, called: CallResult) -> dict[str, Any]:
    """In the form of every attempt's result, in words of its own (X-15 knows only beads)."""
    is_completed = called.reply.end is CallEnd.COMPLETED
    told = changed(
        facts,
        reply=called.reply,
        usage=called.reply.usage,
        reason="" if is_completed else reason_of_call(called),
    )
    return {
        **Failed(told, AttemptStatus.AGENT_FAILED).as_row(),
        "outcome": ANSWERED if is_completed else "failed",
        "status": str(called.reply.end),
        "completed": is_completed,
    }
