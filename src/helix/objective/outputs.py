"""What agents answer in words: how a task ended, which memories helped, which bead is which (O-8).

Pure. A mark stands at the beginning of a line, in capitals, with or without emphasis around it;
of several equal marks the last one counts. Nothing here proves anything: checks do.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ddx.text import cut
from ddx.values import value
from helix.objective.readiness import TaskResult

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_OUTPUT = 1 << 20
LONGEST_SUMMARY = 200
_LONGEST_TEXT = 2000
_MOST_NAMES = 200
_MOST_CANDIDATES = 5

NOTHING_SAID = "the output says neither DELIVERED, nor PARTIAL, nor BLOCKED"

_MARK = re.compile(
    r"[ \t]{0,3}(?:#{1,6}[ \t]+|[-*+][ \t]+)?[*_`]*"
    r"(DELIVERED|PARTIAL|BLOCKED|TRIED|ERROR|UTILIZED|TASK_MAPPING)"
    r"[*_`]*[ \t]*:[*_`]*[ \t]*(.*)"
)
_BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+(.*)")
_MAPPED = re.compile(r"\s*(?:[-*+•]\s+)?[*_`]*([\w.-]+)[*_`]*\s*(?:->|→|=>)\s*[*_`]*([\w.-]+)")
_NAME = re.compile(r"[*_`\"']*([\w.-]+)[*_`\"']*")
_FENCE = re.compile(r"[ \t]{0,3}```(?:json)?[ \t]*")


@value
class Output:
    """A builder's last words."""

    status: TaskResult
    summary: str = ""
    tried: str = ""
    error: str = ""
    utilized: tuple[str, ...] = ()
    is_known: bool = True
    """False: it did not say how it ended, so it counts as blocked."""

    def as_row(self) -> dict[str, Any]:
        return {**self.__dict__, "status": str(self.status), "utilized": list(self.utilized)}


def parse_output(text: str) -> dict[str, Any]:
    """{status, summary, tried, error, utilized, is_known} of what a builder said."""
    return read_output(text).as_row()


def read_output(text: str) -> Output:
    """How a builder says that it ended; saying nothing of it is being blocked (O-2)."""
    lines = _lines(text)
    said: dict[str, str] = {}
    ended = ""
    for line in lines:
        if found := _MARK.match(line):
            key, rest = found[1], cut(_closed(found[2].strip()), _LONGEST_TEXT)
            said[key] = rest
            if key in ("DELIVERED", "PARTIAL", "BLOCKED"):
                ended = key
    tried, error = said.get("TRIED", ""), said.get("ERROR", "")
    utilized = _utilized(lines)
    if not ended:
        why = error or NOTHING_SAID
        return Output(TaskResult.BLOCKED, "", tried, why, utilized, is_known=False)
    return Output(TaskResult(ended.lower()), said[ended], tried, error, utilized)


def _closed(text: str) -> str:
    """Without the emphasis at its end that closes what was opened before the mark."""
    bare = text.rstrip("*_`")
    marks = text.removeprefix(bare)
    return bare if marks and text.count(marks) % 2 else text


def extract_mapping(text: str) -> dict[str, str]:
    """`001 -> app-1f2e` below TASK_MAPPING, as a dictionary."""
    return {
        found[1]: found[2]
        for line in _below("TASK_MAPPING", _lines(text), goes_on=_MAPPED)
        if (found := _MAPPED.match(line))
    }


def find_object(text: str, *marks: str) -> dict[str, Any] | None:
    """The last JSON object after one of the marks; else the last fenced one; else all of it."""
    text = text[-LONGEST_OUTPUT:]
    places = [
        found.end() for mark in marks for found in re.finditer(rf"{re.escape(mark)}[*_`]*:", text)
    ]
    marked = [text[place:] for place in sorted(places, reverse=True)[:_MOST_CANDIDATES]]
    fenced = _fenced(text)[: -_MOST_CANDIDATES - 1 : -1]
    for candidate in (*marked, *fenced, text):
        if (found := _object_in(candidate)) is not None:
            return found
    return None


def _fenced(text: str) -> list[str]:
    """What stands between fences, in order; a fence that nobody closes reaches to the end."""
    blocks: list[list[str]] = []
    is_open = False
    for line in text.split("\n"):
        if _FENCE.fullmatch(line):
            is_open = not is_open
            if is_open:
                blocks.append([])
        elif is_open:
            blocks[-1].append(line)
    return ["\n".join(block) for block in blocks]


def _object_in(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    if start < 0 or text[:start].strip(" \t\r\n`*_").removeprefix("json").strip():
        return None
    try:
        found, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _utilized(lines: list[str]) -> tuple[str, ...]:
    """Names in the mark's own line, or one below the other with a reason each."""
    inline = ""
    for line in lines:
        if (found := _MARK.match(line)) and found[1] == "UTILIZED":
            inline = found[2]
    names = _names(inline.strip("[] ").split(","))
    below = _below("UTILIZED", lines, goes_on=_BULLET)
    names += _names(found[1] for line in below if (found := _BULLET.match(line)))
    return tuple(name for name in dict.fromkeys(names) if name.lower() != "none")[:_MOST_NAMES]


def _names(given: Iterable[str]) -> list[str]:
    """The word before the colon; prose is no name."""
    heads = (text.partition(":")[0].strip() for text in given)
    return [found[1] for head in heads if (found := _NAME.fullmatch(head))]


def _below(mark: str, lines: list[str], *, goes_on: re.Pattern[str]) -> list[str]:
    """The lines that belong to the last such mark: until one at the margin that does not fit."""
    starts = [n for n, line in enumerate(lines) if (it := _MARK.match(line)) and it[1] == mark]
    found: list[str] = []
    for line in lines[starts[-1] + 1 :] if starts else ():
        if _FENCE.fullmatch(line):
            continue
        is_fitting = goes_on.match(line)
        if (line.strip() and not line[0].isspace() and not is_fitting) or _MARK.match(line):
            break
        if is_fitting:
            found.append(line)
    return found


def _lines(text: str) -> list[str]:
    return text[-LONGEST_OUTPUT:].strip().splitlines()
