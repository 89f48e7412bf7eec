"""The scripted model keeps its word, and the real agents take it for a real one."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.scenarios import GREETED, GREETING, SUCCESS
from tests.support.agents import AGENTS, Agent, Stage
from tests.support.alone import run_alone
from tests.support.model_server import (
    Drop,
    Hang,
    Http,
    ModelServer,
    Say,
    Scenario,
    Shell,
    Structured,
    Usage,
    Write,
)

SOON_S = 90
SHELLS = ("Bash", "exec_command", "shell_command", "run_shell_command", "bash")

Body = dict[str, Any]


def ask_anthropic(prompt: str, turns: int, tools: tuple[str, ...]) -> tuple[str, Body]:
    messages: list[Body] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    for number in range(turns):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "LATER"}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    offered = [{"name": name} for name in tools]
    return "/v1/messages?beta=true", {"messages": messages, "tools": offered, "stream": True}


def ask_responses(prompt: str, turns: int, tools: tuple[str, ...]) -> tuple[str, Body]:
    items: list[Body] = [{"type": "message", "role": "user", "content": [{"text": prompt}]}]
    for number in range(turns):
        items += [
            {"type": "message", "role": "assistant", "content": [{"text": "I call two tools."}]},
            {"type": "function_call", "call_id": f"a{number}", "name": "x", "arguments": "{}"},
            {"type": "function_call", "call_id": f"b{number}", "name": "x", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"a{number}", "output": "LATER"},
            {"type": "function_call_output", "call_id": f"b{number}", "output": "LATER"},
        ]
    offered = [{"type": "function", "name": name} for name in tools]
    return "/v1/responses", {"input": items, "tools": offered, "stream": True}


def ask_chat(prompt: str, turns: int, tools: tuple[str, ...]) -> tuple[str, Body]:
    messages: list[Body] = [{"role": "system", "content": "x"}, {"role": "user", "content": prompt}]
    for _ in range(turns):
        messages += [{"role": "assistant", "content": ""}, {"role": "tool", "content": "LATER"}]
    offered = [{"type": "function", "function": {"name": name}} for name in tools]
    return "/v1/chat/completions", {"messages": messages, "tools": offered, "stream": True}


def ask_gemini(prompt: str, turns: int, tools: tuple[str, ...]) -> tuple[str, Body]:
    contents: list[Body] = [{"role": "user", "parts": [{"text": prompt}]}]
    for _ in range(turns):
        call = {"functionCall": {"name": "x", "args": {}}}
        result = {"functionResponse": {"name": "x", "response": {"output": "LATER"}}}
        contents += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    offered = [{"functionDeclarations": [{"name": name} for name in tools]}]
    path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
    return path, {"contents": contents, "tools": offered}


Asking = Callable[[str, int, tuple[str, ...]], tuple[str, Body]]
every_dialect = pytest.mark.parametrize("ask", [ask_anthropic, ask_responses, ask_chat, ask_gemini])


def post(server: ModelServer, path: str, body: Body) -> tuple[int, str]:
    """The status and everything that came until the end of the answer."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=SOON_S)
    try:
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def put(
    server: ModelServer,
    prompt: str,
    *,
    turn: int = 0,
    ask: Asking = ask_anthropic,
    tools: tuple[str, ...] = ("Bash",),
) -> tuple[int, str]:
    return post(server, *ask(prompt, turn, tools))


TALK = Scenario("TALK", ((Say("one"),), (Say("two"),)))
LATER = Scenario("LATER", ((Say("another one"),),), repeats=True)


@every_dialect
def test_the_turn_is_read_from_the_request_in_every_dialect(ask: Asking) -> None:
    with ModelServer([TALK, LATER]) as server:
        answers = [put(server, "Please TALK.", turn=turn, ask=ask)[1] for turn in (1, 0, 2)]

    assert server.turns("TALK") == [1, 0, 2]
    assert ["two" in answers[0], "one" in answers[1]] == [True, True]
    assert "Nothing follows in TALK." in answers[2]
    results = server.exchanges[-1].asked.results
    assert len(results) >= 2 and all("LATER" in text for text in results)


@every_dialect
@pytest.mark.parametrize("name", SHELLS)
def test_a_command_becomes_a_call_of_the_shell_that_is_offered(ask: Asking, name: str) -> None:
    with ModelServer([Scenario("RUN", ((Shell("make it so"),),))]) as server:
        status, answer = put(server, "RUN", ask=ask, tools=("Other", name))

    assert status == 200
    assert f'"{name}"' in answer
    assert "make it so" in answer


def test_a_file_is_written_by_the_shell_where_no_tool_writes(tmp_path: Path) -> None:
    text = "it's 100% 'quoted'\n$HOME `x`\n"
    with ModelServer([Scenario("RUN", ((Write("a folder/it's", text),),))]) as server:
        answer = put(server, "RUN", ask=ask_responses, tools=("exec_command",))[1]
    done = json.loads(answer.split("data: ")[-1])["response"]["output"][0]
    command = json.loads(done["arguments"])["cmd"]

    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, timeout=SOON_S)

    assert (tmp_path / "a folder/it's").read_text() == text


def test_a_structured_reply_is_a_call_only_where_that_tool_is_offered() -> None:
    with ModelServer([Scenario("JUDGE", ((Structured({"fine": True}),),))]) as server:
        by_tool = put(server, "JUDGE", tools=("Bash", "StructuredOutput"))[1]
        as_text = put(server, "JUDGE")[1]

    assert '"tool_use"' in by_tool
    assert '"tool_use"' not in as_text
    assert json.dumps(json.dumps({"fine": True})) in as_text


