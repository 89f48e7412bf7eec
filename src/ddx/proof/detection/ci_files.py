"""The commands that a repository's CI runs, each with the line it stands in (R-1). Pure."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from ddx.base import BrokenYaml, Nodes, value, word_set
from ddx.proof.detection.command_lines import (
    commands_of,
    is_without_effect,
    kind_of,
    why_unresolved,
    words_of_command,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_GITHUB = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_OTHERS = {
    ".gitlab-ci.yml": "gitlab",
    ".circleci/config.yml": "circle",
    "azure-pipelines.yml": "azure",
    ".azure-pipelines.yml": "azure",
}
_TRIGGERS = word_set("push pull_request pull_request_target merge_group workflow_call")
_NO_JOB = word_set(
    "default include stages variables workflow image services cache before_script after_script"
)
_FOREIGN = re.compile(r"windows|macos|macOS|darwin", re.IGNORECASE)


@value
class CiCommand:
    """One command of a CI job."""

    command: str
    where: str
    job: str
    folder: str = ""
    why_not: str = ""
    """Why it cannot be run outside of CI; empty if it can."""


def is_ci_file(path: str) -> bool:
    """Whether a path holds the definition of a CI that we can read."""
    return path in _OTHERS or _GITHUB.fullmatch(path) is not None


def ci_commands(path: str, text: str) -> list[CiCommand]:
    """What one CI file runs, in its order; a file that is no YAML gives nothing."""
    try:
        nodes = Nodes(text)
        top = _Part(nodes.top, nodes)
        match _OTHERS.get(path, "github"):
            case "github":
                found = _github(top, path)
            case "gitlab":
                found = _gitlab(top, path)
            case "circle":
                found = _circle(top, path)
            case _:
                found = _azure(top, path)
        return list(found)
    except BrokenYaml:
        return []


class _Part:
    """A part of a YAML text that knows its line, with a forgiving way into it."""

    def __init__(self, node: Any, nodes: Nodes) -> None:
        self._node = node
        self._nodes = nodes

    @property
    def line(self) -> int:
        """The line of the first command: of a text in a block, the one after its mark."""
        number: int = self._node.start_mark.line + 1
        return number + 1 if getattr(self._node, "style", None) in ("|", ">") else number

    @property
    def is_folded(self) -> bool:
        return getattr(self._node, "style", None) == ">"

    @property
    def text(self) -> str:
        """The text of a scalar, else nothing."""
        value = getattr(self._node, "value", "")
        return value if isinstance(value, str) else ""

    def plain(self) -> str:
        """All of it as one text, to search in."""
        return str(self._nodes.value_of(self._node)) if self._node is not None else ""

    def items(self) -> Iterator[tuple[str, _Part]]:
        """The entries of a table."""
        if getattr(self._node, "id", "") == "mapping":
            for key, held in self._node.value:
                yield str(key.value), _Part(held, self._nodes)

    def each(self) -> Iterator[_Part]:
        """The entries of a list; a text alone counts as one."""
        if getattr(self._node, "id", "") == "sequence":
            for held in self._node.value:
                yield _Part(held, self._nodes)
        elif self.text:
            yield self

    def __getitem__(self, key: str) -> _Part:
        return next((held for name, held in self.items() if name == key), _Part(None, self._nodes))

    def __bool__(self) -> bool:
        return self._node is not None and getattr(self._node, "value", None) not in ("", [], None)


def _github(top: _Part, path: str) -> Iterator[CiCommand]:
    triggers = {name for name, _ in top["on"].items()} | {it.text for it in top["on"].each()}
    if triggers and triggers.isdisjoint(_TRIGGERS):
        return
    for name, job in top["jobs"].items():
        runs_on = job["runs-on"].plain()
        if _FOREIGN.search(runs_on) and "matrix" not in runs_on:
            continue
        folder = _folder(job["defaults"]["run"]["working-directory"]) or _folder(
            top["defaults"]["run"]["working-directory"]
        )
        reader = _JobReader(path, name, has_services=bool(job["services"]))
        for step in job["steps"].each():
            if not step["run"]:
                continue
            condition = step["if"].text
            if _FOREIGN.search(condition) and "!" not in condition:
                continue
            reader.read(
                step["run"],
                folder=_folder(step["working-directory"]) or folder,
                why_not=_unknown_variable(step["env"])
                or (f"runs only if {condition}" if condition else ""),
            )
        yield from reader.found


def _gitlab(top: _Part, path: str) -> Iterator[CiCommand]:
    for name, job in top.items():
        if name in _NO_JOB or name.startswith(".") or not job["script"]:
            continue
        reader = _JobReader(path, name, has_services=bool(job["services"] or top["services"]))
        for key in ("before_script", "script"):
            for line in (job[key] or top[key]).each():
                reader.read(line)
        yield from reader.found


def _circle(top: _Part, path: str) -> Iterator[CiCommand]:
    for name, job in top["jobs"].items():
        images = list(job["docker"].each())
        reader = _JobReader(path, name, has_services=len(images) > 1)
        for step in job["steps"].each():
            run = step["run"]
            folder = _folder(run["working_directory"]) or _folder(job["working_directory"])
            reader.read(run["command"] if run["command"] else run, folder=folder)
        yield from reader.found


def _azure(top: _Part, path: str) -> Iterator[CiCommand]:
    jobs = [top]
    for holder in (top, *top["stages"].each()):
        jobs.extend(holder["jobs"].each())
    for number, job in enumerate(jobs):
        name = job["job"].text or f"job {number}"
        reader = _JobReader(path, name, has_services=bool(job["services"]))
        for step in job["steps"].each():
            script = step["script"] if step["script"] else step["bash"]
            reader.read(script, folder=_folder(step["workingDirectory"]))
        yield from reader.found


class _JobReader:
    """Reads the steps of one job in order: what an early step starts, a later one may need."""

    def __init__(self, path: str, job: str, *, has_services: bool) -> None:
        self.found: list[CiCommand] = []
        self._path = path
        self._job = job
        self._why_not = "its job starts services" if has_services else ""

    def read(self, script: _Part, *, folder: str = "", why_not: str = "") -> None:
        """Take in one step; `why_not` says why none of it can be taken over."""
        text = " ".join(script.text.split("\n")) if script.is_folded else script.text
        commands = commands_of(text)
        is_script = any(why_unresolved(it.text) == "is part of a shell script" for it in commands)
        for it in commands:
            words = words_of_command(it.text)
            if words[:1] == ["cd"] and len(words) == 2:
                folder = posixpath.normpath(posixpath.join(folder, words[1]))
                continue
            if words[:1] == ["export"]:
                why_not = why_not or f"follows `{it.text}`"
                continue
            if it.text.rstrip().endswith("&"):
                self._why_not = self._why_not or f"its job first starts `{it.text}`"
                continue
            if is_without_effect(it.text) or kind_of(it.text) is None:
                continue
            reason = self._why_not or why_not or why_unresolved(it.text)
            if is_script:
                reason = reason or "is part of a shell script"
            self.found.append(
                CiCommand(
                    it.text,
                    f"{self._path}:{script.line + it.line}",
                    self._job,
                    folder="" if folder == "." else folder,
                    why_not=reason,
                )
            )


def _folder(part: _Part) -> str:
    """A working directory inside of the repository; one with variables stays as it is written."""
    folder = posixpath.normpath(part.text) if part.text else ""
    return "" if folder == "." else folder.removeprefix("./")


def _unknown_variable(env: _Part) -> str:
    """Names the first variable of a step whose value only CI knows."""
    for name, held in env.items():
        if "matrix." in held.text or "secrets." in held.text:
            return f"needs {name}, which only CI knows"
    return ""
