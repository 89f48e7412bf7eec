"""Codex, headless: `codex exec --json` (X-4). Pure.

Where it misleads, and what is believed instead:

- It exits with 0 although the agent's commands failed, and does not even show a command that its
  sandbox refused: what was done only the workspace tells. A declined command is a denial, and so
  is a sandbox that cannot start, as inside another one or with a CODEX_HOME below /tmp.
- An item of the type `error` is a warning, an `error` that reconnects is a wait; only
  `turn.failed` is a failure, and only `turn.completed` a success.
- `input_tokens` includes what came from the cache. After a resume the usage is the whole thread's;
  we never resume, so the thread is this call. There is no cost.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from ddx.harnesses.base import End, Event, Exit, Invocation, Kind, Reply, Request, Usage
from ddx.harnesses.limits import end_of_status, reset_time
from ddx.harnesses.program import AgentProgram
from ddx.harnesses.reading import (
    Row,
    count_at,
    plain,
    row_at,
    row_in,
    rows_at,
    text_at,
    tool_words,
)
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = "CODEX_API_KEY"
"""The only key that `exec` reads by itself; OPENAI_API_KEY may be there for other programs."""

_OF_A_SESSION_AROUND_US = (
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
)
_SCHEMA = "codex-schema.json"
_STATUS = re.compile(r"(?:unexpected status|last status:) (\d{3})\b")
_SIGNS_OF_ENDS = {
    "usage limit": End.RATE_LIMITED,
    "quota exceeded": End.RATE_LIMITED,
    "missing environment variable": End.AUTH,
    "not logged in": End.AUTH,
    "log in again": End.AUTH,
    "sign in again": End.AUTH,
}
_NO_SANDBOX = re.compile(r"bwrap: [^\n]*\n?")
_FOOTER_HEAD = re.compile(r"\s*tokens used:?\s*", re.IGNORECASE)
_FOOTER_NUMBER = re.compile(r"\s*(\d{1,3}(?:,\d{3}){1,3}|\d{1,12})\s*", re.ASCII)


class Codex(AgentProgram):
    name = "codex"
    homes: tuple[str, ...] = (".codex",)
    package: ClassVar[str] = "@openai/codex"
    capabilities: ClassVar[frozenset[str]] = frozenset({"model", "effort", "read_only", "schema"})

    def command(self, request: Request) -> Invocation:
        home = {"CODEX_HOME": request.scratch} if self.has_variable(_KEY) else {}
        return Invocation(
            (self.program, *_flags(request), *self.argv, "-"),
            {**home, **self.env},
            without=_OF_A_SESSION_AROUND_US,
            stdin=request.prompt,
            files={_SCHEMA: request.schema} if request.schema else {},
        )

    def parse(self, line: str) -> tuple[Event, ...]:
        row = row_in(line)
        if row is None:
            return self.parse_error(line)
        match row.get("type"):
            case "thread.started":
                return (Event(Kind.STARTED, data={"session": text_at(row, "thread_id")}),)
            case "item.started":
                return _item_started(row_at(row, "item"))
            case "item.completed":
                return _item_completed(row_at(row, "item"))
            case "turn.completed":
                return (Event(Kind.RESULT, "", _usage(row_at(row, "usage")), {"ok": True}),)
            case "turn.failed":
                return self._failure(text_at(row, "error", "message"))
            case "error":
                text = text_at(row, "message")
                return (Event(Kind.WAITING if "Reconnecting" in text else Kind.NOTICE, text),)
            case _:
                return ()

    def parse_error(self, line: str) -> tuple[Event, ...]:
        return _footer(line) or super().parse_error(line)

    def finish(self, exit: Exit, events: Sequence[Event]) -> Reply:
        reply = super().finish(exit, events)
        if reply.usage.tokens:
            return reply
        return changed(reply, usage=Usage(input=_footer_tokens(events)))

    def _failure(self, message: str) -> tuple[Event, ...]:
        """The service's own answer may be all of the message."""
        text = text_at(row_in(message) or {}, "error", "message") or message or "the turn failed"
        data: dict[str, Any] = {"end": _end(text)}
        if data["end"] is End.RATE_LIMITED:
            data["until"] = reset_time(text, now=self.machine.now())
        return (Event(Kind.FAULT, text, data=data), Event(Kind.RESULT, data={"ok": False}))


