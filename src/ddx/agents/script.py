"""The `script` harness: a deterministic agent for tests and trials, with real file work (X-4).

Its script is the file that `--model` names, or the bead's own `script` key. The directives stand in
`script_agent`, which does the work as a process of its own. The `replay` harness does the same with
a recorded call, so that every way to end can be met without a model.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ddx import __version__
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
    StopCause,
    Usage,
    object_in,
    row_in,
)
from ddx.agents.output import LONGEST_REPLY
from ddx.base import NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "script_agent.py")

_COPY = "agent.script"
_LONGEST_SCRIPT = 1 << 20


class ScriptHarness:
    """Follows a text of directives."""

    name = "script"
    homes: tuple[str, ...] = ()

    def __init__(self, *, env: Mapping[str, str] | None = None) -> None:
        self.env = dict(env or {})

    def detect(self) -> DetectedProgram:
        return DetectedProgram(self.name, sys.executable, __version__)

    def command(self, request: Request) -> Invocation:
        if not request.model and not request.script:
            raise UsageError(
                "there is no script to follow",
                hint="name one: --model FILE, or give the bead one: --set script=...",
            )
        text = _read_script(request.model) if request.model else request.script
        return _start(text, request, env=self.env)

    def parse(self, line: str) -> tuple[AgentEvent, ...]:
        """What the scripted agent tells; what its commands print is only noticed."""
        if not line.strip():
            return ()
        event = _event(row_in(line) or {})
        return (event or AgentEvent(AgentEventKind.NOTICE, line[:LONGEST_REPLY]),)

    def parse_error(self, line: str) -> tuple[AgentEvent, ...]:
        return ()

    def finish(self, exit: ProcessExit, events: Sequence[AgentEvent]) -> Reply:
        """Completed only if the agent came to its end, and said so."""
        said = (event.text for event in events if event.kind is AgentEventKind.SAID)
        text = "\n".join(said)[-LONGEST_REPLY:]
        told = next((event.data for event in reversed(events) if "end" in event.data), {})
        last = next((event.data for event in reversed(events) if "ended" in event.data), None)
        end, reason = _end(self.name, exit, told, last)
        until = told.get("until", "")
        return Reply(
            end=end,
            text=text,
            reason=reason,
            usage=sum((event.usage for event in events if event.usage), Usage()),
            until=until if isinstance(until, str) else "",
            structured=told.get("structured", object_in(text)),
            denied=tuple(event.text for event in events if event.kind is AgentEventKind.DENIED),
            retries=sum(event.kind is AgentEventKind.WAITING for event in events),
        )


class ReplayHarness(ScriptHarness):
    """Does and says once more what was recorded in the file that `--model` names."""

    name = "replay"

    def command(self, request: Request) -> Invocation:
        if not request.model:
            raise UsageError("there is no recording to replay", hint="name one: --model FILE")
        return _start(_read_script(request.model), request, env=self.env, flags=("--replay",))


def _read_script(path: str) -> str:
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


def _start(
    text: str, request: Request, *, env: Mapping[str, str], flags: Sequence[str] = ()
) -> Invocation:
    """The scripted agent with its own copy of the text."""
    argv = (sys.executable, "-I", "-S", AGENT, *flags, os.path.join(request.scratch, _COPY))
    return Invocation(argv, env, files={_COPY: text})


def _event(row: dict[str, Any]) -> AgentEvent | None:
    match row:
        case {"say": str(text)}:
            return AgentEvent(AgentEventKind.SAID, text[-LONGEST_REPLY:])
        case {"usage": dict(told)}:
            usage = Usage.read(told)
            words = f"{usage.tokens:,} tokens" if usage else ""
            return AgentEvent(AgentEventKind.USAGE, words, usage) if usage else None
        case {"wrote": str(path)}:
            return AgentEvent(AgentEventKind.TOOL, f"wrote {path}")
        case {"ran": str(command)}:
            return AgentEvent(AgentEventKind.TOOL, f"ran {command}")
        case {"denied": str(tool)}:
            return AgentEvent(AgentEventKind.DENIED, tool)
        case {"waiting": str(text)}:
            return AgentEvent(AgentEventKind.WAITING, text)
        case {"end": str(end)}:
            kind = AgentEventKind.RESULT if end == CallEnd.COMPLETED else AgentEventKind.FAULT
            return AgentEvent(kind, str(row.get("reason", end)), data=row)
        case {"ended": int(), "reason": str(reason)}:
            return AgentEvent(AgentEventKind.RESULT, reason, data=row)
    return None


def _end(
    name: str, exit: ProcessExit, told: Mapping[str, Any], last: Mapping[str, Any] | None
) -> tuple[CallEnd, str]:
    if exit.stopped in STOPPED_ENDS:
        return STOPPED_ENDS[exit.stopped], ""
    wanted = told.get("end", "completed")
    if wanted not in list(CallEnd):
        return CallEnd.CRASHED, f"the recording ends in {wanted!r}, which is no end"
    if wanted != CallEnd.COMPLETED:
        return CallEnd(wanted), str(told.get("reason", ""))
    if last is None:
        return CallEnd.CRASHED, exit.reason(name, "it stopped before its end")
    is_over = exit.code == 0 or exit.stopped is StopCause.AFTER_RESULT
    if last["ended"] == 0 and is_over:
        return CallEnd.COMPLETED, ""
    return CallEnd.CRASHED, last["reason"] or exit.reason(name, "")
