"""Reading what documents say has to hold, for helix.policy.conflicts (I-5)."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from ddx.graph.authority import LAST, WITHOUT_AUTHORITY
from ddx.graph.parse import LARGEST_FILE
from helix.policy.statements import statements_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddx.graph.graph import Graph
    from ddx.project import Project
    from helix.policy.conflicts import Statement

MOST_STATEMENTS = 20_000
"""Of a whole project; what is left out is what has the least authority."""
_DOCUMENT = ".md"


def read_statements(
    project: Project, graph: Graph, documents: Iterable[str]
) -> tuple[Statement, ...]:
    """The statements of these documents, by authority; what is gone or cannot be read says none.

    Reports, plans and superseded documents carry no authority, and tests and code are no documents.
    """
    places = {n for name in documents if (n := graph.find(name)) is not None}
    found: list[Statement] = []
    for n in sorted(places, key=lambda n: (_rank(graph, n), graph.ids[n])):
        path = graph.paths[n]
        if not path.endswith(_DOCUMENT) or not _has_authority(graph, n):
            continue
        text = _text(os.path.join(project.root, path))
        found += statements_in(text, document=graph.ids[n], tier=graph.tiers[n], path=path)
        if len(found) >= MOST_STATEMENTS:
            break
    return tuple(found[:MOST_STATEMENTS])


def _has_authority(graph: Graph, n: int) -> bool:
    return graph.types[n] not in WITHOUT_AUTHORITY and not graph.is_superseded(n)


def _rank(graph: Graph, n: int) -> int:
    tier = graph.tiers[n]
    return LAST if tier is None else tier


def _text(path: str) -> str:
    """A file's text with plain line ends; nothing of it if it is no file, gone or too large."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):  # a pipe or a device would never end
            return ""
        try:
            content = file.read(LARGEST_FILE + 1)
        except OSError:
            return ""
    if len(content) > LARGEST_FILE:
        return ""
    text = content.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
