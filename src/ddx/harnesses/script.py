"""The `script` harness: a deterministic agent for tests and trials, with real file work (X-4).

Its script is the file that `--model` names, or the bead's own `script` key. The directives stand in
`script_agent`, which does the work as a process of its own.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from ddx import __version__
from ddx.errors import NotFound, UsageError
from ddx.harnesses.base import (
    STOPPED_ENDS,
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
from ddx.harnesses.command import LONGEST_REPLY, object_in, reason_of, usage_in
from ddx.supervision import Stopped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "script_agent.py")

_COPY = "agent.script"
_LONGEST_SCRIPT = 1 << 20


class Script:
    """Follows a text of directives."""

    name = "script"
    homes: tuple[str, ...] = ()

    def __init__(self, *, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(env or {})

    def detect(self) -> Detected:
        return Detected(self.name, sys.executable, __version__)

    def command(self, request: Request) -> Invocation:
        if not request.model and not request.script:
            raise UsageError(
                "there is no script to follow",
                hint="name one: --model FILE, or give the bead one: --set script=...",
            )
        text = read_script(request.model) if request.model else request.script
        return start(text, request, env=self._env)

    def parse(self, line: str) -> tuple[Event, ...]:
        return events_in(line)

    def parse_error(self, line: str) -> tuple[Event, ...]:
        return ()

    def finish(self, exit: Exit, events: Sequence[Event]) -> Reply:
        return weigh(self.name, exit, events)


def read_script(path: str) -> str:
    """The text of a script or a recording, read before the attempt's fence goes up (X-23)."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LONGEST_SCRIPT + 1)
    except OSError as problem:
        raise NotFound(f"--model {path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--model {path} is not UTF-8 text") from None
    if len(text) > _LONGEST_SCRIPT:
        raise UsageError(f"--model {path} is longer than {_LONGEST_SCRIPT:,} characters")
    return text


def start(
    text: str, request: Request, *, env: Mapping[str, str], flags: Sequence[str] = ()
) -> Invocation:
    """The scripted agent with its own copy of the text."""
    argv = (sys.executable, "-I", "-S", AGENT, *flags, os.path.join(request.scratch, _COPY))
    return Invocation(argv, env, files={_COPY: text})


def events_in(line: str) -> tuple[Event, ...]:
    """What the scripted agent tells; what its commands print is only noticed."""
    if not line.strip():
        return ()
    try:
        row = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        row = None
    return (_event(row) if isinstance(row, dict) else None) or (_noticed(line),)


def _event(row: dict[str, Any]) -> tuple[Event, ...] | None:
    match row:
        case {"say": str(text)}:
            return (Event(Kind.SAID, text[-LONGEST_REPLY:]),)
        case {"usage": dict(told)}:
            usage = usage_in(told)
            return (Event(Kind.USAGE, f"{usage.tokens:,} tokens", usage),) if usage else None
        case {"wrote": str(path)}:
            return (Event(Kind.TOOL, f"wrote {path}"),)
        case {"ran": str(command)}:
            return (Event(Kind.TOOL, f"ran {command}"),)
        case {"denied": str(tool)}:
            return (Event(Kind.DENIED, tool),)
        case {"waiting": str(text)}:
            return (Event(Kind.WAITING, text),)
        case {"end": str(end)}:
            kind = Kind.RESULT if end == End.COMPLETED else Kind.FAULT
            return (Event(kind, str(row.get("reason", end)), data=row),)
        case {"ended": int(), "reason": str(reason)}:
            return (Event(Kind.RESULT, reason, data=row),)
    return None


def _noticed(line: str) -> Event:
    return Event(Kind.NOTICE, line[:LONGEST_REPLY])


def weigh(name: str, exit: Exit, events: Sequence[Event]) -> Reply:
    """Completed only if the agent came to its end, and said so."""
    text = "\n".join(event.text for event in events if event.kind is Kind.SAID)[-LONGEST_REPLY:]
    told = next((event.data for event in reversed(events) if "end" in event.data), {})
    last = next((event.data for event in reversed(events) if "ended" in event.data), None)
    end, reason = _end(name, exit, told, last)
    until = told.get("until", "")
    return Reply(
        end,
        text,
        reason,
        sum((event.usage for event in events if event.usage), Usage()),
        until if isinstance(until, str) else "",
        told.get("structured", object_in(text)),
        tuple(event.text for event in events if event.kind is Kind.DENIED),
        retries=sum(event.kind is Kind.WAITING for event in events),
    )


def _end(
    name: str, exit: Exit, told: Mapping[str, Any], last: Mapping[str, Any] | None
) -> tuple[End, str]:
    if exit.stopped in STOPPED_ENDS:
        return STOPPED_ENDS[exit.stopped], ""
    wanted = told.get("end", "completed")
    if wanted not in list(End):
        return End.CRASHED, f"the recording ends in {wanted!r}, which is no end"
    if wanted != End.COMPLETED:
        return End(wanted), str(told.get("reason", ""))
    if last is None:
        return End.CRASHED, reason_of(name, exit, "it stopped before its end")
    is_over = exit.code == 0 or exit.stopped is Stopped.AFTER_RESULT
    if last["ended"] == 0 and is_over:
        return End.COMPLETED, ""
    return End.CRASHED, last["reason"] or reason_of(name, exit, "")
