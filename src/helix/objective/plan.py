"""The second phase: a planner's answer becomes beads below one epic, in one change (O-6).

A task is called `001: slug`. Its delta becomes the bead's paths, its verify command what proves it,
and its budget, framework and idioms stay with the bead for whoever builds it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ddx.base import Refused, cut, value
from ddx.tracker import BeadClosure, judge
from helix.objective.model import detect_cycles
from helix.passes import BeadDraft, clean_text, clean_title, id_maker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ddx.attempts import AttemptContext
    from ddx.tracker import Bead, Snapshot, TrackerEdit
    from helix.objective.orchestrator import Orchestrator


OBJECTIVE_KEY, TASK_KEY = "objective", "objective-task"
"""Where a bead keeps whose task it is, and which."""
FRAMEWORK_KEY, IDIOMS_KEY = "framework", "idioms"
EPIC_LABEL, TASK_LABEL = "objective", "objective-task"
MOST_TASKS = 60
DEFAULT_BUDGET = 7
FILING = "filing"
"""The note of a plan with the ids of its beads, before they are filed: nothing is filed twice."""
ASKED, ANSWER, FAILURE = "asked", "answer", "failure"

_CANCELLED = "the objective was planned anew"
_MOST_FAILURES = 20
_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST_COMMAND = 2000
_LONGEST_PATH = 400
_LONGEST_IDIOM = 400


@value
class PlannedTask:
    """One task of a plan; `key` is what others wait for it by."""

    key: str
    slug: str
    description: str
    acceptance: str
    delta: tuple[str, ...]
    verify: tuple[str, ...]
    budget: int = DEFAULT_BUDGET
    framework: str = ""
    idioms: Mapping[str, tuple[str, ...]] = {}
    depends_on: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        return f"{self.key}: {self.slug}"

    def as_draft(self, parent: str) -> BeadDraft:
        """Its acceptance is what can be run; vague words of the planner's only describe (T-17)."""
        proof = "\n".join(f"- `{command}` passes" for command in self.verify if "`" not in command)
        both = "\n".join(filter(None, (self.acceptance.strip(), proof)))
        is_plain = judge({"acceptance": both, "verify": list(self.verify)}).ready
        wishes = "" if is_plain else f"It is done when:\n{self.acceptance}"
        return BeadDraft(
            key=self.key,
            title=clean_title(self.subject),
            description=clean_text("\n\n".join(filter(None, (self.description, wishes)))),
            acceptance=clean_text(both if is_plain else proof),
            labels=(TASK_LABEL,),
            parent=parent,
            depends_on=self.depends_on,
        )

    def as_row(self, parent: str, objective_id: str) -> dict[str, Any]:
        """The whole draft of its bead, as the tracker takes it."""
        row = self.as_draft(parent).as_row()
        if self.verify:  # it is proven by these, also where no line of its acceptance can be run
            row.pop("execution-eligible", None)
            row.pop("execution-skip-reason", None)
        idioms = {key: list(rules) for key, rules in self.idioms.items() if rules}
        return {
            **row,
            "verify": list(self.verify),
            "paths": list(self.delta),
            "budget": self.budget,
            FRAMEWORK_KEY: self.framework,
            **({IDIOMS_KEY: idioms} if idioms else {}),
            OBJECTIVE_KEY: objective_id,
            TASK_KEY: self.subject,
        }


@value
class TaskPlan:
    """Tasks that can be filed."""

    tasks: tuple[PlannedTask, ...]


@value
class UnclearPlan:
    """The planner cannot go on before a person has answered."""

    questions: tuple[str, ...]


@value
class InvalidPlan:
    """A plan that no machine could carry out; `cycles` if that is why."""

    reason: str
    cycles: tuple[tuple[str, ...], ...] = ()


def read_plan(answer: Mapping[str, Any]) -> TaskPlan | UnclearPlan | InvalidPlan:
    """What a planner's answer comes to; it has its contract's form already."""
    if answer.get("status") == "clarify":
        questions = tuple(clean_text(str(it)) for it in answer.get("questions", ()))
        asked = tuple(filter(None, questions))
        return UnclearPlan(asked) if asked else InvalidPlan("it asks for clarity, and no question")
    tasks = tuple(_task(row) for row in answer.get("tasks", ()))
    return find_fault(tasks) or TaskPlan(tasks)


def find_fault(tasks: Sequence[PlannedTask]) -> InvalidPlan | None:
    """Why these tasks are no plan; none at all are for the machine to refuse (NO_TASKS)."""
    keys = [task.key for task in tasks]
    if len(tasks) > MOST_TASKS:
        return InvalidPlan(
            f"{len(tasks)} tasks are too many for one objective: at most {MOST_TASKS}"
        )
    for key in keys:
        if keys.count(key) > 1:
            return InvalidPlan(f"two tasks are called {key}")
    for task in tasks:
        if not task.slug:
            return InvalidPlan(f"task {task.key} has no name")
        if unknown := [it for it in task.depends_on if it not in keys]:
            return InvalidPlan(f"task {task.key} waits for {unknown[0]}, which is not in the plan")
        if not task.verify:
            return InvalidPlan(f"task {task.key} has no command that proves it")
    if cycles := detect_cycles({task.key: task.depends_on for task in tasks}):
        return InvalidPlan("its tasks wait for each other in a ring", tuple(map(tuple, cycles)))
    return None


