"""One attempt, as far as it can be carried out anywhere: nothing lands from here (X-1, W-1).

workspace -> set-up -> prompt -> agent -> one commit -> its checks. The claim, the record, landing
and the close are `work.py`'s: whoever carries an order out knows nothing of the tracker. A crew
carries out many side by side.
"""

from __future__ import annotations

import os
import queue
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from posixpath import relpath
from typing import TYPE_CHECKING, Protocol

from ddx.attempts.call import ask_agent
from ddx.attempts.commit import commit_files, find_overreach, kept_on_error, signature_of
from ddx.attempts.context import AgentProduct
from ddx.attempts.outcome import (
    AttemptFacts,
    AttemptStatus,
    reason_of_call,
    reason_of_proof,
    status_of_call,
    status_of_proof,
)
from ddx.attempts.proof_workspace import ProofRooms
from ddx.attempts.record import CHECKS, EVIDENCE, INDEX
from ddx.attempts.workspace import SETUP, SetupFailed, Workspace, prepare
from ddx.base import DdxError, NotFound, changed, started_at, value
from ddx.proof import FOLDER, Check, Checker, Proof, plan_checks, run_checks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from ddx.agents import Reply
    from ddx.attempts.call import CallResult
    from ddx.attempts.claims import AttemptClaims
    from ddx.attempts.context import AttemptContext, LandingTarget, Policy, Preparation
    from ddx.attempts.record import RecordWriter
    from ddx.attempts.workspace import PreparedWorkspace
    from ddx.project import Project, Settings
    from ddx.tracker import Bead


