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

from ddx.agents.call_result import weigh
from ddx.agents.harness import (
    AgentEvent,
    AgentEventKind,
    CallEnd,
    CostSource,
    Invocation,
    ProcessExit,
    Reply,
    Request,
    Usage,
)
from ddx.agents.output import (
    OutputRow,
    count_at,
    money_at,
    row_at,
    rows_at,
    text_at,
    tool_words,
)
from ddx.agents.program import AgentProgram
from ddx.agents.usage_limits import end_of_status, reset_at, reset_time
from ddx.base import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    "error_max_turns": CallEnd.LIMIT_TURNS,
    "error_max_budget_usd": CallEnd.LIMIT_BUDGET,
    "error_max_structured_output_retries": CallEnd.LIMIT_TURNS,
}
_ENDS_OF_REASONS = {
    "max_turns": CallEnd.LIMIT_TURNS,
    "budget_exhausted": CallEnd.LIMIT_BUDGET,
    "aborted_streaming": CallEnd.INTERRUPTED,
    "aborted_tools": CallEnd.INTERRUPTED,
    "api_error": CallEnd.API_ERROR,
    "prompt_too_long": CallEnd.API_ERROR,
}
_ENDS_OF_ERRORS = {
    "authentication_failed": CallEnd.AUTH,
    "billing_error": CallEnd.RATE_LIMITED,
    "rate_limit": CallEnd.RATE_LIMITED,
}
_SIGNS_OF_ENDS = {"Not logged in": CallEnd.AUTH, "usage limit reached": CallEnd.RATE_LIMITED}
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

    def events_in(self, row: OutputRow) -> Iterator[AgentEvent]:
        match row.get("type"):
            case "system":
                yield from _system(row)
            case "assistant":
                yield from self._assistant(row)
            case "user":
                yield from _user(row)
            case "rate_limit_event":
                yield self._limit(row_at(row, "rate_limit_info"))
            case "result":
                yield from self._result(row)

    def finish(self, exit: ProcessExit, events: Sequence[AgentEvent]) -> Reply:
        results = [each for each in events if each.kind is AgentEventKind.RESULT]
        structured = results[-1].data.get("structured") if results else None
        return weigh(exit, events, program=self.name, structured=structured)

    def _assistant(self, row: OutputRow) -> Iterator[AgentEvent]:
        blocks = rows_at(row, "message", "content")
        if row.get("is_api_error_message") is True:
            yield self._refusal(row, " ".join(text_at(block, "text") for block in blocks))
            return
        for block in blocks:
            match block.get("type"):
                case "text":
                    yield AgentEvent(AgentEventKind.SAID, text_at(block, "text"))
                case "tool_use":
                    words = tool_words(text_at(block, "name"), row_at(block, "input"))
                    yield AgentEvent(AgentEventKind.TOOL, words)
        if usage := row_at(row, "message", "usage"):
            message = {"message": text_at(row, "message", "id"), "session": _session(row)}
            yield AgentEvent(AgentEventKind.USAGE, usage=_started_usage(usage), data=message)

    def _refusal(self, row: OutputRow, text: str) -> AgentEvent:
        """The service's error, told in the agent's voice; a subagent's is not the end."""
        if row.get("parent_tool_use_id"):
            return AgentEvent(AgentEventKind.NOTICE, text)
        end = _ENDS_OF_ERRORS.get(text_at(row, "error"))
        if end is None:
            end = end_of_status(count_at(row, "api_error_status"))
        resets_at = row_at(row, "api_error_params", "rate_limit_info").get("resetsAt")
        return AgentEvent(AgentEventKind.FAULT, text, data=self._fault(end, text, resets_at))

    def _limit(self, limit: OutputRow) -> AgentEvent:
        words = f"usage limit: {text_at(limit, 'status')} ({text_at(limit, 'rateLimitType')})"
        if limit.get("status") != "rejected":
            return AgentEvent(AgentEventKind.NOTICE, words)
        data = self._fault(CallEnd.RATE_LIMITED, "", limit.get("resetsAt"))
        return AgentEvent(AgentEventKind.NOTICE, words, data=data)

    def _result(self, row: OutputRow) -> Iterator[AgentEvent]:
        ok = (
            row.get("is_error") is False
            and row.get("subtype") == "success"
            and row.get("terminal_reason") in (None, "completed")
        )
        yield from map(_denial, rows_at(row, "permission_denials"))
        if not ok:
            yield self._failure(row)
        data = {"ok": ok, "session": _session(row), "structured": row.get("structured_output")}
        text = text_at(row, "result") if ok else ""
        yield AgentEvent(AgentEventKind.RESULT, text, _usage(row), data=data)

    def _failure(self, row: OutputRow) -> AgentEvent:
        end = _end(row)
        words = "; ".join((text_at(row, "result"), *_texts(row.get("errors")))).strip("; ")
        if end is CallEnd.INTERRUPTED or not words:
            words = str(end)
        return AgentEvent(AgentEventKind.FAULT, words, data=self._fault(end, words))

    def _fault(self, end: CallEnd, text: str, resets_at: object = None) -> dict[str, Any]:
        if end is not CallEnd.RATE_LIMITED:
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
    for flag, wanted in (
        ("--model", request.model),
        ("--effort", request.effort),
        ("--max-turns", max(request.max_turns, 0)),
        ("--max-budget-usd", request.max_cost_usd),
        ("--json-schema", request.schema),
    ):
        if wanted:
            flags += [flag, str(wanted)]
    return tuple(flags)


