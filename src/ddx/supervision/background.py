"""A program that outlives us: in a session of its own, its output in a file."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from ddx.errors import DdxError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Background:
    """A program that we started and do not wait for."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def find_code(self) -> int | None:
        """How it ended; None while it runs. A signal is a negative number."""
        return self._process.poll()


def start_in_background(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], output: str
) -> Background:
    """No terminal of ours can reach it; `output` is written anew."""
    try:
        with open(output, "wb") as log:
            process = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as problem:
        raise DdxError(f"cannot start {argv[0]}: {problem.strerror}") from problem
    return Background(process)
