"""The blocker report: what a run skipped or blocked, and what to type next (S-27)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.files import replace
from ddx.instants import in_words
from ddx.text import shown_on_one_line
from ddx.tracker.model import typed
from ddx.values import value
from helix.supervisor.journal import FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence


@value
class Blocker:
    """A bead that this run could not finish."""

    bead: str
    title: str
    reason: str
    is_blocked: bool = False
    """Else it was only skipped."""
    attempts: int = 0
    seconds: float = 0.0
    epic: str = ""
    """The epic that is held up by it."""
    refs: tuple[str, ...] = ()
    """Where its work is kept."""
    findings: tuple[str, ...] = ()
    """What a last review had to say."""

    def as_row(self) -> dict[str, Any]:
        return {**self.__dict__, "refs": list(self.refs), "findings": list(self.findings)}


def write_report(root: str, stamp: str, blockers: Sequence[Blocker]) -> str:
    """The report's path; empty if there is nothing to report."""
    if not blockers:
        return ""
    path = os.path.join(root, FOLDER, f"blockers-{stamp}.md")
    text = "\n\n".join(["# Blockers", *map(_section, blockers)])
    replace(path, (f"{text}\n".encode("utf-8", "replace"),), durable=False)
    return path


def _section(blocker: Blocker) -> str:
    word = "blocked" if blocker.is_blocked else "skipped"
    lines = [
        f"## {_line(blocker.bead)}: {_line(blocker.title)}",
        "",
        f"- {word}: {_line(blocker.reason)}",
        f"- attempts: {blocker.attempts}, time spent: {in_words(blocker.seconds)}",
    ]
    if blocker.epic:
        lines.append(f"- impact: its epic {_line(blocker.epic)} cannot be finished without it")
    lines += (f"- kept: {_line(ref)}" for ref in blocker.refs)
    lines += (f"- found: {_line(finding)}" for finding in blocker.findings)
    return "\n".join([*lines, "", "Next:", "", *_next(blocker)])


def _next(blocker: Blocker) -> list[str]:
    bead = typed(blocker.bead)
    commands = [f"    ddx bead show {bead}", f"    ddx bead why {bead}"]
    commands += (f"    git show {_line(ref)}" for ref in blocker.refs[-1:])
    if blocker.is_blocked:
        commands.append(f"    ddx bead reopen {bead} --reason '...'")
    return commands


def _line(text: str) -> str:
    return shown_on_one_line(text)
