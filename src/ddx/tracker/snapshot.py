"""The tracker at one instant: columns for questions about all, rows on demand."""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

from ddx.base import CorruptFile, FileIdentity, NotFound, replace
from ddx.tracker.columns import CORE, HAS_CRITERION, IN_CONFLICT, TEXTS, Columns, entry_of
from ddx.tracker.row import FINISHED, STATUSES, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.base import Clock
    from ddx.tracker.bead import Bead
    from ddx.tracker.columns import Entry
    from ddx.tracker.row import Row

_PATIENCE = 200  # pauses of 10 ms for a file that is being written by someone else


class Snapshot:
    """One file as it was when opened; it stays readable when the path gets another file."""

    def __init__(self, path: str, fd: int, identity: FileIdentity, columns: Columns) -> None:
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

    def _holder(self, bead_id: str) -> tuple[Snapshot | None, int]:
        """The file that holds a bead, this one or the archive, and its place there; else None."""
        n = self.columns.place.get(bead_id)
        if n is not None:
            return self, n
        archive = self.archive()
        return archive._holder(bead_id) if archive else (None, 0)

    def find(self, bead_id: str) -> Row | None:
        """The row, from this file or from the archive."""
        file, n = self._holder(bead_id)
        return decode(file.line(n)) if file else None

    def row(self, bead_id: str) -> Row:
        found = self.find(bead_id)
        if found is None:
            raise self.unknown(bead_id)
        return found

    # -- as the other rooms see them --------------------------------------------------------

    def _bead(self, n: int) -> Bead:
        from ddx.tracker.bead import Bead  # what only lists the queue does without it

        return Bead(self.columns.ids[n], decode(self.line(n)), self.columns.revisions[n])

    def find_bead(self, bead_id: str) -> Bead | None:
        """The bead, from this file or from the archive; None if there is no such bead."""
        file, n = self._holder(bead_id)
        return file._bead(n) if file else None

    def bead(self, bead_id: str) -> Bead:
        """The bead, from this file or from the archive; an unknown one is an error."""
        found = self.find_bead(bead_id)
        if found is None:
            raise self.unknown(bead_id)
        return found

    def beads(self) -> Iterator[Bead]:
        """Every bead of this file, in the order of ids; each is read when its turn comes."""
        return map(self._bead, range(len(self.columns)))

    def archived_beads(self) -> Iterator[Bead]:
        """Those that only the archive holds."""
        archive = self.archive()
        return (bead for bead in archive.beads() if bead.id not in self) if archive else iter(())

    def unfinished(self) -> Iterator[Bead]:
        """Every bead that is neither closed nor cancelled; no other one is read."""
        statuses = self.columns.statuses
        return (self._bead(n) for n, status in enumerate(statuses) if status not in FINISHED)

    def finished(self) -> list[int]:
        """The places of those that are closed or cancelled."""
        return [n for n, status in enumerate(self.columns.statuses) if status in FINISHED]

    def with_status(self, status: str, *, in_queue_order: bool = False) -> Iterator[Bead]:
        """In the order of ids, unless the queue's is asked for; no other one is read."""
        found = [n for n, word in enumerate(self.columns.statuses) if word == status]
        if in_queue_order:
            found.sort(key=self.columns.orders.__getitem__)
        return map(self._bead, found)

    def in_conflict(self) -> list[str]:
        """The ids of those that two sides of a merge changed (T-14)."""
        marks = self.columns.marks
        return [bead_id for n, bead_id in enumerate(self.columns.ids) if marks[n] & IN_CONFLICT]

    def counts(self) -> dict[str, int]:
        """How many beads have each status: first those we know, then what others wrote."""
        found = self.columns.statuses
        words = (*STATUSES, *sorted({*found}.difference(STATUSES)))
        return {word: found.count(word) for word in words if word in found}

    def unknown(self, bead_id: str) -> NotFound:
        near = [known for known in self.columns.ids if bead_id and bead_id in known][:3]
        return NotFound(
            f"there is no bead {bead_id!r} here",
            hint=f"did you mean {' or '.join(near)}?" if near else "see them all: ddx bead list",
        )

    def revision(self, bead_id: str) -> str:
        file, n = self._holder(bead_id)
        return file.columns.revisions[n] if file else ""

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
        file, n = self._holder(bead_id)
        return file.columns.statuses[n] if file else ""

    def has_criterion(self, bead_id: str) -> bool:
        """Does an unfinished bead of this file itself say what proves it done (T-17)?"""
        return bool(self.columns.marks[self.columns.place[bead_id]] & HAS_CRITERION)

    def is_finished(self, bead_id: str) -> bool:
        """Closed or cancelled, here or in the archive; what is not there at all is not."""
        return self.status(bead_id) in FINISHED

    def parent(self, bead_id: str) -> str:
        file, n = self._holder(bead_id)
        return file.columns.parents[n] if file else ""

    def waits_for(self, bead_id: str) -> tuple[str, ...]:
        file, n = self._holder(bead_id)
        return file.columns.waits_for[n] if file else ()


