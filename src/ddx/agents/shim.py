"""The process between us and one agent or check: it reaps, and leaves nobody behind (X-6).

A program of its own, `python -I -S shim.py CONTROL STATUS SIZE GRACE_S NAME`, because a child
subreaper eats the exit codes of all other children. Every check pays for its start, so it
imports nothing of ours, and of the library only what is written in C; compiled already, it comes
on CONTROL, too (see `ddx.agents.shim_client`).

CONTROL  a pipe whose other end the controller alone holds. Its first SIZE bytes say what to start
         (see `StartOrder`). Each byte after them asks us to stop: the first by the ladder
         (interrupt, terminate, kill), the next one at once. Its end tells that the controller is
         dead.
STATUS   a pipe back: `failed STEP ERRNO` if the program could not be started, and at the end
         `ended CODE STRAYS STOPPED`; STOPPED is 1 if it still ran when it was asked to stop.

The program gets a session of its own. A terminal's Ctrl-C reaches neither it nor us; a SIGTERM,
SIGINT or SIGHUP that someone sends to us begins the ladder. If we are killed, the program dies
with us. Where there is no Linux (no prctl, no /proc) nothing is reparented to us: then only the
program's process group is ended, and what left that group lives on.
"""

# Not even `from __future__ import annotations`: it would be read from the disk.
import sys
from select import POLLIN, poll

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    import signal as _signal
    from collections.abc import Callable
    from typing import Any
else:
    import _signal  # `signal` costs 5 ms more
    import posix as os  # and `os` itself one

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ASKS_TO_STOP = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP)

_FOR_STRAYS_S = 1.0
"""Between terminate and kill, once the program itself has gone."""
_WITHOUT_CONTROLLER_S = 0.5
"""The same when nobody is left who would wait for us."""
_KILLING_S = 10.0
"""Then we give up: what survives this sits in the kernel."""
_BETWEEN_KILLS_S = 0.01
_TICK_S = 0.05
_CHUNK = 1 << 16
_DEFAULT_PATH = b"/bin:/usr/bin"


class StartOrder:
    """What to start; on the wire its fields are joined by zero bytes, the arguments counted."""

    def __init__(self, wire: bytes) -> None:
        self.cwd, count, *rest = wire.split(b"\0")
        self.argv = rest[: int(count)]
        pairs = (entry.partition(b"=") for entry in rest[int(count) :])
        self.env = {name: text for name, _, text in pairs}


class ProcessTree:
    """The program and all that descends from it, and what we were told to do with them."""

    def __init__(self, program: int, *, control: int, signals: int, reaps: bool) -> None:
        self.program = program
        self.code: int | None = None
        self.is_abandoned = False
        self.strays: set[int] = set()
        self._asks = 0
        self._signals, self._reaps = signals, reaps
        self._childless = False
        self._killed: set[int] = set()
        self._news = poll()
        self._news.register(control, POLLIN)
        self._news.register(signals, POLLIN)

    @property
    def is_gone(self) -> bool:
        """Is nobody left? Orphans become our children, so no child means no descendant."""
        if self._reaps:
            return self._childless
        return self.code is not None and not _send_group(self.program, 0)

    @property
    def is_asked_to_stop(self) -> bool:
        return self._asks > 0 or self.is_abandoned

    @property
    def is_urgent(self) -> bool:
        return self._asks > 1

    def listen(self, seconds: float | None) -> None:
        """Sleep until something happens, but no longer than so many seconds."""
        if seconds is not None and not self._reaps:
            seconds = min(seconds, _TICK_S)  # the end of an orphan that is not ours wakes nobody
        for source, _ in self._news.poll(None if seconds is None else seconds * 1000):
            told = os.read(source, _CHUNK)
            if source == self._signals:
                # However often it is sent, a signal begins the ladder and does not cut it short.
                if self._asks == 0 and any(number in told for number in _ASKS_TO_STOP):
                    self._asks = 1
            elif told:
                self._asks += len(told)
            else:
                self.is_abandoned = True
                self._news.unregister(source)
        self._reap()

    def interrupt(self) -> None:
        if not _send_group(self.program, _signal.SIGINT):
            _send(self.program, _signal.SIGINT)  # it has not got its session yet
        _send_group(self.program, _signal.SIGCONT)

    def send_all(self, number: int) -> None:
        """Signal every live descendant, in whatever group or session it is."""
        if not self._reaps:
            _send_group(self.program, number)
            _send_group(self.program, _signal.SIGCONT)
            return
        found = _live_descendants()
        # The kernel signals a group in one step: no member can fork its way out of that.
        for group in {group for _, group in found} - {os.getpgrp()}:
            _send_group(group, number)
        for pid, _ in found:
            _send(pid, number)
            _send(pid, _signal.SIGCONT)  # one that was stopped heeds nothing but a kill
            if self.code is not None and pid not in self._killed:
                self.strays.add(pid)
            if number == _signal.SIGKILL:
                self._killed.add(pid)

    def _reap(self) -> None:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
            while pid:
                if pid == self.program:
                    self.code = os.waitstatus_to_exitcode(status)
                pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            self._childless = True


def main(words: list[str]) -> None:
    """Start the program, see it through, and tell how it ended."""
    control, status, size, grace_s = int(words[1]), int(words[2]), int(words[3]), float(words[4])
    for pipe in (control, status):
        os.set_inheritable(pipe, False)
    reaps = _prctl(_PR_SET_CHILD_SUBREAPER, 1) and _has_proc()
    signals = _signals_as_bytes()
    wire = _read_whole(control, size)
    if len(wire) < size:
        return  # the controller died before it had said what to start
    program = _start(StartOrder(wire), status)
    _let_go_of_output()
    family = ProcessTree(program, control=control, signals=signals, reaps=reaps)
    was_stopped = see_through(family, grace_s)
    code = -_signal.SIGKILL if family.code is None else family.code
    try:
        os.write(status, b"ended %d %d %d\n" % (code, len(family.strays), was_stopped))
    except BrokenPipeError:  # nobody wants to know
        pass


