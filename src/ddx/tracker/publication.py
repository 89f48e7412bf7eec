"""One write: its steps, in the order that survives a crash at any of them (T-7, T-9).

Git and editors put another file in our place without taking our lock (T-14a). Every write leaves
hard links to what it wrote and what it replaced, so a file that someone rewinds or replaces can be
told from ours, and nothing we wrote is gone.
"""

from __future__ import annotations

import errno
import os

from ddx.base import FileIdentity, Instant, Replacement, loads, settle_folder
from ddx.tracker.columns import OldRows
from ddx.tracker.row import decode, encode, revision_of
from ddx.tracker.snapshot import SETTLED_NS, Snapshot, forget_others, save_quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.base import Clock
    from ddx.tracker.columns import Columns, NewRow
    from ddx.tracker.row import Row

BACKUPS_KEPT = 10
DAY_NS = 86_400 * 1_000_000_000
"""So long none of them goes, however many there are."""
NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_GONE_MEANWHILE = errno.ENOENT
_CHUNK = 1 << 20
_LARGEST_JOURNAL = 1 << 20


def publish(
    path: str,
    before: Snapshot | None,
    pieces: Sequence[OldRows | NewRow],
    columns: Columns,
    *,
    index_folder: str,
    clock: Clock,
    agree: Callable[[str], bool],
) -> Snapshot | None:
    """The next file in the place of the old one; None if `agree` calls it off at the last moment.

    Its index is there before it is: no reader ever meets a new file without one.
    """
    with Replacement(path) as new:
        _fill(new, before, pieces)
        identity = _settle(new, before, clock=clock)
        save_quietly(index_folder, path, columns, identity, made_ns=clock.now_ns())
        if not agree(new.beside):
            return None
        new.publish()
        settle_folder(os.path.dirname(path))
        forget_others(index_folder, path, keep=identity)
        return Snapshot(path, os.dup(new.fd), identity, columns)


def _fill(new: Replacement, before: Snapshot | None, pieces: Sequence[OldRows | NewRow]) -> None:
    """Changed rows are written, all others are copied from their own bytes."""
    for piece in pieces:
        if not isinstance(piece, OldRows):
            new.write(piece.line, b"\n")
        elif before is not None and before.columns.contiguous:
            start = before.columns.starts[piece.first]
            new.copy(before.fd, start, before.columns.ends[piece.last - 1] + 1)
        elif before is not None:
            new.write(*(before.line(n) + b"\n" for n in range(piece.first, piece.last)))


def _settle(new: Replacement, before: Snapshot | None, *, clock: Clock) -> FileIdentity:
    """On the disk, with a mtime that no later edit can share, so its index counts at once."""
    if before is not None:
        os.fchmod(new.fd, os.fstat(before.fd).st_mode & 0o777)
    past = clock.now_ns() - 2 * SETTLED_NS
    os.utime(new.fd, ns=(past, past))
    new.settle()
    return FileIdentity.of(os.fstat(new.fd))


class ChangeJournal:
    """Local and bounded; losing it loses only the names of changed fields."""

    def __init__(self, path: str) -> None:
        self._path = path

    def note(
        self, before: Snapshot, put: Mapping[str, Row], lines: Mapping[str, bytes], *, at: str
    ) -> None:
        entries = []
        for bead_id, row in put.items():
            n = before.columns.place.get(bead_id)
            if n is None:
                continue
            old_line = before.line(n)
            entry: Row = {
                "at": at,
                "fields": changed_fields(decode(old_line), row),
                "from": before.columns.revisions[n],
                "id": bead_id,
                "to": revision_of(lines[bead_id]),
            }
            entries.append(encode(entry) + b"\n")
        if entries:
            self._append(b"".join(entries))

    def fields_since(self, bead_id: str, revision: str, now: str) -> tuple[str, ...]:
        """The fields changed on the way from one revision to another; empty if not recorded."""
        steps = {}
        for line in self._lines():
            try:
                entry = decode(line)
            except ValueError:
                continue  # cut short by a crash
            if entry["id"] == bead_id:
                steps[entry["from"]] = (entry["to"], entry["fields"])
        fields: set[str] = set()
        for _ in range(len(steps)):
            if revision == now or revision not in steps:
                break
            revision, touched = steps.pop(revision)
            fields.update(touched)
        return tuple(sorted(fields)) if revision == now else ()

    def _append(self, content: bytes) -> None:
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                os.write(fd, content)
                full = os.fstat(fd).st_size > _LARGEST_JOURNAL
            finally:
                os.close(fd)
            if full:
                os.rename(self._path, f"{self._path}.1")
        except OSError:
            pass  # the change itself is safe; only its field names go unrecorded

    def _lines(self) -> list[bytes]:
        found: list[bytes] = []
        for path in (f"{self._path}.1", self._path):
            try:
                with open(path, "rb") as file:
                    found += file.read().splitlines()
            except FileNotFoundError:
                continue
        return found


