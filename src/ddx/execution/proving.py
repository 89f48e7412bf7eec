"""Whether a tree may land: all checks, on what would land and nothing else (X-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.execution.checks import plan_checks, run_checks
from ddx.execution.model import Product, Proof
from ddx.execution.record import CHECKS
from ddx.execution.results import check_row
from ddx.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.clock import Clock
    from ddx.execution.attempt import Task
    from ddx.execution.preparing import Room
    from ddx.execution.record import Record
    from ddx.harnesses.base import Reply
    from ddx.supervision import StopRequest


def prove(
    task: Task,
    room: Room,
    record: Record,
    commit: str,
    paths: Sequence[str],
    *,
    clock: Clock,
    stop: StopRequest,
    again: bool = False,
    reply: Reply | None = None,
) -> Proof:
    """Run everything that is asked of the beads; `paths` are what the attempt changed.

    `again`: the tree is a merge that must be brought into the workspace first (X-13).
    """
    if again:
        room.workspace.check_out(commit)
    removed = room.workspace.remove_new_ignored(room.ignored)
    if removed:
        record.tell("removed-ignored", listed(removed[:20]), count=len(removed))
    if task.preparation.checks is not None:
        product = Product(room.path, task.target.base, commit, tuple(paths), reply)
        return _recorded(Proof(commit, task.preparation.checks(product)), record)
    plan = plan_checks(
        task.beads,
        room.governing,
        default_checks=task.settings.default_checks,
        project_checks=room.project_checks,
        changed_paths=paths,
    )
    proof = run_checks(
        plan,
        commit=commit,
        project=task.project,
        workspace=room.path,
        record_folder=record.folder,
        env=room.env,
        masker=record.masker,
        clock=clock,
        stop=stop,
        wrap=room.wrap,
        folder="checks-merged" if again else "checks",
    )
    return _recorded(proof, record)


def _recorded(proof: Proof, record: Record) -> Proof:
    for check in proof.checks:
        word = "check-passed" if check.passed else "check-failed"
        said = check.command or check.name
        record.tell(word, f"{said} ({check.reason})" if check.reason else said)
    record.write(
        CHECKS,
        {
            "commit": proof.commit,
            "checks": [check_row(check) for check in proof.checks],
            "measured": [dict(item.__dict__) for item in proof.measured],
        },
    )
    return proof
