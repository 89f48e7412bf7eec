"""`.helix/context.md`: what every build should know of the project, in one page (S-30)."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from ddx.files import replace
from ddx.text import cut, shown
from ddx.tracker.model import link_of, text_of
from ddx.tracker.queue import ready_for_execution
from helix.folder import own_folder, path_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.project import Project
    from helix.supervisor.view import Look

EVERY = 5
"""Completed cycles after which it is made anew."""

_QUICK = "quick reference"
_LARGEST_FILE = 1 << 20
_LONGEST_QUICK = 4000
_LONGEST_TEXT = 2000
_RULES = """\
- Do what the task asks and prove it with its own checks; nothing more.
- Small work that belongs to the same acceptance is done along with it; the rest is a follow-up.
- Documents above the task's own authority are not yours to change.
- The tracker is the controller's: do not write to it."""


def write_context(look: Look, *, focus: str = "") -> str:
    """The page as it stands now; it is on the disk as well."""
    project = look.site.project
    text = context_of(look, focus=focus)
    own_folder(project)
    replace(_path(project), (text.encode("utf-8", "replace"),), durable=False)
    return text


def context_of(look: Look, *, focus: str = "") -> str:
    """The same, without a write."""
    columns = look.snapshot.columns
    counts = Counter(columns.statuses)
    ready = len(ready_for_execution(columns, look.around))
    parts = [
        "# Project context",
        *_section("Build and test", quick_reference(look.site.project.root)),
        *_section(
            "Queue",
            f"{counts['open']} open, {counts['in_progress']} in progress, "
            f"{ready} ready for execution, {counts['closed']} closed",
        ),
        *_section("Focus", _focus(look, focus)),
        *_section("Key rules", _RULES),
    ]
    return "\n\n".join(parts) + "\n"


def quick_reference(root: str) -> str:
    """The Quick Reference of AGENTS.md: how this project is built and tested."""
    try:
        with open(os.path.join(root, "AGENTS.md"), encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST_FILE)
    except OSError:
        return ""
    return cut("\n".join(_below_heading(text)).strip(), _LONGEST_QUICK)


def _below_heading(text: str) -> Iterator[str]:
    level, fenced = 0, False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        marks = 0 if fenced else len(line) - len(line.lstrip("#"))
        if marks and line[marks : marks + 1] == " ":
            if level and marks <= level:
                return
            if _QUICK in line.lower():
                level = marks
                continue
        if level:
            yield line


def _focus(look: Look, focus: str) -> str:
    row = look.snapshot.find(focus) if focus else None
    if row is None:
        return ""
    parts = [f"{text_of(row, 'id')}: {text_of(row, 'title')}"]
    if spec := link_of(row, "spec-id"):
        parts.append(f"governing document: {spec}")
    if acceptance := text_of(row, "acceptance").strip():
        parts.append(f"acceptance:\n{cut(acceptance, _LONGEST_TEXT)}")
    return shown("\n".join(parts))


def _section(title: str, text: str) -> tuple[str, ...]:
    return (f"## {title}\n\n{text}",) if text else ()


def _path(project: Project) -> str:
    return path_in(project, "context.md")
