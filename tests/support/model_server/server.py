"""A model on a port of this machine that does what its scenarios say, for real agents to talk to.

    with ModelServer(scenarios) as server:
        run_agent(base_url=server.url)
    assert server.turns("GREET") == [0, 1, 2]

Which turn comes next is read from the request itself, so retries and clients side by side cannot
confuse it. Only faults are counted.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TypeAlias

from tests.support.model_server.dialect import Asked, Body, Call, Dialect
from tests.support.model_server.script import (
    Drop,
    Hang,
    Http,
    Say,
    Scenario,
    Turn,
    Usage,
    find_scenario,
)
from tests.support.model_server.tools import NoSuchTool, fitted
from tests.support.model_server.wire import Connection, HttpServer, Streamed, Whole, Writer

KEPT_EXCHANGES = 500
POLL_S = 0.05
ASIDE: Turn = (Say("ok"),)
"""For a request that offers no tools: a title or a summary, and no part of the conversation."""

Act: TypeAlias = Say | Call | Hang | Http | Drop


@dataclass(frozen=True)
class Exchange:
    """One request and how it ended: `answered`, `cut`, `hung up` by the client, or its status."""

    dialect: str
    path: str
    scenario: str
    asked: Asked
    ended: str


class ModelServer:
    """Serves from entering to leaving; leaving frees every client that it lets hang."""

    def __init__(self, scenarios: Iterable[Scenario]) -> None:
        self._scenarios = tuple(scenarios)
        self._exchanges: deque[Exchange] = deque(maxlen=KEPT_EXCHANGES)
        self._faults: Counter[tuple[str, int, int]] = Counter()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = HttpServer(self._play)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(POLL_S,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def exchanges(self) -> list[Exchange]:
        """The latest ones, in the order in which they ended."""
        with self._lock:
            return list(self._exchanges)

    def turns(self, word: str) -> list[int]:
        """Which turns of this scenario were asked for, whatever came of it."""
        return [each.asked.turn for each in self.exchanges if each.scenario == word]

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """A bug in here fails the test, unless it has failed by itself."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        if self._http.bugs and error is None:
            raise self._http.bugs[0]

    def _play(self, dialect: Dialect, path: str, body: Body, connection: Connection) -> None:
        asked = dialect.read(path, body)
        scenario = find_scenario(self._scenarios, asked.prompt) if asked.tools else None
        ended = "hung up"
        try:
            ended = self._answer(dialect, asked, scenario, connection)
        finally:
            word = scenario.word if scenario else ""
            with self._lock:
                self._exchanges.append(Exchange(dialect.name, path, word, asked, ended))

    def _answer(
        self, dialect: Dialect, asked: Asked, scenario: Scenario | None, connection: Connection
    ) -> str:
        if asked.tools and scenario is None:
            return _refuse(connection, dialect, _unscripted("the prompt names no scenario"))
        turn = scenario.turn(asked.turn) if scenario else ASIDE
        usage = next((step for step in turn if isinstance(step, Usage)), Usage())
        try:
            acts = list(self._acts(turn, asked, scenario))
        except NoSuchTool as error:
            return _refuse(connection, dialect, _unscripted(str(error)))
        answer = dialect.answer(asked, usage)
        writer: Writer = (Streamed if asked.streams else Whole)(connection, answer)
        for act in acts:
            match act:
                case Hang(seconds=seconds):
                    self._closing.wait(seconds)
                case Http():
                    return _refuse(connection, dialect, act)
                case Drop():
                    writer.cut()
                    return "cut"
                case Say() | Call():
                    writer.add(act)
        writer.end()
        return "answered"

    def _acts(self, turn: Turn, asked: Asked, scenario: Scenario | None) -> Iterator[Act]:
        """What is to be done this time, known to the end before the first byte goes out."""
        word = scenario.word if scenario else ""
        for number, step in enumerate(turn):
            match step:
                case Usage():
                    continue
                case Hang():
                    yield step
                case Http(times=times) | Drop(times=times):
                    with self._lock:
                        self._faults[word, asked.turn, number] += 1
                        count = self._faults[word, asked.turn, number]
                    if count <= times:
                        yield step
                        return
                case _:
                    yield fitted(step, asked.tools)


def _refuse(connection: Connection, dialect: Dialect, http: Http) -> str:
    body = dialect.refusal(http) if http.body is None else dict(http.body)
    connection.send_json(body, http.status, http.headers)
    return str(http.status)


def _unscripted(reason: str) -> Http:
    """A scenario that does not fit is a mistake in the test: no client tries again after a 400."""
    return Http(400, body={"type": "error", "error": {"type": "unscripted", "message": reason}})
