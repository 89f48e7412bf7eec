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
from typing import ClassVar

from ddx.harnesses.base import CostSource, End, Event, Invocation, Kind, Request, Usage
from ddx.harnesses.limits import end_of_status, reset_after, reset_time
from ddx.harnesses.program import AgentProgram, asking_for
from ddx.harnesses.reading import (
    Row,
    count_at,
    money_at,
    row_at,
    row_in,
    text_at,
    tool_words,
)

_QUIET = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_SHARE": "1"}
_READING_ONLY = json.dumps({"edit": "deny", "bash": "deny", "webfetch": "deny"})
_REFUSALS = ("rejected permission", "specified a rule which prevents")
_ENDS_OF_NAMES = {
    "ProviderAuthError": End.AUTH,
    "MessageAbortedError": End.INTERRUPTED,
    "APIError": End.API_ERROR,
    "ContextOverflowError": End.API_ERROR,
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

    def parse(self, line: str) -> tuple[Event, ...]:
        row = row_in(line)
        if row is None:
            return ()
        part = row_at(row, "part")
        match row.get("type"):
            case "text":
                return (Event(Kind.SAID, text_at(part, "text")),)
            case "tool_use":
                return _tool(part)
            case "step_finish":
                return _step(part, text_at(row, "sessionID"))
            case "error":
                return self._failure(row)
            case _:
                return ()

    def _failure(self, row: Row) -> tuple[Event, ...]:
        name, data = text_at(row, "error", "name"), row_at(row, "error", "data")
        text = text_at(data, "message") or name or "the program reports an error"
        status = count_at(data, "statusCode")
        end = end_of_status(status) if status else _ENDS_OF_NAMES.get(name, End.CRASHED)
        now = self.machine.now()
        wait = text_at(data, "responseHeaders", "retry-after")
        until = reset_after(int(wait), now=now) if wait.isdecimal() and len(wait) < 9 else ""
        session = text_at(row, "sessionID")
        details = {"end": end, "until": until or reset_time(text, now=now), "session": session}
        return (Event(Kind.FAULT, text, data=details),)


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


def _tool(part: Row) -> tuple[Event, ...]:
    state = row_at(part, "state")
    tool = text_at(part, "tool")
    used = Event(Kind.TOOL, tool_words(tool, row_at(state, "input")))
    problem = text_at(state, "error") if state.get("status") == "error" else ""
    if any(refusal in problem for refusal in _REFUSALS):
        return (used, Event(Kind.DENIED, used.text, data={"tool": tool}))
    return (used,)


def _step(part: Row, session: str) -> tuple[Event, ...]:
    used = Event(Kind.USAGE, usage=_usage(part), data={"session": session})
    if part.get("reason") == "stop":
        return (used, Event(Kind.RESULT, data={"ok": True}))
    return (used,)


def _usage(part: Row) -> Usage:
    tokens = row_at(part, "tokens")
    cost = money_at(part, "cost") or None
    return Usage(
        count_at(tokens, "input"),
        count_at(tokens, "cache", "read"),
        count_at(tokens, "cache", "write"),
        count_at(tokens, "output") + count_at(tokens, "reasoning"),
        cost,
        CostSource.UNKNOWN if cost is None else CostSource.REPORTED,
    )
