"""What a step of managed execution is, and which accidents can happen at it.

A step is whatever changes the world: a call that writes, makes, renames or removes a file, and the
start of a process. What only reads is no step: to be killed there is to be killed at the next one.
"""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

BEFORE = "killed before"
"""To be killed after a step is to be killed before the next one."""
MIDWAY = "killed midway through"
"""Half of a line is written, or a merge has written its first file and was told to end."""
WHILE = "killed during"
"""What we had started lives on without us."""
LATE = "killed at the very start of"
"""The same, but it begins its work only when the next start is under way."""

_WRITES = (
    *("write", "pwrite", "writev", "copy_file_range", "sendfile", "ftruncate", "truncate"),
    *("rename", "replace", "link", "symlink", "unlink", "remove", "mkdir", "rmdir"),
    *("utime", "chmod", "fchmod"),
)
_OPENS_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_GIT_WRITES = (
    *("update-ref ", "read-tree ", "add ", "write-tree", "commit-tree ", "commit "),
    *("merge ", "merge-tree ", "restore "),
)
_TELLS_LITTLE = ("ask", "utime", "chmod", "fchmod", "sendfile", "mkdir", "rmdir")
_CLONED = ("HEAD", "config", "packed-refs", "alternates", "index", "ddx-project", "null")
"""Files of a workspace's own git folder, which nobody needs after the agent."""
_LASTING = ("git read-tree", "git add", "git update-ref refs/helix/bases")
_LATER = ("sh", "-c", 'sleep 0.15; exec "$@"', "sh")


class Steps:
    """Every step while `calls` is a list; at the one numbered `fatal` we die."""

    def __init__(self, died_at: Path) -> None:
        self.calls: list[str] | None = None
        self.fatal = 0
        self.how = BEFORE
        self.interludes: dict[str, Callable[[], None]] = {}
        """By a part of a call: what somebody else does just before it, once."""
        self._died_at = died_at
        """A file for the call at which we died."""

    def wrap(self) -> None:
        for name in _WRITES:
            setattr(os, name, self._counted(name, getattr(os, name)))
        os.open = self._counted("open", os.open, lambda given: bool(given[1] & _OPENS_TO_WRITE))
        builtins.open = self._counted("open", open, _opens_to_write)
        os.posix_spawnp = self._counted("ask", os.posix_spawnp)
        steps, real = self, subprocess.Popen.__init__

        def start(child: subprocess.Popen[bytes], argv: list[str], **named: Any) -> None:
            steps.take(
                f"start {_spoken(argv)}",
                lambda: real(child, argv, **named),
                midway=lambda: _begin_merge(argv),
                late=lambda: real(child, [*_LATER, *argv], **named),
            )

        subprocess.Popen.__init__ = start  # type: ignore[assignment]

    def _counted(
        self, name: str, real: Callable[..., Any], counts: Callable[..., bool] = lambda given: True
    ) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            if self.calls is None or given[0] in (1, 2) or not counts(given):
                return real(*given, **named)
            return self.take(
                f"{name}({_told(name, given)})",
                lambda: real(*given, **named),
                midway=lambda: real(given[0], given[1][: len(given[1]) // 2]),
            )

        return step

    def take(
        self,
        call: str,
        real: Callable[[], Any],
        *,
        midway: Callable[[], Any],
        late: Callable[[], Any] = lambda: None,
    ) -> Any:
        if self.calls is None:
            return real()
        self._let_others_act(call)
        self.calls.append(call)
        if len(self.calls) != self.fatal:
            return real()
        self.calls = None
        self._died_at.write_text(call)
        {BEFORE: lambda: None, MIDWAY: midway, WHILE: real, LATE: late}[self.how]()
        return die()

    def _let_others_act(self, call: str) -> None:
        calls, self.calls = self.calls, None
        for part in [part for part in self.interludes if part in call]:
            self.interludes.pop(part)()
        self.calls = calls


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def telling(calls: list[str], *, since: str, is_thorough: bool) -> list[tuple[int, str]]:
    """The steps from the first call with `since` in it, by number; all, or without dull ones."""
    first = next(n for n, call in enumerate(calls) if since in call)
    numbered = list(enumerate(calls, start=1))[first:]
    return [(number, call) for number, call in numbered if is_thorough or not _is_dull(call)]


def manners(call: str, *, is_thorough: bool) -> tuple[str, ...]:
    """How one can be killed at a step; not every manner tells something at every step."""
    if call.startswith("write(events.jsonl"):
        return (BEFORE, MIDWAY) if is_thorough else (BEFORE,)
    if not call.startswith("start") or not (is_thorough or _changes_something(call)):
        return (BEFORE,)
    if "git merge " in call:
        return (BEFORE, WHILE, LATE, MIDWAY)
    return (BEFORE, WHILE, LATE) if any(it in call for it in _LASTING) else (BEFORE, WHILE)


def _is_dull(call: str) -> bool:
    """Does it only touch what nobody has seen yet, or will see again?"""
    name, _, given = call.partition("(")
    if ".tmp-" in given:
        return name != "rename" or ".idx" in given
    return name in _TELLS_LITTLE or given.rstrip(")") in _CLONED


def _changes_something(call: str) -> bool:
    return call.startswith("start shim") or any(f"git {word}" in call for word in _GIT_WRITES)


def _opens_to_write(given: tuple[Any, ...]) -> bool:
    return len(given) > 1 and isinstance(given[1], str) and not set(given[1]).isdisjoint("wax+")


def _told(name: str, given: tuple[Any, ...]) -> str:
    """The call's arguments, as far as they tell one from another; of an event its kind."""
    if isinstance(given[0], int):
        place = os.readlink(f"/proc/self/fd/{given[0]}").rpartition("/")[2]
        content = bytes(given[1]) if name == "write" else b""
        kind = content.partition(b'"kind":"')[2].partition(b'"')[0].decode()
        return f"{place}, {kind or len(content)}"
    return ", ".join(str(it).rpartition("/")[2] for it in given if isinstance(it, str))


def _spoken(argv: list[str]) -> str:
    """A git command without our settings, or whom the shim watches over."""
    if argv[0] != "git":
        return f"shim of {argv[-1].rpartition('/')[2]}"
    words = [word for word in argv[3:] if word != "-c" and "=" not in word]
    return " ".join(["git", *words])[:100]


def _begin_merge(argv: list[str]) -> None:
    """What a fast-forward leaves that is told to end when it has written its first file."""
    folder, commit = argv[2], argv[-1]
    show = ["git", "-C", folder, "show", f"{commit}:hello.txt"]
    content = subprocess.run(show, capture_output=True, check=True).stdout
    Path(folder, "hello.txt").write_bytes(content)
