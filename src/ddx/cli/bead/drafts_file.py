"""Many drafts from one file: JSON, JSON lines or YAML."""

from __future__ import annotations

import sys
from typing import Any

from ddx.base import CorruptFile, UsageError, loads

_LARGEST_YAML = 1 << 24


def read_drafts(path: str) -> list[dict[str, Any]]:
    """The drafts in a file, in its order; `-` is stdin."""
    if path == "-":
        text = sys.stdin.read()
    else:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    found = _yaml(path, text) if path.endswith((".yaml", ".yml")) else _json(path, text)
    if not found:
        raise UsageError(f"{path} holds no beads")
    for number, draft in enumerate(found, start=1):
        if not isinstance(draft, dict):
            raise CorruptFile(f"{path}: entry {number} is not an object with a title")
    return found


def _json(path: str, text: str) -> list[Any]:
    try:
        whole = loads(text)
    except ValueError:
        return _json_lines(path, text)
    return whole if isinstance(whole, list) else [whole]


def _json_lines(path: str, text: str) -> list[Any]:
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                found.append(loads(line))
            except ValueError as problem:
                raise CorruptFile(f"{path}:{number}: {problem}") from None
    return found


def _yaml(path: str, text: str) -> list[Any]:
    from ddx.base import BrokenYaml, Nodes

    try:
        whole = Nodes(text, largest=_LARGEST_YAML).values()
    except BrokenYaml as problem:
        raise CorruptFile(problem.at(path)) from None
    if isinstance(whole, dict) and isinstance(whole.get("beads"), list):
        whole = whole["beads"]
    return whole if isinstance(whole, list) else [whole] if whole else []
