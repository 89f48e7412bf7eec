"""Whether a file is still the one that was read."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MISSING = (0, 0, 0)
_SETTLED_NS = 50_000_000


def stat_of(root_fd: int, path: str) -> tuple[int, int, int]:
    """Inode, size and ctime, which follows every change and which nobody can set back."""
    try:
        found = os.stat(path, dir_fd=root_fd)
    except OSError:
        return MISSING
    return (found.st_ino, found.st_size, found.st_ctime_ns)


def are_unchanged(root_fd: int, files: Mapping[str, tuple[int, int, int]]) -> bool:
    """`stat_of` of every file is as it was; written out, for it is most of a warm question."""
    stat = os.stat
    try:
        for path, (inode, size, changed_ns) in files.items():
            if not inode:
                if stat_of(root_fd, path) != MISSING:
                    return False
                continue
            found = stat(path, dir_fd=root_fd)
            if found.st_ctime_ns != changed_ns or found.st_size != size or found.st_ino != inode:
                return False
    except OSError:
        return False
    return True


def is_settled(changed_ns: int, made_ns: int) -> bool:
    """A file changed just before it was read may change again within one clock tick."""
    return made_ns - changed_ns > _SETTLED_NS
