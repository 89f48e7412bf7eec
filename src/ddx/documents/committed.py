"""The documents of one commit, and what it breaks among them (X-11).

They are read once for each state of their folders, then kept. What was kept counts only for the
very trees it was made of, and only in the folder where we put it, so bytes that came with a
repository are never unpacked. Anyone may delete it.
"""

from __future__ import annotations

import os
from collections import Counter

from ddx.base import finding_of, row_of, value
from ddx.documents.assembly import assemble
from ddx.documents.cache import CacheFile
from ddx.documents.catalog import definitions_of, is_metric_file, read_metrics
from ddx.documents.definitions import BrokenDefinition, define
from ddx.documents.graph import DETAILS, LINKS, NODES, Graph
from ddx.documents.model import identity, tier_of, type_of
from ddx.documents.parser import parse
from ddx.documents.scan import is_scanned, read_code, read_document
from ddx.git import content, entries, tree_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ddx.base import Finding
    from ddx.documents.definitions import Definitions
    from ddx.documents.model import ParsedDocument
    from ddx.documents.scan import SourceFile
    from ddx.git import TreeEntry
    from ddx.project import Project

_FORMAT = 3  # raise it whenever a file is read in another way
_FACTS = (*NODES, *LINKS, *DETAILS)


@value
class DocumentRank:
    """What a file is called in the graph, and how much it has to say; None: no authority."""

    id: str
    tier: int | None


@value
class CommitDocuments:
    """What the documents of a commit say; code and tests are not looked at."""

    graph: Graph
    definitions: Definitions
    files: Mapping[str, DocumentRank]
    """Every document and metric file there, those too that the graph had to leave out."""


NOTHING = CommitDocuments(assemble(()), define({}, {}), {})


def read_documents(
    project: Project, document_roots: Sequence[str], *, checkout: str, commit: str
) -> CommitDocuments:
    """The documents of `commit`, which `checkout` holds unchanged below the roots."""
    folders = [root for root in document_roots if os.path.isdir(os.path.join(checkout, root))]
    ids = {root: tree_id(checkout, commit, root) for root in folders}
    key = [[root, tree] for root, tree in ids.items() if tree]
    if not key:
        return NOTHING
    there = [root for root, _ in key]
    cache = CacheFile(project.ddx("cache", "committed.idx"), b"ddx committed documents", _FORMAT)
    kept = cache.find(sections=2)
    found = kept.section(1) if kept and kept.section(0) == key else None
    if found is None:
        files = entries(checkout, commit, there)
        found = _read(checkout, there, files)
        if not any(file.is_link for file in files):  # it may lead out of the roots
            cache.write(key, found)
    facts, metrics, rows, ranks = found
    graph = Graph(dict(zip(_FACTS, facts, strict=True)))
    problems = [BrokenDefinition(**{**row, "finding": finding_of(row["finding"])}) for row in rows]
    standings = {place: DocumentRank(*standing) for place, standing in ranks.items()}
    return CommitDocuments(graph, definitions_of(graph, metrics, problems), standings)


def _read(checkout: str, roots: Sequence[str], tree: Sequence[TreeEntry]) -> tuple[Any, ...]:
    """Everything in plain lists and tables, as it is kept."""
    pages = [entry.path for entry in tree if entry.path.endswith(".md")]
    graph = assemble([read_document(checkout, path) for path in pages])
    metrics, problems = read_metrics(checkout, roots, graph)
    files = {}
    for entry in tree:
        if entry.path.endswith(".md") or is_metric_file(entry.path, roots):
            standing = _standing(graph, entry.path)
            files[entry.path] = standing
            if entry.is_link:
                files |= dict.fromkeys(_behind(checkout, entry.path), standing)
    return (
        [getattr(graph, name) for name in _FACTS],
        metrics,
        [{**problem.__dict__, "finding": row_of(problem.finding)} for problem in problems],
        files,
    )


def _standing(graph: Graph, path: str) -> tuple[str, int | None]:
    n = graph.at_path.get(path)
    if n is not None:
        return graph.ids[n], graph.tiers[n]
    name = identity(path, "")
    return name, tier_of(type_of(path, name, ""))


def _behind(checkout: str, path: str) -> list[str]:
    """The file of the checkout that a symbolic link leads to, if it leads to one."""
    home = os.path.realpath(checkout)
    target = os.path.relpath(os.path.realpath(os.path.join(home, path)), home)
    return [] if target.startswith("..") else [target]


def find_new_errors(
    root: str,
    checkout: str,
    *,
    base: str,
    commit: str,
    changed: Sequence[str],
    is_page: Callable[[str], bool],
) -> tuple[Finding, ...]:
    """The errors of a commit that its base has not.

    `checkout` holds the files of the commit, `changed` are those that differ, and `is_page` says
    which files are documents. Both commits are in the repository of `root`.
    """
    tree = entries(root, commit, ["."])
    ours = [path for path in changed if is_page(path)]
    after = [read_document(checkout, entry.path) for entry in tree if is_page(entry.path)]
    before = [item for item in after if item.path not in ours] + _earlier(root, base, ours)
    now, then = assemble(after), assemble(before)
    if set(then.ids) - set(now.ids):  # code may name what is gone
        tags = _tagged(checkout, tree)
        now, then = assemble(after, tags), assemble(before, tags)
    known = Counter(map(_told, _errors(then)))
    found = []
    for error in _errors(now):
        if known[_told(error)]:
            known[_told(error)] -= 1
        else:
            found.append(error)
    return tuple(found)


def _earlier(root: str, base: str, paths: Sequence[str]) -> list[ParsedDocument]:
    kept = ((path, content(root, base, path)) for path in paths)
    return [parse(path, text) for path, text in kept if text is not None]


def _tagged(checkout: str, tree: Sequence[TreeEntry]) -> list[SourceFile]:
    files = (read_code(checkout, entry.path) for entry in tree if is_scanned(entry.path))
    return [file for file in files if file.links]


def _errors(graph: Graph) -> list[Finding]:
    return [item for item in graph.validate() if item.is_error]


def _told(finding: Finding) -> tuple[str, str, str]:
    """An error that only moved to another line is the same."""
    return finding.kind, finding.where, finding.what
