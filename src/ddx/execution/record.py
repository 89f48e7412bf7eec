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

from ddx import fastjson
from ddx.clock import stamp
from ddx.errors import Busy, CorruptFile, NotFound
from ddx.execution.model import Happening
from ddx.files import Lock, replace
from ddx.masking import Masker
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.clock import Clock
    from ddx.execution.model import OnEvent
    from ddx.project import Project

FOLDER = "executions"
INTENT, MANIFEST, MADE, RESULT = "intent.json", "manifest.json", "made.json", "result.json"
CHECKS, USAGE, DIFFSTAT, PROMPT = "checks.json", "usage.json", "diffstat", "prompt.md"
OUTPUT, ERRORS, EVENTS, INDEX = "output.log", "errors.log", "events.jsonl", "index"
LARGEST_LOG = 64 << 20

_LOCK = "lock"
_UNBORN = ".new-"
_SECOND = len("20260102T030405")
_STILLBORN_AFTER_NS = 3600 * 10**9


def new_attempt_id(clock: Clock) -> str:
    """Sorts by time; chance keeps two of one second apart."""
    return f"{attempt_prefix(clock.stamp())}-{os.urandom(3).hex()}"


def attempt_prefix(at: str) -> str:
    """How ids of that second begin."""
    return at[:19].replace("-", "").replace(":", "")


class Record:
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
    ) -> Record:
        """A new record, locked before anybody can see it."""
        home = project.ddx(FOLDER)
        unborn = os.path.join(home, f"{_UNBORN}{attempt}")
        _make_home(home)
        os.makedirs(unborn)
        lock = _lock_of(unborn, clock).__enter__()
        row = masker.mask_row({**intent, "attempt": attempt, "at": clock.stamp()})
        replace(os.path.join(unborn, INTENT), (fastjson.to_bytes(row), b"\n"))
        folder = os.path.join(home, attempt)
        os.rename(unborn, folder)
        return cls(folder, lock, clock=clock, masker=masker, on_event=on_event)

    @classmethod
    def take_over(
        cls, project: Project, attempt: str, *, clock: Clock, masker: Masker, on_event: OnEvent
    ) -> Record | None:
        """The record of a dead attempt, now ours; None if its attempt is alive or was finished."""
        folder = project.ddx(FOLDER, attempt)
        try:
            lock = _lock_of(folder, clock, create=False).__enter__()
        except (Busy, FileNotFoundError):
            return None
        return cls(folder, lock, clock=clock, masker=masker, on_event=on_event)

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def write(self, name: str, row: Any) -> None:
        """A JSON file, whole or not at all."""
        replace(self.path(name), (fastjson.to_bytes(self.masker.mask_row(row)), b"\n"))

    def write_text(self, name: str, text: str) -> None:
        masked = self.masker.mask(text)
        replace(self.path(name), (masked.encode("utf-8", "replace"),), durable=False)

    def read(self, name: str) -> dict[str, Any]:
        return _read_json(self.path(name))

    def tell(self, kind: str, text: str = "", **facts: Any) -> None:
        """The next line of the story."""
        masked = self.masker.mask_row({"text": text, "data": facts})
        at = self._clock.stamp()
        row = {"at": at, "attempt": self.attempt, "kind": kind, **masked}
        os.write(self._events, fastjson.to_bytes(row) + b"\n")
        self._on_event(Happening(at, self.attempt, kind, masked["text"], masked["data"]))

    def finish(self, result: dict[str, Any], *, leftover: str = "") -> None:
        """How it ended is on the disk, so nothing is left to do."""
        self.write(RESULT, result)
        self.let_go(leftover=leftover)

    def let_go(self, *, leftover: str = "") -> None:
        """The lock goes, but for a workspace that could not be removed: the next start tries."""
        if not os.path.lexists(leftover):
            os.unlink(self.path(_LOCK))
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


