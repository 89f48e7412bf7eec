"""Programs under supervision: one to watch them, a marker to find what is left of them."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from ddx.agents.harness import StopCause
from ddx.agents.process_tree import marked
from ddx.agents.supervision import Bounds, StopRequest, SupervisedExit, supervise
from ddx.base.clock import Clock


class Recorder:
    """A watch that keeps all; `on_output` sees each chunk of stdout, `say` is its verdict."""

    def __init__(
        self,
        *,
        on_output: Callable[[bytes], None] = lambda chunk: None,
        say: Callable[[], StopCause | None] = lambda: None,
    ) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self._on_output, self._say = on_output, say

    def output(self, chunk: bytes) -> None:
        self.out += chunk
        self._on_output(chunk)

    def errors(self, chunk: bytes) -> None:
        self.err += chunk

    def verdict(self) -> StopCause | None:
        return self._say()


class Marked:
    """Programs that carry a marker of their own, so that none can hide."""

    def __init__(self) -> None:
        self.marker = f"DDX_ATTEMPT_ID={uuid.uuid4().hex}"
        self.watch = Recorder()

    @property
    def out(self) -> str:
        return self.watch.out.decode()

    @property
    def alive(self) -> list[int]:
        return marked(self.marker)

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str = "/",
        bounds: Bounds | None = None,
        watch: Recorder | None = None,
        env: dict[str, str] | None = None,
        **more: Any,
    ) -> SupervisedExit:
        name, _, text = self.marker.partition("=")
        self.watch = watch or Recorder()
        return supervise(
            command,
            cwd=cwd,
            env={"PATH": os.environ["PATH"], name: text, **(env or {})},
            bounds=bounds or Bounds(wall_s=60, grace_s=0.3),
            watch=self.watch,
            **{"clock": Clock(), **more},
        )

    def stopped_when_up(
        self, command: str | Sequence[str], *, grace_s: float, times: int = 1, cwd: str = "/"
    ) -> SupervisedExit:
        """A wish to stop, as often as `times` says, comes with the first word of the program."""
        stop = StopRequest()

        def ask(chunk: bytes) -> None:
            while stop.asked < times:
                stop.ask()

        bounds = Bounds(wall_s=300, grace_s=grace_s)
        return self.run(command, cwd=cwd, bounds=bounds, watch=Recorder(on_output=ask), stop=stop)


def python(code: str) -> list[str]:
    """The words that run some Python, started as fast as it can be."""
    return [sys.executable, "-I", "-S", "-c", code]
