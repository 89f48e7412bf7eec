"""What each agent is given and must answer, as agents/NAME.yaml says it (O-7)."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from ddx.errors import CorruptFile, UsageError
from ddx.execution.project_checks import pattern_of
from ddx.execution.shapes import find_misfit
from ddx.text import listed
from helix.resources import find_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NAMES = ("explorer", "planner", "builder", "observer")
NEEDS = ("smart", "cheap")

_PREFIX = "helix-"
_WILDCARDS = frozenset("*?")


class AgentContract:
    """One agent's contract: its schemas, the model that it needs, how many steps it may take."""

    def __init__(self, name: str) -> None:
        self.name = name.removeprefix(_PREFIX)
        if self.name not in NAMES:
            raise UsageError(
                f"there is no agent {name!r}", hint=f"there are {listed(NAMES)}, and no other"
            )
        self.path = os.path.join(find_resources("agents"), f"{self.name}.yaml")
        row = _read(self.path)
        self.description = str(row["description"])
        self.model = str(row["model"])
        self.budget = int(row["budget"])
        self.input_schema: dict[str, Any] = row["input"]
        self.output_schema: dict[str, Any] = row["output"]

    def validate_input(self, given: Any) -> tuple[bool, str]:
        """Whether the agent may be asked with this, and else where it does not fit."""
        return _judged(given, self.input_schema, "input")

    def validate_output(
        self, given: Any, *, delta: Iterable[str] = (), root: str = ""
    ) -> tuple[bool, str]:
        """Whether this is an answer; files that it names must lie in the task's delta."""
        fits, error = _judged(given, self.output_schema, "output")
        files = given.get("files", ()) if fits else ()
        for n, path in enumerate(files):
            if outside_delta((path,), delta, root=root or os.getcwd()):
                return False, f"output.files[{n}]: {path} is outside of the task's delta"
        return fits, error


def outside_delta(paths: Iterable[str], delta: Iterable[str], *, root: str) -> tuple[str, ...]:
    """The paths that do not really lie in the delta; an empty delta allows the whole project.

    By where a path leads, links followed: that a file is called the same proves nothing.
    """
    home = os.path.realpath(root)
    allowed = [_pattern(entry, home) for entry in delta]
    return tuple(path for path in paths if not _is_allowed(path, allowed, home))


def _pattern(entry: str, home: str) -> re.Pattern[str]:
    """What an entry means below the root: the part of it without wildcards is looked up."""
    parts = entry.removeprefix("./").rstrip("/").split("/")
    fixed = next((n for n, part in enumerate(parts) if set(part) & _WILDCARDS), len(parts))
    folder = os.path.realpath(os.path.join(home, *parts[:fixed]))
    rest = os.path.normpath("/".join((os.path.relpath(folder, home), *parts[fixed:])))
    return pattern_of("/**" if rest == "." else f"/{rest}")


def _is_allowed(path: str, allowed: Sequence[re.Pattern[str]], home: str) -> bool:
    real = os.path.relpath(os.path.realpath(os.path.join(home, path)), home)
    if real == ".." or real.startswith("../"):
        return False
    return not allowed or any(pattern.fullmatch(real) for pattern in allowed)


def _judged(given: Any, schema: dict[str, Any], what: str) -> tuple[bool, str]:
    error = find_misfit(given, json.dumps(schema), what=what)
    return not error, error


def _read(path: str) -> dict[str, Any]:
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            row = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise CorruptFile(f"{path} cannot be read: {problem}", hint="install HELIX again") from None
    wanted = {"description": str, "model": str, "budget": int, "input": dict, "output": dict}
    for key, kind in wanted.items():
        if not isinstance(row, dict) or not isinstance(row.get(key), kind):
            raise CorruptFile(f"{path} has no {key}", hint="install HELIX again")
    if row["model"] not in NEEDS:
        raise CorruptFile(f"{path}: model is {listed(NEEDS, joiner='or')}")
    found: dict[str, Any] = row
    return found
