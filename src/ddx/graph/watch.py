"""Whether a file is still the one that was read."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    Grouped: TypeAlias = dict[str, tuple[list[Any], list[Any], list[Any], list[Any]]]
    """For each folder: names, inodes, sizes and ctimes."""

MISSING = (0, 0, 0)
_SETTLED_NS = 50_000_000


def stat_of(root_fd: int, path: str) -> tuple[int, int, int]:
    """Inode, size and ctime, which follows every change and which nobody can set back."""
    try:
        found = os.stat(path, dir_fd=root_fd)
    except OSError:
        return MISSING
    return (found.st_ino, found.st_size, found.st_ctime_ns)


def by_folder(files: Mapping[str, tuple[int, int, int]]) -> Grouped:
    """The same facts, packed for `are_unchanged`."""
    grouped: Grouped = {}
    for path, seen in files.items():
        folder, _, name = path.rpartition("/")
        for column, fact in zip(
            grouped.setdefault(folder, ([], [], [], [])), (name, *seen), strict=True
        ):
            column.append(fact)
    return grouped


def by_path(grouped: Grouped) -> dict[str, tuple[int, int, int]]:
    """What `by_folder` packed."""
    return {
        f"{folder}/{name}" if folder else name: (inode, size, changed_ns)
        for folder, columns in grouped.items()
        for name, inode, size, changed_ns in zip(*columns, strict=True)
    }


def are_unchanged(root_fd: int, grouped: Grouped) -> bool:
    """`stat_of` of every file is as it was; written out, for it is most of a warm question."""
    stat = os.stat
    for folder, (names, inodes, sizes, changes) in grouped.items():
        try:
            fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=root_fd)
        except OSError:
            return False
        try:
            for name, inode, size, changed_ns in zip(names, inodes, sizes, changes, strict=True):
                if not inode:
                    if stat_of(fd, name) != MISSING:
                        return False
                    continue
                found = stat(name, dir_fd=fd)
                if (
                    found.st_ctime_ns != changed_ns
                    or found.st_size != size
                    or found.st_ino != inode
                ):
                    return False
        except OSError:
            return False
        finally:
            os.close(fd)
    return True


def is_settled(changed_ns: int, made_ns: int) -> bool:
    """A file changed just before it was read may change again within one clock tick."""
    return made_ns - changed_ns > _SETTLED_NS
