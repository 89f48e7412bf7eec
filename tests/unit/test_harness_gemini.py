"""Gemini CLI: what its recorded streams really mean (X-4)."""

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
    code,
    events_of,
    lines,
    odd_lines,
    reply_of,
)

from ddx.agents.gemini import Gemini
from ddx.agents.harness import (
    AgentEventKind,
    CallEnd,
    CostSource,
    ProcessExit,
    Reply,
    Request,
    StopCause,
    Usage,
)

GEMINI = Gemini(machine=Elsewhere())
REQUEST = Request("do it", "/workspace", "/scratch")

ENDS = {
    "success": CallEnd.COMPLETED,
    "hello": CallEnd.COMPLETED,
    "no-tools-offered": CallEnd.COMPLETED,
    "plan-read": CallEnd.COMPLETED,
    "cached-and-thoughts": CallEnd.COMPLETED,
    "flaky-then-fine": CallEnd.COMPLETED,
    "dropped-stream": CallEnd.COMPLETED,
    "tool-not-offered": CallEnd.DENIED,
    "plan-denied": CallEnd.DENIED,
    "untrusted": CallEnd.DENIED,
    "not-logged-in": CallEnd.AUTH,
    "http-401": CallEnd.AUTH,
    "http-400": CallEnd.API_ERROR,
    "quota-of-the-day": CallEnd.RATE_LIMITED,
    "quota-with-delay": CallEnd.RATE_LIMITED,
    "max-turns": CallEnd.LIMIT_TURNS,
    "sigterm": CallEnd.CRASHED,
    "sigint": CallEnd.CRASHED,
    "waiting-for-hours": CallEnd.CRASHED,
}


@pytest.mark.parametrize("case", cases("gemini"))
def test_each_recorded_call_ends_as_it_really_did(case):
    assert reply_of(GEMINI, case).end is ENDS[case]


def test_a_success_carries_text_session_and_no_cost():
    assert reply_of(GEMINI, "success") == Reply(
        CallEnd.COMPLETED,
        text="Done: wrote hello.txt and committed.",
        usage=Usage(
            input=1700,
            cache_read=2500,
            cache_write=0,
            output=120,
            cost_usd=None,
            cost_source=CostSource.UNKNOWN,
        ),
        session=json.loads(lines("gemini", "success")[0])["session_id"],
    )


def test_a_success_that_used_no_tool_says_so():
    reply = reply_of(GEMINI, "no-tools-offered")
    assert code("gemini", "no-tools-offered") == 0
    assert json.loads(lines("gemini", "no-tools-offered")[-1])["stats"]["tool_calls"] == 0
    assert reply.reason == "it used no tool"


@pytest.mark.parametrize(
    ("case", "tool"), [("tool-not-offered", "run_shell_command"), ("plan-denied", "write_file")]
)
def test_a_tool_that_was_refused_or_taken_away_is_a_denial(case, tool):
    assert code("gemini", case) == 0
    assert reply_of(GEMINI, case).denied == (tool,)


def test_a_tool_that_the_model_made_up_is_no_denial():
    row = {
        "type": "tool_result",
        "tool_id": "fly__fly_1",
        "status": "error",
        "error": {"type": "tool_not_registered", "message": "no"},
    }
    assert GEMINI.parse(json.dumps(row)) == ()


def test_an_overridden_mode_is_a_denial_even_if_it_ends_well():
    events = [
        *events_of(GEMINI, "hello"),
        *GEMINI.parse_error(
            'Approval mode overridden to "default" because the current folder is not trusted.'
        ),
    ]
    reply = GEMINI.finish(ProcessExit(0), events)
    assert reply.end is CallEnd.DENIED
    assert "not trusted" in reply.reason


@pytest.mark.parametrize(
    ("status", "end"),
    [
        (400, CallEnd.API_ERROR),
        (401, CallEnd.AUTH),
        (403, CallEnd.AUTH),
        (429, CallEnd.RATE_LIMITED),
        (500, CallEnd.API_ERROR),
        (503, CallEnd.API_ERROR),
    ],
)
def test_an_exit_code_is_the_status_modulo_256(status, end):
    assert GEMINI.finish(ProcessExit(status % 256), []).end is end


@pytest.mark.parametrize("case", ["http-400", "http-401", "quota-of-the-day"])
def test_the_reason_is_the_service_s_own(case):
    message = json.loads(lines("gemini", case)[-1])["error"]["message"]
    assert reply_of(GEMINI, case).reason == message


def test_an_error_is_known_even_if_we_had_to_end_the_program():
    events = events_of(GEMINI, "quota-of-the-day")
    assert (
        GEMINI.finish(ProcessExit(-9, StopCause.AFTER_RESULT), events).end is CallEnd.RATE_LIMITED
    )
    limited = events_of(GEMINI, "max-turns")
    assert (
        GEMINI.finish(ProcessExit(-9, StopCause.AFTER_RESULT), limited).end is CallEnd.LIMIT_TURNS
    )


