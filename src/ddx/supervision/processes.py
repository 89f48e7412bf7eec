"""The processes below a shim, and those that carry an attempt's marker (X-6)."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddx.clock import Clock
    from ddx.supervision.patience import Tree

_TICK_S = 0.02
_PAUSE_S = 1.0
"""Between terminate and kill."""
_KILLING_S = 10.0


def marked(marker: str) -> list[int]:
    """The live processes in whose environment `NAME=text` stands; never ourselves."""
    name, _, text = marker.partition("=")
    if not name or not text:
        raise ValueError(f"{marker!r} marks nothing")
    found = _marked_in_proc(marker) if _has_proc() else _marked_by_psutil(name, text)
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
    return _tree_in_proc(root) if _has_proc() else _tree_by_psutil(root)


def _tree_in_proc(root: int) -> Tree:
    second = os.sysconf("SC_CLK_TCK")
    below: dict[int, list[int]] = {}
    seen: dict[int, tuple[str, float]] = {}
    for pid in _pids():
        fields = _read_proc(pid, "stat").rpartition(b")")[2].split()
        if fields:
            below.setdefault(int(fields[1]), []).append(pid)
            seen[pid] = fields[19].decode(), sum(map(int, fields[11:15])) / second
    tree = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        waiting.extend(below.get(pid, ()))
        if pid in seen:
            start, worked_s = seen[pid]
            tree[pid, start] = worked_s
    return tree


def _tree_by_psutil(root: int) -> Tree:
    import psutil

    tree: dict[tuple[int, str], float] = {}
    try:
        top = psutil.Process(root)
        family = (top, *top.children(recursive=True))
    except psutil.NoSuchProcess:
        return tree
    for each in family:
        try:
            tree[each.pid, str(each.create_time())] = sum(each.cpu_times()[:4])
        except psutil.Error:  # it has gone, or belongs to another
            continue
    return tree


def _marked_in_proc(marker: str) -> list[int]:
    wanted = b"\0" + os.fsencode(marker) + b"\0"
    # A zombie has no environment any more.
    return [pid for pid in _pids() if wanted in b"\0" + _read_proc(pid, "environ") + b"\0"]


def _marked_by_psutil(name: str, text: str) -> list[int]:
    import psutil

    return [
        each.pid
        for each in psutil.process_iter(["environ"])
        if (each.info["environ"] or {}).get(name) == text
    ]


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
