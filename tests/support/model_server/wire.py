"""HTTP as the agents use it: requests read within bounds, answers as a stream or whole."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, TypeAlias

from tests.support.model_server.anthropic import ANTHROPIC
from tests.support.model_server.chat import CHAT
from tests.support.model_server.dialect import Answer, Body, Dialect, Part
from tests.support.model_server.gemini import GEMINI
from tests.support.model_server.responses import RESPONSES

LARGEST_REQUEST = 64_000_000
SLOWEST_READ_S = 120.0
DIALECTS = {
    "/messages": ANTHROPIC,
    "/responses": RESPONSES,
    "/chat/completions": CHAT,
    ":generateContent": GEMINI,
    ":streamGenerateContent": GEMINI,
}
COUNTS = ("/count_tokens", ":countTokens")
COUNTED = {"input_tokens": 42, "totalTokens": 42}
MODELS: Body = {"object": "list", "data": [], "models": []}


class Connection(BaseHTTPRequestHandler):
    """One client; what is asked of the model goes to the server's `play`."""

    protocol_version = "HTTP/1.1"
    timeout = SLOWEST_READ_S
    server: HttpServer

    def do_HEAD(self) -> None:
        self.send_json(MODELS)

    def do_GET(self) -> None:
        self.send_json(MODELS)

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        length = int(self.headers.get("content-length", -1))
        if not 0 <= length <= LARGEST_REQUEST or "content-encoding" in self.headers:
            self.close_connection = True
            self.send_json({"error": "a plain body of known and modest length is wanted"}, 413)
            return
        body = json.loads(self.rfile.read(length))
        for ending, dialect in DIALECTS.items():
            if path.endswith(ending):
                self.server.play(dialect, path, body, self)
                return
        if path.endswith(COUNTS):
            self.send_json(COUNTED)
        else:
            self.send_json({"error": f"nothing is served at {path}"}, 404)

    def send_json(
        self, body: Body, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        content = json.dumps(body).encode()
        self._send_head(
            status,
            {
                "content-type": "application/json",
                "content-length": str(len(content)),
                **(headers or {}),
            },
        )
        if self.command != "HEAD":
            self.wfile.write(content)

    def start_stream(self) -> None:
        """Its end is the connection's: nothing tells the client how long it will be."""
        self.close_connection = True
        self._send_head(200, {"content-type": "text/event-stream", "connection": "close"})

    def send_frames(self, frames: Iterator[bytes]) -> None:
        for each in frames:
            self.wfile.write(each)
        self.wfile.flush()

    def _send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()

    def log_message(self, format: str, *words: Any) -> None:
        """The server keeps exchanges, not a log."""


class Writer(Protocol):
    """Takes an answer's parts in order, and then its end or the cut."""

    def add(self, part: Part) -> None: ...

    def end(self) -> None: ...

    def cut(self) -> None: ...


class Streamed(Writer):
    """Each part goes out at once."""

    def __init__(self, connection: Connection, answer: Answer) -> None:
        self._connection = connection
        self._answer = answer
        self._has_begun = False

    def add(self, part: Part) -> None:
        self._begin()
        self._connection.send_frames(self._answer.part(part))

    def end(self) -> None:
        self._begin()
        self._connection.send_frames(self._answer.closing())

    def cut(self) -> None:
        self._begin()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._connection.start_stream()
            self._connection.send_frames(self._answer.opening())


class Whole(Writer):
    """Everything goes out at the end."""

    def __init__(self, connection: Connection, answer: Answer) -> None:
        self._connection = connection
        self._answer = answer
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        self._parts.append(part)

    def end(self) -> None:
        self._connection.send_json(self._answer.whole(self._parts))

    def cut(self) -> None:
        self._connection.close_connection = True


Play: TypeAlias = Callable[[Dialect, str, Body, Connection], None]


class HttpServer(ThreadingHTTPServer):
    """On a free port of this machine only; what goes wrong in here is kept as a bug of ours."""

    daemon_threads = True

    def __init__(self, play: Play) -> None:
        self.play = play
        self.bugs: list[BaseException] = []
        super().__init__(("127.0.0.1", 0), Connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.bugs.append(error)