class LogFile:
    """A log that grows as output comes, masked, and stops growing at its limit."""

    def __init__(self, path: str, masker: Masker, *, limit: int = LARGEST_LOG) -> None:
        self._file = open(path, "ab")
        self._stream = masker.stream()
        self._room = limit

    def write(self, chunk: bytes) -> None:
        self._put(self._stream.feed(chunk))

    def close(self) -> None:
        self._put(self._stream.finish())
        self._file.close()

    def _put(self, masked: bytes) -> None:
        if self._room <= 0 or not masked:
            return
        self._file.write(masked[: self._room])
        self._room -= len(masked)
        if self._room <= 0:
            self._file.write(b"\n[... the log ends here: it has reached its limit ...]\n")
        self._file.flush()


@value
class Kept:
    """A record as anybody may read it; `result` is empty while the attempt runs or if it died."""

    attempt: str
    folder: str
    intent: dict[str, Any]
    result: dict[str, Any]

    @property
    def beads(self) -> tuple[str, ...]:
        return tuple(self.intent.get("beads", ()))

    def file(self, name: str) -> dict[str, Any]:
        """Another of its files; empty if it was never written."""
        try:
            return _read_json(os.path.join(self.folder, name))
        except FileNotFoundError:
            return {}


def attempts(project: Project) -> list[str]:
    """The ids of all records, oldest first."""
    try:
        names = os.listdir(project.ddx(FOLDER))
    except FileNotFoundError:
        return []
    known = sorted(name for name in names if name[:1].isdigit())
    seconds = [name[:_SECOND] for name in known]
    if len(set(seconds)) == len(seconds):
        return known
    return sorted(known, key=lambda name: (name[:_SECOND], _begun_ns(project, name), name))


def _begun_ns(project: Project, attempt: str) -> int:
    """Within one second the ids say nothing of the order."""
    try:
        return os.stat(project.ddx(FOLDER, attempt, INTENT)).st_mtime_ns
    except FileNotFoundError:
        return 0


def unfinished(project: Project) -> list[str]:
    """Attempts that run now or have died."""
    return [name for name in attempts(project) if os.path.exists(project.ddx(FOLDER, name, _LOCK))]


def read_record(project: Project, attempt: str) -> Kept:
    folder = project.ddx(FOLDER, attempt)
    if os.path.basename(folder) != attempt or not os.path.isdir(folder):
        raise NotFound(f"there is no attempt {attempt!r} here", hint="see: ddx agent attempts")
    kept = Kept(attempt, folder, {}, {})
    return Kept(attempt, folder, kept.file(INTENT), kept.file(RESULT))


def records(project: Project) -> Iterator[Kept]:
    """Newest first."""
    for attempt in reversed(attempts(project)):
        try:
            yield read_record(project, attempt)
        except NotFound:
            continue  # pruned by another process a moment ago


def is_alive(project: Project, attempt: str, clock: Clock) -> bool:
    """Is a process at it right now?"""
    try:
        with _lock_of(project.ddx(FOLDER, attempt), clock, create=False):
            return False
    except FileNotFoundError:
        return False
    except Busy:
        return True


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


def find_expired(project: Project, *, most: int, days: float, clock: Clock) -> list[str]:
    """Finished attempts whose records are beyond the count or the age that is kept (C-9)."""
    alive = set(unfinished(project))
    finished = [name for name in attempts(project) if name not in alive]
    oldest = stamp(clock.now_ns() - int(days * 86_400 * 1e9))
    surplus = finished[: max(len(finished) - most, 0)]
    aged = [name for name in finished if name < attempt_prefix(oldest)]
    return sorted({*surplus, *aged})


def remove_record(project: Project, attempt: str) -> None:
    shutil.rmtree(project.ddx(FOLDER, attempt), ignore_errors=True)


def _lock_of(folder: str, clock: Clock, *, create: bool = True) -> Lock:
    path = os.path.join(folder, _LOCK)
    return Lock(path, wait_s=0, clock=clock, command="ddx agent", create=create)


def _read_json(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        try:
            found = fastjson.loads(file.read())
        except ValueError as problem:
            raise CorruptFile(f"{path}: {problem}") from None
    if not isinstance(found, dict):
        raise CorruptFile(f"{path}: not a table")
    return found
