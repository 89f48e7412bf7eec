"""A row as Go's json.Marshal writes it, from the rules and not from our code (T-1)."""

from __future__ import annotations

import json
from typing import Any

EDGE_ORDER = ["issue_id", "depends_on_id", "type", "created_at", "created_by", "metadata"]
SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
SHORT_ESCAPES |= {"\b": "\\b", "\f": "\\f"}


class Spelled(str):
    """A number as someone wrote it."""


def marshalled(anything: Any) -> str:
    """What Go's json.Marshal makes of a value, written from its rules and not from our code."""
    if isinstance(anything, Spelled):
        return str(anything)
    if isinstance(anything, str):
        return '"' + "".join(map(marshalled_mark, anything)) + '"'
    if anything is None or isinstance(anything, bool):
        return {None: "null", True: "true", False: "false"}[anything]
    if isinstance(anything, int | float):
        return json.dumps(anything)
    if isinstance(anything, list):
        return "[" + ",".join(map(marshalled, anything)) + "]"
    return marshalled_object(anything, by_bytes(anything))


def marshalled_object(found: dict[str, Any], order: list[str]) -> str:
    return "{" + ",".join(f"{marshalled(key)}:{marshalled(found[key])}" for key in order) + "}"


def marshalled_mark(mark: str) -> str:
    if mark in SHORT_ESCAPES:
        return SHORT_ESCAPES[mark]
    is_escaped = mark < " " or mark in "<>&\u2028\u2029" or 0xD800 <= ord(mark) <= 0xDFFF
    return f"\\u{ord(mark):04x}" if is_escaped else mark


def marshalled_row(row: dict[str, Any]) -> bytes:
    """A row in canonical form: the struct of an edge keeps its order, all else is sorted."""
    parts = []
    for key in by_bytes(row):
        found = row[key]
        if key == "dependencies" and isinstance(found, list):
            text = "[" + ",".join(map(marshalled_edge, found)) + "]"
        else:
            text = marshalled(found)
        parts.append(f"{marshalled(key)}:{text}")
    return ("{" + ",".join(parts) + "}").encode()


def marshalled_edge(edge: Any) -> str:
    if not isinstance(edge, dict):
        return marshalled(edge)
    known = [key for key in EDGE_ORDER if key in edge]
    return marshalled_object(edge, [*known, *(key for key in by_bytes(edge) if key not in known)])


def by_bytes(found: dict[str, Any]) -> list[str]:
    return sorted(found, key=lambda key: key.encode("utf-8", "surrogatepass"))
