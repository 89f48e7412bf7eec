"""Speaks to an MCP client until the server can, then hands it over.

A server has a second of imports to do, and a fresh clone its set-up first. By then codex has asked
its model without our tools, and claude gives a server up that has not listed them after half a
minute. So they are listed at once; only what needs the true server waits for it (P-7).
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, Any, get_args, get_origin, get_type_hints

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from ddx import __version__
from helix.mcp import INSTRUCTIONS, TOOLS

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Of the protocol, as the server would agree to them; any other one waits for the server's word."""
FAILED = -32603
STDERR = 2
TYPES: dict[Any, dict[str, Any]] = {str: {"type": "string"}, int: {"type": "integer"}}

Message = dict[str, Any]


class HungUp:
    """The client or the server has no more to say."""


class SetUp:
    """How the set-up ended; without a complaint it was done."""

    def __init__(self, complaint: str) -> None:
        self.complaint = complaint


Heard = SimpleQueue[bytes | HungUp | SetUp]


def main(helix: str) -> int:
    heard: Heard = SimpleQueue()
    _aside(_listen, sys.stdin.buffer, heard.put)
    _aside(lambda: heard.put(_set_up(helix)))
    greeted = b""
    held: list[bytes] = []
    while True:
        match heard.get():
            case HungUp():
                return 0
            case SetUp(complaint=""):
                return _hand_over([helix, "mcp"], greeted, held, heard)
            case SetUp(complaint=complaint):
                return _refuse(complaint, held, heard)
            case line:
                asked = _read(line)
                reply = answer(asked)
                if reply is None:
                    held.append(line)
                    continue
                _send(reply)
                if asked["method"] == "initialize":
                    greeted = line


def answer(asked: Message) -> Message | None:
    """What the server would say; None: that is for itself to say."""
    match asked:
        case {"id": _, "method": "initialize", "params": {"protocolVersion": str(version)}}:
            if version in VERSIONS:
                return _reply(asked, result=_greeting(version))
        case {"id": _, "method": "tools/list"}:
            return _reply(asked, result={"tools": [_description(tool) for tool in TOOLS]})
        case {"id": _, "method": "ping"}:
            return _reply(asked, result={})
    return None


def _greeting(version: str) -> Message:
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "helix", "version": __version__},
        "instructions": INSTRUCTIONS,
    }


def _description(tool: Callable[..., Any]) -> Message:
    hints = get_type_hints(tool)
    parameters = inspect.signature(tool).parameters
    schema = {
        "type": "object",
        "properties": {name: _schema(hints[name]) for name in parameters},
        "required": [name for name, it in parameters.items() if it.default is it.empty],
    }
    return {"name": tool.__name__, "description": tool.__doc__, "inputSchema": schema}


def _schema(hint: Any) -> Message:
    if get_origin(hint) is types.UnionType:
        return {"anyOf": [_schema(each) for each in get_args(hint)]}
    if get_origin(hint) is list:
        return {"type": "array", "items": _schema(get_args(hint)[0])}
    return {"type": "null"} if hint is type(None) else TYPES[hint]


def _set_up(helix: str) -> SetUp:
    """Any command of a clone does it; its words are the client's log.

    They go through a file, not a pipe: a set-up that outlives its client must not trip over them.
    """
    try:
        with TemporaryFile() as log:
            done = subprocess.run(
                [helix, "--version"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                check=False,
            )
            log.seek(0)
            said = log.read()
    except OSError as problem:
        return SetUp(str(problem))
    with suppress(OSError):  # nobody may be listening there
        os.write(STDERR, said)
    complaint = said.decode(errors="replace").strip() or "the set-up failed"
    return SetUp("" if done.returncode == 0 else complaint)


def _hand_over(argv: list[str], greeted: bytes, held: list[bytes], heard: Heard) -> int:
    """From here on every line goes through as it is."""
    server = subprocess.Popen(
        argv,
        env={**os.environ, "HELIX_MCP_GREETED": "yes"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin and server.stdout
    if greeted:  # it has its answer
        _pass_on(greeted, server.stdin)
        server.stdout.readline()

    def speak(line: bytes | HungUp) -> None:
        if isinstance(line, HungUp):
            heard.put(line)
            return
        with suppress(BrokenPipeError):  # the client is gone, and the server must not wait for us
            _say(line)

    _aside(_listen, server.stdout, speak)
    for line in chain(held, _lines(heard)):
        _pass_on(line, server.stdin)
    server.stdin.close()
    return server.wait()


def _refuse(complaint: str, held: list[bytes], heard: Heard) -> int:
    """Whoever asks is told what to mend, since nobody reads a log that they do not know of."""
    for line in chain(held, _lines(heard)):
        asked = _read(line)
        if "id" in asked and "method" in asked:
            _send(_reply(asked, error={"code": FAILED, "message": complaint}))
    return 1


def _lines(heard: Heard) -> Iterator[bytes]:
    while isinstance(line := heard.get(), bytes):
        yield line


def _listen(stream: IO[bytes], hear: Callable[[bytes | HungUp], None]) -> None:
    for line in stream:
        hear(line)
    hear(HungUp())


def _read(line: bytes) -> Message:
    """The message; a line that is none is left to the server to complain about."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _reply(asked: Message, **said: Any) -> Message:
    return {"jsonrpc": "2.0", "id": asked["id"], **said}


def _send(message: Message) -> None:
    _say(json.dumps(message).encode() + b"\n")


def _say(line: bytes) -> None:
    _pass_on(line, sys.stdout.buffer)


def _pass_on(line: bytes, stream: IO[bytes]) -> None:
    stream.write(line)
    stream.flush()


def _aside(work: Callable[..., None], *given: Any) -> None:
    Thread(target=work, args=given, daemon=True).start()


if __name__ == "__main__":
    if sys.stderr is None:  # closed: else a pipe of ours would get its number
        os.set_inheritable(os.open(os.devnull, os.O_WRONLY), True)
    try:
        code = main(sys.argv[1])
    except BrokenPipeError:  # whoever it was, the conversation is over
        code = 1
    except KeyboardInterrupt:
        code = 130
    os._exit(code)  # where one of our threads still reads stdin, Python would not end but crash
