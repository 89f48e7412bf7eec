"""The second phase: a plan by the planner, filed as beads below one epic, in one change (O-6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.errors import Refused
from ddx.tracker.codec import decode
from ddx.tracker.drafting import create
from ddx.tracker.lifecycle import Ending, cancel, close
from ddx.tracker.model import RUNNER, labels_of, status_of, text_of
from helix.actions.filing import id_maker
from helix.actions.series import Series
from helix.objective.asking import PLANNER, Answered, Unanswered, ask_in_turn
from helix.objective.plan import EPIC_LABEL, OBJECTIVE_KEY, Broken, Plan, Unclear, read_plan
from helix.policy.drafts import clean_text, clean_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes
    from helix.desk import Desk
    from helix.objective.orchestrator import Orchestrator
    from helix.objective.session import Halt, Session

FILING = "filing"
"""The note of a plan with the ids of its beads, before they are filed: nothing is filed twice."""
ANSWER, FAILURE = "answer", "failure"

_CANCELLED = "the objective was planned anew"
_MOST_FAILURES = 20


def make_plan(session: Session) -> Plan | Unclear | Broken | Unanswered | Halt:
    """What the planner makes of the exploration, of earlier failures and of a person's answers."""
    orchestrator = session.orchestrator
    failures = [
        str(note.get("reason", ""))
        for note in (*orchestrator.earlier_notes(FAILURE), *orchestrator.notes(FAILURE))
    ]
    given: dict[str, Any] = {
        "objective": orchestrator.objective,
        "exploration": dict(orchestrator.exploration or {}),
        "failures": list(dict.fromkeys(failures))[-_MOST_FAILURES:],
        "answers": [
            str(text) for note in orchestrator.notes(ANSWER) for text in note.get("texts", ())
        ],
    }
    answer = ask_in_turn(session, PLANNER, given)
    return read_plan(answer.found) if isinstance(answer, Answered) else answer


def file_plan(desk: Desk, orchestrator: Orchestrator, plan: Plan) -> dict[str, Any]:
    """The beads of a plan are in the tracker; what the machine is told of them.

    Their ids are on record first, so that a crash in between files nothing twice.
    """
    site = desk.site
    draw_id = id_maker(site)
    epic = _find_epic(site, orchestrator.id) or draw_id()
    ids = {task.key: draw_id() for task in plan.tasks}
    rows = [{**task.as_row(epic, orchestrator.id), "id": ids[task.key]} for task in plan.tasks]
    orchestrator.note(FILING, {"epic": epic, "rows": rows})
    return file_noted(desk, orchestrator, orchestrator.fresh_notes(FILING)[-1])


def file_noted(desk: Desk, orchestrator: Orchestrator, note: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a plan that is on record already, whether its beads are there or not."""
    site = desk.site
    epic, rows = str(note["epic"]), list(note["rows"])
    ids = {str(row["key"]): str(row["id"]) for row in rows}
    head = {
        "id": epic,
        "title": clean_title(orchestrator.objective) or orchestrator.id,
        "description": clean_text(orchestrator.objective),
        "issue_type": "epic",
        "labels": [EPIC_LABEL],
        OBJECTIVE_KEY: orchestrator.id,
    }

    def decide(snapshot: Snapshot, now: str) -> Changes:
        series = Series(snapshot, now=now)
        if any(bead_id in snapshot for bead_id in ids.values()):
            return series.changes()
        for old in _unfinished(snapshot, orchestrator.id):
            series.add(cancel(series, old, reason=_CANCELLED, actor=RUNNER, now=now))
        drafts = [*(() if epic in snapshot else (head,)), *rows]
        series.add(create(series, drafts, now=now, by=RUNNER, draw_id=id_maker(site)))
        return series.changes()

    site.tracker.change(decide)
    waits = {str(row["key"]): row.get("depends-on", ()) for row in rows}
    return {
        "task_ids": list(ids.values()),
        "task_mapping": ids,
        "dependencies": {ids[key]: [ids[it] for it in wanted] for key, wanted in waits.items()},
        "epic": epic,
    }


def close_epic(desk: Desk, orchestrator: Orchestrator) -> str:
    """Closed if nothing below it is open; else a remark that says why it is not."""
    filed = orchestrator.notes(FILING)
    epic = str(filed[-1]["epic"]) if filed else ""

    def decide(snapshot: Snapshot, now: str) -> Changes:
        if snapshot.status(epic) != "open":
            return Series(snapshot, now=now).changes()
        ending = Ending("its objective is done")
        return close(snapshot, epic, ending, actor=RUNNER, now=now)

    try:
        desk.site.tracker.change(decide)
    except Refused as problem:
        return f"{epic} stays open: {problem.message}"
    return ""


def _unfinished(snapshot: Snapshot, objective_id: str) -> Iterator[str]:
    """Tasks of an earlier plan of the same objective that nobody works on."""
    for row in _rows_of(snapshot, objective_id):
        if EPIC_LABEL not in labels_of(row) and status_of(row) in ("open", "blocked"):
            yield text_of(row, "id")


def _find_epic(site: Site, objective_id: str) -> str:
    """The epic of an earlier plan, if something can still be added to it."""
    for row in _rows_of(site.tracker.snapshot(), objective_id):
        if EPIC_LABEL in labels_of(row) and status_of(row) == "open":
            return text_of(row, "id")
    return ""


def _rows_of(snapshot: Snapshot, objective_id: str) -> Iterator[Row]:
    for n, _ in enumerate(snapshot.columns.ids):
        row = decode(snapshot.line(n))
        if row.get(OBJECTIVE_KEY) == objective_id:
            yield row
