"""The one handler around every command: errors become words and an exit code (C-2, C-3)."""

from __future__ import annotations

import errno
import os
import sys

from ddx.errors import DdxError
from ddx.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130
OUR_BUG = 3
EXPECTED = 1

_REPORT = "helix-crash-"
_MOST_REPORTS = 20  # C-9
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


def guarded(program: str, command: Callable[[], int]) -> int:
    """The command's exit code, or the one that its error stands for; no traceback on the screen."""
    try:
        code = command()
        sys.stdout.flush()
        return code
    except DdxError as problem:
        explain(program, problem.message, problem.hint)
        return problem.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as problem:
        place = f"{problem.filename}: " if problem.filename else ""
        explain(program, f"{place}{problem.strerror or problem}", _hint(problem))
        return EXPECTED
    except Exception:
        explain(program, f"this is a bug in {program}, sorry", f"the report: {_write_report()}")
        return OUR_BUG


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
    from ddx.clock import SYSTEM_CLOCK

    at = SYSTEM_CLOCK.stamp().replace(":", "").replace(".", "")
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
