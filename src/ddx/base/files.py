"""Files that survive us: the lock, the write beside and replace, one JSON value in a file."""

from __future__ import annotations

import errno
import fcntl
import os

from ddx.base.errors import Busy, DdxError
from ddx.base.json import loads, to_bytes
from ddx.base.process import is_alive
from ddx.base.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ddx.base.clock import Clock

_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02
_MAX_LOCK_NOTE = 400
_COPY_IS_IMPOSSIBLE = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF}
_CHUNK = 1 << 20


@value
class FileIdentity:
    """Which bytes a path held when we looked: any change to the file changes it."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileIdentity:
        return cls(stat.st_ino, stat.st_size, stat.st_mtime_ns)


def identity_of(path: str) -> FileIdentity | None:
    try:
        return FileIdentity.of(os.stat(path))
    except FileNotFoundError:
        return None


class Lock:
    """Held between enter and exit by this process alone; the kernel frees it when we die (T-7)."""

    def __init__(
        self, path: str, *, wait_s: float, clock: Clock, command: str, create: bool = True
    ) -> None:
        self.path = path
        self._create = create
        self._wait_s = wait_s
        self._clock = clock
        self._command = command
        self._fd = -1

    @property
    def fd(self) -> int:
        """For a child that must hold the lock on, should we die."""
        return self._fd

    def __enter__(self) -> Lock:
        deadline = self._clock.now_ns() + int(self._wait_s * 1e9)
        pause = _FIRST_PAUSE_S
        while not self._take():
            if self._clock.now_ns() >= deadline:
                raise Busy(self._who_holds_it(), hint="try again, or raise DDX_BEAD_LOCK_TIMEOUT")
            self._clock.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        note = f"{os.getpid()} {self._command}".encode("utf-8", "replace")[:_MAX_LOCK_NOTE]
        try:
            os.pwrite(self._fd, note.ljust(_MAX_LOCK_NOTE), 0)
        except OSError as problem:
            os.close(self._fd)
            problem.filename = self.path
            raise
        return self

    def __exit__(self, *ended: object) -> None:
        os.close(self._fd)
        self._fd = -1

    def _take(self) -> bool:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if self._create else 0)
        try:
            fd = os.open(self.path, flags, 0o644)
        except FileNotFoundError:  # the first use, or `git clean -x` while we waited
            if not self._create:
                raise
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            fd = os.open(self.path, flags, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self._fd = fd
        if self.still_ours():
            return True
        os.close(fd)  # `git clean -x` took the file away between open and lock
        return False

    def still_ours(self) -> bool:
        """False once someone deleted the lock file: another process may then hold a new one."""
        try:
            return os.fstat(self._fd).st_ino == os.stat(self.path).st_ino
        except FileNotFoundError:
            return False

    def _who_holds_it(self) -> str:
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                pid, _, command = file.read(_MAX_LOCK_NOTE).partition(" ")
        except FileNotFoundError:  # let go of a moment ago
            pid = command = ""
        holder = "another process"
        if pid.isdigit() and is_alive(int(pid)):
            holder = f"pid {pid} ({command.strip()})"
        return f"{self.path} is held by {holder} for more than {self._wait_s:g} s; nothing written"


class Replacement:
    """A new file beside `path`: `publish` puts it in place, any other ending removes it.

    `near` is another place for it on the same disk, where whoever comes next will find it.
    """

    def __init__(self, path: str, *, near: str = "") -> None:
        self.path = path
        self.beside = f"{near or path}.tmp-{os.getpid()}-{os.urandom(4).hex()}"
        self.fd = -1

    def __enter__(self) -> Replacement:
        self.fd = os.open(self.beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        return self

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        os.close(self.fd)
        try:
            os.unlink(self.beside)
        except FileNotFoundError:
            pass  # published
        if isinstance(problem, OSError) and problem.filename is None:
            problem.filename = self.path  # a full disk does not say whose write it refused

    def write(self, *parts: bytes) -> None:
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[os.write(self.fd, view) :]

    def copy(self, source: int, start: int, end: int) -> None:
        """Bytes of another open file, moved by the kernel where it can."""
        while start < end:
            moved = self._move(source, start, end)
            if not moved:
                raise DdxError(f"{self.path} became shorter while it was copied; nothing written")
            start += moved

    def _move(self, source: int, start: int, end: int) -> int:
        try:
            return os.copy_file_range(source, self.fd, end - start, start)
        except AttributeError:
            pass  # only Linux has it
        except OSError as problem:
            if problem.errno not in _COPY_IS_IMPOSSIBLE:
                raise
        chunk = os.pread(source, min(end - start, _CHUNK), start)
        self.write(chunk)
        return len(chunk)

    def settle(self) -> None:
        """All bytes on the disk."""
        os.fsync(self.fd)

    def publish(self) -> None:
        os.rename(self.beside, self.path)


def replace(
    path: str,
    parts: Iterable[bytes],
    *,
    durable: bool = True,
    near: str = "",
    keep_mode: bool = False,
) -> None:
    """The whole new content or the old one, whatever happens (T-9); a cache need not be durable.

    `keep_mode` is for files of somebody else: who may read and run them is not ours to change.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with Replacement(path, near=near) as new:
        if keep_mode and os.path.exists(path):
            os.fchmod(new.fd, os.stat(path).st_mode & 0o7777)
        new.write(*parts)
        if durable:
            new.settle()
        new.publish()
    if durable:
        settle_folder(os.path.dirname(path))


def append(path: str, lines: bytes) -> None:
    """Whole lines at the end, on the disk; one that a crash cut short before spoils no other."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        while lines:
            lines = lines[os.write(fd, lines) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def settle_folder(path: str) -> None:
    """The names in a folder on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def remove_leftovers(*paths: str) -> None:
    """Temporary files of writers that died: call it while holding the lock that guards `paths`."""
    names = tuple(f"{os.path.basename(path)}.tmp-" for path in paths)
    for folder in {os.path.dirname(path) for path in paths}:
        for entry in os.listdir(folder):
            if entry.startswith(names):
                os.unlink(os.path.join(folder, entry))


def make_folder(folder: str) -> None:
    """A folder that git does not see, even where no tracker was set up."""
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
        replace(os.path.join(folder, ".gitignore"), (b"*\n",), durable=False)


def add_lines(path: str, wanted: str) -> bool:
    """See that a file has these lines, beside all that somebody else put there; False: it had."""
    try:
        with open(path, "rb") as file:
            there = file.read()
    except FileNotFoundError:
        there = b""
    lines = there.splitlines()
    missing = [line for line in wanted.encode().splitlines() if line not in lines]
    if not missing:
        return False
    kept = there if not there or there.endswith(b"\n") else there + b"\n"
    replace(path, (kept, *(line + b"\n" for line in missing)), keep_mode=True)
    return True


WORKSPACE_MARK = "ddx-project"
"""In a workspace's git folder: the path of the project it was cloned for."""


@value
class JsonFile:
    """One JSON value at a path, in the form that every program of ours writes."""

    path: str

    def read(self, *, largest: int = -1) -> Any:
        """The value; OSError where there is no file, ValueError where it holds no JSON.

        What is longer than `largest` bytes is cut there, and is then no JSON.
        """
        with open(self.path, "rb") as file:
            return loads(file.read(largest).decode("utf-8"))

    def write(self, anything: Any, *, durable: bool = True) -> None:
        """The new value or the old one, whatever happens (T-9); a cache need not be durable."""
        replace(self.path, (to_bytes(anything), b"\n"), durable=durable)
