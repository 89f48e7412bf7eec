"""Codex: what its recorded streams really mean (X-4)."""

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

from ddx.agents.codex import Codex
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

CODEX = Codex(machine=Elsewhere())
REQUEST = Request("do it", "/workspace", "/scratch")
NO_RESULT = "codex ended with exit code {} and no result"
NO_FLAG = "error: unexpected argument '--no-such-flag' found"
NO_REPOSITORY = "Not inside a trusted directory and --skip-git-repo-check was not specified."

ENDS = {
    "success": CallEnd.COMPLETED,
    "success-full-access": CallEnd.COMPLETED,
    "cached": CallEnd.COMPLETED,
    "items": CallEnd.COMPLETED,
    "command-failed": CallEnd.COMPLETED,
    "sandbox-refused": CallEnd.COMPLETED,
    "escalation-refused": CallEnd.COMPLETED,
    "read-only": CallEnd.COMPLETED,
    "flaky-then-fine": CallEnd.COMPLETED,
    "dropped-stream": CallEnd.COMPLETED,
    "structured": CallEnd.COMPLETED,
    "structured-invalid": CallEnd.COMPLETED,
    "thread-first": CallEnd.COMPLETED,
    "thread-resumed": CallEnd.COMPLETED,
    "declined": CallEnd.DENIED,
    "sandbox-broken": CallEnd.DENIED,
    "http-400": CallEnd.API_ERROR,
    "http-500": CallEnd.API_ERROR,
    "http-401": CallEnd.AUTH,
    "http-403": CallEnd.AUTH,
    "missing-key": CallEnd.AUTH,
    "http-429": CallEnd.RATE_LIMITED,
    "usage-limit": CallEnd.RATE_LIMITED,
    "usage-limit-today": CallEnd.RATE_LIMITED,
    "no-quota": CallEnd.RATE_LIMITED,
    "sigterm": CallEnd.INTERRUPTED,
    "offline": CallEnd.INTERRUPTED,
    "waiting-for-an-hour": CallEnd.INTERRUPTED,
    "sigint": CallEnd.CRASHED,
    "not-a-repository": CallEnd.CRASHED,
    "unknown-flag": CallEnd.CRASHED,
    "footer": CallEnd.CRASHED,
}


@pytest.mark.parametrize("case", cases("codex"))
def test_each_recorded_call_ends_as_it_really_did(case):
    assert reply_of(CODEX, case).end is ENDS[case]


def test_a_success_carries_text_session_and_no_cost():
    assert reply_of(CODEX, "success") == Reply(
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
        session=json.loads(lines("codex", "success")[0])["thread_id"],
    )


def test_a_failed_command_of_the_agent_is_no_denial_and_is_told():
    notices = [
        event.text
        for event in events_of(CODEX, "command-failed")
        if event.kind is AgentEventKind.NOTICE
    ]
    assert "command: /bin/bash -lc 'exit 3': exit code 3" in notices
    assert reply_of(CODEX, "command-failed").denied == ()


def test_a_declined_command_is_a_denial():
    reply = reply_of(CODEX, "declined")
    assert reply.denied == ("command",)
    assert "curl" in reply.reason


def test_a_sandbox_that_cannot_start_is_a_denial_of_every_command():
    reply = reply_of(CODEX, "sandbox-broken")
    assert reply.reason.startswith("not allowed: any command, since its sandbox does not start")
    assert reply.text == "Done."


def test_an_agent_that_tries_bubblewrap_itself_is_not_denied():
    (completed,) = (line for line in lines("codex", "sandbox-broken") if "bwrap:" in line)
    row = json.loads(completed)
    row["item"]["command"] = "bwrap true"
    assert [event.kind for event in CODEX.parse(json.dumps(row))] == [AgentEventKind.NOTICE]


def test_an_item_of_the_type_error_is_a_warning():
    events = [
        event for event in events_of(CODEX, "success") if event.text.startswith("Model metadata")
    ]
    assert [event.kind for event in events] == [AgentEventKind.NOTICE]


