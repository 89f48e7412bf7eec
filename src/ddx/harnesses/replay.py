"""The `replay` harness: a recorded call, so that every way to end can be met without a model (X-4).

`--model FILE` names the recording; its lines are described in `script_agent`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ddx import __version__
from ddx.errors import UsageError
from ddx.harnesses.base import Detected, Event, Exit, Invocation, Reply, Request
from ddx.harnesses.script import events_in, read_script, start, weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Replay:
    """Does and says once more what was recorded."""

    name = "replay"
    homes: tuple[str, ...] = ()

    def __init__(self, *, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(env or {})

    def detect(self) -> Detected:
        return Detected(self.name, sys.executable, __version__)

    def command(self, request: Request) -> Invocation:
        if not request.model:
            raise UsageError("there is no recording to replay", hint="name one: --model FILE")
        return start(read_script(request.model), request, env=self._env, flags=("--replay",))

    def parse(self, line: str) -> tuple[Event, ...]:
        return events_in(line)

    def parse_error(self, line: str) -> tuple[Event, ...]:
        return ()

    def finish(self, exit: Exit, events: Sequence[Event]) -> Reply:
        return weigh(self.name, exit, events)