def changed_fields(old: Row, new: Row) -> list[str]:
    """The top-level keys in which two rows differ, but for the stamp of the change."""
    keys = {*old, *new} - {"updated_at"}
    return sorted(key for key in keys if old.get(key) != new.get(key))


class ReplacementCheck:
    """The links of one file: `next` before it is published, then `last`, then `prev`."""

    def __init__(self, *, state: str, backups: str, name: str) -> None:
        self.next = os.path.join(state, f"{name}.next")
        self.last = os.path.join(state, f"{name}.last")
        self.prev = os.path.join(state, f"{name}.prev")
        self._backups = backups
        self._name = name

    def settle(self, live_inode: int) -> None:
        """Finish what a writer that died between publish and advance left undone."""
        if _inode(self.next) == live_inode:
            self.advance()
        else:
            _remove(self.next)

    def replaced(self, live_inode: int) -> bool:
        """Is the live file another one than we wrote last?"""
        return _inode(self.last) not in (0, live_inode)

    def keep_last(self, *, now_ns: int, held_in: Sequence[str]) -> str:
        """Our last write, kept among the backups; its path.

        Old ones go only if all their beads are in another one or in `held_in`, the living files.
        """
        os.makedirs(self._backups, exist_ok=True)
        for old in self.backups():
            if _inode(old) == _inode(self.last):
                return old  # by a writer that died before it could say so
        kept = self._backup_at(now_ns)
        _link(self.last, kept)
        copies = self.backups()
        yesterday = self._backup_at(now_ns - DAY_NS)
        outdated = [path for path in copies[:-BACKUPS_KEPT] if path < yesterday]
        if outdated:
            _remove_held(outdated, (*copies, *held_in))
        return kept

    def backups(self) -> list[str]:
        """Oldest first."""
        try:
            names = os.listdir(self._backups)
        except FileNotFoundError:
            return []
        mine = sorted(name for name in names if name.startswith(f"{self._name}-"))
        return [os.path.join(self._backups, name) for name in mine]

    def _backup_at(self, ns: int) -> str:
        return os.path.join(self._backups, f"{self._name}-{stamp_in_name(ns)}.jsonl")

    def prepare(self, new_file: str) -> None:
        """Before publishing: the new file gets a name that git cannot touch."""
        os.makedirs(os.path.dirname(self.next), exist_ok=True)
        _remove(self.next)
        _link(new_file, self.next)

    def advance(self) -> None:
        """After publishing: last becomes prev, next becomes last.

        When the last bead went to the archive, an empty file is right: then no old one is kept
        that would make it look like a loss.
        """
        if os.path.exists(self.next) and not _size(self.next):
            _remove(self.last)
            _remove(self.prev)
        for source, target in ((self.last, self.prev), (self.next, self.last)):
            try:
                os.rename(source, target)
            except FileNotFoundError:
                pass  # the first write, or no hard links here
        if not _inode(self.prev) and _size(self.last):
            _copy_quietly(self.last, self.prev)

    def has_rows(self) -> bool:
        """Did we ever write rows here?"""
        return any(_size(path) > 0 for path in (self.last, self.prev))

    def is_suspicious(self, live_inode: int, size: int) -> bool:
        """An empty file where we wrote rows before (T-14a), unless we emptied it just now."""
        return size == 0 and self.has_rows() and live_inode != _inode(self.next)


def stamp_in_name(ns: int) -> str:
    """An instant as part of a file's name: they sort as the instants do."""
    return Instant.at(ns).text.replace(":", "").replace(".", "")


def _remove_held(outdated: Sequence[str], files: Sequence[str]) -> None:
    """Those whose beads are all in another file that stays; none is read over and over."""
    from collections import Counter

    holders: Counter[object] = Counter()
    for path in files:
        holders.update(_beads_in(path))
    for path in outdated:
        beads = _beads_in(path)
        if all(holders[bead] > 1 for bead in beads):
            _remove(path)
            holders.subtract(beads)


def _beads_in(path: str) -> set[object]:
    """Their ids; a line that is no bead stands for itself."""
    found: set[object] = set()
    try:
        with open(path, "rb") as file:
            for line in file:
                try:
                    found.add(loads(line.decode())["id"])
                except (ValueError, TypeError, KeyError):
                    found.add(line)
    except FileNotFoundError:
        pass
    return found


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError as problem:  # the doctor says that replacements go unnoticed here
        if problem.errno not in (*NO_HARD_LINKS, _GONE_MEANWHILE):
            raise


def _copy_quietly(source: str, target: str) -> None:
    """After the first write all links lead to one file, which `jq . FILE > FILE` would empty."""
    try:
        with open(source, "rb", buffering=0) as old, open(target, "xb", buffering=0) as copy:
            while chunk := old.read(_CHUNK):
                copy.write(chunk)
    except OSError:
        pass  # the write itself is done


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