@pytest.mark.parametrize(("case", "retries"), [("flaky-then-fine", 1), ("http-401", 2)])
def test_a_reconnect_is_a_wait_and_no_failure(case, retries):
    assert reply_of(CODEX, case).retries == retries


def test_offline_it_waits_for_ever_and_our_limit_says_so():
    reply = reply_of(CODEX, "offline", stopped=StopCause.STALLED)
    assert reply.end is CallEnd.STALLED
    assert "waited: Reconnecting... waiting for network" in reply.reason


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("http-400", "scripted"),
        ("missing-key", "Missing environment variable: `LOCAL_KEY`."),
        ("http-429", "exceeded retry limit, last status: 429 Too Many Requests"),
        ("not-a-repository", f"{NO_RESULT.format(1)}: {NO_REPOSITORY}"),
        (
            "unknown-flag",
            f"{NO_RESULT.format(2)}: {NO_FLAG}",
        ),
    ],
)
def test_a_failure_says_why(case, reason):
    assert reply_of(CODEX, case).reason == reason


@pytest.mark.parametrize(
    ("case", "until"),
    [
        ("usage-limit", "2026-11-18T11:07:00Z"),
        ("usage-limit-today", "2026-11-16T15:46:00Z"),
        ("http-429", ""),
        ("no-quota", ""),
    ],
)
def test_a_usage_limit_says_until_when_if_the_program_does(case, until):
    assert reply_of(CODEX, case).until == until


class TestUsage:
    """The accounting traps of the facts, section 2.2."""

    @pytest.mark.parametrize(
        ("case", "usage"),
        [("cached", Usage(600, 400, 0, output=50)), ("items", Usage(500, 300, 100, output=40))],
    )
    def test_input_is_told_without_what_came_from_the_cache(self, case, usage):
        assert reply_of(CODEX, case).usage == usage

    def test_a_resumed_thread_tells_its_total_so_we_never_resume(self):
        first, resumed = reply_of(CODEX, "thread-first"), reply_of(CODEX, "thread-resumed")
        assert resumed.usage.tokens == 2 * first.usage.tokens
        assert "resume" not in CODEX.command(REQUEST).argv

    def test_of_several_totals_of_one_thread_the_last_counts(self):
        events = [*events_of(CODEX, "thread-first"), *events_of(CODEX, "thread-resumed")]
        assert CODEX.finish(ProcessExit(0), events).usage == Usage(1600, 400, 0, output=100)

    def test_the_footer_for_people_is_read_where_there_is_no_other_number(self):  # X-4a
        assert reply_of(CODEX, "footer").usage == Usage(input=850)

    @pytest.mark.parametrize("read", [CODEX.parse, CODEX.parse_error])
    @pytest.mark.parametrize(
        ("said", "tokens"),
        [
            (["tokens used", "1,234"], 1234),
            (["Tokens used:", " 12 "], 12),
            (["tokens used", "5", "tokens used", "1,000,000"], 1_000_000),
            (["tokens used", "none", "7"], 0),
            (["7", "tokens used"], 0),
            (["tokens used", "1,23"], 0),
        ],
    )
    def test_a_footer_is_two_lines_that_stand_together(self, read, said, tokens):  # X-4a
        events = [event for line in said for event in read(line)]
        assert CODEX.finish(ProcessExit(1), events).usage.tokens == tokens

    def test_a_footer_adds_nothing_to_a_usage_that_is_known(self):
        footer = [*CODEX.parse_error("tokens used"), *CODEX.parse_error("9")]
        events = [*events_of(CODEX, "cached"), *footer]
        assert CODEX.finish(ProcessExit(0), events).usage == Usage(600, 400, 0, output=50)


def test_a_reply_that_is_json_is_handed_on_as_such():
    assert reply_of(CODEX, "structured").structured == {"verdict": "CLEAN", "findings": []}
    assert reply_of(CODEX, "structured-invalid").structured is None


