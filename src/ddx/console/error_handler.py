"""How a command ends: errors become words and an exit code, and what Ctrl-C means (C-2, C-3)."""

from __future__ import annotations

import errno
import os
import sys
from _io import TextIOWrapper

from ddx.base import DdxError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue
    from threading import Thread
    from types import FrameType
    from typing import Any, TextIO

    from ddx.agents import StopRequest
    from ddx.attempts import StopControls

INTERRUPTED, TERMINATED = 130, 143
OUR_BUG = 3
EXPECTED = 1

_FINISHING = "finishing what is running; Ctrl-C again interrupts it and keeps its work"
_REPORT = "helix-crash-"
_MOST_REPORTS = 20  # C-9
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


def guarded(program: str, command: Callable[[], int]) -> int:
    """The command's exit code, or the one that its error stands for; no traceback on the screen."""
    _prepare_streams()
    code = _code_of(program, command)
    _flushed(sys.stdout)
    return code


def _code_of(program: str, command: Callable[[], int]) -> int:
    code = 0
    try:
        code = command()
        sys.stdout.flush()
    except DdxError as problem:
        explain(program, problem.message, problem.hint)
        return problem.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader went away, as `head` does
        return code
    except OSError as problem:
        place = problem.filename or ("" if _flushed(sys.stdout) else "stdout")
        what = problem.strerror or str(problem)
        explain(program, f"{place}: {what}" if place else what, _hint(problem))
        return EXPECTED
    except Exception:
        explain(program, f"this is a bug in {program}, sorry", f"the report: {_write_report()}")
        return OUR_BUG
    return code


def _prepare_streams() -> None:
    """Whatever we were started with, words have a place to go that cannot stop the work.

    A closed stream becomes one that leads nowhere: else the next file that is opened would get its
    number, and our answer.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, TextIOWrapper):
        sys.stderr = _Aside(
            sys.stderr.buffer, sys.stderr.encoding, "backslashreplace", line_buffering=True
        )


class _Aside(TextIOWrapper):
    """What is said to people: where nobody hears it any more, the work goes on all the same."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            _lead_nowhere(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            _lead_nowhere(self)


def _flushed(stream: TextIO) -> bool:
    """Was all of it written? What could not be goes nowhere: our end would trip over it."""
    try:
        stream.flush()
    except OSError:
        _lead_nowhere(stream)
        return False
    return True


def _lead_nowhere(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _hint(problem: OSError) -> str:
    if problem.errno in _NO_ROOM:
        return "make room there, then try again"
    if problem.errno in _NOT_ALLOWED:
        return "see who may read and write there (ls -ld), then try again"
    return ""


def leave(code: int) -> None:
    """End the process at once: freeing ten thousand beads one by one costs milliseconds."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def explain(program: str, message: str, hint: str) -> None:
    print(shown(f"{program}: {message}"), file=sys.stderr)
    if hint:
        print(shown(f"  {hint}"), file=sys.stderr)


def _write_report() -> str:
    """The traceback, in a file of the user's log folder, else among the temporary files."""
    from pathlib import Path
    from tempfile import gettempdir
    from traceback import format_exc

    from platformdirs import user_log_path

    from ddx import __version__
    from ddx.base import Clock

    at = Clock().stamp().replace(":", "").replace(".", "")
    text = f"version {__version__}, Python {sys.version}\n{sys.argv}\n{format_exc()}"
    for folder in (user_log_path("helix"), Path(gettempdir())):
        path = folder / f"{_REPORT}{at}-{os.getpid()}.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            for old in sorted(folder.glob(f"{_REPORT}*.log"))[:-_MOST_REPORTS]:
                old.unlink(missing_ok=True)
        except OSError:
            continue
        return str(path)
    return "no folder could be written to, so there is none"


def has_person() -> bool:
    """Somebody sees a question and can type the answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class Interruption:
    """What signals mean to a command at whose end others wait (C-2, S-21).

    First Ctrl-C: finish what runs. Second, or SIGTERM: stop it, keep its work. Third: kill it.

    Where there is nothing to wind down, the first one stops. Our meaning of the signals holds
    inside, the usual one again outside; `code` says how the command ends because of them.

    A handler may run while its own thread prints, and a stream refuses to be entered twice. So the
    handler only queues its sentence, and a thread of its own says it.
    """

    def __init__(
        self,
        stop: StopRequest,
        *,
        wishes: StopControls | None = None,
        tell: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._stop = stop
        self._wishes = wishes
        self._tell = tell
        self._told: SimpleQueue[str] | None = None
        self._teller: Thread | None = None
        self._before: dict[int, Any] = {}
        self.code = 0

    def __enter__(self) -> Interruption:
        from signal import SIGHUP, SIGINT, SIGTERM, signal  # too dear for a plain command

        if self._wishes is not None:
            from queue import SimpleQueue  # its put may interrupt its own put
            from threading import Thread

            self._told = SimpleQueue()
            self._teller = Thread(target=self._keep_telling, args=(self._told,), daemon=True)
            self._teller.start()
        numbers = (SIGINT, SIGTERM, SIGHUP)
        self._before = {number: signal(number, self._hear) for number in numbers}
        return self

    def __exit__(self, *ended: object) -> None:
        from signal import signal

        for number, old in self._before.items():
            signal(number, old)
        if self._told is not None and self._teller is not None:
            self._told.put("")
            self._teller.join()

    def _keep_telling(self, told: SimpleQueue[str]) -> None:
        """Say each queued sentence; an empty one is the end."""
        while sentence := told.get():
            self._tell(sentence)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        from signal import SIGINT

        wishes, is_ctrl_c = self._wishes, number == SIGINT
        if wishes is not None and is_ctrl_c and not wishes.winding_down:
            wishes.wind_down()
            if self._told is not None:
                self._told.put(_FINISHING)
            return
        if wishes is not None:
            wishes.wind_down()
        self.code = INTERRUPTED if is_ctrl_c else TERMINATED
        self._stop.ask()