@value
class AttemptTask:
    """What one attempt is about; nothing in it changes while it runs."""

    site: AttemptContext
    beads: tuple[Bead, ...]
    attempt: str
    preparation: Preparation
    target: LandingTarget
    workspace: str
    homes: tuple[str, ...] = ()
    """What the agent's program needs of the home folder."""
    merge: bool = True

    @property
    def project(self) -> Project:
        return self.site.project

    @property
    def settings(self) -> Settings:
        return self.site.settings

    def project_paths(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """As the project calls them: seen from its own folder of the repository."""
        return tuple(relpath(path, self.target.repository.prefix or ".") for path in paths)

    @property
    def facts(self) -> AttemptFacts:
        """What is known before anything happens."""
        return AttemptFacts(
            attempt=self.attempt,
            beads=tuple(bead.id for bead in self.beads),
            harness=self.preparation.harness,
            model=self.preparation.model,
            base=self.target.base,
            target=self.target.branch,
        )


def intent_of(task: AttemptTask) -> dict[str, object]:
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


@value
class AttemptOrder:
    """One attempt that was begun: its beads are claimed, and its record says so."""

    task: AttemptTask
    policy: Policy
    claims: AttemptClaims
    record: RecordWriter


@value
class CarriedOut:
    """What carrying out an order came to; nothing of it has landed or is kept."""

    order: AttemptOrder
    facts: AttemptFacts
    status: AttemptStatus
    """SUCCESS: it is proven on its own base, so it may land."""
    room: PreparedWorkspace | None = None
    """Where it was made, still open: whoever concludes proves in it what is merged."""
    held: ExitStack | None = None
    """Closes the room; with an error, what the room holds is kept first."""
    is_heard: bool = False
    """The policy was told what the agent said, at once: elsewhere there is nobody to tell."""


def carry_out(order: AttemptOrder) -> CarriedOut:
    """Make and prove what was ordered; whatever goes wrong is part of what is returned."""
    task, record = order.task, order.record
    signature = signature_of(task)
    facts = changed(task.facts, folder=record.folder)
    hear, is_heard = task.preparation.on_reply, False
    try:
        with ExitStack() as held:
            workspace = held.enter_context(open_workspace(task, record))
            held.enter_context(kept_on_error(task.project, workspace, signature, record))
            try:
                room = prepare(task, workspace, record)
            except SetupFailed as problem:
                said = changed(facts, reason=problem.message)
                return CarriedOut(order, said, AttemptStatus.HARNESS_FAULT)
            if (errors := room.governing.errors) and task.preparation.checks is None:
                # Whatever the agent did, nothing could prove it.
                return CarriedOut(
                    order, changed(facts, reason=errors[0]), AttemptStatus.CHECK_FAILED
                )
            called = ask_agent(room)
            facts = changed(facts, reply=called.reply, usage=called.reply.usage)
            if hear is not None:
                is_heard = True
                hear(called.reply)
            try:
                made = commit_files(workspace.work, signature, record)
            except NotFound as problem:  # the agent removed its own workspace
                said = changed(facts, reason=problem.message)
                return CarriedOut(order, said, AttemptStatus.AGENT_FAILED, is_heard=is_heard)
            if made is not None:
                workspace.hold(made.commit)
                facts = changed(facts, result=made.commit, paths=made.paths, diffstat=made.diffstat)
            facts, status = _judged(room, called, facts)
            return CarriedOut(
                order, facts, status, room=room, held=held.pop_all(), is_heard=is_heard
            )
    except Exception as problem:  # one attempt may fail in any way (STYLE 6)
        said = broken_down(record, facts, problem)
        return CarriedOut(order, said, AttemptStatus.HARNESS_FAULT, is_heard=is_heard)


def _judged(
    room: PreparedWorkspace, called: CallResult, facts: AttemptFacts
) -> tuple[AttemptFacts, AttemptStatus]:
    """Whether what was made may land: each question that it fails keeps it from that."""
    task = room.task
    if status := status_of_call(called, task.preparation.limits):
        return changed(facts, reason=reason_of_call(called)), status
    if excess := overreach_of(room, facts):
        return changed(facts, reason=excess), AttemptStatus.AUTHORITY
    paths = task.project_paths(facts.paths)
    proof = prove(room, facts.result or facts.base, paths, reply=called.reply)
    facts = changed(facts, checks=proof.checks, measured=proof.measured)
    if task.site.stop.asked:
        return changed(facts, reason="interrupted"), AttemptStatus.INTERRUPTED
    if not facts.result and proof.ok:
        return changed(facts, reason="every check passes already"), AttemptStatus.ALREADY_SATISFIED
    if not facts.result:  # nothing was made: fine only if every check passes without it
        said = "the agent changed nothing, and the checks do not pass"
        return changed(facts, reason=said), AttemptStatus.NOTHING_DONE
    if status := status_of_proof(proof):
        return changed(facts, reason=reason_of_proof(proof)), status
    return facts, AttemptStatus.SUCCESS


def overreach_of(room: PreparedWorkspace, facts: AttemptFacts) -> str:
    """What an attempt changed without the authority to; empty: nothing."""
    task = room.task
    if task.preparation.is_free:
        return ""
    return find_overreach(task.project_paths(facts.paths), room.governing, task.beads)


def broken_down(record: RecordWriter, facts: AttemptFacts, problem: Exception) -> AttemptFacts:
    """An attempt that breaks down ends like any other; what it made was kept on the way out."""
    if not isinstance(problem, DdxError):
        reason = f"our own error: {problem!r}"
    else:
        reason = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    record.write_text("error.txt", "".join(traceback.format_exception(problem)))
    record.tell("error", reason)
    return changed(facts, reason=reason, result="", paths=(), diffstat="")


def open_workspace(task: AttemptTask, record: RecordWriter) -> Workspace:
    return Workspace(
        task.project,
        task.target,
        task.workspace,
        attempt=task.attempt,
        index=record.path(INDEX),
        evidence=record.path(EVIDENCE),
        say=lambda sentence: record.tell("leftover", sentence),
    )


def prove(
    room: PreparedWorkspace,
    commit: str,
    paths: Sequence[str],
    *,
    is_merged: bool = False,
    reply: Reply | None = None,
) -> Proof:
    """Run everything that is asked of the room's beads on a fresh checkout of the commit (H-1).

    `paths` are what the attempt changed. A set-up that failed there has failed as a check: on the
    base it had worked.
    """
    task, record = room.task, room.record
    with ProofRooms(room, commit) as rooms:
        if task.preparation.checks is not None:
            product = AgentProduct(
                rooms.bare(), task.target.base, commit, paths=tuple(paths), reply=reply
            )
            return _recorded(Proof(commit, task.preparation.checks(product)), record)
        plan = plan_checks(
            task.beads,
            room.governing,
            default_checks=task.settings.checks,
            project_checks=room.project_checks,
            changed_paths=paths,
        )
        folder = "checks-merged" if is_merged else FOLDER
        try:
            proof = run_checks(lambda: checker_in(rooms.next(), folder=folder), plan, commit)
        except SetupFailed as problem:
            failed = Check(SETUP, "", SETUP, passed=False, reason=problem.message)
            proof = Proof(commit, (failed,))
        return _recorded(proof, record)


def checker_in(room: PreparedWorkspace, *, folder: str) -> Checker:
    """Runs checks in a room; their logs lie in this folder of its record."""
    return Checker(
        room.task.project,
        room.path,
        room.record.folder,
        folder=folder,
        env=room.env,
        masker=room.record.masker,
        clock=room.task.site.clock,
        stop=room.task.site.stop,
        wrap=room.wrap,
    )


def _recorded(proof: Proof, record: RecordWriter) -> Proof:
    for check in proof.checks:
        word = "check-passed" if check.passed else "check-failed"
        said = check.command or check.name
        record.tell(word, f"{said} ({check.reason})" if check.reason else said)
    record.write(
        CHECKS,
        {
            "commit": proof.commit,
            "checks": [check.as_row() for check in proof.checks],
            "measured": [dict(item.__dict__) for item in proof.measured],
        },
    )
    return proof


class Crew(Protocol):
    """Takes orders and gives back what came of them, in whatever order they end.

    It carries out, and never claims, lands, keeps or closes: that is done at home, by the engine. A
    wish to stop is part of an order, its site's: a crew elsewhere has to carry it there (W-1).
    """

    def free(self) -> int:
        """How many more orders it can take now."""

    def begin(self, order: AttemptOrder) -> None:
        """Carried out from now on; `wait` gives back what came of it."""

    def wait(self, timeout_s: float) -> Future[CarriedOut] | None:
        """The next that ended; None: none did in this time, or the crew was closed."""

    def close(self) -> None:
        """No more orders; what runs is waited for, and whoever waits for it goes on."""


class LocalCrew:
    """One thread an order; each works with the site that its order brings along."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._running: set[Future[CarriedOut]] = set()
        self._ended: queue.SimpleQueue[Future[CarriedOut] | None] = queue.SimpleQueue()

    def free(self) -> int:
        return self._workers - len(self._running)

    def begin(self, order: AttemptOrder) -> None:
        future = self._pool.submit(carry_out, order)
        self._running.add(future)
        future.add_done_callback(self._ended.put)

    def wait(self, timeout_s: float) -> Future[CarriedOut] | None:
        try:
            ended = self._ended.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if ended is not None:
            self._running.remove(ended)
        return ended

    def close(self) -> None:
        self._pool.shutdown()
        self._ended.put(None)
