"""The tracker at one instant: columns for questions about all, rows on demand."""

from __future__ import annotations

import os

from ddx.errors import NotFound
from ddx.files import Identity
from ddx.tracker import index
from ddx.tracker.codec import decode
from ddx.tracker.lineage import wait_until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.clock import Clock
    from ddx.tracker.columns import Columns
    from ddx.tracker.model import Row

_PATIENCE = 200  # pauses of 10 ms for a file that is being written by someone else


class Snapshot:
    """One file as it was when opened; it stays readable when the path gets another file."""

    def __init__(self, path: str, fd: int, identity: Identity, columns: Columns) -> None:
        self.path = path
        self.fd = fd
        self.identity = identity
        self.columns = columns
        self.archive: Callable[[], Snapshot | None] = lambda: None

    def __del__(self) -> None:
        os.close(self.fd)

    def line(self, n: int, *, short_by: int = 0) -> bytes:
        """The bytes of a row; `short_by` leaves out that many at its end."""
        start = self.columns.starts[n]
        return os.pread(self.fd, self.columns.ends[n] - start - short_by, start)

    def lines(self) -> Iterator[bytes]:
        return (self.line(n) for n in range(len(self.columns)))

    def rows(self) -> Iterator[Row]:
        return map(decode, self.lines())

    def __contains__(self, bead_id: object) -> bool:
        return bead_id in self.columns.place

    def find(self, bead_id: str) -> Row | None:
        """The row, from this file or from the archive."""
        n = self.columns.place.get(bead_id)
        if n is not None:
            return decode(self.line(n))
        archive = self.archive()
        return archive.find(bead_id) if archive else None

    def row(self, bead_id: str) -> Row:
        found = self.find(bead_id)
        if found is None:
            raise self.unknown(bead_id)
        return found

    def unknown(self, bead_id: str) -> NotFound:
        near = [known for known in self.columns.ids if bead_id and bead_id in known][:3]
        return NotFound(
            f"there is no bead {bead_id!r} here",
            hint=f"did you mean {' or '.join(near)}?" if near else "see them all: ddx bead list",
        )

    def revision(self, bead_id: str) -> str:
        n = self.columns.place.get(bead_id)
        if n is not None:
            return self.columns.revisions[n]
        archive = self.archive()
        return archive.revision(bead_id) if archive else ""

    def archived_status(self, bead_id: str) -> str:
        """The status of a bead that only the archive holds, or an empty string."""
        archive = self.archive()
        n = archive.columns.place.get(bead_id) if archive else None
        return archive.columns.statuses[n] if archive and n is not None else ""

    def children(self, bead_id: str) -> tuple[str, ...]:
        return tuple(self.columns.ids[n] for n in self.columns.children.get(bead_id, ()))

    def dependents(self, bead_id: str) -> tuple[str, ...]:
        """The beads that wait for this one."""
        return tuple(self.columns.ids[n] for n in self.columns.waiters.get(bead_id, ()))

    def is_waited_for(self, bead_id: str) -> bool:
        """Here or in the archive."""
        if bead_id in self.columns.waiters:
            return True
        archive = self.archive()
        return archive is not None and archive.is_waited_for(bead_id)

    def status(self, bead_id: str) -> str:
        n = self.columns.place.get(bead_id)
        return self.archived_status(bead_id) if n is None else self.columns.statuses[n]

    def parent(self, bead_id: str) -> str:
        n = self.columns.place.get(bead_id)
        if n is not None:
            return self.columns.parents[n]
        archive = self.archive()
        return archive.parent(bead_id) if archive else ""

    def waits_for(self, bead_id: str) -> tuple[str, ...]:
        n = self.columns.place.get(bead_id)
        if n is not None:
            return self.columns.waits_for[n]
        archive = self.archive()
        return archive.waits_for(bead_id) if archive else ()


def open_snapshot(path: str, *, index_folder: str, clock: Clock) -> Snapshot:
    """The file as it stands; FileNotFoundError if there is none.

    An index that fits spares the reading; else every row is read and the index made anew.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        identity = Identity.of(os.fstat(fd))
        columns = index.load(index_folder, path, identity)
        if columns is None:
            fd, identity = settled(path, fd, clock=clock)
            columns = index.build(path, read_all(fd, identity.size))
            made_ns = clock.now_ns()
            index.save_quietly(index_folder, path, columns, identity, made_ns=made_ns)
    except BaseException:
        os.close(fd)
        raise
    return Snapshot(path, fd, identity, columns)


def settled(path: str, fd: int, *, clock: Clock) -> tuple[int, Identity]:
    """The file once nobody is in the middle of writing it (T-14a): whole last line, no change."""
    newest = fd

    def looks_whole() -> bool:
        nonlocal newest
        try:
            again = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        os.dup2(again, newest, inheritable=False)
        os.close(again)
        stat = os.fstat(newest)
        age_ns = clock.now_ns() - stat.st_mtime_ns
        ends_well = not stat.st_size or os.pread(newest, 1, stat.st_size - 1) == b"\n"
        return age_ns > index.SETTLED_NS * (1 if ends_well else 40)

    wait_until(looks_whole, pause=clock.sleep, tries=_PATIENCE)
    return newest, Identity.of(os.fstat(newest))


def read_all(fd: int, size: int) -> bytes:
    chunks = []
    position = 0
    while position < size and (chunk := os.pread(fd, size - position, position)):
        chunks.append(chunk)
        position += len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