def _flags(request: Request) -> tuple[str, ...]:
    """The operator's login, but neither settings nor rules; no session is kept.

    The workspace is ours and need not be a repository that codex knows. Its sandbox cannot work
    inside another one, which then has to do what it would have done.
    """
    sandbox = "read-only" if request.read_only else "workspace-write"
    if request.in_sandbox:
        sandbox = "danger-full-access"
    flags = ["exec", "--json", "--ephemeral", "--ignore-user-config", "--ignore-rules"]
    flags += ["--skip-git-repo-check", "-s", sandbox]
    flags += ["-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"]
    if request.model:
        flags += ["-m", request.model]
    if request.effort:
        flags += ["-c", f"model_reasoning_effort={json.dumps(request.effort)}"]
    if request.schema:
        flags += ["--output-schema", f"{request.scratch}/{_SCHEMA}"]
    return tuple(flags)


def _item_started(item: Row) -> tuple[Event, ...]:
    match item.get("type"):
        case "command_execution":
            return (Event(Kind.TOOL, tool_words("command", item)),)
        case "mcp_tool_call":
            called = f"{text_at(item, 'server')}.{text_at(item, 'tool')}"
            return (Event(Kind.TOOL, tool_words(called, row_at(item, "arguments"))),)
        case _:
            return ()


def _item_completed(item: Row) -> tuple[Event, ...]:
    match item.get("type"):
        case "agent_message":
            return (Event(Kind.SAID, text_at(item, "text")),)
        case "command_execution" if item.get("status") == "declined":
            return (Event(Kind.DENIED, tool_words("command", item), data={"tool": "command"}),)
        case "command_execution" if _had_no_sandbox(item):
            problem = plain(text_at(item, "aggregated_output"))
            words = f"any command, since its sandbox does not start ({problem})"
            return (Event(Kind.DENIED, words, data={"tool": "command"}),)
        case "command_execution" if item.get("status") == "failed":
            words = tool_words("command", item)
            return (Event(Kind.NOTICE, f"{words}: exit code {count_at(item, 'exit_code')}"),)
        case "file_change":
            paths = ", ".join(text_at(each, "path") for each in rows_at(item, "changes")[:20])
            return (Event(Kind.TOOL, tool_words("file change", {"path": paths})),)
        case "web_search":
            return (Event(Kind.TOOL, tool_words("web search", item)),)
        case "error":
            return (Event(Kind.NOTICE, plain(text_at(item, "message"))),)
        case _:
            return ()


def _had_no_sandbox(item: Row) -> bool:
    """Bubblewrap's complaint is all that came, and it was not the agent who called it."""
    complained = _NO_SANDBOX.fullmatch(text_at(item, "aggregated_output"))
    return bool(complained) and "bwrap" not in text_at(item, "command")


def _end(message: str) -> End:
    found = _STATUS.search(message)
    if found:
        return end_of_status(int(found[1]))
    known = (end for sign, end in _SIGNS_OF_ENDS.items() if sign in message.lower())
    return next(known, End.API_ERROR)


def _usage(usage: Row) -> Usage:
    cached, written = (
        count_at(usage, name) for name in ("cached_input_tokens", "cache_write_input_tokens")
    )
    fresh = max(count_at(usage, "input_tokens") - cached - written, 0)
    return Usage(fresh, cached, written, count_at(usage, "output_tokens"))


def _footer(line: str) -> tuple[Event, ...]:
    """A line that may be one of the two in which codex sums up for people (X-4a)."""
    if len(line) < 40 and _FOOTER_HEAD.fullmatch(line):
        return (Event(Kind.NOTICE, line.strip(), data={"footer": True}),)
    number = _FOOTER_NUMBER.fullmatch(line) if len(line) < 40 else None
    if number is None:
        return ()
    return (Event(Kind.NOTICE, line.strip(), data={"tokens": int(number[1].replace(",", ""))}),)


def _footer_tokens(events: Sequence[Event]) -> int:
    """The number of the last footer whose two lines stand together; 0 without one."""
    for head, number in reversed(list(pairwise(events))):
        if "footer" in head.data and "tokens" in number.data:
            tokens: int = number.data["tokens"]
            return tokens
    return 0
