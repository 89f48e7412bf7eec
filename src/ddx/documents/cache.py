"""The graph, kept beside the documents: read whole when nothing changed, patched when little did.

A warm question costs one `stat` a file; of what changed only those files are read. The cache counts
only in the very folder it was made in, so bytes that came with a repository are never unpacked.
Anyone may delete it (G-9).
"""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

from ddx.base import make_folder, replace, value
from ddx.documents.graph import DETAILS, LINKS, NODES, Graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, BinaryIO, TypeAlias

    from ddx.base import Clock
    from ddx.documents.model import Link, ParsedDocument
    from ddx.documents.scan import SourceFile
    from ddx.project import Project

    FileIdentity: TypeAlias = tuple[int, int, int]
    """Inode, size and ctime, which follows every change and which nobody can set back."""
    Grouped: TypeAlias = dict[str, tuple[list[Any], list[Any], list[Any], list[Any]]]
    """For each folder: names, inodes, sizes and ctimes."""

_FORMAT = 6  # raise it whenever a file is read in another way
_WATCHED, _CORE, _EDGES, _LATE, _FILES = range(5)
_AT_ONCE = (*(name for name in NODES if name != "hashes"), *LINKS)
_LATER = ("hashes", *(name for name in DETAILS if name != "edge_rows"))
_DOCUMENT_LINKS = ("depends_on", "links", "superseded_by")
_MISSING = (0, 0, 0)
_SETTLED_NS = 50_000_000


def load_graph(project: Project, document_roots: Sequence[str], *, clock: Clock) -> Graph:
    """The graph as the files are now; only changed files are read."""
    cache = _cache_of(project)
    kept = cache.find(sections=5)
    watched = kept.section(_WATCHED) if kept else None
    is_for_these = watched is not None and watched["roots"] == list(document_roots)
    if kept and watched and is_for_these and _is_unchanged(project.root, watched):
        core = kept.section(_CORE)
        if core is not None:
            facts = dict(zip(_AT_ONCE, core, strict=True))
            return Graph(facts, _packed(kept, project, document_roots, clock))
    files = kept.section(_FILES) if kept else None
    known = {} if watched is None or files is None else _settled_files(watched, files)
    return _make_anew(project, document_roots, known, clock)


def _packed(
    kept: KeptSections, project: Project, document_roots: Sequence[str], clock: Clock
) -> dict[str, Callable[[], dict[str, Any]]]:
    """How to unpack what only some questions need; a damaged cache is made anew."""

    def anew() -> dict[str, Any]:
        graph = _make_anew(project, document_roots, {}, clock)
        return {name: getattr(graph, name) for name in ("edge_rows", *_LATER)}

    def edges() -> dict[str, Any]:
        columns = kept.section(_EDGES)
        return anew() if columns is None else {"edge_rows": list(zip(*columns, strict=True))}

    def later() -> dict[str, Any]:
        found = kept.section(_LATE)
        return anew() if found is None else dict(zip(_LATER, found, strict=True))

    return {"edge_rows": edges, **dict.fromkeys(_LATER, later)}


def _make_anew(
    project: Project,
    document_roots: Sequence[str],
    known: Mapping[str, tuple[FileIdentity, dict[str, Any]]],
    clock: Clock,
) -> Graph:
    """Files that are as they were come from the last time, all others are read; then it is kept."""
    from ddx.documents.assembly import assemble
    from ddx.documents.scan import list_files, read_code, read_document

    root, made_ns = project.root, clock.now_ns()
    listing = list_files(root, document_roots)
    paths = (*listing.documents, *listing.code, *listing.ignores)
    seen = {path: _identity(os.path.join(root, path)) for path in paths}
    folders = {path: _identity(os.path.join(root, path))[2] for path in listing.folders}
    known = {path: item for path, item in known.items() if item[0] == seen.get(path)}
    documents = [
        _document(known[path][1]) if path in known else read_document(root, path)
        for path in listing.documents
        if seen[path] != _MISSING or os.path.islink(os.path.join(root, path))
    ]
    code = [
        _source_file(known[path][1]) if path in known else read_code(root, path)
        for path in listing.code
    ]
    graph = assemble(documents, [file for file in code if file.links])
    newest_ns = max((0, *(identity[2] for identity in seen.values()), *folders.values()))
    watched = {
        "roots": list(document_roots),
        "made_ns": made_ns,
        "is_settled": _is_settled(newest_ns, made_ns),
        "files": _by_folder(seen),
        "folders": folders,
    }
    _cache_of(project).write(
        watched,
        [getattr(graph, name) for name in _AT_ONCE],
        [list(column) for column in zip(*graph.edge_rows, strict=True)],
        [getattr(graph, name) for name in _LATER],
        {
            **{item.path: _plain_document(item) for item in documents},
            **{file.path: _plain_source_file(file) for file in code},
        },
    )
    return graph


def _cache_of(project: Project) -> CacheFile:
    return CacheFile(project.ddx("cache", "graph.idx"), b"ddx graph", _FORMAT)


# -- whether a file is still the one that was read ---------------------------------------------


def _identity(path: str, *, dir_fd: int | None = None) -> FileIdentity:
    try:
        found = os.stat(path, dir_fd=dir_fd)
    except OSError:
        return _MISSING
    return (found.st_ino, found.st_size, found.st_ctime_ns)


def _is_settled(changed_ns: int, made_ns: int) -> bool:
    """A file changed just before it was read may change again within one clock tick."""
    return made_ns - changed_ns > _SETTLED_NS


