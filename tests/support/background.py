"""Programs that run beside a test: begun, listened to, interrupted, and ended with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

SECOND_CTRL_C = "Ctrl-C again"
"""What a run says once it has heard the first one: before that, two are one."""

_begun: list[Popen[bytes]] = []


def begin(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Popen[bytes]:
    """A program whose output is kept; no terminal of ours reaches it."""
    process = Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    _begun.append(process)
    return process


def end_all() -> None:
    """A test that failed leaves nobody behind who waits for ever and slows down the others."""
    while _begun:
        with _begun.pop() as process:
            if process.poll() is None:
                process.kill()


def hear(process: Popen[bytes], words: str) -> None:
    """Return once it has said so on stderr."""
    assert process.stderr is not None
    said = []
    while words not in (line := process.stderr.readline().decode()):
        said.append(line)
        assert line, f"it never said {words!r} but: {''.join(said)}"


def interrupt_a_worker(process: Popen[bytes], number: int = signal.SIGINT) -> None:
    """As the kernel may do, the signal falls to a thread that is not the main one."""
    others = {int(name) for name in os.listdir(f"/proc/{process.pid}/task")} - {process.pid}
    os.kill(max(others), number)
