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
from typing import TYPE_CHECKING, Any, ClassVar

from ddx.agents.command import footer_in, take_footer
from ddx.agents.harness import (
    AgentEvent,
    AgentEventKind,
    CallEnd,
    Invocation,
    ProcessExit,
    Reply,
    Request,
    Usage,
    row_in,
)
from ddx.agents.output import (
    OutputRow,
    count_at,
    plain,
    row_at,
    rows_at,
    text_at,
    tool_words,
)
from ddx.agents.program import AgentProgram
from ddx.agents.usage_limits import end_of_status, reset_time
from ddx.base import changed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    "usage limit": CallEnd.RATE_LIMITED,
    "quota exceeded": CallEnd.RATE_LIMITED,
    "missing environment variable": CallEnd.AUTH,
    "not logged in": CallEnd.AUTH,
    "log in again": CallEnd.AUTH,
    "sign in again": CallEnd.AUTH,
}
_NO_SANDBOX = re.compile(r"bwrap: [^\n]*\n?")


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

    def parse(self, line: str) -> tuple[AgentEvent, ...]:
        """A line that is no JSON is one for people."""
        row = row_in(line)
        return self.parse_error(line) if row is None else tuple(self.events_in(row))

    def events_in(self, row: OutputRow) -> Iterator[AgentEvent]:
        match row.get("type"):
            case "thread.started":
                session = {"session": text_at(row, "thread_id")}
                yield AgentEvent(AgentEventKind.STARTED, data=session)
            case "item.started":
                yield from _item_started(row_at(row, "item"))
            case "item.completed":
                yield from _item_completed(row_at(row, "item"))
            case "turn.completed":
                usage = _usage(row_at(row, "usage"))
                yield AgentEvent(AgentEventKind.RESULT, "", usage, data={"ok": True})
            case "turn.failed":
                yield self._failure(text_at(row, "error", "message"))
                yield AgentEvent(AgentEventKind.RESULT, data={"ok": False})
            case "error":
                text = text_at(row, "message")
                is_waiting = "Reconnecting" in text
                kind = AgentEventKind.WAITING if is_waiting else AgentEventKind.NOTICE
                yield AgentEvent(kind, text)

    def parse_error(self, line: str) -> tuple[AgentEvent, ...]:
        """Two of these lines may be those in which codex sums up for people (X-4a)."""
        if footer := footer_in(line):
            return (AgentEvent(AgentEventKind.NOTICE, line.strip(), data=footer),)
        return super().parse_error(line)

    def finish(self, exit: ProcessExit, events: Sequence[AgentEvent]) -> Reply:
        reply = super().finish(exit, events)
        if reply.usage.tokens:
            return reply
        return changed(reply, usage=Usage(input=take_footer(list(events))))

    def _failure(self, message: str) -> AgentEvent:
        """The service's own answer may be all of the message."""
        text = text_at(row_in(message) or {}, "error", "message") or message or "the turn failed"
        data: dict[str, Any] = {"end": _end(text)}
        if data["end"] is CallEnd.RATE_LIMITED:
            data["until"] = reset_time(text, now=self.machine.now())
        return AgentEvent(AgentEventKind.FAULT, text, data=data)


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


def _item_started(item: OutputRow) -> Iterator[AgentEvent]:
    match item.get("type"):
        case "command_execution":
            yield AgentEvent(AgentEventKind.TOOL, tool_words("command", item))
        case "mcp_tool_call":
            called = f"{text_at(item, 'server')}.{text_at(item, 'tool')}"
            yield AgentEvent(AgentEventKind.TOOL, tool_words(called, row_at(item, "arguments")))


def _item_completed(item: OutputRow) -> Iterator[AgentEvent]:
    command = tool_words("command", item)
    match item.get("type"):
        case "agent_message":
            yield AgentEvent(AgentEventKind.SAID, text_at(item, "text"))
        case "command_execution" if item.get("status") == "declined":
            yield AgentEvent(AgentEventKind.DENIED, command, data={"tool": "command"})
        case "command_execution" if _had_no_sandbox(item):
            problem = plain(text_at(item, "aggregated_output"))
            words = f"any command, since its sandbox does not start ({problem})"
            yield AgentEvent(AgentEventKind.DENIED, words, data={"tool": "command"})
        case "command_execution" if item.get("status") == "failed":
            words = f"{command}: exit code {count_at(item, 'exit_code')}"
            yield AgentEvent(AgentEventKind.NOTICE, words)
        case "file_change":
            paths = ", ".join(text_at(each, "path") for each in rows_at(item, "changes")[:20])
            yield AgentEvent(AgentEventKind.TOOL, tool_words("file change", {"path": paths}))
        case "web_search":
            yield AgentEvent(AgentEventKind.TOOL, tool_words("web search", item))
        case "error":
            yield AgentEvent(AgentEventKind.NOTICE, plain(text_at(item, "message")))


def _had_no_sandbox(item: OutputRow) -> bool:
    """Bubblewrap's complaint is all that came, and it was not the agent who called it."""
    complained = _NO_SANDBOX.fullmatch(text_at(item, "aggregated_output"))
    return bool(complained) and "bwrap" not in text_at(item, "command")


def _end(message: str) -> CallEnd:
    found = _STATUS.search(message)
    if found:
        return end_of_status(int(found[1]))
    known = (end for sign, end in _SIGNS_OF_ENDS.items() if sign in message.lower())
    return next(known, CallEnd.API_ERROR)


def _usage(usage: OutputRow) -> Usage:
    cached, written = (
        count_at(usage, name) for name in ("cached_input_tokens", "cache_write_input_tokens")
    )
    fresh = max(count_at(usage, "input_tokens") - cached - written, 0)
    return Usage(fresh, cached, written, output=count_at(usage, "output_tokens"))