def _is_unchanged(root: str, watched: dict[str, Any]) -> bool:
    root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return (
            watched["is_settled"]
            and all(_are_unchanged(root_fd, *folder) for folder in watched["files"].items())
            and all(
                _identity(path, dir_fd=root_fd)[2] == changed_ns
                for path, changed_ns in watched["folders"].items()
            )
        )
    finally:
        os.close(root_fd)


def _are_unchanged(root_fd: int, folder: str, columns: tuple[list[Any], ...]) -> bool:
    """The `_identity` of every file is as it was; written out: it is most of a warm question."""
    stat = os.stat
    try:
        fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=root_fd)
    except OSError:
        return False
    try:
        for name, inode, size, changed_ns in zip(*columns, strict=True):
            if not inode:
                if _identity(name, dir_fd=fd) != _MISSING:
                    return False
                continue
            found = stat(name, dir_fd=fd)
            if found.st_ctime_ns != changed_ns or found.st_size != size or found.st_ino != inode:
                return False
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _by_folder(files: Mapping[str, FileIdentity]) -> Grouped:
    """The same facts, packed for `_are_unchanged`."""
    grouped: Grouped = {}
    for path, identity in files.items():
        folder, _, name = path.rpartition("/")
        columns = grouped.setdefault(folder, ([], [], [], []))
        for column, fact in zip(columns, (name, *identity), strict=True):
            column.append(fact)
    return grouped


def _settled_files(
    watched: dict[str, Any], files: dict[str, Any]
) -> dict[str, tuple[FileIdentity, dict[str, Any]]]:
    """The files that cannot have changed just after they were read, as they were then."""
    return {
        path: ((inode, size, changed_ns), files[path])
        for folder, columns in watched["files"].items()
        for name, inode, size, changed_ns in zip(*columns, strict=True)
        if (path := f"{folder}/{name}" if folder else name) in files
        and _is_settled(changed_ns, watched["made_ns"])
    }


# -- a file as it was read, in plain lists and tables --------------------------------------------


def _plain_document(item: ParsedDocument) -> dict[str, Any]:
    from ddx.base import row_of

    links = {name: _plain_links(getattr(item, name)) for name in _DOCUMENT_LINKS}
    return {**item.__dict__, **links, "findings": [row_of(finding) for finding in item.findings]}


def _plain_source_file(file: SourceFile) -> dict[str, Any]:
    return {"path": file.path, "links": _plain_links(file.links)}


def _plain_links(links: Sequence[Link]) -> list[tuple[str, int]]:
    return [(link.target, link.line) for link in links]


def _document(plain: dict[str, Any]) -> ParsedDocument:
    from ddx.base import finding_of
    from ddx.documents.model import Link, ParsedDocument

    links = {name: tuple(Link(*link) for link in plain[name]) for name in _DOCUMENT_LINKS}
    findings = tuple(finding_of(row) for row in plain["findings"])
    return ParsedDocument(**{**plain, **links, "findings": findings})


def _source_file(plain: dict[str, Any]) -> SourceFile:
    from ddx.documents.model import Link
    from ddx.documents.scan import SourceFile

    return SourceFile(plain["path"], tuple(Link(*link) for link in plain["links"]))


# -- the file of a cache -------------------------------------------------------------------------


@value
class CacheFile:
    """Plain values in sections; it counts only for this Python, this format and this folder."""

    path: str
    name: bytes
    format: int

    def find(self, *, sections: int) -> KeptSections | None:
        """What was written here; None if there is nothing, or another folder's or format's."""
        size = len(self._magic) + 8 * (1 + 2 * sections)
        try:
            file = open(self.path, "rb", buffering=0)
            head = file.read(size) or b""
        except OSError:
            return None
        if not head.startswith(self._magic) or len(head) < size:
            return None
        starts = range(len(self._magic), size, 8)
        folder, *rest = (int.from_bytes(head[at : at + 8], "little") for at in starts)
        return KeptSections(file, size, rest) if folder == self._folder_mark() else None

    def write(self, *values: Any) -> None:
        """Each value becomes a section."""
        sections = [marshal.dumps(one) for one in values]
        try:
            make_folder(os.path.dirname(self.path))
            numbers = [self._folder_mark()]
            for section in sections:
                numbers += (len(section), crc32(section))
            head = b"".join(number.to_bytes(8, "little") for number in numbers)
            replace(self.path, (self._magic, head, *sections), durable=False)
        except OSError:
            pass  # a cache that cannot be written costs time, never an answer

    @property
    def _magic(self) -> bytes:
        return b"%s %d %08x\n" % (self.name, self.format, sys.hexversion)

    def _folder_mark(self) -> int:
        """The folder that holds the cache, as nobody else can name it beforehand."""
        return os.stat(os.path.dirname(self.path)).st_ino


class KeptSections:
    """The sections of a cache file; each is read and checked when it is asked for."""

    def __init__(self, file: BinaryIO, start: int, sizes_and_sums: Sequence[int]) -> None:
        self._file = file
        self._spans = []
        for size, checksum in zip(sizes_and_sums[::2], sizes_and_sums[1::2], strict=True):
            self._spans.append((start, size, checksum))
            start += size

    def section(self, number: int) -> Any:
        """What was packed, or None where the bytes are not whole."""
        start, size, checksum = self._spans[number]
        content = os.pread(self._file.fileno(), size, start)
        return marshal.loads(content) if crc32(content) == checksum else None
