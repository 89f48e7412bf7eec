"""One attempt, from the base to its end (X-1).

workspace -> set-up -> prompt -> agent -> one commit -> checks -> land or preserve. The claim, the
record and the close are `work.py`'s: an attempt knows nothing of the tracker but what it is told.
"""

from __future__ import annotations

import os
from posixpath import relpath
from typing import TYPE_CHECKING

from ddx.errors import NotFound
from ddx.execution.agent import ask_agent
from ddx.execution.authority import find_overreach
from ddx.execution.committing import commit_files, signature_of
from ddx.execution.delivering import deliver
from ddx.execution.keeping import keep, kept_on_error
from ddx.execution.model import Facts, Failed, NoChanges, Outcome, Preserved, Status
from ddx.execution.preparing import SetupFailed, prepare
from ddx.execution.proving import prove
from ddx.execution.record import INDEX
from ddx.execution.verdict import (
    reason_of_call,
    reason_of_proof,
    status_of_call,
    status_of_proof,
)
from ddx.execution.workspace import Workspace
from ddx.process import started_at
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.clock import Clock
    from ddx.execution.calling import Called
    from ddx.execution.committing import Made, Signature
    from ddx.execution.landing import Target
    from ddx.execution.model import Bead, Boundary, Drift, Preparation, Proof
    from ddx.execution.preparing import Room
    from ddx.execution.record import Record
    from ddx.harnesses.base import Harness
    from ddx.project import Project
    from ddx.settings import Settings
    from ddx.supervision import StopRequest


@value
class Task:
    """What one attempt is about; nothing in it changes while it runs."""

    project: Project
    settings: Settings
    beads: tuple[Bead, ...]
    attempt: str
    preparation: Preparation
    target: Target
    workspace: str
    homes: tuple[str, ...] = ()
    """What the agent's program needs of the home folder."""
    merge: bool = True

    def project_paths(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """As the project calls them: seen from its own folder of the repository."""
        return tuple(relpath(path, self.target.repository.prefix or ".") for path in paths)

    @property
    def facts(self) -> Facts:
        """What is known before anything happens."""
        return Facts(
            self.attempt,
            tuple(bead.id for bead in self.beads),
            self.preparation.harness,
            self.preparation.model,
            self.target.base,
            self.target.branch,
        )


def intent_of(task: Task) -> dict[str, object]:
    """What every record says before anything happens: enough to clean up after us (X-19)."""
    pid = os.getpid()
    return {
        "base": task.target.base,
        "target": task.target.branch,
        "workspace": task.workspace,
        "harness": task.preparation.harness,
        "model": task.preparation.model,
        "action": task.preparation.action,
        "machine": os.uname().nodename,
        "pid": pid,
        "pid_start": started_at(pid),
    }


def run_attempt(
    task: Task,
    harness: Harness,
    record: Record,
    *,
    look: Callable[[Boundary], Drift | None],
    clock: Clock,
    stop: StopRequest,
) -> Outcome:
    """Whatever was made ends on the target branch or at a ref; the workspace is gone afterwards."""
    signature = signature_of(task)
    facts = changed(task.facts, folder=record.folder)
    with (
        open_workspace(task, record) as workspace,
        kept_on_error(task.project, workspace, signature, record),
    ):
        try:
            room = prepare(task, workspace, record, clock=clock, stop=stop)
        except SetupFailed as problem:
            return Failed(changed(facts, reason=problem.message), Status.HARNESS_FAULT)
        if (errors := room.governing.errors) and task.preparation.checks is None:
            # Whatever the agent did, nothing could prove it.
            return Failed(changed(facts, reason=errors[0]), Status.CHECK_FAILED)

        called = ask_agent(task, harness, room, record, clock=clock, stop=stop)
        if task.preparation.on_reply is not None:
            task.preparation.on_reply(called.reply)
        facts = changed(facts, reply=called.reply, usage=called.reply.usage)
        try:
            facts = _with_commit(facts, commit_files(workspace.work, signature, record))
        except NotFound as problem:  # the agent removed its own workspace
            return Failed(changed(facts, reason=problem.message), Status.AGENT_FAILED)
        return _judged(
            task, called, facts, signature, room, record, look=look, clock=clock, stop=stop
        )


def _judged(
    task: Task,
    called: Called,
    facts: Facts,
    signature: Signature,
    room: Room,
    record: Record,
    *,
    look: Callable[[Boundary], Drift | None],
    clock: Clock,
    stop: StopRequest,
) -> Outcome:
    """What becomes of what was made: each question that it fails keeps it from landing."""
    if status := status_of_call(called, task.preparation.limits):
        return _not_landed(task, changed(facts, reason=reason_of_call(called)), status)
    if excess := _overreach(task, room, facts):
        return _not_landed(task, changed(facts, reason=excess), Status.AUTHORITY)

    def prove_tree(commit: str, *, again: bool = True) -> Proof:
        paths = task.project_paths(facts.paths)
        return prove(
            task,
            room,
            record,
            commit,
            paths,
            clock=clock,
            stop=stop,
            again=again,
            reply=called.reply,
        )

    proof = prove_tree(facts.result or facts.base, again=False)
    facts = changed(facts, checks=proof.checks, measured=proof.measured)
    if stop.asked:
        return _not_landed(task, changed(facts, reason="interrupted"), Status.INTERRUPTED)
    if not facts.result:
        return _unchanged(facts, is_satisfied=proof.ok)
    if status := status_of_proof(proof):
        return _not_landed(task, changed(facts, reason=reason_of_proof(proof)), status)
    if not task.merge:
        return _not_landed(task, changed(facts, reason="not to be merged"), Status.UNMERGED)
    return deliver(
        task.project,
        task.target,
        facts,
        signature,
        record,
        governing=room.governing,
        prove=prove_tree,
        look=look,
        clock=clock,
    )


def _overreach(task: Task, room: Room, facts: Facts) -> str:
    if task.preparation.is_free:
        return ""
    return find_overreach(task.project_paths(facts.paths), room.governing, task.beads)


def _with_commit(facts: Facts, made: Made | None) -> Facts:
    if made is None:
        return facts
    return changed(facts, result=made.commit, paths=made.paths, diffstat=made.diffstat)


def open_workspace(task: Task, record: Record) -> Workspace:
    return Workspace(
        task.project,
        task.target,
        task.workspace,
        attempt=task.attempt,
        index=record.path(INDEX),
        say=lambda sentence: record.tell("leftover", sentence),
    )


def _unchanged(facts: Facts, *, is_satisfied: bool) -> Outcome:
    """Nothing was made: fine only if every check passes without it (X-15)."""
    if is_satisfied:
        return NoChanges(
            changed(facts, reason="every check passes already"), Status.ALREADY_SATISFIED
        )
    said = "the agent changed nothing, and the checks do not pass"
    return NoChanges(changed(facts, reason=said), Status.NOTHING_DONE)


def _not_landed(task: Task, facts: Facts, status: Status) -> Outcome:
    """With something made it is kept at a ref, without it the attempt has failed (X-15)."""
    if not facts.result:
        return Failed(facts, status)
    ref = keep(task.project, facts.beads, facts.attempt, facts.result)
    return Preserved(changed(facts, ref=ref), status, ref)
