"""JSON that stands in a fence of its own, as agents print it. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)")


def fenced_lists(text: str) -> list[list[Any]]:
    return [found for found in _values(text, "[") if isinstance(found, list)]


def fenced_object(text: str) -> dict[str, Any] | str:
    """The one object that stands there, empty without one; or why none can be meant."""
    found = [it for it in _values(text, "{") if isinstance(it, dict)]
    if len(found) > 1:
        return f"there are {len(found)} fenced JSON objects, and one was asked for"
    return found[0] if found else {}


def _values(text: str, begin: str) -> Iterator[Any]:
    for block in _blocks(text):
        if block.lstrip().startswith(begin):
            try:
                yield json.loads(block)
            except (ValueError, RecursionError):
                continue


def _blocks(text: str) -> Iterator[str]:
    """What stands in each fence that is closed."""
    fence = ""
    inside: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                yield "\n".join(inside)
                fence, inside = "", []
            else:
                inside.append(line)
        elif opened := _FENCE.fullmatch(line.rstrip("\r")):
            fence = opened[1]