def _task(row: Mapping[str, Any]) -> PlannedTask:
    verify = row.get("verify", ())
    commands = [verify] if isinstance(verify, str) else list(verify)
    idioms = row.get("idioms") or {}
    return PlannedTask(
        key=clean_title(str(row["seq"])).removesuffix(":"),
        slug=_SLUG.sub("-", str(row["slug"]).casefold()).strip("-"),
        description=str(row["description"]),
        acceptance=str(row.get("acceptance", "")),
        delta=tuple(dict.fromkeys(path for it in row.get("delta", ()) if (path := _path(str(it))))),
        verify=tuple(
            cut(command, _LONGEST_COMMAND)
            for it in commands
            if (command := " ".join(clean_text(str(it)).split()))
        ),
        budget=int(row.get("budget") or DEFAULT_BUDGET),
        framework=clean_title(str(row.get("framework") or "")),
        idioms={
            key: tuple(cut(clean_text(str(it)), _LONGEST_IDIOM) for it in idioms.get(key, ()))
            for key in ("required", "forbidden")
        },
        depends_on=tuple(
            clean_title(str(it)).removesuffix(":") for it in row.get("depends_on", ())
        ),
    )


def _path(said: str) -> str:
    """A path below the root; one that leads elsewhere is no part of any delta."""
    path = said.strip().removeprefix("./")
    is_elsewhere = path.startswith(("/", "~")) or ".." in path.split("/")
    return "" if is_elsewhere or not path.isprintable() else cut(path, _LONGEST_PATH)


# -- asking for it, and filing it ----------------------------------------------------------


def question_for(orchestrator: Orchestrator) -> dict[str, Any]:
    """What the planner is given: the exploration, earlier failures and a person's answers."""
    failures = [
        str(note.get("reason", ""))
        for note in (*orchestrator.earlier_notes(FAILURE), *orchestrator.notes(FAILURE))
    ]
    return {
        "objective": orchestrator.objective,
        "exploration": dict(orchestrator.exploration or {}),
        "failures": list(dict.fromkeys(failures))[-_MOST_FAILURES:],
        "answers": [
            str(text) for note in orchestrator.notes(ANSWER) for text in note.get("texts", ())
        ],
    }


def file_plan(site: AttemptContext, orchestrator: Orchestrator, plan: TaskPlan) -> dict[str, Any]:
    """The beads of a plan are in the tracker; what the machine is told of them.

    Their ids are on record first, so that a crash in between files nothing twice.
    """
    draw_id = id_maker(site)
    epic = _find_epic(site, orchestrator.id) or draw_id()
    ids = {task.key: draw_id() for task in plan.tasks}
    rows = [{**task.as_row(epic, orchestrator.id), "id": ids[task.key]} for task in plan.tasks]
    orchestrator.note(FILING, {"epic": epic, "rows": rows})
    return file_noted(site, orchestrator, orchestrator.fresh_notes(FILING)[-1])


def file_noted(
    site: AttemptContext, orchestrator: Orchestrator, note: Mapping[str, Any]
) -> dict[str, Any]:
    """The same for a plan that is on record already, whether its beads are there or not."""
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

    def decide(edit: TrackerEdit) -> None:
        if any(bead_id in edit for bead_id in ids.values()):
            return
        for old in _beads_of(edit.before, orchestrator.id):  # of an earlier plan, nobody's now
            if EPIC_LABEL not in old.labels and old.status in ("open", "blocked"):
                edit.cancel(old.id, reason=_CANCELLED)
        drafts = [*(() if epic in edit else (head,)), *rows]
        edit.create(drafts, draw_id=id_maker(site))

    site.tracker.edit(decide)
    waits = {str(row["key"]): row.get("depends-on", ()) for row in rows}
    return {
        "task_ids": list(ids.values()),
        "task_mapping": ids,
        "dependencies": {ids[key]: [ids[it] for it in wanted] for key, wanted in waits.items()},
        "epic": epic,
    }


def close_epic(site: AttemptContext, orchestrator: Orchestrator) -> str:
    """Closed if nothing below it is open; else a remark that says why it is not."""
    filed = orchestrator.notes(FILING)
    epic = str(filed[-1]["epic"]) if filed else ""

    def decide(edit: TrackerEdit) -> None:
        if edit.status(epic) == "open":
            edit.close(epic, BeadClosure("its objective is done"))

    try:
        site.tracker.edit(decide)
    except Refused as problem:
        return f"{epic} stays open: {problem.message}"
    return ""


def _find_epic(site: AttemptContext, objective_id: str) -> str:
    """The epic of an earlier plan, if something can still be added to it; else empty."""
    beads = _beads_of(site.tracker.snapshot(), objective_id)
    epics = (bead.id for bead in beads if EPIC_LABEL in bead.labels and bead.status == "open")
    return next(epics, "")


def _beads_of(snapshot: Snapshot, objective_id: str) -> Iterator[Bead]:
    return (bead for bead in snapshot.beads() if bead.get(OBJECTIVE_KEY) == objective_id)
