"""The only place that starts processes, and the one that knows whether a process still lives."""

from __future__ import annotations

import os

from ddx.errors import DdxError
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from selectors import BaseSelector
    from subprocess import Popen
    from typing import TypeAlias

    from ddx.clock import Clock

    Sink: TypeAlias = Callable[[bytes], None]

_PATIENCE_S = 0.2
"""For the pipes of a program that was killed."""

_TICK_S = 0.02
_CHUNK = 1 << 16


@value
class Result:
    """How a program ended; `timed_out` programs were killed with their whole group."""

    code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.code == 0 and not self.timed_out

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """What the program said about its failure, for a person."""
        return (self.stderr or self.stdout).decode("utf-8", "replace").strip()


@value
class Ending:
    """How a program ended whose output went elsewhere."""

    code: int
    timed_out: bool = False


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float,
    stdin: bytes = b"",
    holding: Sequence[int] = (),
) -> Result:
    """Run a program to its end, in a group of its own; its children die with it at the limit.

    The locks that it is `holding` with us are free only when it has ended, too.
    """
    import signal
    import subprocess

    with _start(argv, cwd=cwd, env=env, stdin=subprocess.PIPE, holding=holding) as child:
        try:
            out, err = child.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = _rest_of(child)
            return Result(child.returncode, out, err, timed_out=True)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    return Result(child.returncode, out, err)


def run_streamed(
    command: str | Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float,
    stdout: Sink,
    stderr: Sink,
    clock: Clock,
) -> Ending:
    """Run a command, a text by `sh`, and hand on its output as it comes.

    It has a group of its own, and what is left of that group ends when the command does.
    """
    import selectors
    import subprocess

    argv = ["sh", "-c", command] if isinstance(command, str) else command
    child = _start(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL)
    deadline_ns = clock.now_ns() + int(timeout_s * 1e9)
    with child, selectors.DefaultSelector() as pipes:
        for pipe, sink in ((child.stdout, stdout), (child.stderr, stderr)):
            if pipe is not None:
                pipes.register(pipe, selectors.EVENT_READ, sink)
        try:
            timed_out = False
            while child.poll() is None and not timed_out:
                _hand_on(pipes, _TICK_S)
                timed_out = clock.now_ns() >= deadline_ns
        finally:
            _end_group(child.pid)
        late_ns = clock.now_ns() + int(_PATIENCE_S * 1e9)
        while pipes.get_map() and clock.now_ns() < late_ns:  # a stray may hold a pipe
            _hand_on(pipes, _TICK_S)
        return Ending(child.wait(), timed_out)


def _start(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: int,
    holding: Sequence[int] = (),
) -> Popen[bytes]:
    import subprocess

    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=holding,
        )
    except OSError as problem:
        raise DdxError(f"cannot start {argv[0]}: {problem.strerror}") from problem


def _hand_on(pipes: BaseSelector, wait_s: float) -> None:
    for key, _ in pipes.select(wait_s):
        chunk = os.read(key.fd, _CHUNK)
        if chunk:
            key.data(chunk)
        else:
            pipes.unregister(key.fileobj)


def _end_group(pid: int) -> None:
    import signal

    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # macOS: a group of zombies may not be signalled
        pass


def _rest_of(child: Popen[bytes]) -> tuple[bytes, bytes]:
    """What a killed program said; a stray child that left its group cannot hold us (X-6)."""
    import subprocess

    try:
        return child.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired as late:
        return late.output or b"", late.stderr or b""


def read_answer(argv: Sequence[str], *, env: Mapping[str, str]) -> str:
    """What a quick, trusted program prints; empty if it fails.

    For the hot lane: importing subprocess would cost more than the program does.
    """
    reader, writer = os.pipe()
    quiet = os.open(os.devnull, os.O_RDWR)
    try:
        pid = os.posix_spawnp(
            argv[0],
            list(argv),
            dict(env),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, quiet, 0),
                (os.POSIX_SPAWN_DUP2, writer, 1),
                (os.POSIX_SPAWN_DUP2, quiet, 2),
            ],
        )
    except OSError:
        os.close(reader)
        return ""
    finally:
        os.close(writer)
        os.close(quiet)
    with os.fdopen(reader, "rb") as answers:
        answer = answers.read()
    _, status = os.waitpid(pid, 0)
    return answer.decode("utf-8", "replace").strip() if status == 0 else ""


def started_at(pid: int) -> str:
    """A mark of this very process: a reused pid has another one (D-5). Empty if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id", "rb") as boot:
            return f"{boot.read(8).decode()}-{fields[19].decode()}"
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return ""
    except (OSError, IndexError):
        return ""
    import psutil  # where there is no /proc

    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.Error:
        return ""


def is_alive(pid: int, start_mark: str = "") -> bool:
    """Does the process run, and is it the one that wrote `start_mark`? Zombies are dead (X-6)."""
    if pid <= 0:  # to the kernel that is a group, and no process
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            if stat.read().rpartition(b")")[2].split()[0] == b"Z":
                return False
    except OSError:
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            pass
    return not start_mark or started_at(pid) == start_mark