def _system(row: OutputRow) -> Iterator[AgentEvent]:
    match row.get("subtype"):
        case "init":
            model = text_at(row, "model")
            data = {"session": _session(row), "model": model}
            yield AgentEvent(AgentEventKind.STARTED, model, data=data)
        case "api_retry":
            status = count_at(row, "error_status")
            tries = f"{count_at(row, 'attempt')} of {count_at(row, 'max_retries')}"
            words = f"{text_at(row, 'error') or 'error'} {status or ''}, try {tries}"
            yield AgentEvent(AgentEventKind.WAITING, words, data={"status": status})
        case "permission_denied":
            yield _denial(row)


def _user(row: OutputRow) -> Iterator[AgentEvent]:
    """Of what goes back to the model, only that the program was interrupted is news."""
    blocks = rows_at(row, "message", "content")
    if any(each.get("type") == "text" and each.get("text") in _INTERRUPTED for each in blocks):
        data = {"end": CallEnd.INTERRUPTED}
        yield AgentEvent(AgentEventKind.FAULT, "interrupted", data=data)


def _denial(row: OutputRow) -> AgentEvent:
    tool = text_at(row, "tool_name") or "a tool"
    words = tool_words(tool, row_at(row, "tool_input"))
    return AgentEvent(AgentEventKind.DENIED, words, data={"tool": tool})


def _end(row: OutputRow) -> CallEnd:
    """What a result that is none means; anything not recognised is the program's failure."""
    by_words = [end for sign, end in _SIGNS_OF_ENDS.items() if sign in text_at(row, "result")]
    status = count_at(row, "api_error_status")
    if row.get("is_error") is True and (by_words or status):
        return by_words[0] if by_words else end_of_status(status)
    reason = text_at(row, "terminal_reason")
    by_subtype = _ENDS_OF_SUBTYPES.get(text_at(row, "subtype"))
    return by_subtype or _ENDS_OF_REASONS.get(reason) or CallEnd.CRASHED


def _usage(row: OutputRow) -> Usage | None:
    """The total of the process, by model; a process of ours answers one prompt only."""
    models = row.get("modelUsage")
    if not isinstance(models, dict):
        return _started_usage(row_at(row, "usage")) if row_at(row, "usage") else None
    by_model = [each for each in models.values() if isinstance(each, dict)]
    cost = money_at(row, "total_cost_usd")
    if any(each.get("costBasis") == "unknown" for each in by_model):
        cost = None
    return Usage(
        input=sum(count_at(each, "inputTokens") for each in by_model),
        cache_read=sum(count_at(each, "cacheReadInputTokens") for each in by_model),
        cache_write=sum(count_at(each, "cacheCreationInputTokens") for each in by_model),
        output=sum(count_at(each, "outputTokens") for each in by_model),
        cost_usd=cost,
        cost_source=CostSource.UNKNOWN if cost is None else CostSource.REPORTED,
    )


def _started_usage(usage: OutputRow) -> Usage:
    return Usage(
        count_at(usage, "input_tokens"),
        count_at(usage, "cache_read_input_tokens"),
        count_at(usage, "cache_creation_input_tokens"),
        output=count_at(usage, "output_tokens"),
    )


def _session(row: OutputRow) -> str:
    return text_at(row, "session_id")


def _texts(found: object) -> list[str]:
    texts = found if isinstance(found, list) else []
    return [cut(each, 400) for each in texts if isinstance(each, str)]
