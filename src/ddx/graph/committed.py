"""The documents of one commit: read once for each state of their folders, then kept (X-11).

What was kept counts only for the very trees it was made of, and only in the folder where we put
it, so bytes that came with a repository are never unpacked. Anyone may delete it.
"""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

from ddx.files import replace
from ddx.git import trees
from ddx.graph.assemble import assemble
from ddx.graph.authority import identity, tier_of, type_of
from ddx.graph.cache import folder_mark, make_folder
from ddx.graph.graph import DETAILS, LINKS, NODES, Graph
from ddx.graph.model import Finding
from ddx.graph.proof.catalog import definitions_of, is_metric_file, read_metrics
from ddx.graph.proof.definitions import Broken, define
from ddx.graph.scan import read_document
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ddx.git.trees import Entry
    from ddx.graph.proof.definitions import Definitions
    from ddx.project import Project

_FORMAT = 1  # raise it whenever a file is read in another way
_MAGIC = b"ddx committed documents %d %08x\n" % (_FORMAT, sys.hexversion)
_HEAD = len(_MAGIC) + 16
_FACTS = (*NODES, *LINKS, *DETAILS)


@value
class Standing:
    """What a file is called in the graph, and how much it has to say; None: no authority."""

    id: str
    tier: int | None


@value
class Documents:
    """What the documents of a commit say; code and tests are not looked at."""

    graph: Graph
    definitions: Definitions
    files: Mapping[str, Standing]
    """Every document and metric file there, those too that the graph had to leave out."""


NOTHING = Documents(assemble(()), define({}, {}), {})


def read_documents(
    project: Project, document_roots: Sequence[str], *, checkout: str, commit: str
) -> Documents:
    """The documents of `commit`, which `checkout` holds unchanged below the roots."""
    found = [root for root in document_roots if os.path.isdir(os.path.join(checkout, root))]
    roots = {root: trees.tree_id(checkout, commit, root) for root in found}
    there = [root for root, tree in roots.items() if tree]
    if not there:
        return NOTHING
    key = [[root, roots[root]] for root in there]
    path = project.ddx("cache", "committed.idx")
    kept = _load(path, key)
    if kept is None:
        entries = trees.entries(checkout, commit, there)
        kept = _read(checkout, there, entries)
        if not any(entry.is_link for entry in entries):  # it may lead out of the roots
            _save(path, key, kept)
    facts, metrics, rows, files = kept
    graph = Graph(dict(zip(_FACTS, facts, strict=True)))
    problems = [Broken(name, kind, Finding(*it), *rest) for name, kind, it, *rest in rows]
    standings = {place: Standing(*standing) for place, standing in files.items()}
    return Documents(graph, definitions_of(graph, metrics, problems), standings)


def _read(checkout: str, roots: Sequence[str], entries: Sequence[Entry]) -> tuple[Any, ...]:
    """Everything in plain lists and tables, as it is kept."""
    pages = [entry.path for entry in entries if entry.path.endswith(".md")]
    graph = assemble([read_document(checkout, path) for path in pages])
    metrics, problems = read_metrics(checkout, roots, graph)
    files = {}
    for entry in entries:
        if entry.path.endswith(".md") or is_metric_file(entry.path, roots):
            standing = _standing(graph, entry.path)
            files[entry.path] = standing
            if entry.is_link:
                files |= dict.fromkeys(_behind(checkout, entry.path), standing)
    return (
        [getattr(graph, name) for name in _FACTS],
        metrics,
        [_packed(problem) for problem in problems],
        files,
    )


def _packed(problem: Broken) -> tuple[Any, ...]:
    finding = tuple(problem.finding.__dict__.values())
    return tuple({**problem.__dict__, "finding": finding}.values())


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


def _load(path: str, key: list[list[str]]) -> tuple[Any, ...] | None:
    try:
        with open(path, "rb") as file:
            head, content = file.read(_HEAD), file.read()
        mark, checksum = head[len(_MAGIC) :][:8], head[len(_MAGIC) :][8:]
        if (
            not head.startswith(_MAGIC)
            or mark != folder_mark(path).to_bytes(8, "little")
            or checksum != crc32(content).to_bytes(8, "little")
        ):
            return None
    except OSError:
        return None
    kept_key, kept = marshal.loads(content)  # noqa: S302 - the head named this very folder
    return kept if kept_key == key else None


def _save(path: str, key: list[list[str]], kept: tuple[Any, ...]) -> None:
    content = marshal.dumps((key, kept))
    try:
        make_folder(os.path.dirname(path))
        mark = folder_mark(path).to_bytes(8, "little")
        checksum = crc32(content).to_bytes(8, "little")
        replace(path, (_MAGIC, mark, checksum, content), durable=False)
    except OSError:
        pass  # a cache that cannot be written costs time, never an answer
