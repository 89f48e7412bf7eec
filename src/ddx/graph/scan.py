"""Which files the graph is made of, and reading them (G-1, G-7, G-10)."""

from __future__ import annotations

import errno
import os
import stat

from ddx import git
from ddx.graph.model import Parsed, Tags
from ddx.graph.parse import LARGEST_FILE, parse, too_large, unreadable
from ddx.graph.tags import LARGEST_FILE as LARGEST_CODE
from ddx.graph.tags import is_scanned, read_tags
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_DOCUMENT = ".md"
_IGNORE_FILE = ".gitignore"
_OWN_IGNORE_FILE = ".git/info/exclude"
_OURS = (".ddx/", ".helix/")
_NEVER = frozenset({".git", ".ddx", ".helix", "node_modules", ".venv", "__pycache__"})


@value
class Listing:
    """Paths relative to the project's root; a change of a folder means: list again."""

    documents: tuple[str, ...]
    code: tuple[str, ...]
    folders: tuple[str, ...]
    ignores: tuple[str, ...]


def list_files(root: str, document_roots: Sequence[str]) -> Listing:
    """What git would track, ignored files left out; every file where there is no git."""
    in_git = bool(git.common_folder(root))
    visible = git.visible_files(root) if in_git else None
    everything = _walk(root) if visible is None else visible
    paths = [path for path in everything if not path.startswith(_OURS)]
    prefixes = tuple(_prefix(folder) for folder in document_roots)
    folders = _folders(root, paths, in_git=in_git)
    # A folder that is called like a document is there to be reported.
    documents = [
        path
        for path in (*paths, *folders)
        if path.endswith(_DOCUMENT) and path.startswith(prefixes)
    ]
    code = [path for path in paths if is_scanned(path)]
    ignores = [path for path in paths if path.rpartition("/")[2] == _IGNORE_FILE]
    return Listing(tuple(documents), tuple(code), tuple(folders), (*ignores, _OWN_IGNORE_FILE))


def read_document(root: str, path: str) -> Parsed:
    """One document; whatever is wrong with its file becomes a finding."""
    try:
        content, size = _read_file(os.path.join(root, path), most=LARGEST_FILE)
    except OSError as problem:
        return unreadable(path, f"cannot be read: {problem.strerror}")
    return too_large(path, size) if size > LARGEST_FILE else parse(path, content)


def read_code(root: str, path: str) -> Tags:
    """One source file; what cannot be read, or is too large to be written by hand, names none."""
    try:
        return read_tags(path, _read_file(os.path.join(root, path), most=LARGEST_CODE)[0])
    except OSError:
        return Tags(path)


def _read_file(path: str, *, most: int) -> tuple[bytes, int]:
    """A file's content, nothing of it if there are more than `most` bytes, and its size."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device would never end
            raise OSError(errno.EINVAL, "it is no regular file")
        if status.st_size > most:
            return b"", status.st_size
        parts = []
        while part := os.read(fd, status.st_size + 1):
            parts.append(part)
        return b"".join(parts), status.st_size
    finally:
        os.close(fd)


def _prefix(folder: str) -> str:
    normal = os.path.normpath(folder)
    return "" if normal == "." else f"{normal}/"


def _walk(root: str) -> Iterator[str]:
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in _NEVER)
        links = [name for name in inner if os.path.islink(os.path.join(folder, name))]
        for name in sorted((*names, *links)):
            yield os.path.relpath(os.path.join(folder, name), root)


def _folders(root: str, paths: Iterable[str], *, in_git: bool) -> list[str]:
    """Every folder that a file may be added to: on the way to others, or still empty."""
    found = {"."}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    border = set(found)
    while border:
        inner = {name for folder in border for name in _inner_folders(root, folder)} - found
        border = inner - git.ignored(root, sorted(inner)) if in_git and inner else inner
        found |= border
    return sorted(found)


def _inner_folders(root: str, folder: str) -> list[str]:
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []  # it is gone, or closed to us
    if folder != "." and os.path.lexists(os.path.join(root, folder, ".git")):
        return []  # a repository of its own
    return [name if folder == "." else f"{folder}/{name}" for name in names if name not in _NEVER]
