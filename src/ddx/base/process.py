"""Processes: the only place that reads the environment of ours and that starts others.

It also knows whether a process still lives.
"""

from __future__ import annotations

import os

from ddx.base.clock import Clock
from ddx.base.errors import DdxError
from ddx.base.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from selectors import BaseSelector
    from subprocess import Popen
    from typing import Protocol, TypeAlias

    Sink: TypeAlias = Callable[[bytes], None]

    class Programs(Protocol):
        """Whoever plays all programs in a test; `ddx.testing.played_by` puts it into place."""

        def run(
            self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes
        ) -> ProcessResult:
            """How the program ended, with all that it printed."""

        def stream(
            self,
            argv: Sequence[str],
            *,
            cwd: str,
            env: Mapping[str, str],
            stdin: bytes,
            stdout: Sink,
            stderr: Sink,
        ) -> ProcessResult:
            """How the program ended; what it printed went to the sinks."""


ATTEMPT = "DDX_ATTEMPT_ID"
"""In everything that an attempt starts, so that what it leaves behind can be found (X-6)."""
PROJECT_ROOT = "DDX_PROJECT_ROOT"

# What would make a child git act on another repository than the one it is told (X-3b);
# GIT_CONFIG_COUNT, _KEY_ and _VALUE_ stay: a person's own settings travel there.
_REPOSITORY_LOCAL = frozenset(
    {
        *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG"),
        *("GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE"),
        *("GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS"),
        *("GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE"),
        *("GIT_SHALLOW_FILE", "GIT_WORK_TREE"),
    }
)
# What waits for a person, or lets a program of theirs answer in git's place.
_INTERACTIVE = frozenset(
    {
        *("EDITOR", "GIT_ASKPASS", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_MERGE_AUTOEDIT"),
        *("GIT_PAGER", "GIT_PAGER_IN_USE", "GIT_SEQUENCE_EDITOR", "MANPAGER", "PAGER"),
        *("SSH_ASKPASS", "VISUAL"),
    }
)

_PATIENCE_S = 0.2
"""For the pipes of a program that was killed."""

_TICK_S = 0.02
_CHUNK = 1 << 16

_player: Programs | None = None


def variable(name: str) -> str:
    """The variable's value; absent and empty are the same."""
    return os.environ.get(name, "")


def for_children(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a program we start: nothing that redirects git or waits for a person."""
    kept = {
        name: text
        for name, text in os.environ.items()
        if name not in _REPOSITORY_LOCAL and name not in _INTERACTIVE
    }
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **(extra or {})}


def login() -> str:
    """The name of the person at the keyboard."""
    import pwd

    try:
        account = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number that has no name
        account = ""
    return variable("LOGNAME") or variable("USER") or account


def player() -> Programs | None:
    """Who plays the programs instead of the system; None, outside of tests always: nobody."""
    return _player


def let_play(programs: Programs | None) -> None:
    """From now on every program is played by these; None: programs are started again."""
    global _player
    _player = programs


@value
class ProcessResult:
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


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    holding: Sequence[int] = (),
    output: Sink | None = None,
) -> ProcessResult:
    """Run a program to its end, in a group of its own; its children die with it at the limit.

    Besides `env` it gets our own environment, without what redirects git or waits for a person.
    The locks that it is `holding` with us are free only when it has ended, too. With an `output`,
    what it prints on either stream goes there as it comes, and it has no stdin.
    """
    if _player is not None:
        played = _player.run(argv, cwd=cwd, env=for_children(env), stdin=stdin)
        if output is not None:
            output(played.stdout + played.stderr)
        return played

    import signal
    import subprocess

    begin = subprocess.PIPE if output is None else subprocess.DEVNULL
    with _start(argv, cwd=cwd, env=env, stdin=begin, holding=holding) as child:
        if output is not None:
            return _handed_on(child, output, timeout_s=timeout_s)
        try:
            out, err = child.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = _rest_of(child)
            return ProcessResult(child.returncode, out, err, timed_out=True)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    return ProcessResult(child.returncode, out, err)


def _handed_on(child: Popen[bytes], output: Sink, *, timeout_s: float) -> ProcessResult:
    """How a program ended whose output went on as it came; what is left of its group ends too."""
    import selectors

    clock = Clock()
    deadline_ns = clock.now_ns() + int(timeout_s * 1e9)
    with selectors.DefaultSelector() as pipes:
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipes.register(pipe, selectors.EVENT_READ, output)
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
        return ProcessResult(child.wait(), b"", b"", timed_out=timed_out)


def _start(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str] | None,
    stdin: int,
    holding: Sequence[int] = (),
) -> Popen[bytes]:
    import subprocess

    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=for_children(env),
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
    if _player is not None:
        played = _player.run(argv, cwd=os.getcwd(), env=env, stdin=b"")
        return played.text.strip() if played.ok else ""
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
    return started_by_ps(pid)


def started_by_ps(pid: int) -> str:
    """The same mark where there is no /proc: the second in which the process began."""
    return "-".join(ask_ps("-o", "lstart=", "-p", str(pid)).split())


def ask_ps(*words: str) -> str:
    """What `ps` prints, in English and by one clock, so that the same process reads the same."""
    return read_answer(("/bin/ps", *words), env={"LC_ALL": "C", "TZ": "UTC0"})


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