@pytest.mark.parametrize(
    ("case", "until"),
    [("quota-with-delay", "2026-11-16T13:30:00Z"), ("quota-of-the-day", "")],
)
def test_a_usage_limit_says_until_when_if_the_program_does(case, until):
    assert reply_of(GEMINI, case).until == until


def test_a_wait_of_hours_is_told_with_its_end():
    reply = reply_of(GEMINI, "waiting-for-hours", stopped=StopCause.STALLED)
    assert (reply.end, reply.retries) == (CallEnd.STALLED, 1)
    assert "while it waited" in reply.reason
    assert reply.until == "2026-11-16T15:20:05Z"


def test_retries_on_stderr_are_seen_as_waiting():
    assert reply_of(GEMINI, "flaky-then-fine").retries == 2


def test_it_heeds_no_signal_during_a_request_so_only_the_kill_is_seen():
    assert code("gemini", "sigterm") == -9
    assert reply_of(GEMINI, "sigterm", stopped=StopCause.TIMED_OUT).end is CallEnd.TIMED_OUT


def test_what_it_thought_is_part_of_the_output():
    stats = json.loads(lines("gemini", "cached-and-thoughts")[-1])["stats"]
    assert stats["output_tokens"] == 50
    assert reply_of(GEMINI, "cached-and-thoughts").usage == Usage(600, 400, 0, output=62)


def test_pieces_of_one_utterance_are_joined_up_to_the_last_tool():
    def said(words: str) -> str:
        row = {"type": "message", "role": "assistant", "content": words, "delta": True}
        return json.dumps(row)

    tool = json.dumps({"type": "tool_use", "tool_name": "read_file", "parameters": {}})
    asked = json.dumps({"type": "message", "role": "user", "content": "do it"})
    events = [
        event
        for line in [asked, said("I look."), tool, said('{"verdict":'), said(' "CLEAN"}')]
        for event in GEMINI.parse(line)
    ]
    events += GEMINI.parse(json.dumps({"type": "result", "status": "success"}))
    reply = GEMINI.finish(ProcessExit(0), events)
    assert reply.text == '{"verdict": "CLEAN"}'
    assert reply.structured == {"verdict": "CLEAN"}


def test_json_inside_a_fence_is_still_json():
    row = {"type": "message", "role": "assistant", "content": '```json\n{"a": 1}\n```'}
    events = GEMINI.parse(json.dumps(row)) + GEMINI.parse('{"type":"result","status":"success"}')
    assert GEMINI.finish(ProcessExit(0), events).structured == {"a": 1}


class TestCommand:
    def test_a_build_is_asked_nothing_and_needs_no_trust(self):
        invocation = GEMINI.command(REQUEST)
        assert invocation.argv == (
            *("gemini", "-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
            *("-e", "none", "--allowed-mcp-server-names", "none"),
        )
        assert (invocation.stdin, invocation.env, invocation.files) == ("do it", {}, {})

    def test_a_read_only_call_only_plans(self):
        argv = GEMINI.command(Request("", "/w", "/s", read_only=True, model="pro")).argv
        assert argv[argv.index("--approval-mode") + 1] == "plan"
        assert argv[argv.index("-m") + 1] == "pro"

    def test_a_schema_is_asked_for_in_the_prompt(self):
        stdin = GEMINI.command(Request("Review.", "/w", "/s", schema='{"type":"object"}')).stdin
        assert stdin is not None
        assert stdin.startswith("Review.")
        assert '{"type":"object"}' in stdin

    def test_a_key_in_the_environment_brings_a_home_of_its_own(self):
        gemini = Gemini(machine=Elsewhere({"GEMINI_API_KEY": "x"}))
        invocation = gemini.command(Request("", "/w", "/s", max_turns=9))
        assert invocation.env == {"GEMINI_CLI_HOME": "/s/gemini"}
        ((name, text),) = invocation.files.items()
        assert name == "gemini/.gemini/settings.json"
        written = json.loads(text)
        assert written["security"]["auth"]["selectedType"] == "gemini-api-key"
        assert written["model"] == {"maxSessionTurns": 9}


LINES = odd_lines(
    "init message tool_use tool_result error result new",
    "status stats error role content delta tool_id tool_name parameters session_id",
)


@settings(max_examples=100, deadline=None)
@given(st.lists(LINES, max_size=3), EXITS)
def test_no_line_raises_and_nothing_completes_without_a_success(said, exit):
    events = [event for line in said for event in GEMINI.parse(line)]
    events += [event for line in said for event in GEMINI.parse_error(line)]
    if GEMINI.finish(exit, events).end is CallEnd.COMPLETED:
        assert exit.code == 0 or exit.stopped is StopCause.AFTER_RESULT
        rows = [json.loads(line) for line in said if line.startswith("{") and line.endswith("}")]
        assert any(row.get("type") == "result" and row.get("status") == "success" for row in rows)


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_deep_or_foreign_line_is_survived(line):
    assert GEMINI.parse_error(line) == ()
    assert all(
        event.kind in (AgentEventKind.FAULT, AgentEventKind.RESULT) for event in GEMINI.parse(line)
    )