def open_snapshot(path: str, *, index_folder: str, clock: Clock) -> Snapshot:
    """The file as it stands; FileNotFoundError if there is none.

    An index that fits spares the reading; else every row is read and the index made anew.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        identity = FileIdentity.of(os.fstat(fd))
        columns = load(index_folder, path, identity)
        if columns is None:
            fd, identity = settled(path, fd, clock=clock)
            columns = build(path, read_all(fd, identity.size))
            made_ns = clock.now_ns()
            save_quietly(index_folder, path, columns, identity, made_ns=made_ns)
    except BaseException:
        os.close(fd)
        raise
    return Snapshot(path, fd, identity, columns)


def wait_until(is_done: Callable[[], bool], *, pause: Callable[[float], None], tries: int) -> bool:
    """Give a program that is writing right now the time to finish."""
    for _ in range(tries):
        if is_done():
            return True
        pause(0.01)
    return is_done()


def settled(path: str, fd: int, *, clock: Clock) -> tuple[int, FileIdentity]:
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
        return age_ns > SETTLED_NS * (1 if ends_well else 40)

    wait_until(looks_whole, pause=clock.sleep, tries=_PATIENCE)
    return newest, FileIdentity.of(os.fstat(newest))


def read_all(fd: int, size: int) -> bytes:
    chunks = []
    position = 0
    while position < size and (chunk := os.pread(fd, size - position, position)):
        chunks.append(chunk)
        position += len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


_FORMAT = 2  # raise it whenever a fact is computed in another way
_MAGIC = b"ddx index %d %08x %08x\n" % (
    _FORMAT,
    sys.hexversion,
    crc32(" ".join((*CORE, *TEXTS)).encode()),
)
_NUMBERS = 6  # inode, size, mtime_ns, made_ns, length of the core, checksum of all but the magic
_HEAD = len(_MAGIC) + 8 * _NUMBERS
SETTLED_NS = 50_000_000
"""A file changed less than this before it was read may change again within one clock tick."""


def load(folder: str, path: str, identity: FileIdentity) -> Columns | None:
    """The columns of exactly these bytes, or None."""
    try:
        with open(_place(folder, path, identity), "rb", buffering=0) as file:
            content = file.read() or b""
    except OSError:  # none, or another user's
        return None
    if not content.startswith(_MAGIC) or len(content) < _HEAD:
        return None
    *made_for, made_ns, size, checksum = (
        int.from_bytes(content[at : at + 8], "little") for at in range(len(_MAGIC), _HEAD, 8)
    )
    if made_for != [identity.inode, identity.size, identity.mtime_ns]:
        return None
    body = memoryview(content)[_HEAD:]
    if crc32(body, crc32(content[len(_MAGIC) : _HEAD - 8])) != checksum:
        return None
    if made_ns - identity.mtime_ns < SETTLED_NS:
        return None
    core, texts = body[:size], body[size:]
    facts, places = marshal.loads(core)
    columns = Columns(dict(zip(CORE, facts, strict=True)))
    columns.starts, columns.ends, columns.contiguous = places
    columns.__dict__["packed_texts"] = lambda: dict(zip(TEXTS, marshal.loads(texts), strict=True))
    return columns


def save_quietly(
    folder: str, path: str, columns: Columns, identity: FileIdentity, *, made_ns: int
) -> None:
    """Keep the columns for the next command; a cache that cannot be written costs only time."""
    places = (columns.starts, columns.ends, columns.contiguous)
    core = marshal.dumps(([getattr(columns, name) for name in CORE], places))
    texts = marshal.dumps([getattr(columns, name) for name in TEXTS])
    numbers = (identity.inode, identity.size, identity.mtime_ns, made_ns, len(core))
    head = b"".join(number.to_bytes(8, "little") for number in numbers)
    head += crc32(texts, crc32(core, crc32(head))).to_bytes(8, "little")
    try:
        replace(_place(folder, path, identity), (_MAGIC, head, core, texts), durable=False)
    except OSError:
        pass


def forget_others(folder: str, path: str, *, keep: FileIdentity) -> None:
    """Indexes of files that are no longer there, and what died before it became one."""
    mine, kept = _stem(path), os.path.basename(_place(folder, path, keep))
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if (name.startswith(mine) or ".tmp-" in name) and name != kept:
            try:
                os.unlink(os.path.join(folder, name))
            except OSError:
                pass  # another process was faster, or the folder cannot be written


def _place(folder: str, path: str, identity: FileIdentity) -> str:
    """Named after the inode, so that the next file's index can be laid beside this one's."""
    return os.path.join(folder, f"{_stem(path)}{identity.inode:x}.idx")


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix("jsonl")


def build(path: str, content: bytes) -> Columns:
    """Read every row, or say which line cannot be read and how it is mended (D-15, T-11)."""
    entries: list[tuple[Entry, int, int]] = []
    lines: dict[str, int] = {}
    start = 0
    number = 0
    while start < len(content):
        number += 1
        newline = content.find(b"\n", start)
        end = len(content) if newline < 0 else newline
        line = content[start:end]
        if row := line.strip():
            entry = _entry(path, number, row)
            if (first := lines.setdefault(entry[0], number)) != number:
                raise corrupt(path, number, f"the id {entry[0]!r} stands in line {first} too")
            at = start + line.index(row)
            entries.append((entry, at, at + len(row)))
        start = end + 1
    return Columns.of(entries, size=len(content))


def _entry(path: str, number: int, line: bytes) -> Entry:
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        raise corrupt(path, number, "git conflict markers")
    try:
        return entry_of(decode(line), line)
    except ValueError as problem:
        raise corrupt(path, number, str(problem)) from None


def corrupt(path: str, number: int, what: str) -> CorruptFile:
    return CorruptFile(
        f"{path}:{number}: {what}; nothing was changed",
        hint="see what is wrong: ddx bead doctor; it mends with --fix and keeps a copy",
    )
