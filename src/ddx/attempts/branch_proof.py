"""The tip of the target branch, proven once more: no agent, no claim, and nothing lands (V-1).

The workspace, its set-up, its environment and its fence are those of an attempt, and so is the
record. What the project's commands write goes with the workspace.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ddx.attempts.attempt import AttemptTask, checker_in, open_workspace
from ddx.attempts.context import Preparation, fix_target
from ddx.attempts.outcome import AttemptStatus, Failed, NoChanges, reason_of_proof, status_of_proof
from ddx.attempts.question import begin_record
from ddx.attempts.record import CHECKS, new_attempt_id
from ddx.attempts.workspace import prepare
from ddx.base import DdxError, changed
from ddx.documents import read_documents
from ddx.git import history as trees
from ddx.proof import FOLDER, CheckPlan, CommandCheck, Governance, plan_checks, run_checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ddx.attempts.context import AttemptContext
    from ddx.attempts.outcome import Outcome
    from ddx.attempts.workspace import PreparedWorkspace
    from ddx.documents import CommitDocuments
    from ddx.proof import Check, Proof
    from ddx.tracker import Bead

_PROBES = "probes"


class TipWorkspace:
    """A workspace that holds the tip, and what can be asked of it until it goes."""

    def __init__(self, room: PreparedWorkspace) -> None:
        task, record = room.task, room.record
        self.id = task.attempt
        self.commit = task.target.base
        self.branch = task.target.name
        self.folder = record.folder
        """The record's: logs of checks are named from here."""
        self.workspace = room.path
        """Where the project lies in the workspace."""
        self.evidence = room.env["DDX_EVIDENCE_DIR"]
        """Where commands may leave what shall stay."""
        self.proof: Proof | None = None
        self._task = task
        self._room = room
        self._record = record

    def prove(
        self, beads: Sequence[Bead], *, after: Callable[[Check], None] = lambda check: None
    ) -> Proof:
        """Everything that is asked of these beads and of the project, each command once (X-11)."""
        governing = Governance.read(
            self._task.project,
            beads,
            checkout=self.workspace,
            base=self.commit,
            settings=self._task.settings,
        )
        plan = plan_checks(
            beads,
            governing,
            default_checks=self._task.settings.checks,
            project_checks=self._room.project_checks,
            changed_paths=None,
        )
        self.proof = self._run(plan, FOLDER, after)
        self._record.write(
            CHECKS,
            {
                "commit": self.commit,
                "checks": [check.as_row() for check in self.proof.checks],
                "measured": [],  # a floor is raised by a landing alone
            },
        )
        return self.proof

    def probe(
        self, commands: Sequence[str], *, after: Callable[[Check], None] = lambda check: None
    ) -> Proof:
        """Commands that nothing depends on; their logs lie apart."""
        items = tuple(CommandCheck(command, command, ("measure",)) for command in commands)
        return self._run(CheckPlan(items), _PROBES, after)

    def documents(self) -> CommitDocuments:
        return read_documents(
            self._task.project,
            self._task.settings.document_roots,
            checkout=self.workspace,
            commit=self.commit,
        )

    def paths(self) -> tuple[str, ...]:
        """Every file of the commit, seen from the project."""
        return tuple(entry.path for entry in trees.entries(self.workspace, self.commit, ["."]))

    def keep(self, name: str, row: dict[str, Any]) -> str:
        """A JSON file in the record, masked as all of it (X-24); its path."""
        self._record.write(name, row)
        return self._record.path(name)

    @classmethod
    @contextmanager
    def open(cls, site: AttemptContext, *, action: str) -> Iterator[TipWorkspace]:
        """The tip between enter and exit; afterwards its workspace is gone and its record closed.

        What is raised inside goes on to the caller once that is done.
        """
        attempt = new_attempt_id(site.clock)
        task = AttemptTask(
            site,
            (),
            attempt,
            preparation=Preparation("", action=action),
            target=fix_target(site.project),
            workspace=site.workspace(attempt),
            merge=False,
        )
        record = begin_record(site, task)
        try:
            with open_workspace(task, record) as workspace:
                tip = cls(prepare(task, workspace, record))
                yield tip
        except BaseException as problem:
            reason = problem.message if isinstance(problem, DdxError) else repr(problem)
            record.tell("error", reason)
            broken = Failed(changed(task.facts, reason=reason), AttemptStatus.HARNESS_FAULT)
            record.finish(broken.as_row(), leftover=task.workspace)
            raise
        record.finish(_outcome(site, task, tip).as_row(), leftover=task.workspace)

    def _run(self, plan: CheckPlan, folder: str, after: Callable[[Check], None]) -> Proof:
        """No agent was here: the tip's own workspace will do."""
        checker = checker_in(self._room, folder=folder)
        return run_checks(lambda: checker, plan, self.commit, after=after)


def _outcome(site: AttemptContext, task: AttemptTask, tip: TipWorkspace) -> Outcome:
    """In the words of every attempt (X-15): nothing was made, and the checks pass or do not."""
    facts = changed(task.facts, folder=tip.folder)
    if site.stop.asked:
        return Failed(changed(facts, reason="interrupted"), AttemptStatus.INTERRUPTED)
    if tip.proof is None:
        return Failed(changed(facts, reason="nothing was proven"), AttemptStatus.NOTHING_DONE)
    facts = changed(facts, checks=tip.proof.checks)
    status = status_of_proof(tip.proof)
    if status is None:
        return NoChanges(facts, AttemptStatus.ALREADY_SATISFIED)
    return Failed(changed(facts, reason=reason_of_proof(tip.proof)), status)
