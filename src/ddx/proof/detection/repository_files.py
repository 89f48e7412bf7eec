"""The files of a repository as detection reads them: their paths, and texts of a bounded size."""

from __future__ import annotations

import os
import posixpath
import tomllib
from typing import TYPE_CHECKING, Any

from ddx.base import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LARGEST = 1 << 20


class RepositoryFiles:
    """Tracked files of one repository; each text is read at most once."""

    def __init__(self, paths: Iterable[str], read: Callable[[str], str | None]) -> None:
        self.paths = tuple(sorted(paths))
        self._all = frozenset(self.paths)
        self._read = read
        self._texts: dict[str, str | None] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._all

    def text(self, path: str) -> str:
        """What a file says; nothing where there is no such file or it is no text."""
        if path not in self._all:
            return ""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path] or ""

    def line_of(self, path: str, needle: str) -> str:
        """`path:line` of the first line that holds a text, or the path alone."""
        for number, line in enumerate(self.text(path).splitlines(), start=1):
            if needle in line:
                return f"{path}:{number}"
        return path

    def toml(self, path: str) -> dict[str, Any]:
        """A TOML file as a table; an unreadable one is empty."""
        try:
            return tomllib.loads(self.text(path))
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}

    def json(self, path: str) -> dict[str, Any]:
        """A JSON file as a table; an unreadable one is empty."""
        try:
            found = loads(self.text(path)) if path in self else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def folders_with(self, name: str) -> list[str]:
        """Folders that hold a file of this name, the nearest to the top first; the top is ''."""
        held = [posixpath.dirname(path) for path in self.paths if posixpath.basename(path) == name]
        return sorted(held, key=lambda folder: (folder.count("/") if folder else -1, folder))

    def below(self, folder: str) -> list[str]:
        """All paths in a folder, at any depth."""
        return [it for it in self.paths if not folder or it.startswith(f"{folder}/")]


def read_text(root: str, path: str) -> str | None:
    """A tracked file's text; None for links, large files and what is no UTF-8 text."""
    full = os.path.join(root, path)
    try:
        fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
