"""What happened to an objective, line by line, and its checkpoints (O-5).

    .helix/objectives/<id>/events.jsonl           every event and every note, only ever appended to
    .helix/objectives/<id>/checkpoints/*.json     this objective's own copies
    .helix/checkpoints/{explored,planned,built}.json     those of whichever objective came last

The log is the truth: a checkpoint is written after its event, and is read only where there is no
log. A line that a dying process left half written was never said.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import unicodedata
from typing import TYPE_CHECKING, Any

from ddx.base import CorruptFile, Instant, JsonFile, NotFound, loads, to_bytes, value
from ddx.project import Project
from helix.project import NAME, own_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OBJECTIVES = (NAME, "objectives")
CHECKPOINTS = (NAME, "checkpoints")
LOG = "events.jsonl"

OBJECTIVE, RESTORED, EVENT, NOTE = "objective", "restored", "event", "note"
"""The kinds of lines: it is begun, or goes on from checkpoints; the machine is told something; any
other thing that is worth to be remembered."""
PAUSED, UNPAUSED = "paused", "unpaused"
"""Notes: a person let it rest; it goes on, or has been ended."""

MOST_OBJECTIVES = 200
"""Whose logs are kept, the last ones first (C-9)."""

_CAME_TO = ("from", "to", "success", "error_reason")
_PHASES = ("explored", "planned", "built")
_LONGEST_SLUG = 40
_HASHED = 8
_ID = re.compile(r"[a-z0-9][a-z0-9-]*")
_COPY = "move it away: it is a copy, and the log of its objective is the truth"
_CLEAR = "start over: helix objective clear --objective"


@value
class LogEntry:
    """One line: `run` tells apart the times that one objective was begun."""

    at: str
    run: str
    kind: str
    name: str
    told: Mapping[str, Any] = {}
    came_to: Mapping[str, Any] = {}
    """Of an event: from, to, success and, where there is one, the error's reason."""

    def as_row(self) -> dict[str, Any]:
        row = {"at": self.at, "run": self.run, "kind": self.kind, "name": self.name}
        return row | {"data": dict(self.told)} | dict(self.came_to)


@value
class Checkpoint:
    """A state that was reached, and all that must be known to go on from there."""

    name: str
    state: str
    objective: str
    objective_id: str
    told: Mapping[str, Any]
    timestamp: str

    def as_row(self) -> dict[str, Any]:
        row = {key: found for key, found in self.__dict__.items() if key not in ("name", "told")}
        return {**row, "data": dict(self.told)}


def objective_id(objective: str) -> str:
    """The same for the same words, and good for a folder: a few of them and a hash."""
    plain = unicodedata.normalize("NFKD", objective).casefold().encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_SLUG].strip("-")
    digest = hashlib.sha256(objective.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{words or 'objective'}-{digest[:_HASHED]}"


class EventLog:
    """The log of one objective below a project's root."""

    def __init__(self, root: str, id: str) -> None:
        self._root = root
        self._id = id
        self.folder = os.path.join(root, *OBJECTIVES, id)
        self.path = os.path.join(self.folder, LOG)

    def append(self, *entries: LogEntry) -> None:
        """On the disk when it returns, as whole lines; half a line of a dead writer goes first."""
        own_folder(Project(self._root))
        os.makedirs(self.folder, exist_ok=True)
        text = b"".join(to_bytes(entry.as_row()) + b"\n" for entry in entries)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            _remove_torn_line(fd)
            view = memoryview(text)
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
        except OSError as problem:
            problem.filename = problem.filename or self.path
            raise
        finally:
            os.close(fd)

    def read(self) -> tuple[LogEntry, ...]:
        """Every whole line; none where there is no log."""
        try:
            with open(self.path, "rb") as file:
                text = file.read()
        except FileNotFoundError:
            return ()
        lines = text.split(b"\n")[:-1]  # what no newline ends is torn
        return tuple(self._entry(line, n) for n, line in enumerate(lines, start=1))

    def last_run(self) -> tuple[LogEntry, ...]:
        """The lines since it was begun the last time, its first one being the objective."""
        entries = self.read()
        return tuple(entry for entry in entries if entry.run == entries[-1].run)

    def _entry(self, line: bytes, number: int) -> LogEntry:
        """One that is no event is not passed over: what follows stands on it (D-15)."""
        try:
            row = loads(line.decode("utf-8"))
            came_to = {key: row[key] for key in _CAME_TO if key in row}
            at, run, kind, name = (row[key] for key in ("at", "run", "kind", "name"))
            if all(isinstance(text, str) for text in (at, run, kind, name)):
                return LogEntry(
                    at=at, run=run, kind=kind, name=name, told={**row["data"]}, came_to=came_to
                )
        except (ValueError, KeyError, TypeError):
            pass
        raise CorruptFile(
            f"{self.path}:{number}: this is no event of an objective", hint=f"{_CLEAR} {self._id}"
        )


def _remove_torn_line(fd: int) -> None:
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        text = os.pread(fd, size, 0)
        os.ftruncate(fd, text.rfind(b"\n") + 1)


# -- checkpoints ---------------------------------------------------------------------------


def write_checkpoint(root: str, kept: Checkpoint) -> None:
    """Whole or not at all: the objective's own copy, then the one that everybody finds."""
    own_folder(Project(root))
    for folder in _folders(root, kept.objective_id):
        JsonFile(os.path.join(folder, f"{kept.name}.json")).write(kept.as_row())


def read_checkpoints(root: str, id: str = "") -> list[Checkpoint]:
    """Of one objective or of any: the newest of each name, the oldest of them first (O-5)."""
    folders = _folders(root, id) if id else (os.path.join(root, *CHECKPOINTS),)
    found = [kept for folder in folders for kept in _read_folder(folder)]
    newest: dict[str, Checkpoint] = {}
    for kept in sorted(
        found, key=lambda it: (Instant(it.timestamp).sort_key, _PHASES.index(it.name))
    ):
        if id in ("", kept.objective_id):
            newest.pop(kept.name, None)
            newest[kept.name] = kept
    return list(newest.values())


def _read_folder(folder: str) -> Iterator[Checkpoint]:
    for name in _PHASES:
        path = os.path.join(folder, f"{name}.json")
        try:
            yield checkpoint_in(name, JsonFile(path).read())
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError):
            raise CorruptFile(f"{path} is no checkpoint", hint=_COPY) from None


