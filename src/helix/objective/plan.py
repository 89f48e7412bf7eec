"""A planner's tasks, from its answer to drafts of beads (O-6). Pure.

A task is called `001: slug`. Its delta becomes the bead's paths, its verify command what proves it,
and its budget, framework and idioms stay with the bead for whoever builds it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ddx.text import cut
from ddx.tracker.criteria import judge
from ddx.values import value
from helix.objective.readiness import detect_cycles
from helix.policy.drafts import Draft, clean_text, clean_title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OBJECTIVE_KEY, TASK_KEY = "objective", "objective-task"
"""Where a bead keeps whose task it is, and which."""
FRAMEWORK_KEY, IDIOMS_KEY = "framework", "idioms"
EPIC_LABEL, TASK_LABEL = "objective", "objective-task"
MOST_TASKS = 60
DEFAULT_BUDGET = 7

_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST_COMMAND = 2000
_LONGEST_PATH = 400
_MOST_PATHS = 100
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

    def as_draft(self, parent: str) -> Draft:
        """Its acceptance is what can be run; vague words of the planner's only describe (T-17)."""
        proof = "\n".join(f"- `{command}` passes" for command in self.verify if "`" not in command)
        both = "\n".join(filter(None, (self.acceptance.strip(), proof)))
        is_plain = judge({"acceptance": both, "verify": list(self.verify)}).ready
        wishes = "" if is_plain else f"It is done when:\n{self.acceptance}"
        return Draft(
            self.key,
            clean_title(self.subject),
            clean_text("\n\n".join(filter(None, (self.description, wishes)))),
            clean_text(both if is_plain else proof),
            (TASK_LABEL,),
            parent=parent,
            depends_on=self.depends_on,
        )

    def as_row(self, parent: str, objective_id: str) -> dict[str, Any]:
        """The whole draft of its bead, as the tracker takes it."""
        row = self.as_draft(parent).as_row()
        if self.verify:  # it is proven by these, also where no line of its acceptance can be run
            row.pop("execution-eligible", None)
            row.pop("execution-skip-reason", None)
        return {
            **row,
            "verify": list(self.verify),
            "paths": list(self.delta),
            "budget": self.budget,
            FRAMEWORK_KEY: self.framework,
            **({IDIOMS_KEY: _listed(self.idioms)} if any(self.idioms.values()) else {}),
            OBJECTIVE_KEY: objective_id,
            TASK_KEY: self.subject,
        }


@value
class Plan:
    """Tasks that can be filed."""

    tasks: tuple[PlannedTask, ...]

    @property
    def dependencies(self) -> dict[str, list[str]]:
        return {task.key: list(task.depends_on) for task in self.tasks if task.depends_on}


@value
class Unclear:
    """The planner cannot go on before a person has answered."""

    questions: tuple[str, ...]


@value
class Broken:
    """A plan that no machine could carry out; `cycles` if that is why."""

    reason: str
    cycles: tuple[tuple[str, ...], ...] = ()


def read_plan(answer: Mapping[str, Any]) -> Plan | Unclear | Broken:
    """What a planner's answer comes to; it has its contract's form already."""
    if answer.get("status") == "clarify":
        questions = tuple(clean_text(str(it)) for it in answer.get("questions", ()))
        asked = tuple(filter(None, questions))
        return Unclear(asked) if asked else Broken("it asks for clarity, and no question")
    tasks = tuple(_task(row) for row in answer.get("tasks", ()))
    return find_fault(tasks) or Plan(tasks)


def find_fault(tasks: Sequence[PlannedTask]) -> Broken | None:
    """Why these tasks are no plan; none at all are for the machine to refuse (NO_TASKS)."""
    keys = [task.key for task in tasks]
    if len(tasks) > MOST_TASKS:
        return Broken(f"{len(tasks)} tasks are too many for one objective: at most {MOST_TASKS}")
    for key in keys:
        if keys.count(key) > 1:
            return Broken(f"two tasks are called {key}")
    for task in tasks:
        if not task.slug:
            return Broken(f"task {task.key} has no name")
        if unknown := [it for it in task.depends_on if it not in keys]:
            return Broken(f"task {task.key} waits for {unknown[0]}, which is not in the plan")
        if not task.verify:
            return Broken(f"task {task.key} has no command that proves it")
    if cycles := detect_cycles({task.key: task.depends_on for task in tasks}):
        return Broken("its tasks wait for each other in a ring", tuple(map(tuple, cycles)))
    return None


def _task(row: Mapping[str, Any]) -> PlannedTask:
    verify = row.get("verify", ())
    commands = [verify] if isinstance(verify, str) else list(verify)
    idioms = row.get("idioms") or {}
    return PlannedTask(
        clean_title(str(row["seq"])).removesuffix(":"),
        _SLUG.sub("-", str(row["slug"]).casefold()).strip("-"),
        str(row["description"]),
        str(row.get("acceptance", "")),
        tuple(dict.fromkeys(path for it in row.get("delta", ()) if (path := _path(str(it))))),
        tuple(
            cut(command, _LONGEST_COMMAND)
            for it in commands
            if (command := " ".join(clean_text(str(it)).split()))
        ),
        int(row.get("budget") or DEFAULT_BUDGET),
        clean_title(str(row.get("framework") or "")),
        {
            key: tuple(cut(clean_text(str(it)), _LONGEST_IDIOM) for it in idioms.get(key, ()))
            for key in ("required", "forbidden")
        },
        tuple(clean_title(str(it)).removesuffix(":") for it in row.get("depends_on", ())),
    )


def _path(said: str) -> str:
    """A path below the root; one that leads elsewhere is no part of any delta."""
    path = said.strip().removeprefix("./")
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or not path.isprintable():
        return ""
    return cut(path, _LONGEST_PATH)


def _listed(idioms: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {key: list(rules) for key, rules in idioms.items() if rules}
