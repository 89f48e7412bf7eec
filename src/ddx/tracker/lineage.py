"""Noticing that git or an editor put another file in our place (T-14a).

They do not take our lock. Every write leaves hard links to what it wrote and what it replaced, so
a file that someone rewinds or replaces can be told from ours, and nothing we wrote is gone.
"""

from __future__ import annotations

import errno
import os

from ddx.clock import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BACKUPS_KEPT = 10
DAY_NS = 86_400 * 1_000_000_000
"""So long none of them goes, however many there are."""
NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_GONE_MEANWHILE = errno.ENOENT
_CHUNK = 1 << 20


class Lineage:
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
    return stamp(ns).replace(":", "").replace(".", "")


def wait_until(settled: Callable[[], bool], *, pause: Callable[[float], None], tries: int) -> bool:
    """Give a program that is writing right now the time to finish."""
    for _ in range(tries):
        if settled():
            return True
        pause(0.01)
    return settled()


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
    from ddx.fastjson import loads

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
