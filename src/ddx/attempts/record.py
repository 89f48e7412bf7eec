"""The record of one attempt: a folder, made before anything else and held by a lock (X-2).

    intent.json     what we set out to do: enough to clean up after us if we die
    manifest.json   inputs and versions, what the policy passed in, the prompt's hash
    prompt.md       what the agent was told
    output.log      what it printed; errors.log: what it printed on stderr
    events.jsonl    the story, line by line
    made.json       the commit that we made of its work, before anything is done with it, or that
                    there was nothing to commit
    checks.json  usage.json  diffstat
    result.json     how it ended; written last
    lock            there as long as something is left to do

A record whose lock can be taken belongs to a dead attempt, for certain. Everything written here is
masked first (X-24).
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from ddx.base import Busy, CorruptFile, JsonFile, Lock, Masker, replace, value
from ddx.base import json as fastjson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from ddx.base import Clock
    from ddx.project import Project

FOLDER = "executions"
INTENT, MANIFEST, MADE, RESULT = "intent.json", "manifest.json", "made.json", "result.json"
EVIDENCE = "evidence"
CHECKS, USAGE, DIFFSTAT, PROMPT = "checks.json", "usage.json", "diffstat", "prompt.md"
OUTPUT, ERRORS, EVENTS, INDEX = "output.log", "errors.log", "events.jsonl", "index"
LOCK = "lock"
_UNBORN = ".new-"
_STILLBORN_AFTER_NS = 3600 * 10**9


@value
class AttemptEvent:
    """One line of an attempt's story, for whoever watches and for events.jsonl."""

    at: str
    attempt: str
    kind: str
    text: str = ""
    data: Mapping[str, Any] = {}


if TYPE_CHECKING:
    OnEvent: TypeAlias = Callable[[AttemptEvent], None]


def new_attempt_id(clock: Clock) -> str:
    """Sorts by time; chance keeps two of one second apart."""
    return f"{attempt_prefix(clock.stamp())}-{os.urandom(3).hex()}"


def attempt_prefix(at: str) -> str:
    """How ids of that second begin."""
    return at[:19].replace("-", "").replace(":", "")


class RecordWriter:
    """One attempt's folder while it is ours to write; what it tells goes to `on_event` as well."""

    def __init__(
        self, folder: str, lock: Lock, *, clock: Clock, masker: Masker, on_event: OnEvent
    ) -> None:
        self.attempt = os.path.basename(folder)
        self.folder = folder
        self.masker = masker
        self._lock = lock
        self._clock = clock
        self._on_event = on_event
        self._events = os.open(
            self.path(EVENTS), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
        )

    @classmethod
    def begin(
        cls,
        project: Project,
        attempt: str,
        intent: dict[str, Any],
        *,
        clock: Clock,
        masker: Masker,
        on_event: OnEvent,
    ) -> RecordWriter:
        """A new record, locked before anybody can see it."""
        home = project.ddx(FOLDER)
        unborn = os.path.join(home, f"{_UNBORN}{attempt}")
        _make_home(home)
        os.makedirs(unborn)
        lock = lock_of(unborn, clock).__enter__()
        row = masker.mask_row({**intent, "attempt": attempt, "at": clock.stamp()})
        JsonFile(os.path.join(unborn, INTENT)).write(row)
        folder = os.path.join(home, attempt)
        os.rename(unborn, folder)
        return cls(folder, lock, clock=clock, masker=masker, on_event=on_event)

    @classmethod
    def take_over(
        cls, project: Project, attempt: str, *, clock: Clock, masker: Masker, on_event: OnEvent
    ) -> RecordWriter | None:
        """The record of a dead attempt, now ours; None if its attempt is alive or was finished."""
        folder = project.ddx(FOLDER, attempt)
        try:
            lock = lock_of(folder, clock, create=False).__enter__()
        except (Busy, FileNotFoundError):
            return None
        return cls(folder, lock, clock=clock, masker=masker, on_event=on_event)

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def write(self, name: str, row: Any) -> None:
        """A JSON file, whole or not at all."""
        JsonFile(self.path(name)).write(self.masker.mask_row(row))

    def write_text(self, name: str, text: str) -> None:
        masked = self.masker.mask(text)
        replace(self.path(name), (masked.encode("utf-8", "replace"),), durable=False)

    def read(self, name: str) -> dict[str, Any]:
        return read_json(self.path(name))

    def tell(self, kind: str, text: str = "", **facts: Any) -> None:
        """The next line of the story."""
        masked = self.masker.mask_row({"text": text, "data": facts})
        at = self._clock.stamp()
        row = {"at": at, "attempt": self.attempt, "kind": kind, **masked}
        os.write(self._events, fastjson.to_bytes(row) + b"\n")
        self._on_event(
            AttemptEvent(at, self.attempt, kind, text=masked["text"], data=masked["data"])
        )

    def finish(self, result: dict[str, Any], *, leftover: str = "") -> None:
        """How it ended is on the disk, so nothing is left to do."""
        self.write(RESULT, result)
        self.let_go(leftover=leftover)

    def let_go(self, *, leftover: str = "") -> None:
        """The lock goes, but for a workspace that could not be removed: the next start tries."""
        if not os.path.lexists(leftover):
            os.unlink(self.path(LOCK))
        self.leave()

    def leave(self) -> None:
        """Something may be left to do: the next start will see to it (X-19)."""
        os.close(self._events)
        self._lock.__exit__(None, None, None)

    def discard(self) -> None:
        """Nothing ever happened here: the claim was lost."""
        unborn = os.path.join(os.path.dirname(self.folder), f"{_UNBORN}{self.attempt}")
        os.rename(self.folder, unborn)  # so that nobody ever sees a part of it
        shutil.rmtree(unborn)
        self.leave()


def _make_home(home: str) -> None:
    """Records are for this machine: git does not see them, whether or not there is a tracker."""
    ignored = os.path.join(home, ".gitignore")
    if not os.path.exists(ignored):
        replace(ignored, (b"*\n",), durable=False)


def remove_stillborn(project: Project, clock: Clock) -> None:
    """Folders of records that died before they had a name; nothing was claimed for them yet."""
    try:
        entries = list(os.scandir(project.ddx(FOLDER)))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.name.startswith(_UNBORN):
            age_ns = clock.now_ns() - entry.stat(follow_symlinks=False).st_mtime_ns
            if age_ns > _STILLBORN_AFTER_NS:
                shutil.rmtree(entry.path, ignore_errors=True)


def lock_of(folder: str, clock: Clock, *, create: bool = True) -> Lock:
    """The lock of a record; whoever takes it knows that no process is at the attempt."""
    path = os.path.join(folder, LOCK)
    return Lock(path, wait_s=0, clock=clock, command="ddx agent", create=create)


def read_json(path: str) -> dict[str, Any]:
    """A file of a record; CorruptFile if it holds no table."""
    try:
        found = JsonFile(path).read()
    except ValueError as problem:
        raise CorruptFile(f"{path}: {problem}") from None
    if not isinstance(found, dict):
        raise CorruptFile(f"{path}: not a table")
    return found
