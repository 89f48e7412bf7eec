"""Claude Code, headless: `claude -p --output-format stream-json` (X-4). Pure.

Where it misleads, and what is believed instead:

- It exits with 0 after a denied tool and after SIGINT: a good `result` without denials is needed.
- `subtype` is "success" for errors of the service too: `is_error` and `terminal_reason` decide.
- An `assistant` line tells its input once per content block and its output hardly at all;
  `result.usage` misses turns. `modelUsage` is right, and the total of the process. Only where no
  result comes, the lines are counted, each message once: the output is then too low.
- A model without a known price is charged at a guessed one: its cost is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ddx.harnesses.base import CostSource, End, Event, Exit, Invocation, Kind, Reply, Request, Usage
from ddx.harnesses.limits import end_of_status, reset_at, reset_time
from ddx.harnesses.program import AgentProgram
from ddx.harnesses.reading import (
    Row,
    count_at,
    money_at,
    row_at,
    row_in,
    rows_at,
    text_at,
    tool_words,
)
from ddx.harnesses.weighing import weigh
from ddx.text import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
_OF_A_SESSION_AROUND_US = (
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
)
_READING_TOOLS = "Read,Grep,Glob"
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")

_ENDS_OF_SUBTYPES = {
    "error_max_turns": End.LIMIT_TURNS,
    "error_max_budget_usd": End.LIMIT_BUDGET,
    "error_max_structured_output_retries": End.LIMIT_TURNS,
}
_ENDS_OF_REASONS = {
    "max_turns": End.LIMIT_TURNS,
    "budget_exhausted": End.LIMIT_BUDGET,
    "aborted_streaming": End.INTERRUPTED,
    "aborted_tools": End.INTERRUPTED,
    "api_error": End.API_ERROR,
    "prompt_too_long": End.API_ERROR,
}
_ENDS_OF_ERRORS = {
    "authentication_failed": End.AUTH,
    "billing_error": End.RATE_LIMITED,
    "rate_limit": End.RATE_LIMITED,
}
_SIGNS_OF_ENDS = {"Not logged in": End.AUTH, "usage limit reached": End.RATE_LIMITED}
"""For versions that name no error but in words."""


class Claude(AgentProgram):
    name = "claude"
    homes: tuple[str, ...] = (".claude", ".claude.json")
    package: ClassVar[str] = "@anthropic-ai/claude-code"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"model", "effort", "read_only", "schema", "max_turns", "max_cost", "cost"}
    )

    def command(self, request: Request) -> Invocation:
        env = dict(_QUIET)
        if self.machine.is_root():
            env["IS_SANDBOX"] = "1"  # as root it refuses to work without asking, but for this
        if self.has_variable(*_KEYS):
            env["CLAUDE_CONFIG_DIR"] = f"{request.scratch}/claude"
        return Invocation(
            (self.program, *_flags(request), *self.argv),
            {**env, **self.env},
            without=_OF_A_SESSION_AROUND_US,
            stdin=request.prompt,
        )

    def parse(self, line: str) -> tuple[Event, ...]:
        row = row_in(line)
        if row is None:
            return ()
        match row.get("type"):
            case "system":
                return _system(row)
            case "assistant":
                return self._assistant(row)
            case "user":
                return _user(row)
            case "rate_limit_event":
                return self._limit(row_at(row, "rate_limit_info"))
            case "result":
                return self._result(row)
            case _:
                return ()

    def finish(self, exit: Exit, events: Sequence[Event]) -> Reply:
        results = [each for each in events if each.kind is Kind.RESULT]
        structured = results[-1].data.get("structured") if results else None
        return weigh(exit, events, program=self.name, structured=structured)

    def _assistant(self, row: Row) -> tuple[Event, ...]:
        if row.get("is_api_error_message") is True:
            return self._refusal(row)
        events = [event for block in rows_at(row, "message", "content") for event in _block(block)]
        usage = row_at(row, "message", "usage")
        if usage:
            message = {"message": text_at(row, "message", "id"), "session": _session(row)}
            events.append(Event(Kind.USAGE, usage=_started_usage(usage), data=message))
        return tuple(events)

    def _refusal(self, row: Row) -> tuple[Event, ...]:
        """The service's error, told in the agent's voice; a subagent's is not the end."""
        text = " ".join(text_at(each, "text") for each in rows_at(row, "message", "content"))
        if row.get("parent_tool_use_id"):
            return (Event(Kind.NOTICE, text),)
        end = _ENDS_OF_ERRORS.get(text_at(row, "error"))
        if end is None:
            end = end_of_status(count_at(row, "api_error_status"))
        limit = row_at(row, "api_error_params", "rate_limit_info")
        return (Event(Kind.FAULT, text, data=self._fault(end, text, limit.get("resetsAt"))),)

    def _limit(self, limit: Row) -> tuple[Event, ...]:
        words = f"usage limit: {text_at(limit, 'status')} ({text_at(limit, 'rateLimitType')})"
        if limit.get("status") != "rejected":
            return (Event(Kind.NOTICE, words),)
        data = self._fault(End.RATE_LIMITED, "", limit.get("resetsAt"))
        return (Event(Kind.NOTICE, words, data=data),)

    def _result(self, row: Row) -> tuple[Event, ...]:
        text = text_at(row, "result")
        ok = (
            row.get("is_error") is False
            and row.get("subtype") == "success"
            and row.get("terminal_reason") in (None, "completed")
        )
        data = {"ok": ok, "session": _session(row), "structured": row.get("structured_output")}
        denials = map(_denial, rows_at(row, "permission_denials"))
        faults = () if ok else (self._failure(row),)
        return (*denials, *faults, Event(Kind.RESULT, text if ok else "", _usage(row), data))

    def _failure(self, row: Row) -> Event:
        end = _end(row)
        words = "; ".join((text_at(row, "result"), *_texts(row.get("errors")))).strip("; ")
        if end is End.INTERRUPTED or not words:
            words = str(end)
        return Event(Kind.FAULT, words, data=self._fault(end, words))

    def _fault(self, end: End, text: str, resets_at: object = None) -> dict[str, Any]:
        if end is not End.RATE_LIMITED:
            return {"end": end}
        now = self.machine.now()
        return {"end": end, "until": reset_at(resets_at, now=now) or reset_time(text, now=now)}


