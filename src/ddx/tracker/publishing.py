"""The steps of one write, in the order that survives a crash at any of them (T-7, T-9)."""

from __future__ import annotations

import os

from ddx.files import Identity, Replacement, settle_folder
from ddx.tracker import index
from ddx.tracker.columns import Kept
from ddx.tracker.snapshot import Snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.clock import Clock
    from ddx.tracker.columns import Columns, Written


def publish(
    path: str,
    before: Snapshot | None,
    pieces: Sequence[Kept | Written],
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
        index.save_quietly(index_folder, path, columns, identity, made_ns=clock.now_ns())
        if not agree(new.beside):
            return None
        new.publish()
        settle_folder(os.path.dirname(path))
        index.forget_others(index_folder, path, keep=identity)
        return Snapshot(path, os.dup(new.fd), identity, columns)


def _fill(new: Replacement, before: Snapshot | None, pieces: Sequence[Kept | Written]) -> None:
    """Changed rows are written, all others are copied from their own bytes."""
    for piece in pieces:
        if not isinstance(piece, Kept):
            new.write(piece.line, b"\n")
        elif before is not None and before.columns.contiguous:
            start = before.columns.starts[piece.first]
            new.copy(before.fd, start, before.columns.ends[piece.last - 1] + 1)
        elif before is not None:
            new.write(*(before.line(n) + b"\n" for n in range(piece.first, piece.last)))


def _settle(new: Replacement, before: Snapshot | None, *, clock: Clock) -> Identity:
    """On the disk, with a mtime that no later edit can share, so its index counts at once."""
    if before is not None:
        os.fchmod(new.fd, os.fstat(before.fd).st_mode & 0o777)
    past = clock.now_ns() - 2 * index.SETTLED_NS
    os.utime(new.fd, ns=(past, past))
    new.settle()
    return Identity.of(os.fstat(new.fd))