@pytest.mark.parametrize(
    ("prompt", "chosen"),
    [
        ("TALK", "TALK"),
        ("first LATER, then TALK", "TALK"),
        ("TALKATIVE RE-TALK talk, LATER", "LATER"),
    ],
)
def test_the_word_that_is_named_last_chooses_and_only_as_a_whole_word(
    prompt: str, chosen: str
) -> None:
    with ModelServer([TALK, LATER]) as server:
        put(server, prompt)
    assert [each.scenario for each in server.exchanges] == [chosen]


def test_what_is_not_in_the_script_is_refused_and_says_why() -> None:
    with ModelServer([Scenario("RUN", ((Say("now"), Shell("x")),))]) as server:
        unnamed = put(server, "hello")
        unfit = put(server, "RUN", tools=("Read",))

    assert unnamed[0] == unfit[0] == 400
    assert "names no scenario" in unnamed[1]
    assert "offered: Read" in unfit[1]


def test_faults_are_counted_for_each_scenario_and_turn() -> None:
    busy = (Http(529, times=2, headers={"retry-after": "1"}), Say("fine"))
    first, second = Scenario("FIRST", (busy, busy)), Scenario("SECOND", (busy,))
    with ModelServer([first, second]) as server:
        asked = [("FIRST", 0), ("FIRST", 1), ("SECOND", 0)] * 3
        statuses = [put(server, word, turn=turn)[0] for word, turn in asked]

    assert statuses == [529] * 6 + [200] * 3


def test_a_request_without_tools_is_answered_aside_and_uses_up_no_fault() -> None:
    with ModelServer([Scenario("BUSY", ((Http(500), Say("fine")),))]) as server:
        assert put(server, "BUSY", tools=())[0] == 200
        assert put(server, "BUSY")[0] == 500
    assert server.turns("BUSY") == [0]


def test_a_dropped_stream_has_a_beginning_and_no_end() -> None:
    with ModelServer([Scenario("CUT", ((Say("half"), Drop(), Say("whole")),))]) as server:
        first, second = put(server, "CUT")[1], put(server, "CUT")[1]

    assert [word in first for word in ("message_start", "half", "whole", "message_stop")] == [
        *(True, True, False, False)
    ]
    assert "whole" in second and second.rstrip().endswith('{"type": "message_stop"}')
    assert [each.ended for each in server.exchanges] == ["cut", "answered"]


def test_a_silence_comes_in_its_place_and_ends_with_the_server() -> None:
    began = time.monotonic()
    with ModelServer([Scenario("WAIT", ((Say("before"), Hang(600), Say("after")),))]) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=SOON_S)
        path, body = ask_anthropic("WAIT", 0, ("Bash",))
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        assert any(b"before" in line for line in iter(answer.readline, b""))
    rest = answer.read()
    connection.close()

    assert b"after" in rest
    assert time.monotonic() - began < SOON_S


def test_the_numbers_of_the_script_come_in_each_dialects_own_sense() -> None:
    usage = Usage(input=1000, cache_read=200, cache_write=30, output=4)
    with ModelServer([Scenario("COUNT", ((Say("x"), usage),))]) as server:
        anthropic, responses, chat, gemini = (
            put(server, "COUNT", ask=ask)[1]
            for ask in (ask_anthropic, ask_responses, ask_chat, ask_gemini)
        )

    assert '"input_tokens": 1000' in anthropic and '"cache_read_input_tokens": 200' in anthropic
    assert '"input_tokens": 1230' in responses and '"cached_tokens": 200' in responses
    assert '"prompt_tokens": 1230' in chat and '"total_tokens": 1234' in chat
    assert '"promptTokenCount": 1230' in gemini and '"candidatesTokenCount": 4' in gemini


def test_who_wants_no_stream_gets_the_answer_whole() -> None:
    path, body = ask_anthropic("RUN", 0, ("Bash",))
    with ModelServer([Scenario("RUN", ((Say("now"), Shell("ls")),))]) as server:
        status, text = post(server, path, body | {"stream": False})
        counted = post(server, "/v1/messages/count_tokens", {})

    answer = json.loads(text)
    assert (status, answer["stop_reason"]) == (200, "tool_use")
    assert [block["type"] for block in answer["content"]] == ["text", "tool_use"]
    assert json.loads(counted[1])["input_tokens"] > 0


def test_a_bug_in_the_server_fails_the_test_that_used_it() -> None:
    with (
        pytest.raises(KeyError),
        ModelServer([TALK]) as server,
        pytest.raises(http.client.RemoteDisconnected),
    ):
        post(server, "/v1/messages", {"messages": [{}]})


# With the real agents

every_agent = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)


@every_agent
def test_a_real_agent_edits_a_file_and_runs_a_command(stage: Stage, agent: Agent) -> None:
    ended = stage.run_agent(agent, f"Please do {SUCCESS.word}.")

    assert ended.code == 0, ended
    assert (stage.root / GREETING).read_text() == GREETED
    assert stage.server.turns(SUCCESS.word) == [0, 1, 2]
    assert not stage.running()


@every_agent
def test_it_does_so_with_no_network_at_all(agent: Agent, tmp_path: Path) -> None:
    agent.require()
    test = f"{__file__}::{test_a_real_agent_edits_a_file_and_runs_a_command.__name__}"

    assert "1 passed" in run_alone(f"{test}[{agent.name}]", within=tmp_path / "inside")
