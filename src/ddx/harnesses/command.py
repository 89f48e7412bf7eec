"""Any program as an agent: the prompt on stdin, the reply on stdout, exit 0 = completed (X-4a).

What it used it may tell in a line of its own, on either stream; several such lines add up:

    {"usage": {"input": 1200, "output": 300, "cache_read": 0, "cache_write": 0, "cost_usd": 0.02}}

or, where no such line came, in the two lines with which some programs end:

    tokens used
    1,234

A program that is named with a slash but not from the root is a file of the workspace, so it runs
as it stands in the commit that the attempt is based on. One without a slash is looked up in PATH.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from typing import TYPE_CHECKING, Any

from ddx.harnesses.base import (
    STOPPED_ENDS,
    CostSource,
    Detected,
    End,
    Event,
    Exit,
    Invocation,
    Kind,
    Reply,
    Request,
    Usage,
)
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_REPLY = 100_000
"""Characters; of a longer one the end is kept."""

_LONGEST_USAGE_LINE = 4000
_MOST_TOKENS = 10**12
_MOST_USD = 10**6
_REASON_LENGTH = 400

_FOOTER_HEAD = re.compile(r"\s*tokens used:?\s*", re.IGNORECASE)
_FOOTER_NUMBER = re.compile(r"\s*([0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})\s*", re.ASCII)
_HEAD = "footer"
_NUMBER = "number"


class Command:
    """A program of the operator's own."""

    name = "command"
    homes: tuple[str, ...] = ()

    def __init__(
        self, *, program: str, argv: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> None:
        self._argv = (program, *argv)
        self._env = dict(env or {})

    def detect(self) -> Detected:
        program = self._argv[0]
        if "/" in program and not os.path.isabs(program):
            return Detected(program)  # only a workspace can tell
        path = shutil.which(program) or ""
        return Detected(program, path, problem="" if path else f"there is no program {program}")

    def command(self, request: Request) -> Invocation:
        return Invocation(self._argv, self._env, stdin=request.prompt)

    def parse(self, line: str) -> tuple[Event, ...]:
        return (usage_event(line) or Event(Kind.SAID, line[-LONGEST_REPLY:], data=_footer(line)),)

    def parse_error(self, line: str) -> tuple[Event, ...]:
        """Of all that a program may write there, only what it used is for us."""
        used = usage_event(line)
        footer = _footer(line)
        if used is None and footer:
            return (Event(Kind.NOTICE, line, data=footer),)
        return (used,) if used else ()

    def finish(self, exit: Exit, events: Sequence[Event]) -> Reply:
        said = [event for event in events if event.kind is Kind.SAID]
        noticed = [event for event in events if event.kind is Kind.NOTICE]
        tokens = _take_footer(said) or _take_footer(noticed)
        used = sum((event.usage for event in events if event.usage), Usage())
        text = "\n".join(event.text for event in said).strip("\n")[-LONGEST_REPLY:]
        end = STOPPED_ENDS.get(exit.stopped)
        if end is None:
            end = End.COMPLETED if exit.code == 0 else End.CRASHED
        return Reply(
            end,
            text,
            reason_of(self._argv[0], exit, text) if end is End.CRASHED else "",
            used if used.tokens or used.cost_usd is not None else Usage(input=tokens),
            structured=object_in(text),
        )


def usage_event(line: str) -> Event | None:
    """What a program tells about its use, if this line is about nothing else."""
    text = line.strip()
    if not text.startswith("{") or '"usage"' not in text[:40]:
        return None
    row = _loads(text) if len(text) <= _LONGEST_USAGE_LINE else None
    if not isinstance(row, dict) or list(row) != ["usage"]:
        return None
    usage = usage_in(row["usage"])
    if usage is None:
        return Event(Kind.NOTICE, f"unreadable usage: {text[:200]}")
    return Event(Kind.USAGE, f"{usage.tokens:,} tokens", usage)


def usage_in(row: object) -> Usage | None:
    """The numbers of one usage line, or None if any of them cannot be one."""
    if not isinstance(row, dict):
        return None
    counts = [row.get(name, 0) for name in ("input", "cache_read", "cache_write", "output")]
    cost = row.get("cost_usd")
    if not all(type(count) is int and 0 <= count <= _MOST_TOKENS for count in counts):
        return None
    if cost is None:
        return Usage(*counts)
    if type(cost) not in (int, float) or not 0 <= cost <= _MOST_USD:
        return None
    return changed(Usage(*counts), cost_usd=float(cost), cost_source=CostSource.REPORTED)


def object_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a reply is, or that its last line is; whoever asked must check it."""
    for part in (text.strip(), text.strip().rpartition("\n")[2]):
        found = _loads(part) if part.startswith("{") and part.endswith("}") else None
        if isinstance(found, dict):
            return found
    return None


def reason_of(program: str, exit: Exit, text: str) -> str:
    """How a program ended that did not end well, and what it last said about it."""
    how = f"exit code {exit.code}"
    if exit.code < 0:
        known = {number.value: number.name for number in signal.Signals}
        how = known.get(-exit.code, f"signal {-exit.code}")
    complaint = (exit.stderr_tail.strip() or text.strip())[-_REASON_LENGTH:].strip()
    return f"{program} ended with {how}" + (f": {complaint}" if complaint else "")


def _footer(line: str) -> dict[str, Any]:
    """Marks a line that may be one of the two; `finish` sees whether they stand together."""
    if _FOOTER_HEAD.fullmatch(line):
        return {_HEAD: True}
    number = _FOOTER_NUMBER.fullmatch(line) if len(line) < 40 else None
    return {_NUMBER: int(number[1].replace(",", ""))} if number else {}


def _take_footer(lines: list[Event]) -> int:
    """The number in the last footer, whose two lines are no part of the reply; 0 without one."""
    for place in range(len(lines) - 1, 0, -1):
        if _HEAD in lines[place - 1].data and _NUMBER in lines[place].data:
            tokens: int = lines[place].data[_NUMBER]
            del lines[place - 1 : place + 1]
            return tokens
    return 0


def _loads(text: str) -> Any:
    """What the text means as JSON, or None; it may be hostile."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