def see_through(family: ProcessTree, grace_s: float) -> bool:
    """Wait until nobody of the family is left; True if the program had to be stopped."""
    while family.code is None and not family.is_asked_to_stop:
        family.listen(None)
    was_stopped = family.code is None
    if was_stopped and not family.is_abandoned:
        family.interrupt()
        _listen(family, lambda: grace_s if family.code is None and not family.is_abandoned else 0)
    if not (family.is_gone or family.is_urgent):
        family.send_all(_signal.SIGTERM)
        _listen(family, lambda: _pause_s(family, grace_s))
    give_up_s = _now_s() + _KILLING_S
    while not family.is_gone and _now_s() < give_up_s:
        family.send_all(_signal.SIGKILL)
        family.listen(_BETWEEN_KILLS_S)
    return was_stopped


def _listen(family: ProcessTree, pause_s: "Callable[[], float]") -> None:
    """Until nobody is left or it becomes urgent, for a pause that may shrink meanwhile."""
    since_s = _now_s()
    while not (family.is_gone or family.is_urgent):
        left_s = since_s + pause_s() - _now_s()
        if left_s <= 0:
            return
        family.listen(left_s)


def _pause_s(family: ProcessTree, grace_s: float) -> float:
    """How long the terminated may take; it shrinks when the program or the controller goes."""
    if family.is_abandoned:
        return min(_WITHOUT_CONTROLLER_S, grace_s)
    return grace_s if family.code is None else min(_FOR_STRAYS_S, grace_s)


def _start(order: StartOrder, status: int) -> int:
    """Fork the program into a session of its own, so that it dies when we do."""
    # Blocked, so that a signal that comes too early ends the child instead of waking us.
    _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    shim = os.getpid()
    program = os.fork()
    if program == 0:
        step = b"chdir"
        try:
            os.setsid()
            _prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL)
            if os.getppid() == shim:
                os.chdir(order.cwd)
                step = b"exec"
                _become(order)
        except OSError as problem:
            os.write(status, b"failed %s %d\n" % (step, problem.errno or 0))
        finally:
            os._exit(127)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    return program


def _become(order: StartOrder) -> None:
    """Replace this process as execvp does; what we or our caller ignore is not its concern."""
    for number in _signal.valid_signals() - {_signal.SIGKILL, _signal.SIGSTOP}:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    name = order.argv[0]
    paths = [name]
    if b"/" not in name:
        folders = order.env.get(b"PATH", _DEFAULT_PATH).split(b":")
        paths = [(folder or b".") + b"/" + name for folder in folders]
    problems: list[OSError] = []
    for path in paths:
        try:
            os.execve(path, order.argv, order.env)
        except OSError as problem:
            problems.append(problem)
    missing = (FileNotFoundError, NotADirectoryError)
    raise next((each for each in problems if not isinstance(each, missing)), problems[0])


def _has_proc() -> bool:
    try:
        os.stat("/proc/self/stat")
    except OSError:
        return False
    return True


def _live_descendants() -> list[tuple[int, int]]:
    """The number and the group of every process below us; zombies are dead (X-6)."""
    children: dict[int, list[tuple[int, int, bool]]] = {}
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            source = os.open(f"/proc/{name}/stat", os.O_RDONLY)
        except OSError:
            continue
        try:
            stat = os.read(source, _CHUNK)
        except ProcessLookupError:
            continue
        finally:
            os.close(source)
        state, parent, group = stat[stat.rindex(b")") + 2 :].split(b" ", 3)[:3]
        entry = (int(name), int(group), state not in b"ZX")
        children.setdefault(int(parent), []).append(entry)
    found: list[tuple[int, int]] = []
    above = [os.getpid()]
    while above:
        for pid, its_group, is_alive in children.get(above.pop(), ()):
            above.append(pid)
            if is_alive:
                found.append((pid, its_group))
    return found


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):  # it has gone, or is another user's by now
        pass


def _send_group(group: int, number: int) -> bool:
    """False if there is no such group; on macOS one of zombies may not be signalled."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _signals_as_bytes() -> int:
    """A pipe on which each signal that concerns us arrives as a byte, its number."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    _signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (_signal.SIGCHLD, *_ASKS_TO_STOP):
        _signal.signal(number, lambda number, frame: None)
    return reader


def _read_whole(source: int, size: int) -> bytes:
    """So many bytes, or fewer if the pipe ends before."""
    parts = []
    while size > 0 and (part := os.read(source, min(size, _CHUNK))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _let_go_of_output() -> None:
    """The pipes must end when the program's do."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _prctl(option: int, argument: int) -> bool:
    """Ask the kernel; False where it is not Linux or does not want to."""
    words = (option, argument, 0, 0, 0)
    try:
        import _ctypes  # `ctypes` costs 3 ms more

        program: Any = None  # to dlopen: ourselves, with all that is loaded
        function = _ctypes.dlsym(_ctypes.dlopen(program, 0), "prctl")
        return bool(_ctypes.call_function(function, words) == 0)
    except (ImportError, AttributeError):
        pass
    except OSError:
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(*words) == 0)
    except (ImportError, AttributeError, OSError):
        return False


def _now_s() -> float:
    """A time that only goes forward, in ticks of 10 ms."""
    return os.times().elapsed


if __name__ == "__main__":
    main(sys.argv)
    os._exit(0)  # nothing to tidy up, and tidying costs a millisecond
