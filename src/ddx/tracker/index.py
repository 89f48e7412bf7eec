"""The columns of a tracker file, kept beside it: a cache that anyone may delete (T-19).

An index counts only for the very bytes it was made from. It also proves that they were read and
found whole, so a command that finds one need not look at the rows again.
"""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

from ddx.errors import CorruptFile
from ddx.files import Identity, replace
from ddx.tracker.codec import decode
from ddx.tracker.columns import CORE, TEXTS, Columns, entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.columns import Entry

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


def load(folder: str, path: str, identity: Identity) -> Columns | None:
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
    folder: str, path: str, columns: Columns, identity: Identity, *, made_ns: int
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


def forget_others(folder: str, path: str, *, keep: Identity) -> None:
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


def _place(folder: str, path: str, identity: Identity) -> str:
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
