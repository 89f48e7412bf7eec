"""Copying what git does not keep from one checkout to another (X-3a)."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from typing import TYPE_CHECKING

from ddx.base import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK = 1 << 26
_NOT_FOR_COPYING = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF}


def carry(path: str, *, source: str, destination: str) -> None:
    """Copy `path`, a file or a folder, from one checkout to the same place in another.

    What git has put there already stays as it is.
    """
    name = os.path.normpath(path)
    if os.path.isabs(name) or name.split(os.sep)[0] in ("..", ".", ".git"):
        raise UsageError(f"workspace.carry: {path!r} is not a path inside the project")
    if not os.path.lexists(os.path.join(source, name)):
        raise UsageError(
            f"workspace.carry: {os.path.join(source, name)} does not exist",
            hint="make it, or take it out of workspace.carry in .ddx/config.yaml",
        )
    os.makedirs(os.path.dirname(os.path.join(destination, name)), exist_ok=True)
    _Carrier(os.path.realpath(source), os.path.realpath(destination)).copy(name)


class _Carrier:
    def __init__(self, source: str, destination: str) -> None:
        self._source = source
        self._destination = destination

    def copy(self, name: str) -> None:
        self._copy(os.path.join(self._source, name), os.path.join(self._destination, name), ())

    def _copy(self, here: str, there: str, above: Sequence[str]) -> None:
        mode = os.lstat(here).st_mode
        if stat.S_ISLNK(mode):
            self._copy_link(here, there, above)
        elif stat.S_ISDIR(mode):
            self._copy_folder(here, there, above)
        elif stat.S_ISREG(mode) and not os.path.lexists(there):
            _copy_file(here, there)

    def _copy_folder(self, here: str, there: str, above: Sequence[str]) -> None:
        real = os.path.realpath(here)
        if real in above:  # links that go round
            return
        if os.path.lexists(there) and not os.path.isdir(there):
            return
        os.makedirs(there, exist_ok=True)
        for name in os.listdir(here):
            self._copy(os.path.join(here, name), os.path.join(there, name), (*above, real))
        shutil.copystat(here, there)

    def _copy_link(self, here: str, there: str, above: Sequence[str]) -> None:
        if os.path.lexists(there):
            return
        shown = os.path.realpath(here)
        text = os.readlink(here)
        if _is_within(shown, self._source):
            if os.path.isabs(text) or not self._mirrors(here, text):
                inside = os.path.join(self._destination, os.path.relpath(shown, self._source))
                text = os.path.relpath(inside, os.path.dirname(there))
            os.symlink(text, there)
        elif os.path.isfile(shown) and os.access(shown, os.X_OK):
            os.symlink(shown, there)
        elif os.path.isfile(shown):
            _copy_file(shown, there)
        elif os.path.isdir(shown):
            self._copy_folder(shown, there, above)

    def _mirrors(self, here: str, text: str) -> bool:
        """Does a relative link stay inside at every step, so that it means the same in a copy?"""
        depth = os.path.relpath(here, self._source).count(os.sep)
        for part in text.split(os.sep):
            depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
            if depth < 0:
                return False
        return True


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _copy_file(here: str, there: str) -> None:
    """By reference where the file system can, so that gigabytes cost nothing."""
    with open(here, "rb") as original, open(there, "xb") as copy:
        try:
            while os.copy_file_range(original.fileno(), copy.fileno(), _CHUNK):
                pass
        except AttributeError:  # only Linux has it
            shutil.copyfileobj(original, copy)
        except OSError as problem:
            if problem.errno not in _NOT_FOR_COPYING:
                raise
            shutil.copyfileobj(original, copy)
    shutil.copystat(here, there)
