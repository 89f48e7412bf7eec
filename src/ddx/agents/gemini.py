"""Gemini CLI, headless: `gemini -o stream-json` with the prompt on stdin (X-4). Pure.

Where it misleads, and what is believed instead:

- Without `--approval-mode yolo` the tools that write are not even offered, and it ends in success
  with nothing done: the flag is always given, and a tool that is refused or missing is a denial.
- An error of the service is the exit code: its HTTP status modulo 256. 41 is a missing login, 53
  the limit of turns, 55 a folder that is not trusted.
- `output_tokens` leaves out what it thought, `total_tokens` does not. There is no cost.
- It waits for hours by itself when a limit says so, and tells it on stderr only.
- It does not heed SIGTERM while a request runs.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

from ddx.agents.harness import (
    AgentEvent,
    AgentEventKind,
    CallEnd,
    Invocation,
    ProcessExit,
    Reply,
    Request,
    Usage,
)
from ddx.agents.output import OutputRow, count_at, plain, row_at, text_at, tool_words
from ddx.agents.program import AgentProgram, asking_for
from ddx.agents.usage_limits import end_of_status, reset_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_KEY = "GEMINI_API_KEY"
_HOME = "gemini"
_WRITING_TOOLS = ("write_file", "replace", "run_shell_command")
_ENDS_OF_CODES = {
    41: (CallEnd.AUTH, "it is not logged in"),
    53: (CallEnd.LIMIT_TURNS, "the limit of turns was reached"),
    55: (CallEnd.DENIED, "it does not trust this folder"),
}
_ENDS_OF_TYPES = {
    "FatalAuthenticationError": CallEnd.AUTH,
    "FatalCancellationError": CallEnd.INTERRUPTED,
    "FatalTurnLimitedError": CallEnd.LIMIT_TURNS,
}
_STATUS = re.compile(r'"code"\s*:\s*(\d{3})\b')
_RETRY = re.compile(r"Attempt \d{1,6} failed\b.*?\bRetrying\b", re.DOTALL)
_OVERRIDDEN = re.compile(r'Approval mode overridden to "\w+" because .*')


class Gemini(AgentProgram):
    name = "gemini"
    homes: tuple[str, ...] = (".gemini",)
    package: ClassVar[str] = "@google/gemini-cli"
    capabilities: ClassVar[frozenset[str]] = frozenset({"model", "read_only"})

    def command(self, request: Request) -> Invocation:
        env: dict[str, str] = {}
        files: dict[str, str] = {}
        if self.has_variable(_KEY):
            env["GEMINI_CLI_HOME"] = f"{request.scratch}/{_HOME}"
            files[f"{_HOME}/.gemini/settings.json"] = json.dumps(_settings(request))
        return Invocation(
            (self.program, *_flags(request), *self.argv),
            {**env, **self.env},
            stdin=request.prompt + asking_for(request.schema),
            files=files,
        )

    def events_in(self, row: OutputRow) -> Iterator[AgentEvent]:
        match row.get("type"):
            case "init":
                session = {"session": text_at(row, "session_id")}
                yield AgentEvent(AgentEventKind.STARTED, text_at(row, "model"), data=session)
            case "message" if row.get("role") == "assistant":
                delta = {"delta": row.get("delta") is True}
                yield AgentEvent(AgentEventKind.SAID, text_at(row, "content"), data=delta)
            case "tool_use":
                words = tool_words(text_at(row, "tool_name"), row_at(row, "parameters"))
                yield AgentEvent(AgentEventKind.TOOL, words)
            case "tool_result":
                yield from _tool_result(row)
            case "error":
                yield AgentEvent(AgentEventKind.NOTICE, plain(text_at(row, "message")))
            case "result":
                yield from self._result(row)

    def parse_error(self, line: str) -> tuple[AgentEvent, ...]:
        """It writes much there that is for nobody; only waits and refusals are news."""
        text = plain(line)
        if _RETRY.match(text):
            until = reset_time(text, now=self.machine.now())
            return (AgentEvent(AgentEventKind.WAITING, text, data={"until": until}),)
        if _OVERRIDDEN.fullmatch(text):
            return (AgentEvent(AgentEventKind.DENIED, text),)
        return ()

    def finish(self, exit: ProcessExit, events: Sequence[AgentEvent]) -> Reply:
        return super().finish(exit, [*events, *_told_by_code(exit, events)])

    def _result(self, row: OutputRow) -> Iterator[AgentEvent]:
        usage = _usage(row_at(row, "stats"))
        if row.get("status") == "success":
            idle = "" if count_at(row, "stats", "tool_calls") else "it used no tool"
            yield AgentEvent(AgentEventKind.RESULT, "", usage, data={"ok": True, "reason": idle})
            return
        message = text_at(row, "error", "message") or "the program reports an error"
        end = _ENDS_OF_TYPES.get(text_at(row, "error", "type")) or _end(message)
        until = reset_time(message, now=self.machine.now())
        yield AgentEvent(AgentEventKind.FAULT, message, data={"end": end, "until": until})
        yield AgentEvent(AgentEventKind.RESULT, "", usage, data={"ok": False})


def _flags(request: Request) -> tuple[str, ...]:
    mode = "plan" if request.read_only else "yolo"
    flags = ["-o", "stream-json", "--approval-mode", mode, "--skip-trust"]
    if request.model:
        flags += ["-m", request.model]
    return (*flags, "-e", "none", "--allowed-mcp-server-names", "none")


def _settings(request: Request) -> dict[str, Any]:
    """Of a home of its own: it must be told that the key in the environment is its login."""
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    if request.max_turns > 0:
        settings["model"] = {"maxSessionTurns": request.max_turns}
    return settings


def _tool_result(row: OutputRow) -> Iterator[AgentEvent]:
    """A tool that writes and is not there was taken from the agent by its mode."""
    tool = text_at(row, "tool_id").partition("__")[0]
    kind = text_at(row, "error", "type")
    if kind == "policy_violation" or (kind == "tool_not_registered" and tool in _WRITING_TOOLS):
        yield AgentEvent(AgentEventKind.DENIED, tool, data={"tool": tool})


def _end(message: str) -> CallEnd:
    found = _STATUS.search(message)
    if "quota" in message.lower():
        return CallEnd.RATE_LIMITED
    return end_of_status(int(found[1])) if found else CallEnd.API_ERROR


def _told_by_code(exit: ProcessExit, events: Sequence[AgentEvent]) -> Iterator[AgentEvent]:
    """What the exit code adds; it can turn nothing into a success."""
    status = exit.code + 256
    if exit.code in _ENDS_OF_CODES:
        end, words = _ENDS_OF_CODES[exit.code]
    elif 400 <= status < 512:
        end, words = end_of_status(status), f"the service answered with {status}"
    else:
        return
    faults = [each.text for each in events if each.kind is AgentEventKind.FAULT]
    yield AgentEvent(AgentEventKind.FAULT, (faults or [words])[-1], data={"end": end})


def _usage(stats: OutputRow) -> Usage:
    read, cached = count_at(stats, "input_tokens"), count_at(stats, "cached")
    output = max(count_at(stats, "total_tokens") - read, count_at(stats, "output_tokens"))
    return Usage(max(read - cached, 0), cached, 0, output=output)
