"""opencode, headless: `opencode run --format json` with the prompt on stdin (X-4). Pure.

Where it misleads, and what is believed instead:

- A tool that must be asked for is refused without `--auto`, and the run then ends with 0 in the
  middle of its work: only a step that ends in `stop` is a last word.
- Each step tells its own use, so steps are added up. `input` leaves out what came from the cache,
  `output` what it thought. A cost of 0 means a model without a price.
- It works in the folder that PWD names, wherever it was started: the workspace must stand there,
  or it would write into the operator's checkout.
- It retries without a word, for more than a minute even what cannot succeed.
- Its plan mode still has a shell, so a read-only call is made by permissions instead.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from ddx.agents.harness import (
    AgentEvent,
    AgentEventKind,
    CallEnd,
    CostSource,
    Invocation,
    Request,
    Usage,
)
from ddx.agents.output import OutputRow, count_at, money_at, row_at, text_at, tool_words
from ddx.agents.program import AgentProgram, asking_for
from ddx.agents.usage_limits import end_of_status, reset_after, reset_time

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUIET = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_SHARE": "1"}
_READING_ONLY = json.dumps({"edit": "deny", "bash": "deny", "webfetch": "deny"})
_REFUSALS = ("rejected permission", "specified a rule which prevents")
_ENDS_OF_NAMES = {
    "ProviderAuthError": CallEnd.AUTH,
    "MessageAbortedError": CallEnd.INTERRUPTED,
    "APIError": CallEnd.API_ERROR,
    "ContextOverflowError": CallEnd.API_ERROR,
}


class OpenCode(AgentProgram):
    """Its providers are told in its own settings, so it keeps them, whichever keys there are."""

    name = "opencode"
    homes: tuple[str, ...] = (
        ".config/opencode",
        ".local/share/opencode",
        ".local/state/opencode",
        ".cache/opencode",
    )
    package: ClassVar[str] = "opencode-ai"
    capabilities: ClassVar[frozenset[str]] = frozenset({"model", "effort", "read_only", "cost"})

    def command(self, request: Request) -> Invocation:
        reading = {"OPENCODE_PERMISSION": _READING_ONLY} if request.read_only else {}
        return Invocation(
            (self.program, *_flags(request), *self.argv),
            {**_QUIET, **reading, **self.env, "PWD": request.workspace},
            stdin=request.prompt + asking_for(request.schema),
        )

    def events_in(self, row: OutputRow) -> Iterator[AgentEvent]:
        part = row_at(row, "part")
        match row.get("type"):
            case "text":
                yield AgentEvent(AgentEventKind.SAID, text_at(part, "text"))
            case "tool_use":
                yield from _tool(part)
            case "step_finish":
                yield from _step(part, text_at(row, "sessionID"))
            case "error":
                yield self._failure(row)

    def _failure(self, row: OutputRow) -> AgentEvent:
        name, data = text_at(row, "error", "name"), row_at(row, "error", "data")
        text = text_at(data, "message") or name or "the program reports an error"
        status = count_at(data, "statusCode")
        end = end_of_status(status) if status else _ENDS_OF_NAMES.get(name, CallEnd.CRASHED)
        now = self.machine.now()
        wait = text_at(data, "responseHeaders", "retry-after")
        until = reset_after(int(wait), now=now) if wait.isdecimal() and len(wait) < 9 else ""
        session = text_at(row, "sessionID")
        details = {"end": end, "until": until or reset_time(text, now=now), "session": session}
        return AgentEvent(AgentEventKind.FAULT, text, data=details)


def _flags(request: Request) -> tuple[str, ...]:
    """Plugins stay out; the project's own settings count, since its AGENTS.md goes with them."""
    flags = ["run", "--format", "json", "--pure"]
    if not request.read_only:
        flags.append("--auto")
    if request.model:
        flags += ["-m", request.model]
    if request.effort:
        flags += ["--variant", request.effort]
    return tuple(flags)


def _tool(part: OutputRow) -> Iterator[AgentEvent]:
    state = row_at(part, "state")
    tool = text_at(part, "tool")
    words = tool_words(tool, row_at(state, "input"))
    yield AgentEvent(AgentEventKind.TOOL, words)
    problem = text_at(state, "error") if state.get("status") == "error" else ""
    if any(refusal in problem for refusal in _REFUSALS):
        yield AgentEvent(AgentEventKind.DENIED, words, data={"tool": tool})


def _step(part: OutputRow, session: str) -> Iterator[AgentEvent]:
    yield AgentEvent(AgentEventKind.USAGE, usage=_usage(part), data={"session": session})
    if part.get("reason") == "stop":
        yield AgentEvent(AgentEventKind.RESULT, data={"ok": True})


def _usage(part: OutputRow) -> Usage:
    tokens = row_at(part, "tokens")
    cost = money_at(part, "cost") or None
    return Usage(
        input=count_at(tokens, "input"),
        cache_read=count_at(tokens, "cache", "read"),
        cache_write=count_at(tokens, "cache", "write"),
        output=count_at(tokens, "output") + count_at(tokens, "reasoning"),
        cost_usd=cost,
        cost_source=CostSource.UNKNOWN if cost is None else CostSource.REPORTED,
    )
