"""The processes below a shim, and those that carry an attempt's marker (X-6).

They are found in /proc, or told by `ps` on systems without it (macOS, the BSDs).
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from ddx.base import ask_ps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from ddx.base import Clock

    Tree: TypeAlias = Mapping[tuple[int, str], float]
    """By process, a number and its start: the CPU seconds of it and of its ended children."""

_TICK_S = 0.02
_PAUSE_S = 1.0
"""Between terminate and kill."""
_KILLING_S = 10.0


def marked(marker: str) -> list[int]:
    """The live processes in whose environment `NAME=text` stands; never ourselves."""
    name, _, text = marker.partition("=")
    if not name or not text:
        raise ValueError(f"{marker!r} marks nothing")
    found = _marked_in_proc(marker) if _has_proc() else marked_by_ps(marker)
    return [pid for pid in found if pid != os.getpid()]


def end_marked(marker: str, *, clock: Clock) -> int:
    """End all that carry the marker: terminate, a short pause, kill. How many were ended."""
    ended: set[int] = set()
    started_ns = clock.now_ns()
    # Only what was found just now is signalled: a second later the number may be another's.
    while found := marked(marker):
        passed_s = (clock.now_ns() - started_ns) / 1e9
        if passed_s >= _PAUSE_S + _KILLING_S:
            break
        for pid in found:
            if passed_s >= _PAUSE_S:
                _send(pid, signal.SIGKILL)
            elif pid not in ended:
                _send(pid, signal.SIGTERM)
                _send(pid, signal.SIGCONT)
        ended.update(found)
        clock.sleep(_TICK_S)
    return len(ended.difference(found))


def read_tree(root: int) -> Tree:
    """A process and all that descends from it."""
    return _tree_in_proc(root) if _has_proc() else tree_by_ps(root)


def _tree_in_proc(root: int) -> Tree:
    second = os.sysconf("SC_CLK_TCK")
    stats = ((pid, _read_proc(pid, "stat").rpartition(b")")[2].split()) for pid in _pids())
    return _tree_of(
        root,
        (
            (pid, int(fields[1]), fields[19].decode(), sum(map(int, fields[11:15])) / second)
            for pid, fields in stats
            if fields
        ),
    )


def _tree_of(root: int, listed: Iterable[tuple[int, int, str, float]]) -> Tree:
    """The tree below `root`, of processes with their number, parent, start and CPU seconds."""
    below: dict[int, list[int]] = {}
    seen: dict[int, tuple[str, float]] = {}
    for pid, parent, start, worked_s in listed:
        below.setdefault(parent, []).append(pid)
        seen[pid] = start, worked_s
    tree: dict[tuple[int, str], float] = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        waiting.extend(child for child in below.get(pid, ()) if child != pid)
        if pid in seen:
            start, worked_s = seen[pid]
            tree[pid, start] = worked_s
    return tree


def _marked_in_proc(marker: str) -> list[int]:
    wanted = b"\0" + os.fsencode(marker) + b"\0"
    # A zombie has no environment any more.
    return [pid for pid in _pids() if wanted in b"\0" + _read_proc(pid, "environ") + b"\0"]


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _read_proc(pid: int, name: str) -> bytes:
    """Empty if the process has gone or is not ours to read."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


# -- as `ps` tells of them ---------------------------------------------------------------------


def tree_by_ps(root: int) -> Tree:
    """A process and all that descends from it; each with the CPU seconds of its ended children."""
    return tree_in(ask_ps("axS", "-o", "pid=,ppid=,time=,lstart="), root)


def marked_by_ps(marker: str) -> list[int]:
    """The live processes in whose environment the marker stands, a word without spaces."""
    bare = ask_ps("axww", "-o", "pid=,args=")
    return marked_in(bare, ask_ps("axeww", "-o", "pid=,args="), marker)


def tree_in(listing: str, root: int) -> Tree:
    """The tree below `root` in lines of number, parent, time and start."""
    lines = (line.split(None, 3) for line in listing.splitlines())
    return _tree_of(
        root,
        (
            (int(pid), int(parent), start.strip(), seconds_in(time))
            for pid, parent, time, start in lines
        ),
    )


def marked_in(bare: str, full: str, marker: str) -> list[int]:
    """Who has the marker behind its arguments; a process that only speaks of it has not."""
    arguments = dict(_numbered(bare))
    return [
        pid
        for pid, words in _numbered(full)
        if (own := arguments.get(pid)) is not None
        and words.startswith(own)
        and marker in words[len(own) :].split()
    ]


def seconds_in(time: str) -> float:
    """`0:01.25` of macOS, `00:00:01` and `2-03:04:05` of Linux."""
    days, _, rest = time.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86_400 * int(days or 0)


def _numbered(listing: str) -> list[tuple[int, str]]:
    lines = (line.strip().partition(" ") for line in listing.splitlines())
    return [(int(pid), words.strip()) for pid, _, words in lines if pid]
