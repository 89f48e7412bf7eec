"""What governs a bead, for its prompt: the binding parts in full, the rest by name (X-26)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.execution.model import Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.execution.governing import Governing

_BINDING = ("constraint", "requirement", "acceptance")
_MOST_QUOTED = 4
_LARGEST_FILE = 1 << 20
_LONGEST_EXCERPT = 12_000


def document_sections(governing: Governing, checkout: str) -> list[Section]:
    """The nearest documents with what binds in them, ids and paths of the others."""
    quoted: list[Section] = []
    named = []
    for item in governing.documents:
        excerpt = ""
        if len(quoted) < _MOST_QUOTED:
            excerpt = binding_parts(_read(os.path.join(checkout, item.path)))[:_LONGEST_EXCERPT]
        if excerpt:
            title = f"Governing document {item.id} ({item.path})"
            quoted.append(Section(title, excerpt, quoted=True))
        else:
            named.append(f"- {item.id}: {item.path}")
    if named:
        quoted.append(Section("More documents that govern this", "\n".join(named), quoted=True))
    return quoted


def binding_parts(text: str) -> str:
    """The sections whose headings speak of constraints, requirements or acceptance."""
    return "\n".join(_binding_lines(text)).strip()


def _binding_lines(text: str) -> Iterator[str]:
    fenced = False
    taken_level = 0
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        level = 0 if fenced else _heading_level(line)
        if level and (not taken_level or level <= taken_level):
            taken_level = level if any(word in line.lower() for word in _BINDING) else 0
        if taken_level:
            yield line


def _heading_level(line: str) -> int:
    marks = len(line) - len(line.lstrip("#"))
    return marks if 0 < marks <= 6 and line[marks : marks + 1] in (" ", "") else 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST_FILE)
    except OSError:
        return ""
