"""Making the graph anew: changed files are read, all others come from the last time."""

from __future__ import annotations

import os

from ddx.graph.assemble import assemble
from ddx.graph.model import Finding, Link, Parsed, Tags
from ddx.graph.scan import list_files, read_code, read_document
from ddx.graph.watch import MISSING, is_settled, stat_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.clock import Clock
    from ddx.graph.graph import Graph

    Watched = dict[str, Any]
    Files = dict[str, Any]

_LINKS = ("depends_on", "links", "superseded_by")


def rebuild(
    root: str, document_roots: list[str], old: tuple[Watched, Files] | None, *, clock: Clock
) -> tuple[Graph, Watched, Files]:
    """The graph, what to watch so that it stays right, and each file as it was read."""
    made_ns = clock.now_ns()
    listing = list_files(root, document_roots)
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        stats = {
            path: stat_of(fd, path)
            for path in (*listing.documents, *listing.code, *listing.ignores)
        }
        folders = {path: stat_of(fd, path)[2] for path in listing.folders}
    finally:
        os.close(fd)
    known = _still_true(old, stats) if old else {}
    documents = [
        _document(known[path]) if path in known else read_document(root, path)
        for path in listing.documents
        if stats[path] != MISSING or os.path.islink(os.path.join(root, path))
    ]
    code = [_tags(known[path]) if path in known else read_code(root, path) for path in listing.code]
    graph = assemble(documents, [tags for tags in code if tags.links])
    newest_ns = max((0, *(seen[2] for seen in stats.values()), *folders.values()))
    watched = {
        "roots": document_roots,
        "made_ns": made_ns,
        "is_settled": is_settled(newest_ns, made_ns),
        "files": stats,
        "folders": folders,
    }
    files = {item.path: _packed(item) for item in documents}
    files |= {item.path: _packed_tags(item) for item in code}
    return graph, watched, files


def _still_true(old: tuple[Watched, Files], stats: dict[str, tuple[int, int, int]]) -> Files:
    watched, files = old
    return {
        path: packed
        for path, packed in files.items()
        if watched["files"].get(path) == stats.get(path)
        and is_settled(stats[path][2], watched["made_ns"])
    }


def _packed(item: Parsed) -> dict[str, Any]:
    links = {name: [(link.target, link.line) for link in getattr(item, name)] for name in _LINKS}
    findings = [tuple(finding.__dict__.values()) for finding in item.findings]
    return {**item.__dict__, **links, "findings": findings}


def _document(packed: dict[str, Any]) -> Parsed:
    links = {name: tuple(Link(*link) for link in packed[name]) for name in _LINKS}
    findings = tuple(Finding(*finding) for finding in packed["findings"])
    return Parsed(**{**packed, **links, "findings": findings})


def _packed_tags(item: Tags) -> dict[str, Any]:
    return {
        "path": item.path,
        "links": [(link.target, link.line) for link in item.links],
        "kind": item.kind,
    }


def _tags(packed: dict[str, Any]) -> Tags:
    return Tags(packed["path"], tuple(Link(*link) for link in packed["links"]), packed["kind"])
