"""Reading what agents print: any line may come, and none may raise (X-4). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from ddx.base import cut

OutputRow: TypeAlias = Mapping[str, Any]

LONGEST_REPLY = 100_000
"""Characters; of a longer one the end is kept, since that is where an agent sums up."""

LONGEST_NOTE = 2000
"""Characters of what is only shown."""

_MOST_TOKENS = 10**12
_MOST_USD = 10**6
_TOOL_WIDTH = 200
_TELLING = ("command", "file_path", "filePath", "path", "dir_path", "pattern", "query", "url")
"""The argument that says what a tool was used on."""

_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")


def row_at(row: OutputRow, *path: str) -> dict[str, Any]:
    """The object at that place; an empty one where there is none."""
    found = _at(row, path)
    return found if isinstance(found, dict) else {}


def rows_at(row: OutputRow, *path: str) -> list[dict[str, Any]]:
    """The objects of the list at that place; whatever else is in it is left out."""
    found = _at(row, path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def text_at(row: OutputRow, *path: str) -> str:
    """The text at that place, fit to be stored; empty where there is none."""
    found = _at(row, path)
    return clean(found) if isinstance(found, str) else ""


def count_at(row: OutputRow, *path: str) -> int:
    """The number of something at that place; 0 where it cannot be one."""
    found = _at(row, path)
    return found if type(found) is int and 0 <= found <= _MOST_TOKENS else 0


def money_at(row: OutputRow, *path: str) -> float | None:
    """The dollars at that place; None where they cannot be any."""
    found = _at(row, path)
    return float(found) if type(found) in (int, float) and 0 <= found <= _MOST_USD else None


def clean(text: str) -> str:
    """The end of a text that may be endless, without what UTF-8 cannot hold."""
    return text[-LONGEST_REPLY:].encode("utf-8", "replace").decode()


def plain(line: str) -> str:
    """A line for a person, without the colours that it was printed in."""
    return cut(_COLOURS.sub("", clean(line)).strip(), LONGEST_NOTE)


def tool_words(name: str, arguments: OutputRow) -> str:
    """A tool and what it is used on, on one line."""
    on_what = next(filter(None, (text_at(arguments, key) for key in _TELLING)), "")
    words = f"{name}: {on_what}" if on_what else name
    return cut(" ".join(words[: 2 * _TOOL_WIDTH].split()), _TOOL_WIDTH)


def _at(row: object, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(row, dict):
            return None
        row = row.get(key)
    return row
