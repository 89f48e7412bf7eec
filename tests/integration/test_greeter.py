"""A client sees our tools at once; its calls wait for the server, and for a set-up (P-7).

The clone is ours; a pretend uv waits until it is told to go on, and then lends our own packages.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripts.greeter import VERSIONS, answer
from tests.support.plugin import copy_plugin
from tests.support.tracker import ROOT, wait_for

mcp_server = pytest.importorskip("mcp.server.mcpserver", reason="the MCP SDK is not installed")

from helix.mcp import TOOLS  # noqa: E402

LIMIT_S = 60
VERSION = VERSIONS[-1]
PRETEND_UV = """#!/bin/sh
touch "$HOME/begun"
until [ -e "$HOME/go-on" ]; do sleep 0.05; done
if [ -e "$HOME/no-network" ]; then echo 'the index does not answer'; exit 1; fi
for folder in "${{4%/bin/python}}"/lib/python3*/site-packages; do
    rmdir "$folder" && ln -s {packages} "$folder"
done
"""


class Clone:
    """A fresh clone of ours, and a person with nothing else."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.shop = folder / "shop"
        self.tools = folder / "tools"
        for each in (self.home, self.shop, self.tools):
            each.mkdir()
        (packages,) = (ROOT / ".venv/lib").glob("python3*/site-packages")
        (self.tools / "uv").write_text(PRETEND_UV.format(packages=packages))
        (self.tools / "uv").chmod(0o755)
        (self.tools / "python3").symlink_to(Path(sys.executable).resolve())
        subprocess.run(["git", "init", "-q", str(self.shop)], check=True, timeout=LIMIT_S)
        self.launcher = copy_plugin(folder / "clone") / "bin/helix"

    @property
    def has_begun(self) -> bool:
        return (self.home / "begun").exists()

    @property
    def is_set_up(self) -> bool:
        return (self.launcher.parent.parent / ".venv/.ready").exists()

    def lets_the_set_up_end(self, *, well: bool = True) -> None:
        if not well:
            (self.home / "no-network").touch()
        (self.home / "go-on").touch()


