"""Files that others write, read as far as they can be."""

from __future__ import annotations

import os

from ddx.fastjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LARGEST = 4 << 20
_TAIL = 1 << 16


def read_names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def read_row(path: str) -> dict[str, Any]:
    """A JSON object; empty where there is none that can be read."""
    try:
        with open(path, "rb") as file:
            found = loads(file.read(_LARGEST).decode("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def read_tail(path: str) -> Iterator[dict[str, Any]]:
    """The whole lines at the end of a file of JSON lines, the last one first."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - _TAIL, 0))
            lines = file.read(_TAIL).split(b"\n")
    except OSError:
        return
    for line in reversed(lines[:-1] if size <= _TAIL else lines[1:-1]):
        try:
            row = loads(line.decode("utf-8"))
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row
