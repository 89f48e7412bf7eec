"""States that an acceptance names, judged in a workspace and nowhere else (T-17, X-11)."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, assert_never

from ddx.text import cut
from ddx.tracker.criteria import FileContains, PathAbsent, PathExists

if TYPE_CHECKING:
    from typing import TypeAlias

    State: TypeAlias = PathExists | PathAbsent | FileContains

_CHUNK = 1 << 20
_LARGEST_FILE = 256 << 20
_OUTSIDE = "it leads out of the workspace"


def spoken_state(state: State) -> str:
    match state:
        case PathExists(path=path):
            return f"{path} exists"
        case PathAbsent(path=path):
            return f"{path} is absent"
        case FileContains(path=path, text=text):
            return f"{path} contains {cut(text, 80)!r}"
        case other:
            assert_never(other)


def find_fault(state: State, workspace: str) -> str:
    """Why the state does not hold; empty if it does. Links are followed only within."""
    home = os.path.realpath(workspace)
    place = os.path.join(home, state.path.rstrip("/"))
    match state:
        case PathAbsent():
            if not _is_within(os.path.realpath(os.path.dirname(place)), home):
                return _OUTSIDE
            return "it is still there" if os.path.lexists(place) else ""
        case PathExists():
            target = os.path.realpath(place)
            if not _is_within(target, home):
                return _OUTSIDE
            if not os.path.exists(target):
                return "it does not exist"
            is_folder = os.path.isdir(target)
            return "" if is_folder or not state.path.endswith("/") else "it is no folder"
        case FileContains():
            target = os.path.realpath(place)
            if not _is_within(target, home):
                return _OUTSIDE
            return _find_missing(target, state.text.encode("utf-8", "replace"))
        case other:
            assert_never(other)


def _is_within(path: str, home: str) -> bool:
    return path == home or path.startswith(home + os.sep)


def _find_missing(path: str, text: bytes) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError)
        return "it does not exist" if missing else f"it cannot be read: {problem.strerror}"
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return "it is no file"
        if status.st_size > _LARGEST_FILE:
            return f"it is larger than {_LARGEST_FILE >> 20} MB"
        return "" if _holds(fd, text) else "it does not hold that text"
    finally:
        os.close(fd)


def _holds(fd: int, text: bytes) -> bool:
    held = b""
    while chunk := os.read(fd, _CHUNK):
        held += chunk
        if text in held:
            return True
        held = held[max(len(held) - len(text) + 1, 0) :]
    return False