def _flags(request: Request) -> tuple[str, ...]:
    """Nobody is there to be asked, and nothing of the operator's or the project's settings counts.

    What a read-only call has are tools that cannot write; `dontAsk` refuses the rest.
    """
    flags = ["-p", "--output-format", "stream-json", "--verbose"]
    if request.read_only:
        flags += ["--tools", _READING_TOOLS, "--permission-mode", "dontAsk"]
    else:
        flags += ["--permission-mode", "bypassPermissions"]
    flags += ["--strict-mcp-config", "--setting-sources", "", "--no-session-persistence"]
    if request.model:
        flags += ["--model", request.model]
    if request.effort:
        flags += ["--effort", request.effort]
    if request.max_turns > 0:
        flags += ["--max-turns", str(request.max_turns)]
    if request.max_cost_usd:
        flags += ["--max-budget-usd", str(request.max_cost_usd)]
    if request.schema:
        flags += ["--json-schema", request.schema]
    return tuple(flags)


def _system(row: Row) -> tuple[Event, ...]:
    match row.get("subtype"):
        case "init":
            model = text_at(row, "model")
            return (Event(Kind.STARTED, model, data={"session": _session(row), "model": model}),)
        case "api_retry":
            status = count_at(row, "error_status")
            tries = f"{count_at(row, 'attempt')} of {count_at(row, 'max_retries')}"
            words = f"{text_at(row, 'error') or 'error'} {status or ''}, try {tries}"
            return (Event(Kind.WAITING, words, data={"status": status}),)
        case "permission_denied":
            return (_denial(row),)
        case _:
            return ()


def _block(block: Row) -> tuple[Event, ...]:
    match block.get("type"):
        case "text":
            return (Event(Kind.SAID, text_at(block, "text")),)
        case "tool_use":
            return (Event(Kind.TOOL, tool_words(text_at(block, "name"), row_at(block, "input"))),)
        case _:
            return ()


def _user(row: Row) -> tuple[Event, ...]:
    """Of what goes back to the model, only that the program was interrupted is news."""
    for block in rows_at(row, "message", "content"):
        if block.get("type") == "text" and block.get("text") in _INTERRUPTED:
            return (Event(Kind.FAULT, "interrupted", data={"end": End.INTERRUPTED}),)
    return ()


def _denial(row: Row) -> Event:
    tool = text_at(row, "tool_name") or "a tool"
    return Event(Kind.DENIED, tool_words(tool, row_at(row, "tool_input")), data={"tool": tool})


def _end(row: Row) -> End:
    """What a result that is none means; anything not recognised is the program's failure."""
    by_words = [end for sign, end in _SIGNS_OF_ENDS.items() if sign in text_at(row, "result")]
    status = count_at(row, "api_error_status")
    if row.get("is_error") is True and (by_words or status):
        return by_words[0] if by_words else end_of_status(status)
    reason = text_at(row, "terminal_reason")
    by_subtype = _ENDS_OF_SUBTYPES.get(text_at(row, "subtype"))
    return by_subtype or _ENDS_OF_REASONS.get(reason) or End.CRASHED


def _usage(row: Row) -> Usage | None:
    """The total of the process, by model; a process of ours answers one prompt only."""
    models = row.get("modelUsage")
    if not isinstance(models, dict):
        return _started_usage(row_at(row, "usage")) if row_at(row, "usage") else None
    by_model = [each for each in models.values() if isinstance(each, dict)]
    cost = money_at(row, "total_cost_usd")
    if any(each.get("costBasis") == "unknown" for each in by_model):
        cost = None
    return Usage(
        sum(count_at(each, "inputTokens") for each in by_model),
        sum(count_at(each, "cacheReadInputTokens") for each in by_model),
        sum(count_at(each, "cacheCreationInputTokens") for each in by_model),
        sum(count_at(each, "outputTokens") for each in by_model),
        cost,
        CostSource.UNKNOWN if cost is None else CostSource.REPORTED,
    )


def _started_usage(usage: Row) -> Usage:
    return Usage(
        count_at(usage, "input_tokens"),
        count_at(usage, "cache_read_input_tokens"),
        count_at(usage, "cache_creation_input_tokens"),
        count_at(usage, "output_tokens"),
    )


def _session(row: Row) -> str:
    return text_at(row, "session_id")


def _texts(found: object) -> list[str]:
    return (
        [cut(each, 400) for each in found if isinstance(each, str)]
        if isinstance(found, list)
        else []
    )
