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

from ddx.harnesses.base import End, Event, Exit, Invocation, Kind, Reply, Request, Usage
from ddx.harnesses.limits import end_of_status, reset_time
from ddx.harnesses.program import AgentProgram, asking_for
from ddx.harnesses.reading import Row, count_at, plain, row_at, row_in, text_at, tool_words

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = "GEMINI_API_KEY"
_HOME = "gemini"
_WRITING_TOOLS = ("write_file", "replace", "run_shell_command")
_ENDS_OF_CODES = {
    41: (End.AUTH, "it is not logged in"),
    53: (End.LIMIT_TURNS, "the limit of turns was reached"),
    55: (End.DENIED, "it does not trust this folder"),
}
_ENDS_OF_TYPES = {
    "FatalAuthenticationError": End.AUTH,
    "FatalCancellationError": End.INTERRUPTED,
    "FatalTurnLimitedError": End.LIMIT_TURNS,
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

    def parse(self, line: str) -> tuple[Event, ...]:
        row = row_in(line)
        if row is None:
            return ()
        match row.get("type"):
            case "init":
                session = {"session": text_at(row, "session_id")}
                return (Event(Kind.STARTED, text_at(row, "model"), data=session),)
            case "message" if row.get("role") == "assistant":
                delta = {"delta": row.get("delta") is True}
                return (Event(Kind.SAID, text_at(row, "content"), data=delta),)
            case "tool_use":
                words = tool_words(text_at(row, "tool_name"), row_at(row, "parameters"))
                return (Event(Kind.TOOL, words),)
            case "tool_result":
                return _tool_result(row)
            case "error":
                return (Event(Kind.NOTICE, plain(text_at(row, "message"))),)
            case "result":
                return self._result(row)
            case _:
                return ()

    def parse_error(self, line: str) -> tuple[Event, ...]:
        """It writes much there that is for nobody; only waits and refusals are news."""
        text = plain(line)
        if _RETRY.match(text):
            until = reset_time(text, now=self.machine.now())
            return (Event(Kind.WAITING, text, data={"until": until}),)
        if _OVERRIDDEN.fullmatch(text):
            return (Event(Kind.DENIED, text),)
        return ()

    def finish(self, exit: Exit, events: Sequence[Event]) -> Reply:
        return super().finish(exit, [*events, *_told_by_code(exit, events)])

    def _result(self, row: Row) -> tuple[Event, ...]:
        usage = _usage(row_at(row, "stats"))
        if row.get("status") == "success":
            idle = "" if count_at(row, "stats", "tool_calls") else "it used no tool"
            return (Event(Kind.RESULT, "", usage, {"ok": True, "reason": idle}),)
        message = text_at(row, "error", "message") or "the program reports an error"
        end = _ENDS_OF_TYPES.get(text_at(row, "error", "type")) or _end(message)
        until = reset_time(message, now=self.machine.now())
        fault = Event(Kind.FAULT, message, data={"end": end, "until": until})
        return (fault, Event(Kind.RESULT, "", usage, {"ok": False}))


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


def _tool_result(row: Row) -> tuple[Event, ...]:
    """A tool that writes and is not there was taken from the agent by its mode."""
    tool = text_at(row, "tool_id").partition("__")[0]
    kind = text_at(row, "error", "type")
    if kind == "policy_violation" or (kind == "tool_not_registered" and tool in _WRITING_TOOLS):
        return (Event(Kind.DENIED, tool, data={"tool": tool}),)
    return ()


def _end(message: str) -> End:
    found = _STATUS.search(message)
    if "quota" in message.lower():
        return End.RATE_LIMITED
    return end_of_status(int(found[1])) if found else End.API_ERROR


def _told_by_code(exit: Exit, events: Sequence[Event]) -> tuple[Event, ...]:
    """What the exit code adds; it can turn nothing into a success."""
    status = exit.code + 256
    if exit.code in _ENDS_OF_CODES:
        end, words = _ENDS_OF_CODES[exit.code]
    elif 400 <= status < 512:
        end, words = end_of_status(status), f"the service answered with {status}"
    else:
        return ()
    faults = [each.text for each in events if each.kind is Kind.FAULT]
    return (Event(Kind.FAULT, (faults or [words])[-1], data={"end": end}),)


def _usage(stats: Row) -> Usage:
    read, cached = count_at(stats, "input_tokens"), count_at(stats, "cached")
    output = max(count_at(stats, "total_tokens") - read, count_at(stats, "output_tokens"))
    return Usage(max(read - cached, 0), cached, 0, output)
