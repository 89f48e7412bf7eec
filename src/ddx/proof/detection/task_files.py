"""Targets of Makefile, justfile and Taskfile that test, lint, type or build (R-1). Pure."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from ddx.base import BrokenYaml, Nodes, value
from ddx.proof.detection.command_lines import commands_of, core_words, kind_of

if TYPE_CHECKING:
    from ddx.proof.detection.command_lines import CheckKind
    from ddx.proof.detection.repository_files import RepositoryFiles

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_TASKFILES = ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml")
_RULE = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\s+[^:=]*)?:(?!=)\s*(.*)$")
_BY_NAME: dict[CheckKind, tuple[str, ...]] = {
    "test": ("test", "tests", "check", "unit", "unittest", "spec"),
    "lint": ("lint", "style"),
    "types": ("typecheck", "types", "mypy", "typing"),
    "build": ("build",),
}


@value
class Target:
    """A target by name, the commands of its recipe, and where it stands."""

    name: str
    program: str
    recipe: tuple[str, ...]
    where: str = ""

    @property
    def call(self) -> str:
        return f"{self.program} {self.name}"

    def runner_command(self) -> str:
        """The recipe's own test command where that is one plain line; else nothing."""
        tests = [it for it in self.recipe if kind_of(it) == "test" and "$" not in it]
        others = [it for it in self.recipe if "$" in it and kind_of(it) is not None]
        return tests[0] if len(tests) == 1 and not others else ""


def targets_of(files: RepositoryFiles, folder: str) -> dict[str, Target]:
    """Every target of the task files of one folder, by its name."""
    found: dict[str, Target] = {}
    for program, names in (("make", _MAKEFILES), ("just", _JUSTFILES), ("task", _TASKFILES)):
        path = next((it for name in names if (it := posixpath.join(folder, name)) in files), None)
        if path is None:
            continue
        text = files.text(path)
        read = _read_taskfile(text, path) if program == "task" else _read_rules(text, path, program)
        for target in read:
            found.setdefault(target.name, target)
    return found


def usual_target(targets: dict[str, Target], kind: CheckKind) -> Target | None:
    """The target that serves a purpose by its usual name; None if there is none."""
    return next((targets[name] for name in _BY_NAME.get(kind, ()) if name in targets), None)


def target_of_call(command: str, targets: dict[str, Target]) -> Target | None:
    """The target that `make ci` or `just test` calls; None if it is none of ours."""
    words = core_words(command)
    if not words or words[0] not in ("make", "gmake", "just", "task"):
        return None
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return targets.get(named[0]) if len(named) == 1 else None


def _read_rules(text: str, path: str, program: str) -> list[Target]:
    found: list[Target] = []
    name, where, recipe = "", "", []
    for number, line in enumerate([*text.splitlines(), "end:"], start=1):
        if line[:1] in (" ", "\t"):
            if name:
                recipe.append(line.strip().lstrip("@-"))
            continue
        rule = _RULE.match(line)
        if not line.strip() or line.startswith("#") or rule is None:
            continue
        if name:
            commands = tuple(it.text for it in commands_of("\n".join(recipe)))
            found.append(Target(name, program, commands, where=where))
        name, where, recipe = rule.group(1), f"{path}:{number}", []
    return found


def _read_taskfile(text: str, path: str) -> list[Target]:
    try:
        nodes = Nodes(text)
        table = nodes.values()
    except BrokenYaml:
        return []
    tasks = table.get("tasks") if isinstance(table, dict) else None
    found = []
    for name, body in tasks.items() if isinstance(tasks, dict) else ():
        listed = body.get("cmds") if isinstance(body, dict) else body
        lines = [
            it for it in (listed if isinstance(listed, list) else [listed]) if isinstance(it, str)
        ]
        number = next(
            (
                n
                for n, line in enumerate(text.splitlines(), 1)
                if line.strip().startswith(f"{name}:")
            ),
            1,
        )
        found.append(Target(str(name), "task", tuple(lines), where=f"{path}:{number}"))
    return found


def is_test_like(target: Target) -> bool:
    """Whether a target of a usual name tests something: `check` may well only lint."""
    kinds = {kind_of(it) for it in target.recipe}
    return "test" in kinds or kinds.isdisjoint({"lint", "types"})