def checkpoint_in(name: str, row: Mapping[str, Any]) -> Checkpoint:
    """The checkpoint that a row holds; a row that holds none is an error."""
    keys = ("state", "objective", "objective_id", "timestamp")
    return Checkpoint(name, **{key: str(row[key]) for key in keys}, told={**row["data"]})


def _folders(root: str, id: str) -> tuple[str, str]:
    return os.path.join(root, *OBJECTIVES, id, "checkpoints"), os.path.join(root, *CHECKPOINTS)


# -- all of them ---------------------------------------------------------------------------


def known_objectives(root: str) -> list[str]:
    """The ids of all objectives that have a log."""
    folder = os.path.join(root, *OBJECTIVES)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(
        name
        for name in names
        if _ID.fullmatch(name) and os.path.exists(os.path.join(folder, name, LOG))
    )


@value
class KnownObjective:
    """An objective that has a log, and when it last heard of anything."""

    id: str
    objective: str
    updated_at: str
    damage: CorruptFile | None = None
    """Why its log cannot be read, so that its words are not known."""


def find_objectives(root: str) -> list[KnownObjective]:
    """All of them, the one that was worked on last first; a damaged one hides no other."""
    found = filter(None, (_known(root, id) for id in known_objectives(root)))
    return sorted(found, key=lambda known: Instant(known.updated_at).sort_key, reverse=True)


def _known(root: str, id: str) -> KnownObjective | None:
    log = EventLog(root, id)
    try:
        entries = log.last_run()
    except CorruptFile as damage:
        return KnownObjective(id, "", Instant.at(os.stat(log.path).st_mtime_ns).text, damage=damage)
    return KnownObjective(id, entries[0].name, entries[-1].at) if entries else None


def find_objective(root: str, said: str = "") -> KnownObjective:
    """The one that a person means by its words, its id or how that begins; else the last one."""
    known = find_objectives(root)
    if not known:
        raise NotFound("there is no objective here", hint='begin one: helix objective "<text>"')
    if not said:
        return known[0]
    id = objective_id(said)
    exact = [it for it in known if said in (it.id, it.objective) or it.id == id]
    near = exact or [it for it in known if it.id.startswith(said)]
    if len(near) != 1:
        what = "is no objective here" if not near else "can mean several objectives"
        raise NotFound(f"{said!r} {what}", hint="see: helix objective list")
    return near[0]


def words_of(known: KnownObjective) -> str:
    """What it is called; one whose log is damaged cannot be gone on with."""
    if known.damage is not None:
        raise known.damage
    return known.objective


def forget_oldest(root: str) -> None:
    """More than anybody looks back to are not kept: the longest silent ones go first (C-9)."""
    logs = [os.path.join(root, *OBJECTIVES, id, LOG) for id in known_objectives(root)]
    if len(logs) > MOST_OBJECTIVES:
        for log in sorted(logs, key=os.path.getmtime)[:-MOST_OBJECTIVES]:
            shutil.rmtree(os.path.dirname(log))


def clear(root: str, id: str = "") -> tuple[int, int]:
    """How many shared checkpoints and how many objectives are gone: of one objective, or all."""
    paths = [os.path.join(root, *CHECKPOINTS, f"{name}.json") for name in _PHASES]
    shared = [path for path in paths if os.path.exists(path) and id in ("", _owner(path))]
    for path in shared:
        os.unlink(path)
    known = [name for name in known_objectives(root) if id in ("", name)]
    for name in known:
        shutil.rmtree(os.path.join(root, *OBJECTIVES, name))
    return len(shared), len(known)


def _owner(path: str) -> str:
    """Whose checkpoint it is; one that cannot be read is nobody's."""
    try:
        return str(JsonFile(path).read()["objective_id"])
    except (ValueError, KeyError, TypeError):
        return ""
