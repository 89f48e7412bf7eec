"""The tip of the target branch, proven once more: no agent, no claim, and nothing lands (V-1).

The workspace, its set-up, its environment and its fence are those of an attempt, and so is the
record. What the project's commands write goes with the workspace.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ddx.errors import DdxError
from ddx.execution.attempt import Task, open_workspace
from ddx.execution.checks import FOLDER, plan_checks, run_checks
from ddx.execution.governing import read_governing
from ddx.execution.landing import fix_target
from ddx.execution.model import Failed, NoChanges, Preparation, Status
from ddx.execution.planning import Plan, Run
from ddx.execution.preparing import prepare
from ddx.execution.prompting import bare_intent
from ddx.execution.record import CHECKS, Record, new_attempt_id
from ddx.execution.results import check_row, result_row
from ddx.execution.verdict import reason_of_proof, status_of_proof
from ddx.execution.workspace import workspace_path
from ddx.git import trees
from ddx.graph.committed import read_documents
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ddx.execution.model import Bead, Check, Outcome, Proof
    from ddx.execution.preparing import Room
    from ddx.execution.work import Site
    from ddx.graph.committed import Documents

_PROBES = "probes"


class Tip:
    """A workspace that holds the tip, and what can be asked of it until it goes."""

    def __init__(self, site: Site, task: Task, room: Room, record: Record) -> None:
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
        self._site = site
        self._task = task
        self._room = room
        self._record = record

    def prove(
        self, beads: Sequence[Bead], *, after: Callable[[Check], None] = lambda check: None
    ) -> Proof:
        """Everything that is asked of these beads and of the project, each command once (X-11)."""
        governing = read_governing(
            self._task.project,
            beads,
            checkout=self.workspace,
            base=self.commit,
            settings=self._task.settings,
        )
        plan = plan_checks(
            beads,
            governing,
            default_checks=self._task.settings.default_checks,
            project_checks=self._room.project_checks,
            changed_paths=None,
        )
        self.proof = self._run(plan, FOLDER, after)
        self._record.write(
            CHECKS,
            {
                "commit": self.commit,
                "checks": [check_row(check) for check in self.proof.checks],
                "measured": [],  # a floor is raised by a landing alone
            },
        )
        return self.proof

    def probe(
        self, commands: Sequence[str], *, after: Callable[[Check], None] = lambda check: None
    ) -> Proof:
        """Commands that nothing depends on; their logs lie apart."""
        items = tuple(Run(command, command, ("measure",)) for command in commands)
        return self._run(Plan(items), _PROBES, after)

    def documents(self) -> Documents:
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

    def _run(self, plan: Plan, folder: str, after: Callable[[Check], None]) -> Proof:
        return run_checks(
            plan,
            commit=self.commit,
            project=self._task.project,
            workspace=self.workspace,
            record_folder=self.folder,
            env=self._room.env,
            masker=self._record.masker,
            clock=self._site.clock,
            stop=self._site.stop,
            wrap=self._room.wrap,
            folder=folder,
            after=after,
        )


@contextmanager
def open_tip(site: Site, *, action: str) -> Iterator[Tip]:
    """The tip between enter and exit; afterwards its workspace is gone and its record closed.

    What is raised inside goes on to the caller once that is done.
    """
    attempt = new_attempt_id(site.clock)
    task = Task(
        site.project,
        site.settings,
        (),
        attempt,
        Preparation("", action=action),
        fix_target(site.project),
        workspace_path(site.project, site.settings, attempt),
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
    try:
        with open_workspace(task, record) as workspace:
            room = prepare(task, workspace, record, clock=site.clock, stop=site.stop)
            tip = Tip(site, task, room, record)
            yield tip
    except BaseException as problem:
        reason = problem.message if isinstance(problem, DdxError) else repr(problem)
        record.tell("error", reason)
        broken = Failed(changed(task.facts, reason=reason), Status.HARNESS_FAULT)
        record.finish(result_row(broken), leftover=task.workspace)
        raise
    record.finish(result_row(_outcome(site, task, tip)), leftover=task.workspace)


def _outcome(site: Site, task: Task, tip: Tip) -> Outcome:
    """In the words of every attempt (X-15): nothing was made, and the checks pass or do not."""
    facts = changed(task.facts, folder=tip.folder)
    if site.stop.asked:
        return Failed(changed(facts, reason="interrupted"), Status.INTERRUPTED)
    if tip.proof is None:
        return Failed(changed(facts, reason="nothing was proven"), Status.NOTHING_DONE)
    facts = changed(facts, checks=tip.proof.checks)
    status = status_of_proof(tip.proof)
    if status is None:
        return NoChanges(facts, Status.ALREADY_SATISFIED)
    return Failed(changed(facts, reason=reason_of_proof(tip.proof)), status)
