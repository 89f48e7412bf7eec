"""JSON lines of our own: what stands in them is already a row."""

from __future__ import annotations

import json
import re

from ddx.base import CorruptFile, loads, shown
from ddx.tracker.interchange.dialect import Dialect, everything, with_fit_priority, wrap_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.tracker.row import Row


def _unwrap(found: Row) -> tuple[Row, Row]:
    return found, {}


JSONL = Dialect(
    name="jsonl",
    into=with_fit_priority,
    out=everything,
    wrap=wrap_beside,
    unwrap=_unwrap,
    keeps_theirs=False,
)
WRAPPERS = ("data", "issues", "items")
"""Where bd's envelope, a saved list and GitHub's search keep their array."""
_LINE_END = re.compile("\r\n?")
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def read_objects(text: str) -> list[tuple[str, Row]]:
    """Each JSON object with the place it stands in, from JSON lines, an array or one object."""
    lines = text.removeprefix("\ufeff").split("\n")
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not filled:
        return []
    if _is_one_document([line for _, line in filled[:2]]):
        found = _entries(_decode("\n".join(lines), 0))
        named = [(f"entry {number}", entry) for number, entry in enumerate(found, start=1)]
    else:
        named = [(f"line {number}", _decode(line, number)) for number, line in filled]
    for place, entry in named:
        if not isinstance(entry, dict):
            raise bad_entry(place, "not a JSON object")
    return named


def bad_entry(place: str, what: str) -> CorruptFile:
    return CorruptFile(f"{place}: {what}; nothing was imported", hint=f"mend {place} and try again")


def cleaned(found: Any, place: str) -> Any:
    """The value with its control characters made visible; nothing is cut out unseen."""
    match found:
        case str():
            if found.isprintable() or not _FORBIDDEN.search(found):
                return found
            return _FORBIDDEN.sub(lambda mark: shown(mark[0]), _LINE_END.sub("\n", found))
        case dict():
            for key in found:
                if not key.isprintable() and _FORBIDDEN.search(key):
                    raise bad_entry(place, f"the key {shown(key)!r} holds a control character")
            return {key: cleaned(found[key], place) for key in found}
        case list():
            return [cleaned(item, place) for item in found]
    return found


def _is_one_document(first_lines: list[str]) -> bool:
    """A first line that is no value by itself begins a document, unless an object follows it."""
    first = first_lines[0].lstrip()
    if first.startswith("["):
        return True
    try:
        loads(first)
    except ValueError:
        return not first_lines[-1].startswith("{")
    return False


def _entries(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if isinstance(document, dict) and not {"id", "number"} & document.keys():
        for name in WRAPPERS:
            if isinstance(document.get(name), list):
                return list(document[name])
    return [document]


def _decode(text: str, number: int) -> Any:
    """The JSON value in a line, or in a whole document where `number` is 0."""
    try:
        return loads(text)
    except ValueError as problem:
        raise bad_entry(f"line {number or _bad_line(text)}", str(problem)) from None


def _bad_line(document: str) -> int:
    try:
        json.loads(document)
    except json.JSONDecodeError as problem:
        return problem.lineno
    except (ValueError, RecursionError):
        pass
    return 1
