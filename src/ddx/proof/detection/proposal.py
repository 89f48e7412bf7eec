"""The settings that follow from what was found, as text to show and to write (R-1, R-3).

Only what a project does not say itself is ever written: a section that stands in
`.ddx/config.yaml` already is the person's, and stays as it is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.base import counted, dumps, listed, replace, value
from ddx.proof.detection.detect import detect_checks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddx.project import Project, Settings
    from ddx.proof.detection.detect import Detection
    from ddx.proof.detection.model import FoundCommand

CONFIG = "config.yaml"


@value
class CheckProposal:
    """What could prove work here, to show and, if a person agrees, to write."""

    project: Project
    found: Detection

    @property
    def has_test(self) -> bool:
        return bool(self.found.test_checks)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, a sentence for each command, with the place it was read from."""
        if not self.has_test:
            return ("no command that runs tests was found, so only a bead's own checks prove it",)
        tests = [f"tests run by `{it.shell_text}` ({it.where})" for it in self.found.test_checks]
        setup = [f"set up by `{it.shell_text}` ({it.where})" for it in self.found.setup]
        return (*tests, *setup)

    def write(self) -> str:
        """Add the proposed sections to the project's settings, and say so.

        A section that is there already stays as it is: then the sentence says what to add to it.
        """
        path = self.project.ddx(CONFIG)
        there = _read(path)
        text = settings_text(self.found)
        for section in ("checks", "workspace"):
            if _has_section(there, section) and _has_section(text, section):
                return f"{path} has a section `{section}` already; add these lines to it:\n{text}"
        gap = "" if not there or there.endswith("\n") else "\n"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace(path, (f"{there}{gap}{text}".encode(),), keep_mode=bool(there))
        wrote = [counted(len(self.found.test_checks), "check")]
        if self.found.setup:
            wrote.append(counted(len(self.found.setup), "set-up command"))
        return f"wrote {listed(wrote)} into {path}"


def propose_checks(project: Project, settings: Settings) -> CheckProposal | None:
    """What to write into the settings; None where they name checks already."""
    if settings.checks:
        return None
    return CheckProposal(project, detect_checks(project.root, given_tests=settings.test_patterns))


def settings_text(found: Detection) -> str:
    """The lines of `.ddx/config.yaml` that a detection proposes; nothing without a test."""
    if not found.test_checks:
        return ""
    sections = [_checks_section(found)]
    if found.setup:
        commands = _listed((it.shell_text for it in found.setup), indent=4)
        sections.append(f"workspace:\n  setup:{_origin(found.setup)}\n{commands}")
    return "".join(sections)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _checks_section(found: Detection) -> str:
    everywhere = [it for it in found.checks if it.kind == "test" and not it.paths]
    scoped: dict[tuple[str, ...], list[FoundCommand]] = {}
    for it in found.test_checks:
        if it.paths:
            scoped.setdefault(it.paths, []).append(it)
    lines = ["checks:\n"]
    if everywhere:
        lines.append(f"  default:{_origin(everywhere)}\n")
        lines.append(_listed((it.command for it in everywhere), indent=4))
    if scoped:
        lines.append("  scopes:\n")
    for paths, commands in scoped.items():
        lines.append(f"    - paths: {dumps(list(paths))}{_origin(commands)}\n      checks:\n")
        lines.append(_listed((it.shell_text for it in commands), indent=8))
    return "".join(lines)


def _origin(commands: Iterable[FoundCommand]) -> str:
    places = list(dict.fromkeys(it.where for it in commands))
    return f"  # read from {', '.join(places)}"


def _listed(commands: Iterable[str], *, indent: int) -> str:
    return "".join(f"{' ' * indent}- {dumps(command)}\n" for command in commands)


def _has_section(text: str, name: str) -> bool:
    return any(line.startswith(f"{name}:") for line in text.splitlines())
