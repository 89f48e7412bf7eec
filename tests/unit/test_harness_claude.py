"""Claude Code: what its recorded streams really mean (X-4)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fixtures.streams.recorded import (
    BROKEN,
    EXITS,
    Elsewhere,
    cases,
    events_of,
    lines,
    odd_lines,
    reply_of,
)

from ddx.agents.claude import Claude
from ddx.agents.harness import (
    AgentEvent,
    AgentEventKind,
    CallEnd,
    CostSource,
    ProcessExit,
    Reply,
    Request,
    StopCause,
    Usage,
)

CLAUDE = Claude(machine=Elsewhere())
REQUEST = Request("do it", "/workspace", "/scratch")

ENDS = {
    "success": CallEnd.COMPLETED,
    "older-version": CallEnd.COMPLETED,
    "overloaded-then-fine": CallEnd.COMPLETED,
    "dropped-stream": CallEnd.COMPLETED,
    "usage-warning": CallEnd.COMPLETED,
    "unknown-price": CallEnd.COMPLETED,
    "unknown-effort": CallEnd.COMPLETED,
    "structured": CallEnd.COMPLETED,
    "structured-not-given": CallEnd.COMPLETED,
    "read-only": CallEnd.COMPLETED,
    "two-results": CallEnd.COMPLETED,
    "subagent-refused": CallEnd.COMPLETED,
    "denied-accept-edits": CallEnd.DENIED,
    "denied-dont-ask": CallEnd.DENIED,
    "max-turns": CallEnd.LIMIT_TURNS,
    "structured-never-valid": CallEnd.LIMIT_TURNS,
    "max-budget": CallEnd.LIMIT_BUDGET,
    "http-400": CallEnd.API_ERROR,
    "http-500": CallEnd.API_ERROR,
    "prompt-too-long": CallEnd.API_ERROR,
    "http-401": CallEnd.AUTH,
    "http-403": CallEnd.AUTH,
    "not-logged-in": CallEnd.AUTH,
    "http-429": CallEnd.RATE_LIMITED,
    "usage-limit": CallEnd.RATE_LIMITED,
    "usage-limit-epoch": CallEnd.RATE_LIMITED,
    "no-credit": CallEnd.RATE_LIMITED,
    "sigterm": CallEnd.INTERRUPTED,
    "sigint": CallEnd.INTERRUPTED,
    "sigint-without-result": CallEnd.INTERRUPTED,
    "duplex-interrupt": CallEnd.INTERRUPTED,
    "sigkill": CallEnd.CRASHED,
    "root-refused": CallEnd.CRASHED,
    "unknown-flag": CallEnd.CRASHED,
    "hook-stopped": CallEnd.CRASHED,
}


@pytest.mark.parametrize("case", cases("claude"))
def test_each_recorded_call_ends_as_it_really_did(case):
    assert reply_of(CLAUDE, case).end is ENDS[case]


@pytest.mark.parametrize(
    ("case", "code"),
    [("denied-accept-edits", 0), ("denied-dont-ask", 0), ("sigint", 0), ("http-400", 1)],
)
def test_an_exit_code_and_a_subtype_of_success_prove_nothing(case, code):
    result = json.loads(lines("claude", case)[-1])
    assert Claude().finish(ProcessExit(code), events_of(CLAUDE, case)).end is not CallEnd.COMPLETED
    if case != "sigint":
        assert result["subtype"] == "success"


def test_a_success_carries_text_session_and_cost():
    assert reply_of(CLAUDE, "success") == Reply(
        CallEnd.COMPLETED,
        text="Done: wrote hello.txt and committed.",
        usage=Usage(
            input=4200,
            cache_read=2500,
            cache_write=300,
            output=120,
            cost_usd=0.0212,
            cost_source=CostSource.REPORTED,
        ),
        session=json.loads(lines("claude", "success")[0])["session_id"],
    )


def test_a_denial_names_what_was_wanted():
    reply = reply_of(CLAUDE, "denied-dont-ask")
    assert reply.denied == ("Bash",)
    assert reply.reason.startswith("not allowed: Bash: mkdir -p sub")
    assert reply.text == "Done."


def test_limits_say_what_was_reached_and_what_it_took():
    turns, budget = reply_of(CLAUDE, "max-turns"), reply_of(CLAUDE, "max-budget")
    assert turns.reason == "Reached maximum number of turns (2)"
    assert budget.reason == "Reached maximum budget ($0.01)"
    assert budget.usage.cost_usd == 0.012  # checked between turns, so it is more than was allowed


def test_retries_are_seen_as_waiting():
    waits = [
        event
        for event in events_of(CLAUDE, "overloaded-then-fine")
        if event.kind is AgentEventKind.WAITING
    ]
    assert [wait.data["status"] for wait in waits] == [529, 529, 529]
    assert reply_of(CLAUDE, "overloaded-then-fine").retries == 3


@pytest.mark.parametrize(
    ("case", "until"),
    [
        ("usage-limit", "2026-11-18T11:07:00Z"),
        ("usage-limit-epoch", "2026-11-18T11:06:40Z"),
        ("http-429", ""),
        ("no-credit", ""),
        ("usage-warning", ""),
    ],
)
def test_a_usage_limit_says_until_when_if_the_program_does(case, until):
    assert reply_of(CLAUDE, case).until == until


def test_the_structured_end_of_a_limit_is_known_to_the_second():
    faults = [
        event for event in events_of(CLAUDE, "usage-limit") if event.kind is AgentEventKind.FAULT
    ]
    assert faults[0].data == {"end": CallEnd.RATE_LIMITED, "until": "2026-11-18T11:06:40Z"}


class TestUsage:
    """The accounting traps of the facts, section 2.1."""

    def test_the_lines_of_one_message_are_not_added_up(self):
        usages = [
            event.usage.input
            for event in events_of(CLAUDE, "success")
            if event.kind is AgentEventKind.USAGE and event.usage
        ]
        assert sum(usages) > 4200
        assert reply_of(CLAUDE, "success").usage.input == 4200

    @pytest.mark.parametrize("case", ["dropped-stream", "max-budget", "structured-never-valid"])
    def test_the_use_by_model_is_believed_where_the_sum_is_wrong(self, case):
        result = json.loads(lines("claude", case)[-1])
        (by_model,) = result["modelUsage"].values()
        assert result["usage"]["input_tokens"] != by_model["inputTokens"]
        assert reply_of(CLAUDE, case).usage.input == by_model["inputTokens"]
        assert reply_of(CLAUDE, case).usage.output == by_model["outputTokens"]

    def test_the_last_of_several_results_is_the_total(self):
        usage = reply_of(CLAUDE, "two-results").usage
        assert usage == Usage(
            input=2000,
            cache_read=400,
            cache_write=600,
            output=100,
            cost_usd=0.01308,
            cost_source=CostSource.REPORTED,
        )

    def test_a_guessed_price_is_no_cost(self):
        usage = reply_of(CLAUDE, "unknown-price").usage
        assert (usage.input, usage.output) == (1000, 50)
        assert (usage.cost_usd, usage.cost_source) == (None, CostSource.UNKNOWN)

    def test_a_version_that_names_no_basis_reports_its_cost(self):
        assert reply_of(CLAUDE, "older-version").usage.cost_source is CostSource.REPORTED

    def test_without_a_result_each_message_counts_once(self):
        cut_off = [
            event
            for event in events_of(CLAUDE, "success")
            if event.kind is not AgentEventKind.RESULT
        ]
        usage = CLAUDE.finish(ProcessExit(-9, StopCause.TIMED_OUT), cut_off).usage
        assert (usage.input, usage.cache_read, usage.cache_write) == (4200, 2500, 300)
        assert usage.cost_source is CostSource.UNKNOWN


def test_structured_output_is_handed_on_only_if_it_was_valid():
    assert reply_of(CLAUDE, "structured").structured == {"verdict": "CLEAN", "findings": []}
    assert reply_of(CLAUDE, "structured-never-valid").structured is None
    assert reply_of(CLAUDE, "structured-not-given").structured is None


def test_a_program_that_does_not_go_after_its_result_has_completed():
    events = events_of(CLAUDE, "success")
    assert CLAUDE.finish(ProcessExit(143, StopCause.AFTER_RESULT), events).end is CallEnd.COMPLETED
    assert CLAUDE.finish(ProcessExit(-9, StopCause.AFTER_RESULT), events).end is CallEnd.COMPLETED
    assert CLAUDE.finish(ProcessExit(143), events).end is CallEnd.INTERRUPTED
    assert CLAUDE.finish(ProcessExit(1), events).end is CallEnd.CRASHED


@pytest.mark.parametrize(
    ("stopped", "end"),
    [
        (StopCause.TIMED_OUT, CallEnd.TIMED_OUT),
        (StopCause.STALLED, CallEnd.STALLED),
        (StopCause.INTERRUPTED, CallEnd.INTERRUPTED),
        (StopCause.OVER_BUDGET, CallEnd.LIMIT_BUDGET),
    ],
)
def test_where_we_ended_it_our_reason_stands(stopped, end):
    assert reply_of(CLAUDE, "success", stopped=stopped).end is end


def test_a_crash_repeats_what_the_program_complained_about():
    assert reply_of(CLAUDE, "unknown-flag").reason == (
        "claude ended with exit code 1 and no result: error: unknown option '--no-such-flag'"
    )
    assert "root" in reply_of(CLAUDE, "root-refused").reason


class TestCommand:
    def test_a_build_asks_nobody_and_takes_no_settings(self):
        invocation = CLAUDE.command(REQUEST)
        assert invocation.argv == (
            *("claude", "-p", "--output-format", "stream-json", "--verbose"),
            *("--permission-mode", "bypassPermissions"),
            *("--strict-mcp-config", "--setting-sources", "", "--no-session-persistence"),
        )
        assert invocation.stdin == "do it"
        assert "CLAUDECODE" in invocation.without
        assert invocation.env == {
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def test_a_read_only_call_has_no_tool_that_writes(self):
        argv = CLAUDE.command(Request("", "/w", "/s", read_only=True)).argv
        assert argv[argv.index("--tools") + 1] == "Read,Grep,Glob"
        assert argv[argv.index("--permission-mode") + 1] == "dontAsk"

    def test_bounds_model_and_schema_become_flags(self):
        request = Request(
            "",
            "/w",
            "/s",
            model="opus",
            effort="high",
            schema="{}",
            max_turns=7,
            max_cost_usd=0.5,
        )
        argv = CLAUDE.command(request).argv
        for flag, word in {
            "--model": "opus",
            "--effort": "high",
            "--json-schema": "{}",
            "--max-turns": "7",
            "--max-budget-usd": "0.5",
        }.items():
            assert argv[argv.index(flag) + 1] == word

    def test_only_root_claims_to_be_in_a_sandbox(self):
        as_root = Claude(machine=Elsewhere(is_root=True)).command(REQUEST)
        assert as_root.env["IS_SANDBOX"] == "1"
        assert "IS_SANDBOX" not in CLAUDE.command(REQUEST).env

    @pytest.mark.parametrize(
        "key", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"]
    )
    def test_a_key_in_the_environment_brings_a_home_of_its_own(self, key):
        inherited = Claude(machine=Elsewhere({key: "x"})).command(REQUEST)
        configured = Claude(env={key: "x"}, machine=Elsewhere()).command(REQUEST)
        assert inherited.env["CLAUDE_CONFIG_DIR"] == "/scratch/claude"
        assert configured.env["CLAUDE_CONFIG_DIR"] == "/scratch/claude"
        assert "CLAUDE_CONFIG_DIR" not in CLAUDE.command(REQUEST).env

    def test_the_settings_name_the_program_add_flags_and_win_over_our_variables(self):  # X-4a
        mine = Claude(
            "/opt/claude",
            argv=("--extra",),
            env={"DISABLE_AUTOUPDATER": "0"},
            machine=Elsewhere(),
        ).command(REQUEST)
        assert (mine.argv[0], mine.argv[-1]) == ("/opt/claude", "--extra")
        assert mine.env["DISABLE_AUTOUPDATER"] == "0"


LINES = odd_lines(
    "system assistant user result rate_limit_event new",
    "message content usage result is_error subtype modelUsage errors permission_denials tools "
    "total_cost_usd rate_limit_info api_error_status error is_api_error_message terminal_reason "
    "structured_output session_id",
)


@settings(max_examples=100, deadline=None)
@given(st.lists(LINES, max_size=3), EXITS)
def test_no_line_raises_and_nothing_completes_without_a_good_result(said, exit):
    events: list[AgentEvent] = [event for line in said for event in CLAUDE.parse(line)]
    events += [event for line in said for event in CLAUDE.parse_error(line)]
    reply = CLAUDE.finish(exit, events)
    if reply.end is CallEnd.COMPLETED:
        assert exit.code == 0 or exit.stopped is StopCause.AFTER_RESULT
        rows = [json.loads(line) for line in said if line.startswith("{") and line.endswith("}")]
        assert any(
            row.get("type") == "result"
            and row.get("is_error") is False
            and row.get("subtype") == "success"
            for row in rows
        )


@pytest.mark.parametrize(
    "line",
    [
        *BROKEN,
        '{"type":"result","total_cost_usd":NaN,"modelUsage":{"m":{"inputTokens":-5}}}',
        '{"type":"assistant","message":{"content":[{"type":"text","text":"\\ud800"}]}}',
    ],
)
def test_a_broken_deep_or_foreign_line_is_survived(line):
    for event in CLAUDE.parse(line):
        event.text.encode()


def test_a_huge_text_is_cut_at_its_front():
    row = {"type": "assistant", "message": {"content": [{"type": "text", "text": "x" * 10**6}]}}
    row["message"]["content"][0]["text"] += "the end"  # type: ignore[index]
    (said,) = CLAUDE.parse(json.dumps(row))
    assert len(said.text) == 100_000
    assert said.text.endswith("the end")
