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

import os
import re
import shutil
from typing import TYPE_CHECKING, Any

from ddx.agents.harness import (
    STOPPED_ENDS,
    AgentEvent,
    AgentEventKind,
    CallEnd,
    DetectedProgram,
    Invocation,
    ProcessExit,
    Reply,
    Request,
    Usage,
    object_in,
    row_in,
)
from ddx.agents.output import LONGEST_REPLY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST_USAGE_LINE = 4000
_FOOTER_HEAD = re.compile(r"\s*tokens used:?\s*", re.IGNORECASE)
_FOOTER_NUMBER = re.compile(r"\s*([0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})\s*", re.ASCII)
_HEAD = "footer"
_NUMBER = "number"


class CommandHarness:
    """A program of the operator's own."""

    name = "command"
    homes: tuple[str, ...] = ()

    def __init__(
        self, *, program: str, argv: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> None:
        self._argv = (program, *argv)
        self._env = dict(env or {})

    def detect(self) -> DetectedProgram:
        program = self._argv[0]
        if "/" in program and not os.path.isabs(program):
            return DetectedProgram(program)  # only a workspace can tell
        path = shutil.which(program) or ""
        return DetectedProgram(
            program, path, problem="" if path else f"there is no program {program}"
        )

    def command(self, request: Request) -> Invocation:
        return Invocation(self._argv, self._env, stdin=request.prompt)

    def parse(self, line: str) -> tuple[AgentEvent, ...]:
        return (
            usage_event(line)
            or AgentEvent(AgentEventKind.SAID, line[-LONGEST_REPLY:], data=footer_in(line)),
        )

    def parse_error(self, line: str) -> tuple[AgentEvent, ...]:
        """Of all that a program may write there, only what it used is for us."""
        used = usage_event(line)
        footer = footer_in(line)
        if used is None and footer:
            return (AgentEvent(AgentEventKind.NOTICE, line, data=footer),)
        return (used,) if used else ()

    def finish(self, exit: ProcessExit, events: Sequence[AgentEvent]) -> Reply:
        said = [event for event in events if event.kind is AgentEventKind.SAID]
        noticed = [event for event in events if event.kind is AgentEventKind.NOTICE]
        tokens = take_footer(said) or take_footer(noticed)
        used = sum((event.usage for event in events if event.usage), Usage())
        text = "\n".join(event.text for event in said).strip("\n")[-LONGEST_REPLY:]
        end = STOPPED_ENDS.get(exit.stopped)
        if end is None:
            end = CallEnd.COMPLETED if exit.code == 0 else CallEnd.CRASHED
        return Reply(
            end,
            text,
            exit.reason(self._argv[0], text) if end is CallEnd.CRASHED else "",
            usage=used if used.tokens or used.cost_usd is not None else Usage(input=tokens),
            structured=object_in(text),
        )


def usage_event(line: str) -> AgentEvent | None:
    """What a program tells about its use, if this line is about nothing else."""
    text = line.strip()
    if not text.startswith("{") or '"usage"' not in text[:40]:
        return None
    row = row_in(text) if len(text) <= _LONGEST_USAGE_LINE else None
    if row is None or list(row) != ["usage"]:
        return None
    usage = Usage.read(row["usage"])
    if usage is None:
        return AgentEvent(AgentEventKind.NOTICE, f"unreadable usage: {text[:200]}")
    return AgentEvent(AgentEventKind.USAGE, f"{usage.tokens:,} tokens", usage)


def footer_in(line: str) -> dict[str, Any]:
    """Marks a line that may be one of the two; `finish` sees whether they stand together."""
    if _FOOTER_HEAD.fullmatch(line):
        return {_HEAD: True}
    number = _FOOTER_NUMBER.fullmatch(line) if len(line) < 40 else None
    return {_NUMBER: int(number[1].replace(",", ""))} if number else {}


def take_footer(lines: list[AgentEvent]) -> int:
    """The number in the last footer, whose two lines are no part of the reply; 0 without one."""
    for place in range(len(lines) - 1, 0, -1):
        if _HEAD in lines[place - 1].data and _NUMBER in lines[place].data:
            tokens: int = lines[place].data[_NUMBER]
            del lines[place - 1 : place + 1]
            return tokens
    return 0