def test_what_it_does_is_shown():
    shown = [event.text for event in events_of(CODEX, "items") if event.kind is AgentEventKind.TOOL]
    assert shown == [
        "file change: /workspace/a.txt, /workspace/b.txt",
        "helix.ready",
        "web search: how to",
    ]


def test_code_zero_without_a_completed_turn_is_no_success():
    begun = [
        event for event in events_of(CODEX, "success") if event.kind is not AgentEventKind.RESULT
    ]
    assert CODEX.finish(ProcessExit(0), begun).end is CallEnd.CRASHED
    assert CODEX.finish(ProcessExit(1), events_of(CODEX, "success")).end is CallEnd.CRASHED


class TestCommand:
    def test_a_build_writes_in_the_workspace_only_and_keeps_no_session(self):
        invocation = CODEX.command(REQUEST)
        assert invocation.argv == (
            *("codex", "exec", "--json", "--ephemeral", "--ignore-user-config", "--ignore-rules"),
            *("--skip-git-repo-check", "-s", "workspace-write"),
            *("-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false", "-"),
        )
        assert invocation.stdin == "do it"
        assert (invocation.env, invocation.files) == ({}, {})

    @pytest.mark.parametrize(
        ("read_only", "in_sandbox", "mode"),
        [
            (False, False, "workspace-write"),
            (True, False, "read-only"),
            (False, True, "danger-full-access"),
            (True, True, "danger-full-access"),
        ],
    )
    def test_its_sandbox_fits_what_is_asked_and_ours(self, read_only, in_sandbox, mode):
        argv = CODEX.command(
            Request("", "/w", "/s", read_only=read_only, in_sandbox=in_sandbox)
        ).argv
        assert argv[argv.index("-s") + 1] == mode

    def test_model_effort_and_schema_become_flags_and_a_file(self):
        invocation = CODEX.command(Request("", "/w", "/s", model="m", effort="high", schema="{}"))
        argv = invocation.argv
        assert argv[argv.index("-m") + 1] == "m"
        assert 'model_reasoning_effort="high"' in argv
        assert argv[argv.index("--output-schema") + 1] == "/s/codex-schema.json"
        assert invocation.files == {"codex-schema.json": "{}"}

    def test_its_own_key_brings_a_home_of_its_own_and_another_program_s_does_not(self):
        keyed = Codex(machine=Elsewhere({"CODEX_API_KEY": "x"})).command(REQUEST)
        other = Codex(machine=Elsewhere({"OPENAI_API_KEY": "x"})).command(REQUEST)
        assert keyed.env == {"CODEX_HOME": "/scratch"}
        assert other.env == {}

    def test_the_settings_name_the_program_and_add_flags_before_the_prompt(self):  # X-4a
        argv = Codex("/opt/codex", argv=("-c", "x=1"), machine=Elsewhere()).command(REQUEST).argv
        assert argv[0] == "/opt/codex"
        assert argv[-3:] == ("-c", "x=1", "-")


LINES = odd_lines(
    "thread.started item.started item.completed turn.completed turn.failed error new",
    "item usage error message thread_id",
)


@settings(max_examples=100, deadline=None)
@given(st.lists(LINES, max_size=3), EXITS)
def test_no_line_raises_and_nothing_completes_without_a_completed_turn(said, exit):
    events = [event for line in said for event in CODEX.parse(line)]
    events += [event for line in said for event in CODEX.parse_error(line)]
    if CODEX.finish(exit, events).end is CallEnd.COMPLETED:
        assert exit.code == 0 or exit.stopped is StopCause.AFTER_RESULT
        rows = [json.loads(line) for line in said if line.startswith("{") and line.endswith("}")]
        assert any(row.get("type") == "turn.completed" for row in rows)


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_deep_or_foreign_line_is_survived(line):
    assert all(event.kind is AgentEventKind.NOTICE for event in CODEX.parse(line))
