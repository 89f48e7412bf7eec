"""The graph, kept beside the documents: read whole when nothing changed, patched when little did.

A warm question costs one `stat` a file. The cache counts only in the very folder it was made in,
so bytes that came with a repository are never unpacked. Anyone may delete it (G-9).
"""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

from ddx.files import replace
from ddx.graph.graph import DETAILS, LINKS, NODES, Graph
from ddx.graph.watch import are_unchanged, by_folder, by_path, stat_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, BinaryIO

    from ddx.clock import Clock
    from ddx.project import Project

_FORMAT = 5  # raise it whenever a file is read in another way
_MAGIC = b"ddx graph %d %08x\n" % (_FORMAT, sys.hexversion)
_WATCHED, _CORE, _EDGES, _LATE, _FILES = range(5)
_SECTIONS = 5
_HEAD = len(_MAGIC) + 8 * (1 + 2 * _SECTIONS)

_AT_ONCE = (*(name for name in NODES if name != "hashes"), *LINKS)
_LATER = ("hashes", *(name for name in DETAILS if name != "edge_rows"))


def load_graph(project: Project, document_roots: Sequence[str], *, clock: Clock) -> Graph:
    """The graph as the files are now; only changed files are read."""
    path = project.ddx("cache", "graph.idx")
    kept = _Kept.find(path)
    watched = kept.section(_WATCHED) if kept else None
    is_for_these = watched is not None and watched["roots"] == list(document_roots)
    if kept and watched and is_for_these and _is_unchanged(project.root, watched):
        core = kept.section(_CORE)
        if core is not None:
            facts = dict(zip(_AT_ONCE, core, strict=True))
            return Graph(facts, _packed(kept, project, document_roots, clock))
    files = kept.section(_FILES) if kept else None
    old = None
    if watched is not None and files is not None:
        old = ({**watched, "files": by_path(watched["files"])}, files)
    return _made_anew(project, document_roots, old, clock)


def _made_anew(
    project: Project,
    document_roots: Sequence[str],
    old: tuple[dict[str, Any], dict[str, Any]] | None,
    clock: Clock,
) -> Graph:
    from ddx.graph.build import rebuild

    graph, watched, files = rebuild(project.root, list(document_roots), old, clock=clock)
    _write(project.ddx("cache", "graph.idx"), graph, watched, files)
    return graph


def _packed(
    kept: _Kept, project: Project, document_roots: Sequence[str], clock: Clock
) -> dict[str, Callable[[], dict[str, Any]]]:
    """How to unpack what only some questions need; a damaged cache is made anew."""

    def anew() -> dict[str, Any]:
        graph = _made_anew(project, document_roots, None, clock)
        return {name: getattr(graph, name) for name in ("edge_rows", *_LATER)}

    def edges() -> dict[str, Any]:
        columns = kept.section(_EDGES)
        return anew() if columns is None else {"edge_rows": list(zip(*columns, strict=True))}

    def later() -> dict[str, Any]:
        found = kept.section(_LATE)
        return anew() if found is None else dict(zip(_LATER, found, strict=True))

    return {"edge_rows": edges, **dict.fromkeys(_LATER, later)}


def _is_unchanged(root: str, watched: dict[str, Any]) -> bool:
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return (
            watched["is_settled"]
            and are_unchanged(fd, watched["files"])
            and all(stat_of(fd, path)[2] == seen for path, seen in watched["folders"].items())
        )
    finally:
        os.close(fd)


class _Kept:
    """A cache file of this very folder; each section is read and checked when it is asked for."""

    def __init__(self, path: str, file: BinaryIO, spans: list[tuple[int, int, int]]) -> None:
        self.path = path
        self._file = file
        self._spans = spans

    @classmethod
    def find(cls, path: str) -> _Kept | None:
        try:
            file = open(path, "rb", buffering=0)
            head = file.read(_HEAD) or b""
        except OSError:
            return None
        if not head.startswith(_MAGIC) or len(head) < _HEAD:
            return None
        folder, *rest = (
            int.from_bytes(head[at : at + 8], "little") for at in range(len(_MAGIC), _HEAD, 8)
        )
        if folder != folder_mark(path):
            return None
        spans = []
        start = _HEAD
        for size, checksum in zip(rest[::2], rest[1::2], strict=True):
            spans.append((start, size, checksum))
            start += size
        return cls(path, file, spans)

    def section(self, number: int) -> Any:
        """What was packed, or None where the bytes are not whole."""
        start, size, checksum = self._spans[number]
        content = os.pread(self._file.fileno(), size, start)
        return marshal.loads(content) if crc32(content) == checksum else None


def _write(path: str, graph: Graph, watched: dict[str, Any], files: dict[str, Any]) -> None:
    sections = [
        marshal.dumps({**watched, "files": by_folder(watched["files"])}),
        marshal.dumps([getattr(graph, name) for name in _AT_ONCE]),
        marshal.dumps([list(column) for column in zip(*graph.edge_rows, strict=True)]),
        marshal.dumps([getattr(graph, name) for name in _LATER]),
        marshal.dumps(files),
    ]
    try:
        make_folder(os.path.dirname(path))
        numbers = [folder_mark(path)]
        for section in sections:
            numbers += (len(section), crc32(section))
        head = b"".join(number.to_bytes(8, "little") for number in numbers)
        replace(path, (_MAGIC, head, *sections), durable=False)
    except OSError:
        pass  # a cache that cannot be written costs time, never an answer


def make_folder(folder: str) -> None:
    """A folder that git does not see, even where no tracker was set up."""
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
        replace(os.path.join(folder, ".gitignore"), (b"*\n",), durable=False)


def folder_mark(path: str) -> int:
    """The folder that holds the cache, as nobody else can name it beforehand."""
    return os.stat(os.path.dirname(path)).st_ino
