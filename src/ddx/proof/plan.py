"""What must hold before an attempt lands: one list in which nothing stands twice (X-11). Pure."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, TypeAlias, TypeVar, assert_never

from ddx.base import changed, cut, value
from ddx.documents import numbered_id, resolve, type_of
from ddx.proof.project_checks import BrokenCheck, ProjectCheck, is_within
from ddx.tracker import (
    FileContains,
    PathAbsent,
    PathExists,
    RunCommand,
    criteria_of,
    judge,
    labels_of,
    text_of,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from ddx.documents import CommandLine, Execution, Metric
    from ddx.project import DefaultCheck, Settings
    from ddx.proof.governing import Governance
    from ddx.proof.project_checks import ProjectChecks
    from ddx.tracker import Bead

FileState: TypeAlias = PathExists | PathAbsent | FileContains
T = TypeVar("T")
DEFAULT_TIMEOUT_S = 600.0
_LONGEST_NAME = 80


@value
class CommandCheck:
    """A command that must exit 0; with an execution its run is recorded, its numbers are read."""

    name: str
    command: CommandLine
    origins: tuple[str, ...]
    timeout_s: float = DEFAULT_TIMEOUT_S
    prints: tuple[str, ...] = ()
    """What it must print; an empty text: anything at all."""
    execution: Execution | None = None
    ratchets: tuple[Metric, ...] = ()


@value
class FileStateCheck:
    """A state of the files that must hold."""

    name: str
    state: FileState
    origins: tuple[str, ...]


@value
class ImpossibleCheck:
    """Something that nobody can check; it fails."""

    name: str
    origins: tuple[str, ...]
    reason: str


PlannedCheck: TypeAlias = CommandCheck | FileStateCheck | ImpossibleCheck


@value
class CheckPlan:
    """All that is checked, in order."""

    items: tuple[PlannedCheck, ...]


def plan_checks(
    beads: Sequence[Bead],
    governing: Governance,
    *,
    default_checks: Sequence[DefaultCheck],
    project_checks: ProjectChecks,
    changed_paths: Iterable[str] | None,
) -> CheckPlan:
    """Everything that is asked of these beads; where nothing is asked, that is a failure.

    `changed_paths` None: nobody knows them yet, so every project check counts.
    """
    plan = _Builder()
    for error in governing.errors:
        plan.fail("documents", "documents at the base", error)
    for bead in beads:
        whose = f"{bead.id} " if len(beads) > 1 else ""
        plan.add_criteria(bead, whose, [it.command for it in default_checks])
    paths = None if changed_paths is None else list(changed_paths)
    for default in default_checks:
        if is_within(default.paths, paths):
            limit_s = default.timeout_s or DEFAULT_TIMEOUT_S
            plan.run(_named(default.command), default.command, default.origin, timeout_s=limit_s)
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
    if plan.is_empty and default_checks:
        plan.fail("checks.scopes", "checks.scopes", "no check covers the paths that changed")
    return plan.finished()


def spoken_plan(
    beads: Sequence[Bead], governing: Governance, project_checks: ProjectChecks, settings: Settings
) -> list[str]:
    """The plan as an agent is told it, before anybody knows what will change."""
    plan = plan_checks(
        beads,
        governing,
        default_checks=settings.checks,
        project_checks=project_checks,
        changed_paths=None,
    )
    return [line for item in plan.items for line in _spoken(item)]


def spoken_command(command: CommandLine) -> str:
    return command if isinstance(command, str) else join(command)


def spoken_state(state: FileState) -> str:
    match state:
        case PathExists(path=path):
            return f"{path} exists"
        case PathAbsent(path=path):
            return f"{path} is absent"
        case FileContains(path=path, text=text):
            return f"{path} contains {cut(text, 80)!r}"
        case other:
            assert_never(other)


def _spoken(item: PlannedCheck) -> Iterable[str]:
    match item:
        case CommandCheck():
            texts = "".join(f", and prints {text!r}" for text in item.prints if text)
            where = f" (in {item.execution.cwd})" if item.execution and item.execution.cwd else ""
            yield f"`{spoken_command(item.command)}`{where} exits 0{texts}"
            for metric in item.ratchets:
                yield f"{metric.name} does not get worse ({metric.direction} is better)"
        case FileStateCheck():
            yield item.name
        case ImpossibleCheck():
            return


class _Builder:
    """The plan as it grows; what is asked twice is done once, and its origins are both named."""

    def __init__(self) -> None:
        self._items: dict[Hashable, PlannedCheck] = {}

    @property
    def is_empty(self) -> bool:
        return not self._items

    def finished(self) -> CheckPlan:
        return CheckPlan(tuple(self._items.values()))

    def fail(self, name: str, origin: str, reason: str) -> None:
        self._items[ImpossibleCheck, origin, reason] = ImpossibleCheck(name, (origin,), reason)

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
        command: CommandLine,
        origin: str,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        prints: str | None = None,
    ) -> None:
        texts = () if prints is None else (prints,)
        there = self._items.get(command)
        if not isinstance(there, CommandCheck):
            there = CommandCheck(name, command, (), timeout_s=timeout_s)
        self._items[command] = changed(
            there,
            origins=_together(there.origins, (origin,)),
            timeout_s=max(there.timeout_s, timeout_s),
            prints=_together(there.prints, texts),
        )

    def execute(self, execution: Execution, ratchet: Metric | None = None) -> None:
        """A run that is recorded; a plain command of the same words is the same run."""
        key: Hashable = (CommandCheck, execution.id, execution.path)
        there = self._items.get(key)
        if there is None and not execution.cwd and not execution.env:
            same = self._items.get(execution.command)
            if isinstance(same, CommandCheck) and same.execution in (None, execution):
                key, there = execution.command, same
        if not isinstance(there, CommandCheck):
            there = CommandCheck(
                execution.id, execution.command, (), timeout_s=execution.timeout_ms / 1000
            )
        self._items[key] = changed(
            there,
            origins=_together(there.origins, (execution.path,)),
            timeout_s=max(there.timeout_s, execution.timeout_ms / 1000),
            execution=execution,
            ratchets=_together(there.ratchets, (ratchet,) if ratchet else ()),
        )

    def _look(self, state: FileState, origin: str) -> None:
        key = (FileStateCheck, changed(state, source=""))
        there = self._items.get(key)
        origins = _together(there.origins if there else (), (origin,))
        self._items[key] = FileStateCheck(spoken_state(state), state, origins)


def _together(before: tuple[T, ...], more: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*before, *more)))


def _named(command: str) -> str:
    return cut(" ".join(command.split()), _LONGEST_NAME)


_PUNCTUATION = "`'\"*_.,;:!?()[]{}<>"
_MOST = 20
_MEND = "mend that first: what is required there would be missed"


@value
class BeadWarning:
    """What does not fit, and what to do about it."""

    why: str
    fix: str


def find_disagreements(bead: Bead, governing: Governance) -> tuple[BeadWarning, ...]:
    """Of one bead with what governs it alone."""
    found = [
        *(BeadWarning(f"no attempt on it can be proven: {it}", _MEND) for it in governing.errors),
        *_not_run(bead, governing),
        *_removed(bead, governing),
    ]
    return tuple(dict.fromkeys(found))[:_MOST]


def _not_run(bead: Bead, governing: Governance) -> Iterator[BeadWarning]:
    """Execution documents that the acceptance speaks of but that would not run."""
    executions = governing.definitions.executions
    known = {doc_id.casefold(): doc_id for doc_id in executions}
    broken = {item.id.casefold() for item in governing.definitions.broken}
    running = {execution.id for execution in governing.required}
    for name in _executions_named(bead):
        doc_id = resolve(name, known)
        if not doc_id and name.casefold() not in broken:
            yield BeadWarning(
                f"its acceptance speaks of {name}, but there is no such execution document",
                "see which there are: ddx exec list",
            )
        elif doc_id and not executions[doc_id].required:
            yield BeadWarning(
                f"its acceptance speaks of {doc_id}, which is not required and so would not run",
                f"write `required: true` in {executions[doc_id].path}, or name its command",
            )
        elif doc_id and doc_id not in running:
            yield BeadWarning(
                f"its acceptance speaks of {doc_id}, which belongs to other documents "
                "and so would not run",
                f"name a document that it proves: ddx bead update {typed(bead.id)} --refs ...",
            )


def _executions_named(bead: Bead) -> list[str]:
    """Ids such as EXEC-001; a path is a file to be made, and no run."""
    made = {
        numbered_id(criterion.path.rpartition("/")[2])
        for criterion in criteria_of(bead.row)
        if isinstance(criterion, PathExists)
    }
    words = (word.strip(_PUNCTUATION) for word in text_of(bead.row, "acceptance").split())
    ids = (numbered_id(word) for word in words if "/" not in word and not word.endswith(".md"))
    return [
        it for it in dict.fromkeys(ids) if it and it not in made and type_of("", it, "") == "exec"
    ]


def _removed(bead: Bead, governing: Governance) -> Iterator[BeadWarning]:
    for criterion in criteria_of(bead.row):
        if not isinstance(criterion, PathAbsent):
            continue
        for execution in governing.required:
            if _needs(execution, criterion.path.strip("/")):
                command = cut(spoken_command(execution.command), 80)
                yield BeadWarning(
                    f"{criterion.source} wants {criterion.path} gone, but {execution.id} needs it: "
                    f"{command}",
                    f"change one of them: the bead, or {execution.path}",
                )


def _needs(execution: Execution, path: str) -> bool:
    command = execution.command
    words = command.split() if isinstance(command, str) else command
    below = execution.cwd.strip("/")
    paths = [below, execution.path, *(_plain(word, below) for word in words)]
    return any(it == path or it.startswith(f"{path}/") for it in paths)


def _plain(word: str, folder: str) -> str:
    """A word of a command as a path from the project's root."""
    word = word.strip("\"';()&|").removeprefix("./")
    return f"{folder}/{word}" if folder else word
