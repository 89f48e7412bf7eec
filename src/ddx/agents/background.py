"""A program that outlives us: in a session of its own, its output in a file."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from ddx.base import DdxError, for_children

if TYPE_CHECKING:
    from collections.abc import Sequence


class BackgroundProgram:
    """A program that we started and do not wait for."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @classmethod
    def start(cls, argv: Sequence[str], *, cwd: str, output: str) -> BackgroundProgram:
        """Start a program that no terminal of ours can reach; `output` is written anew."""
        try:
            with open(output, "wb") as log:
                process = subprocess.Popen(
                    list(argv),
                    cwd=cwd,
                    env=for_children(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as problem:
            raise DdxError(f"cannot start {argv[0]}: {problem.strerror}") from problem
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    def find_code(self) -> int | None:
        """How it ended; None while it runs. A signal is a negative number."""
        return self._process.poll()
