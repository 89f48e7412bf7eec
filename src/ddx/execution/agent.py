"""Asking the agent: the prompt, what failed before, the call (X-16, X-26)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ddx import __version__
from ddx.errors import NotFound
from ddx.execution.calling import Called, call_agent
from ddx.execution.checks import spoken_plan
from ddx.execution.excerpts import document_sections
from ddx.execution.prompt import failure_section, write_prompt
from ddx.execution.record import MANIFEST, PROMPT, USAGE, read_record
from ddx.execution.sandbox import wrapper
from ddx.harnesses.base import Request
from ddx.tracker.model import events_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.clock import Clock
    from ddx.execution.attempt import Task
    from ddx.execution.model import Bead, Section
    from ddx.execution.preparing import Room
    from ddx.execution.record import Record
    from ddx.harnesses.base import Harness
    from ddx.project import Project
    from ddx.supervision import StopRequest

ATTEMPT_EVENT = "attempt"
ATTEMPT_MARK = "attempt: "
"""How a bead's events name the attempts that did not land."""

_MOST_FAILURES = 3


def ask_agent(
    task: Task, harness: Harness, room: Room, record: Record, *, clock: Clock, stop: StopRequest
) -> Called:
    """The agent's one call; what it was told and what it cost is in the record."""
    preparation = task.preparation
    prompt = write_prompt(
        task.beads,
        before=preparation.sections,
        checks=()
        if preparation.checks
        else spoken_plan(task.beads, room.governing, room.project_checks, task.settings),
        documents=document_sections(room.governing, room.path),
        failures=list(earlier_failures(task.project, task.beads)),
        after=preparation.closing_sections,
    )
    record.write_text(PROMPT, prompt)
    record.write(
        MANIFEST,
        {
            "version": __version__,
            "harness": preparation.harness,
            "model": preparation.model,
            "effort": preparation.effort,
            "action": preparation.action,
            "base": task.target.base,
            "target": task.target.branch,
            "beads": {bead.id: bead.revision for bead in task.beads},
            "documents": {item.id: item.path for item in room.governing.documents},
            "limits": dict(preparation.limits.__dict__),
            "prompt_sha256": hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest(),
            "policy": dict(preparation.manifest),
        },
    )
    evidence = room.env["DDX_EVIDENCE_DIR"]
    request = Request(
        prompt,
        room.path,
        record.path("scratch"),
        model=preparation.model,
        effort=preparation.effort,
        max_cost_usd=preparation.limits.max_cost_usd,
        in_sandbox=task.settings.sandbox.kind != "none",
        script="\n".join(filter(None, (text_of(bead.row, "script") for bead in task.beads))),
    )
    called = call_agent(
        harness,
        request,
        record=record,
        env=room.env,
        limits=preparation.limits,
        clock=clock,
        stop=stop,
        wrap=wrapper(task, room.workspace.path, scratch=(request.scratch, evidence)),
        name=preparation.harness,
    )
    record.write(USAGE, called.reply.usage.as_row())
    return called


def earlier_attempts(bead: Bead) -> list[str]:
    """The attempts on this bead that did not land, as its events tell; oldest first."""
    return [
        text_of(happened, "body").partition("\n")[0].removeprefix(ATTEMPT_MARK)
        for happened in events_of(bead.row)
        if text_of(happened, "kind") == ATTEMPT_EVENT
        and text_of(happened, "body").startswith(ATTEMPT_MARK)
    ]


def earlier_failures(project: Project, beads: Sequence[Bead]) -> Iterator[Section]:
    """Of the last few attempts on each; a record that was pruned since has nothing to add."""
    for bead in beads:
        known = list(enumerate(earlier_attempts(bead), start=1))
        for number, attempt in known[-_MOST_FAILURES:]:
            try:
                result = read_record(project, attempt).result
            except NotFound:
                continue
            if result:
                yield failure_section(number, result)
