"""`helix logs`"""

from __future__ import annotations

import os
import sys

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import say
from ddx.console.spec import Command, Flag
from ddx.errors import NotFound
from ddx.project import find_project
from ddx.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.project import Project

_PAUSE_S = 0.3
_CHUNK = 1 << 16
_TAIL = 1 << 18


def run(*, follow: bool, path: bool) -> int:
    project = find_project(os.getcwd())
    log = newest_log(project)
    if path:
        say(log)
        return 0
    try:
        _print(project, log, follow=follow)
    except KeyboardInterrupt:
        return 0
    return 0


def newest_log(project: Project) -> str:
    """The log of the run that is active or was last."""
    from helix.status.runs import LOGS

    folder = os.path.join(project.root, LOGS)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".log")]
        return max((os.path.join(folder, name) for name in names), key=os.path.getmtime)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFound(
            f"there is no log of a run in {project.root}", hint="begin one: helix run"
        ) from None


def _print(project: Project, log: str, *, follow: bool) -> None:
    """Its end, or with `follow` that and all that comes; safe on a terminal."""
    start = max(os.path.getsize(log) - _TAIL, 0)
    if start:
        start += _read(log, start).find(b"\n") + 1
        print(shown(f"helix: the first {start:,} bytes are only in {log}"), file=sys.stderr)
    rest = b""
    for chunk in _growing(project, log, start, follow=follow):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            say(line.decode("utf-8", "replace"))
    if rest:
        say(rest.decode("utf-8", "replace"))


def _growing(project: Project, log: str, start: int, *, follow: bool) -> Iterator[bytes]:
    """The file's content from a place on; with `follow` until the run is over."""
    place = start
    while True:
        over = not follow or not _is_running(project)
        while chunk := _read(log, place):
            place += len(chunk)
            yield chunk
        if over:
            return
        sys.stdout.flush()
        SYSTEM_CLOCK.sleep(_PAUSE_S)


def _is_running(project: Project) -> bool:
    from helix.status.runs import read_run

    found = read_run(project, now=SYSTEM_CLOCK.stamp())
    return found is not None and found.state == "running"


def _read(path: str, place: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(place)
        return file.read(_CHUNK)


COMMAND = Command(
    "logs",
    "Print the log of the run, or follow it to its end.",
    run,
    "helix logs -f",
    flags=(
        Flag("--follow", "go on until the run is over", kind="switch", also="-f"),
        Flag("--path", "say only where it lies", kind="switch"),
    ),
)