class Conversation:
    """One client and the server of a clone, line by line."""

    def __init__(self, clone: Clone, *argv: str) -> None:
        self._server = subprocess.Popen(
            argv or [clone.launcher, "mcp"],
            cwd=clone.shop,
            env={
                "HOME": str(clone.home),
                "PATH": f"{clone.tools}:/usr/bin:/bin",
                # Were pip asked after uv, it would find nothing and not wait for it.
                "PIP_NO_INDEX": "1",
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._asked = 0

    def asks(self, method: str, **params: Any) -> int:
        self._asked += 1
        self.says(id=self._asked, method=method, params=params)
        return self._asked

    def says(self, **message: Any) -> None:
        self.writes(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def writes(self, line: bytes) -> None:
        assert self._server.stdin
        self._server.stdin.write(line + b"\n")
        self._server.stdin.flush()

    def hears(self) -> dict[str, Any]:
        assert self._server.stdout
        heard: dict[str, Any] = json.loads(self._server.stdout.readline())
        return heard

    def opens(self) -> dict[str, Any]:
        who = {"name": "a client", "version": "1"}
        self.asks("initialize", protocolVersion=VERSION, capabilities={}, clientInfo=who)
        greeting: dict[str, Any] = self.hears()["result"]
        self.says(method="notifications/initialized")
        return greeting

    def hangs_up(self) -> int:
        _, said = self._server.communicate(timeout=LIMIT_S)
        assert b"Traceback" not in said, said
        return self._server.returncode

    def presses_control_c(self) -> None:
        os.killpg(self._server.pid, signal.SIGINT)

    def loses_the_server(self) -> None:
        """It alone is killed, not what greeted us."""
        pid = self._server.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)

    def sees_it_end(self) -> tuple[int, bytes]:
        """The exit code and what was logged, with our end of the line still open."""
        assert self._server.stderr
        code = self._server.wait(timeout=LIMIT_S)
        return code, self._server.stderr.read()

    def ends(self) -> None:
        self._server.kill()
        self._server.communicate(timeout=LIMIT_S)


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    clone = Clone(tmp_path)
    yield clone
    clone.lets_the_set_up_end()


@pytest.fixture
def client(clone: Clone) -> Iterator[Conversation]:
    conversation = Conversation(clone)
    yield conversation
    conversation.ends()


def test_the_tools_are_there_before_the_set_up_is_and_a_call_waits_for_it(
    clone: Clone, client: Conversation
) -> None:
    assert client.opens()["protocolVersion"] == VERSION
    client.asks("tools/list")
    early = {tool["name"] for tool in client.hears()["result"]["tools"]}
    call = client.asks("tools/call", name="status", arguments={})
    ping = client.asks("ping")
    assert client.hears()["id"] == ping

    clone.lets_the_set_up_end()

    answered = client.hears()
    assert (answered["id"], answered["result"]["isError"]) == (call, False)
    later = client.asks("tools/list")
    heard = client.hears()
    assert heard["id"] == later
    assert {tool["name"] for tool in heard["result"]["tools"]} == early
    assert client.hangs_up() == 0


def test_a_clone_that_was_set_up_greets_before_its_server_has_started(
    clone: Clone, client: Conversation
) -> None:
    clone.lets_the_set_up_end()
    client.opens()
    client.asks("tools/call", name="status", arguments={})
    assert "result" in client.hears()
    client.hangs_up()

    second = Conversation(clone)
    greeting = second.opens()
    second.asks("tools/call", name="ready", arguments={})
    answered = second.hears()
    second.hangs_up()

    assert greeting["capabilities"].keys() == {"tools"}, "the server itself names more"
    assert answered["result"]["isError"], "there is no tracker"


def test_a_set_up_that_fails_tells_whoever_asks_what_to_mend(
    clone: Clone, client: Conversation
) -> None:  # C-3
    client.opens()
    call = client.asks("tools/call", name="ready", arguments={})
    clone.lets_the_set_up_end(well=False)

    first = client.hears()
    client.asks("tools/call", name="ready", arguments={})
    second = client.hears()

    assert first["id"] == call
    for heard in (first, second):
        assert "the packages could not be installed" in heard["error"]["message"]
        assert "check the network" in heard["error"]["message"]
    assert client.hangs_up() == 1


def test_a_version_that_we_do_not_know_is_left_to_the_server(
    clone: Clone, client: Conversation
) -> None:
    who = {"name": "a client", "version": "1"}
    client.asks("initialize", protocolVersion="1999-01-01", capabilities={}, clientInfo=who)
    ping = client.asks("ping")
    assert client.hears()["id"] == ping

    clone.lets_the_set_up_end()

    assert client.hears()["result"]["serverInfo"]["name"] == "helix"
    assert client.hangs_up() == 0


def test_a_set_up_goes_on_to_its_end_when_the_client_hangs_up(
    clone: Clone, client: Conversation
) -> None:
    client.opens()
    wait_for(lambda: clone.has_begun)
    assert client.hangs_up() == 0
    assert not clone.is_set_up

    clone.lets_the_set_up_end()

    wait_for(lambda: clone.is_set_up)


def test_control_c_during_the_set_up_ends_it_without_a_word(client: Conversation) -> None:  # C-2
    client.opens()
    client.presses_control_c()
    assert client.sees_it_end() == (130, b"")


def test_a_server_that_dies_ends_the_conversation_without_a_crash(
    clone: Clone, client: Conversation
) -> None:
    clone.lets_the_set_up_end()
    client.opens()
    client.asks("tools/call", name="status", arguments={})
    client.hears()
    client.loses_the_server()
    code, said = client.sees_it_end()
    assert (code, b"Fatal" in said) == (-signal.SIGKILL % 256, False), said


def test_a_call_is_answered_where_nobody_keeps_the_log(clone: Clone) -> None:
    clone.lets_the_set_up_end()
    client = Conversation(clone, "/bin/sh", "-c", f"exec {clone.launcher} mcp 2>&-")
    client.opens()
    call = client.asks("tools/call", name="status", arguments={})
    assert client.hears()["id"] == call
    assert client.hangs_up() == 0


def test_a_launcher_that_nobody_may_start_is_told_to_whoever_asks(clone: Clone) -> None:  # C-3
    clone.launcher.chmod(0o644)
    client = Conversation(clone, "/bin/sh", str(clone.launcher), "mcp")
    client.opens()
    client.asks("tools/call", name="status", arguments={})
    assert "Permission denied" in client.hears()["error"]["message"]
    assert client.hangs_up() == 1


def test_a_line_that_is_nested_without_end_is_left_to_the_server(client: Conversation) -> None:
    client.writes(b"[" * 100_000)
    ping = client.asks("ping")
    assert client.hears()["id"] == ping


def test_what_it_says_of_the_tools_is_what_the_server_says() -> None:
    app = mcp_server.MCPServer("helix")
    for tool in TOOLS:
        app.add_tool(tool, name=tool.__name__, description=tool.__doc__)
    said = [tool.model_dump(by_alias=True) for tool in asyncio.run(app.list_tools())]

    reply = answer({"id": 1, "method": "tools/list"})

    assert reply is not None
    assert [essence(tool) for tool in reply["result"]["tools"]] == [essence(it) for it in said]


def essence(tool: dict[str, Any]) -> tuple[str, str, dict[str, Any], list[str]]:
    """What a model goes by; titles and defaults are the SDK's own."""
    schema = tool["inputSchema"]
    known = {
        name: {key: said for key, said in part.items() if key not in ("title", "default")}
        for name, part in schema["properties"].items()
    }
    return tool["name"], tool["description"], known, schema.get("required", [])


@pytest.mark.parametrize(
    "told",
    [{}, {"id": 1}, {"method": "ping"}, {"id": 1, "method": "initialize"}, {"id": 1, "result": {}}],
)
def test_only_what_the_server_would_answer_is_answered(told: dict[str, Any]) -> None:
    assert answer(told) is None
