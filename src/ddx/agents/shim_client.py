"""Our ends of the shim's pipes: what to start goes down, output and status come up (X-6)."""

from __future__ import annotations

import marshal
import os
import selectors
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import IO, TYPE_CHECKING, Any, cast

from ddx.agents import shim
from ddx.base import DdxError, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.abc import InspectLoader
    from subprocess import Popen

    from ddx.agents.supervision import Watch

_LOADER = """
import marshal, posix, sys
size, control = int(sys.argv.pop(1)), int(sys.argv[1])
code = b""
while len(code) < size and (part := posix.read(control, size - len(code))):
    code += part
exec(marshal.loads(code))
"""
"""To compile it at each start would cost 3 ms, and bytecode on the disk may be out of date."""

_TICK_S = 0.05
_CHUNK = 1 << 16
_MOST_LEFT_OVER = 256
"""Chunks that are read when all have gone: more than a pipe holds, and not for ever."""
_SHIM_S = 20.0
"""For the shim to end all, once its control pipe is closed."""


@value
class ShimExit:
    """How the program ended; `was_stopped` if it still ran when it was told to stop."""

    code: int
    strays: int
    was_stopped: bool


@contextmanager
def started(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], grace_s: float, stdin: bytes | None
) -> Iterator[Shim]:
    """A shim with its program; however we leave, all that still runs below it ends first."""
    code, order = _shim_code(), _order(argv, cwd, env)
    source = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    with ExitStack() as theirs, ExitStack() as ours:
        its_control, control = _pipe(theirs, ours)
        status, its_status = _pipe(ours, theirs)
        fds = (its_control.fileno(), its_status.fileno())
        words = (len(code), *fds, len(order), grace_s, argv[0])
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _LOADER, *map(str, words)],
                bufsize=0,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=fds,
                start_new_session=True,
            )
        except OSError as problem:
            raise DdxError(f"cannot start the shim of {argv[0]}: {problem.strerror}") from problem
        ours.callback(_see_off, process)
        for pipe in (control, process.stdin, process.stdout, process.stderr):
            if pipe:
                ours.callback(pipe.close)
        theirs.close()
        _write_all(control, code + order)
        yield Shim(argv[0], cwd, process, control, status)


class Shim:
    """The shim of one program, and our ends of the pipes to both."""

    def __init__(
        self, program: str, cwd: str, process: Popen[bytes], control: IO[bytes], status: IO[bytes]
    ) -> None:
        self._program, self._cwd, self._process = program, cwd, process
        self._control, self._status = control, status
        self._told = bytearray()
        self._pipes = selectors.PollSelector()
        self._unsent = memoryview(b"")
        self._asks = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_up(self) -> bool:
        """Its last act is to let go of the status pipe."""
        return self._status in self._pipes.get_map()

    def connect(self, watch: Watch, stdin: bytes | None) -> None:
        self._register(self._process.stdout, selectors.EVENT_READ, watch.output)
        self._register(self._process.stderr, selectors.EVENT_READ, watch.errors)
        self._register(self._status, selectors.EVENT_READ, self._told.extend)
        if stdin is not None:
            self._unsent = memoryview(stdin)
            self._register(self._process.stdin, selectors.EVENT_WRITE, None)

    def hand_on(self) -> bool:
        """Wait a tick for output and hand it on; True if there was some."""
        came = False
        for key, _ in self._pipes.select(_TICK_S):
            if key.events == selectors.EVENT_WRITE:
                self._feed(key)
            else:
                came |= self._take(key)
        return came

    def hand_on_the_rest(self) -> bool:
        """What is in the pipes by now; a stray that holds one open is not waited for (X-6)."""
        came = False
        for key in tuple(self._pipes.get_map().values()):
            chunks = _MOST_LEFT_OVER if key.events == selectors.EVENT_READ else 0
            while chunks and self._take(key):
                came = True
                chunks -= 1
        return came

    def ask_to_stop(self, *, at_once: bool) -> None:
        asks = 2 if at_once else 1
        _write_all(self._control, b"." * (asks - self._asks))
        self._asks = asks

    def kill(self) -> None:
        self._process.kill()

    def ending(self) -> ShimExit:
        """What the shim told; a program that could not be started is an error."""
        code = self._process.wait()
        match self._told.split():
            case [b"failed", step, number, *_]:
                place = f" in {self._cwd}" if step == b"chdir" else ""
                problem = os.strerror(int(number))
                raise DdxError(f"cannot start {self._program}{place}: {problem}")
            case [b"ended", its_code, strays, was_stopped]:
                return ShimExit(int(its_code), int(strays), was_stopped == b"1")
        if code < 0:  # the shim itself was killed, and its program with it
            return ShimExit(code, 0, was_stopped=self._asks > 0)
        raise DdxError(f"the shim of {self._program} ended with {code} and without a word")

    def _register(self, pipe: IO[bytes] | None, events: int, sink: Any) -> None:
        if pipe:
            os.set_blocking(pipe.fileno(), False)
            self._pipes.register(pipe, events, sink)

    def _take(self, key: selectors.SelectorKey) -> bool:
        """Hand on one chunk; True if it was the program's."""
        try:
            chunk = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            key.data(chunk)
        else:
            self._pipes.unregister(key.fileobj)
        return bool(chunk) and key.fileobj is not self._status

    def _feed(self, key: selectors.SelectorKey) -> None:
        """Write what the program takes; one that does not read its input is not waited for."""
        try:
            self._unsent = self._unsent[os.write(key.fd, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self._pipes.unregister(key.fileobj)
            if self._process.stdin:
                self._process.stdin.close()


def _order(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> bytes:
    """What the shim is to start, as `ddx.agents.shim.StartOrder` reads it."""
    fields = (cwd, str(len(argv)), *argv, *(f"{name}={text}" for name, text in env.items()))
    try:
        encoded = [os.fsencode(field) for field in fields]
    except UnicodeEncodeError as problem:
        raise DdxError(f"cannot start {argv[0]!a}: {problem.reason} in an argument") from problem
    if any(b"\0" in field for field in encoded):
        raise DdxError(f"cannot start {argv[0]!a}: a zero byte in an argument")
    return b"\0".join(encoded)


@cache
def _shim_code() -> bytes:
    """The shim, compiled once; an upgrade while we run cannot put another one under us."""
    loader = cast("InspectLoader", shim.__loader__)
    return marshal.dumps(loader.get_code(shim.__name__))


def _see_off(process: Popen[bytes]) -> None:
    """Wait for a shim whose pipe to us is closed: it ends all that is left."""
    try:
        process.wait(_SHIM_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    reader, writer = os.pipe()
    return (
        reading.enter_context(open(reader, "rb", buffering=0)),
        writing.enter_context(open(writer, "wb", buffering=0)),
    )


def _write_all(pipe: IO[bytes], text: bytes) -> None:
    """A shim that has gone says so by its silence."""
    unsent = memoryview(text)
    try:
        while unsent:
            unsent = unsent[pipe.write(unsent) :]
    except BrokenPipeError:
        pass
