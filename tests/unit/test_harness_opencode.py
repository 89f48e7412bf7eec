"""opencode: what its recorded streams really mean (X-4)."""

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
from ddx.agents.opencode import OpenCode

OPENCODE = OpenCode(machine=Elsewhere())
REQUEST = Request("do it", "/workspace", "/scratch")

ENDS = {
    "success": CallEnd.COMPLETED,
    "cached-and-reasoning": CallEnd.COMPLETED,
    "unpriced": CallEnd.COMPLETED,
    "read-only": CallEnd.COMPLETED,
    "flaky-then-fine": CallEnd.COMPLETED,
    "dropped-stream": CallEnd.COMPLETED,
    "refused-without-auto": CallEnd.DENIED,
    "plan-denied": CallEnd.DENIED,
    "http-400": CallEnd.API_ERROR,
    "http-401": CallEnd.AUTH,
    "no-login": CallEnd.AUTH,
    "http-429": CallEnd.RATE_LIMITED,
    "retry-after": CallEnd.RATE_LIMITED,
    "unknown-model": CallEnd.CRASHED,
    "unknown-flag": CallEnd.CRASHED,
    "sigterm": CallEnd.INTERRUPTED,
    "sigint": CallEnd.INTERRUPTED,
}


@pytest.mark.parametrize("case", cases("opencode"))
def test_each_recorded_call_ends_as_it_really_did(case):
    assert reply_of(OPENCODE, case).end is ENDS[case]


def test_a_success_is_the_sum_of_its_steps():
    reply = reply_of(OPENCODE, "success")
    steps = [json.loads(line) for line in lines("opencode", "success") if "step_finish" in line]
    assert len(steps) == 3
    assert reply == Reply(
        CallEnd.COMPLETED,
        text="Done: wrote hello.txt and committed.",
        usage=Usage(
            input=1700,
            cache_read=2500,
            cache_write=0,
            output=120,
            cost_usd=reply.usage.cost_usd,
            cost_source=CostSource.REPORTED,
        ),
        session=steps[0]["sessionID"],
    )
    assert reply.usage.cost_usd == pytest.approx(sum(step["part"]["cost"] for step in steps))


def test_input_is_told_without_and_output_with_the_thoughts():
    tokens = json.loads(lines("opencode", "cached-and-reasoning")[-1])["part"]["tokens"]
    assert (tokens["input"], tokens["output"], tokens["reasoning"]) == (600, 38, 12)
    usage = reply_of(OPENCODE, "cached-and-reasoning").usage
    assert (usage.input, usage.cache_read, usage.output) == (600, 400, 50)


def test_a_cost_of_nothing_is_an_unknown_one():
    assert json.loads(lines("opencode", "unpriced")[-1])["part"]["cost"] == 0
    usage = reply_of(OPENCODE, "unpriced").usage
    assert (usage.cost_usd, usage.cost_source) == (None, CostSource.UNKNOWN)
    assert usage.tokens == 1050


@pytest.mark.parametrize(
    ("case", "tool"), [("refused-without-auto", "bash"), ("plan-denied", "write")]
)
def test_a_refused_tool_is_a_denial_although_it_exits_with_0(case, tool):
    assert code("opencode", case) == 0
    assert reply_of(OPENCODE, case).denied == (tool,)


def test_only_a_step_that_stops_is_a_last_word():
    begun = [
        event for event in events_of(OPENCODE, "success") if event.kind is not AgentEventKind.RESULT
    ]
    assert OPENCODE.finish(ProcessExit(0), begun).end is CallEnd.CRASHED


def test_a_hidden_error_is_told_by_its_status():
    reply = reply_of(OPENCODE, "http-400")
    assert (reply.reason, code("opencode", "http-400")) == ("scripted", 1)


def test_a_usage_limit_ends_when_the_service_says():
    assert reply_of(OPENCODE, "retry-after").until == "2026-11-16T13:30:00Z"
    assert reply_of(OPENCODE, "http-429").until == ""


def test_an_error_that_it_got_over_is_none():
    error, success = events_of(OPENCODE, "http-429"), events_of(OPENCODE, "success")
    assert OPENCODE.finish(ProcessExit(0), [*error, *success]).end is CallEnd.COMPLETED
    assert OPENCODE.finish(ProcessExit(1), [*success, *error]).end is CallEnd.RATE_LIMITED


class TestCommand:
    def test_a_build_is_allowed_all_and_loads_no_plugins(self):
        invocation = OPENCODE.command(REQUEST)
        assert invocation.argv == ("opencode", "run", "--format", "json", "--pure", "--auto")
        assert invocation.stdin == "do it"
        assert invocation.env == {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "PWD": REQUEST.workspace,
        }

    def test_a_read_only_call_may_neither_write_nor_run_anything(self):
        invocation = OPENCODE.command(Request("", "/w", "/s", read_only=True))
        assert "--auto" not in invocation.argv
        allowed = json.loads(invocation.env["OPENCODE_PERMISSION"])
        assert (allowed["edit"], allowed["bash"]) == ("deny", "deny")

    def test_model_effort_and_schema_reach_it(self):
        invocation = OPENCODE.command(
            Request("Review.", "/w", "/s", model="p/m", effort="high", schema='{"type":"object"}')
        )
        argv = invocation.argv
        assert argv[argv.index("-m") + 1] == "p/m"
        assert argv[argv.index("--variant") + 1] == "high"
        assert '{"type":"object"}' in (invocation.stdin or "")

    def test_the_settings_name_the_program_add_flags_and_variables(self):  # X-4a
        mine = OpenCode("/opt/oc", argv=("--agent", "a"), env={"A": "b"}, machine=Elsewhere())
        invocation = mine.command(REQUEST)
        assert invocation.argv[0] == "/opt/oc"
        assert invocation.argv[-2:] == ("--agent", "a")
        assert invocation.env["A"] == "b"


LINES = odd_lines(
    "step_start text tool_use step_finish error new", "part error sessionID state tokens cost"
)


@settings(max_examples=100, deadline=None)
@given(st.lists(LINES, max_size=3), EXITS)
def test_no_line_raises_and_nothing_completes_without_a_stop(said, exit):
    events = [event for line in said for event in OPENCODE.parse(line)]
    events += [event for line in said for event in OPENCODE.parse_error(line)]
    if OPENCODE.finish(exit, events).end is CallEnd.COMPLETED:
        assert exit.code == 0 or exit.stopped is StopCause.AFTER_RESULT
        assert any('"stop"' in line for line in said)


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_deep_or_foreign_line_is_survived(line):
    assert OPENCODE.parse(line) == ()
