"""What must hold before an attempt lands: one list in which nothing stands twice (X-11). Pure."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ddx.execution.project_checks import BrokenCheck, ProjectCheck
from ddx.execution.states import spoken_state
from ddx.text import cut
from ddx.tracker.criteria import FileContains, PathAbsent, PathExists, RunCommand, judge
from ddx.tracker.model import labels_of
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from ddx.execution.governing import Governing
    from ddx.execution.model import Bead
    from ddx.execution.project_checks import ProjectChecks
    from ddx.execution.states import State
    from ddx.graph.proof.definitions import Command, Execution
    from ddx.graph.proof.measuring import Metric
    from ddx.settings import Settings

T = TypeVar("T")

DEFAULT_TIMEOUT_S = 600.0
_LONGEST_NAME = 80


@value
class Run:
    """A command that must exit 0; with an execution its run is recorded, its numbers are read."""

    name: str
    command: Command
    origins: tuple[str, ...]
    timeout_s: float = DEFAULT_TIMEOUT_S
    prints: tuple[str, ...] = ()
    """What it must print; an empty text: anything at all."""
    execution: Execution | None = None
    ratchets: tuple[Metric, ...] = ()


@value
class Look:
    """A state of the files that must hold."""

    name: str
    state: State
    origins: tuple[str, ...]


@value
class Impossible:
    """Something that nobody can check; it fails."""

    name: str
    origins: tuple[str, ...]
    reason: str


Planned: TypeAlias = Run | Look | Impossible


@value
class Plan:
    """All that is checked, in order."""

    items: tuple[Planned, ...]


def plan_checks(
    beads: Sequence[Bead],
    governing: Governing,
    *,
    default_checks: Sequence[str],
    project_checks: ProjectChecks,
    changed_paths: Iterable[str] | None,
) -> Plan:
    """Everything that is asked of these beads; where nothing is asked, that is a failure.

    `changed_paths` None: nobody knows them yet, so every project check counts.
    """
    plan = _Builder()
    for error in governing.errors:
        plan.fail("documents", "documents at the base", error)
    for bead in beads:
        whose = f"{bead.id} " if len(beads) > 1 else ""
        plan.add_criteria(bead, whose, default_checks)
    for command in default_checks:
        plan.run(_named(command), command, "checks.default")
    paths = None if changed_paths is None else list(changed_paths)
    labels = {label for bead in beads for label in labels_of(bead.row)}
    for check in project_checks:
        match check:
            case BrokenCheck():
                plan.fail(check.name, check.path, f"{check.path}: {check.what}")
            case ProjectCheck() if check.applies(paths, labels):
                limit_s = check.timeout_s or DEFAULT_TIMEOUT_S
                plan.run(check.name, check.command, check.path, timeout_s=limit_s)
    for execution in governing.required:
        plan.execute(execution)
    for metric in governing.ratchets:
        plan.execute(governing.definitions.runs[metric.name], metric)
    return plan.finished()


def spoken_plan(
    beads: Sequence[Bead], governing: Governing, project_checks: ProjectChecks, settings: Settings
) -> list[str]:
    """The plan as an agent is told it, before anybody knows what will change."""
    plan = plan_checks(
        beads,
        governing,
        default_checks=settings.default_checks,
        project_checks=project_checks,
        changed_paths=None,
    )
    return [line for item in plan.items for line in _spoken(item)]


def spoken_command(command: Command) -> str:
    return command if isinstance(command, str) else join(command)


def _spoken(item: Planned) -> Iterable[str]:
    match item:
        case Run():
            texts = "".join(f", and prints {text!r}" for text in item.prints if text)
            where = f" (in {item.execution.cwd})" if item.execution and item.execution.cwd else ""
            yield f"`{spoken_command(item.command)}`{where} exits 0{texts}"
            for metric in item.ratchets:
                yield f"{metric.name} does not get worse ({metric.direction} is better)"
        case Look():
            yield item.name
        case Impossible():
            return


class _Builder:
    """The plan as it grows; what is asked twice is done once, and its origins are both named."""

    def __init__(self) -> None:
        self._items: dict[Hashable, Planned] = {}

    def finished(self) -> Plan:
        return Plan(tuple(self._items.values()))

    def fail(self, name: str, origin: str, reason: str) -> None:
        self._items[Impossible, origin, reason] = Impossible(name, (origin,), reason)

    def add_criteria(self, bead: Bead, whose: str, default_checks: Sequence[str]) -> None:
        """All that the bead itself asks for; what makes it ready is exactly this (T-17)."""
        verdict = judge(bead.row, default_checks=tuple(default_checks))
        if not verdict.criteria:
            problem = verdict.problems[0]
            self.fail(bead.id, f"{whose}acceptance", f"{problem.why}; {problem.fix}")
        for criterion in verdict.criteria[: len(verdict.criteria) - len(default_checks)]:
            origin = f"{whose}{criterion.source}"
            match criterion:
                case RunCommand(command=command, prints=text):
                    self.run(_named(command), command, origin, prints=text)
                case PathExists() | PathAbsent() | FileContains():
                    self._look(criterion, origin)

    def run(
        self,
        name: str,
        command: Command,
        origin: str,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        prints: str | None = None,
    ) -> None:
        texts = () if prints is None else (prints,)
        there = self._items.get(command)
        if not isinstance(there, Run):
            self._items[command] = Run(name, command, (origin,), timeout_s, texts)
            return
        self._items[command] = changed(
            there,
            origins=_together(there.origins, (origin,)),
            timeout_s=max(there.timeout_s, timeout_s),
            prints=_together(there.prints, texts),
        )

    def execute(self, execution: Execution, ratchet: Metric | None = None) -> None:
        """A run that is recorded; a plain command of the same words is the same run."""
        key: Hashable = (Run, execution.id, execution.path)
        there = self._items.get(key)
        if there is None and not execution.cwd and not execution.env:
            same = self._items.get(execution.command)
            if isinstance(same, Run) and same.execution in (None, execution):
                key, there = execution.command, same
        if not isinstance(there, Run):
            there = Run(execution.id, execution.command, (), execution.timeout_ms / 1000)
        self._items[key] = changed(
            there,
            origins=_together(there.origins, (execution.path,)),
            timeout_s=max(there.timeout_s, execution.timeout_ms / 1000),
            execution=execution,
            ratchets=_together(there.ratchets, (ratchet,) if ratchet else ()),
        )

    def _look(self, state: State, origin: str) -> None:
        name = spoken_state(state)
        there = self._items.get((Look, changed(state, source="")))
        before = there.origins if isinstance(there, Look) else ()
        self._items[Look, changed(state, source="")] = Look(
            name, state, _together(before, (origin,))
        )


def _together(before: tuple[T, ...], more: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*before, *more)))


def _named(command: str) -> str:
    return cut(" ".join(command.split()), _LONGEST_NAME)
