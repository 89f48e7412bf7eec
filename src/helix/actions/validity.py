"""Whether a pass broke a document: errors of `ddx doc validate` that were not there before (A-10).

Only what the commits hold is looked at, through the operator's own repository: an agent may have
left anything in the workspace's git folder.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ddx.git.trees import content, entries
from ddx.graph.assemble import assemble
from ddx.graph.model import ERROR
from ddx.graph.parse import parse
from ddx.graph.scan import read_code, read_document
from ddx.graph.tags import is_scanned
from ddx.graph.templates import sections_for
from ddx.graph.validation import validate
from helix.actions.territory import is_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.execution.model import Product
    from ddx.git.trees import Entry
    from ddx.graph.graph import Graph
    from ddx.graph.model import Finding, Parsed, Tags
    from ddx.project import Project


def new_errors(project: Project, roots: Sequence[str], product: Product) -> tuple[Finding, ...]:
    """What is wrong with the documents now and would not be without this pass."""
    tree = entries(project.root, product.commit, ["."])
    pages = [entry.path for entry in tree if is_document(entry.path, roots)]
    ours = [path for path in product.paths if is_document(path, roots)]
    after = [read_document(product.folder, path) for path in pages]
    before = [item for item in after if item.path not in ours] + _earlier(project, product, ours)
    now, then = assemble(after), assemble(before)
    if set(then.ids) - set(now.ids):  # code may name what is gone
        tags = _tags(product.folder, tree)
        now, then = assemble(after, tags), assemble(before, tags)
    known = Counter(map(_told, _errors(then)))
    found = []
    for error in _errors(now):
        if known[_told(error)]:
            known[_told(error)] -= 1
        else:
            found.append(error)
    return tuple(found)


def _earlier(project: Project, product: Product, paths: Sequence[str]) -> list[Parsed]:
    kept = ((path, content(project.root, product.base, path)) for path in paths)
    return [parse(path, text) for path, text in kept if text is not None]


def _tags(folder: str, tree: Sequence[Entry]) -> list[Tags]:
    tags = (read_code(folder, entry.path) for entry in tree if is_scanned(entry.path))
    return [item for item in tags if item.links]


def _errors(graph: Graph) -> list[Finding]:
    return [item for item in validate(graph, sections_for) if item.severity == ERROR]


def _told(finding: Finding) -> tuple[str, str, str]:
    """An error that only moved to another line is the same."""
    return finding.kind, finding.path, finding.what
