"""Beads that name a document: the one place where the graph and the tracker meet here (G-7)."""

from __future__ import annotations

from ddx.cli.session import open_tracker
from ddx.errors import NotFound
from ddx.fastjson import to_bytes
from ddx.tracker.codec import decode
from ddx.tracker.model import links_of
from ddx.tracker.snapshot import read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ddx.graph.graph import Graph
    from ddx.tracker.snapshot import Snapshot


def beads_about(graph: Graph, n: int) -> list[dict[str, Any]]:
    """Those that name it in spec-id or refs, archived ones last; none where there is no tracker."""
    tracker = open_tracker()
    try:
        view = tracker.snapshot()
    except NotFound:
        return []
    found = list(_beads_in(view, graph, n))
    archive = tracker.archive()
    if archive is not None:
        kept = _beads_in(archive, graph, n)
        found += [{**bead, "archived": True} for bead in kept if bead["id"] not in view]
    return found


def _beads_in(view: Snapshot, graph: Graph, n: int) -> Iterator[dict[str, Any]]:
    columns = view.columns
    governed = {spec for spec in set(columns.specs) if _means(graph, n, spec.split(","))}
    referring = set(_referring(view, graph, n))
    for place, bead_id in enumerate(columns.ids):
        by = [
            name
            for name, refers in (
                ("spec-id", columns.specs[place] in governed),
                ("refs", place in referring),
            )
            if refers
        ]
        if by:
            yield {
                "id": bead_id,
                "status": columns.statuses[place],
                "title": columns.titles[place],
                "by": by,
                "archived": False,
            }


def _referring(view: Snapshot, graph: Graph, n: int) -> Iterator[int]:
    """Refs are in no column, so only rows that hold one of the document's names are decoded."""
    content = read_all(view.fd, view.identity.size).lower()
    if b'"refs"' not in content:
        return
    doc_id = graph.ids[n]
    parts = [name for name, holders in graph.aliases.items() if doc_id in holders]
    names = [to_bytes(name)[1:-1].lower() for name in (doc_id, graph.paths[n], *parts)]
    places = zip(view.columns.starts, view.columns.ends, strict=True)
    for place, (start, end) in enumerate(places):
        line = content[start:end]
        if b'"refs"' in line and any(name in line for name in names):
            row = decode(view.line(place))
            if _means(graph, n, links_of(row, "refs")):
                yield place


def _means(graph: Graph, n: int, names: Iterable[str]) -> bool:
    """`FEAT-001#goals` means FEAT-001."""
    return any(graph.find(name.partition("#")[0]) == n for name in names if name.strip())
