"""The whole graph as plain lists, so that ten thousand documents load in milliseconds. Pure.

Nodes are numbered; `graph.document(n)` makes the value for one of them, `graph.place[id]` finds it.
What only some questions need (edges with their places, findings, sections) is unpacked on demand.
"""

from __future__ import annotations

from ddx.errors import NotFound
from ddx.graph.authority import numbered_id, resolve
from ddx.graph.model import Document, Edge, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from ddx.graph.model import Placed

NODES = ("ids", "paths", "titles", "types", "tiers", "statuses", "successors", "hashes")
LINKS = ("ups", "downs")
DETAILS = (
    *("edge_rows", "finding_rows", "reviews", "sections", "aliases", "executions", "metrics"),
    "doubts",
)


class Graph:
    """Documents, tests and code by number; who follows from whom."""

    ids: list[str]
    paths: list[str]
    titles: list[str]
    types: list[str]
    tiers: list[int | None]
    statuses: list[str]
    successors: list[tuple[str, ...]]
    hashes: list[str]
    ups: list[tuple[int, ...]]
    downs: list[tuple[int, ...]]
    edge_rows: list[tuple[str, str, str, str, int]]
    finding_rows: list[tuple[str, str, str, int, str]]
    reviews: dict[str, dict[str, str]]
    """Upstream hashes that a document's own front matter says were reviewed (G-8)."""
    sections: dict[str, tuple[str, ...]]
    aliases: dict[str, tuple[str, ...]]
    """Ids of parts, such as the test cases of a plan, and the documents that hold them."""
    executions: dict[str, Placed]
    metrics: dict[str, Placed]
    """What documents let one run and measure, as they say it; see definitions.py."""
    doubts: dict[str, tuple[str, ...]]
    """By id: what may hide a part of the document or something upstream of it (X-11)."""

    def __init__(
        self,
        facts: Mapping[str, Any],
        packed: Mapping[str, Callable[[], Mapping[str, Any]]] | None = None,
    ) -> None:
        """`packed` says for each list that is not in `facts` how to unpack it."""
        self.__dict__.update(facts)
        self._packed = packed or {}

    def __getattr__(self, name: str) -> Any:
        """What is derived or packed away, once."""
        match name:
            case "place":
                found: Any = dict(zip(self.ids, range(len(self.ids)), strict=True))
            case "known":
                found = {doc_id.casefold(): doc_id for doc_id in self.ids}
            case "at_path":
                found = dict(zip(self.paths, range(len(self.paths)), strict=True))
            case _ if name in self.__dict__.get("_packed", ()):
                self.__dict__.update(self._packed[name]())
                return self.__dict__[name]
            case _:
                raise AttributeError(name)
        self.__dict__[name] = found
        return found

    if TYPE_CHECKING:
        place: dict[str, int]
        known: dict[str, str]
        at_path: dict[str, int]

    def __len__(self) -> int:
        return len(self.ids)

    def document(self, n: int) -> Document:
        return Document(*(getattr(self, name)[n] for name in NODES))

    def find(self, name: str) -> int | None:
        """The node that a person means: an id, `ID-slug`, any case, a path, a test case's plan."""
        found = resolve(name, self.known)
        if found:
            return self.place[found]
        place = self.at_path.get(name.strip().removeprefix("./"))
        if place is not None:
            return place
        holders = self.holders(name)
        return self.place[holders[0]] if len(holders) == 1 else None

    def holders(self, part: str) -> tuple[str, ...]:
        """The documents that have a part of this name, such as the test case TC-001."""
        return self.aliases.get(numbered_id(part.strip()).casefold(), ())

    def require(self, name: str) -> int:
        n = self.find(name)
        if n is None:
            near = [doc_id for doc_id in self.ids if name.casefold() in doc_id.casefold()]
            near = [*self.holders(name), *near][:3]
            did = f"did you mean {' or '.join(near)}?" if name and near else ""
            hint = did or "see them all: ddx doc list"
            raise NotFound(f"there is no document {name!r}", hint=hint)
        return n

    def is_superseded(self, n: int) -> bool:
        """It carries no authority any more and leads to its successor (G-6)."""
        return self.statuses[n] == "superseded" or bool(self.successors[n] and not self.statuses[n])

    def heirs(self, n: int) -> tuple[int, ...]:
        """What took the place of a superseded document."""
        if not self.successors[n] or not self.is_superseded(n):
            return ()
        places = (self.find(name) for name in self.successors[n])
        return tuple(place for place in places if place is not None and place != n)

    def edges(self) -> Iterator[Edge]:
        return (Edge(*row) for row in self.edge_rows)

    def findings(self) -> tuple[Finding, ...]:
        return tuple(Finding(*row) for row in self.finding_rows)


def graph_of(
    documents: Sequence[Document],
    edges: Sequence[Edge],
    findings: Sequence[Finding],
    *,
    reviews: dict[str, dict[str, str]],
    sections: dict[str, tuple[str, ...]],
    aliases: dict[str, tuple[str, ...]],
    executions: dict[str, Placed],
    metrics: dict[str, Placed],
    doubts: dict[str, tuple[str, ...]],
) -> Graph:
    """The lists for these values; nodes in the order of ids."""
    nodes = sorted(documents, key=lambda document: document.id)
    place = {document.id: n for n, document in enumerate(nodes)}
    ups: list[list[int]] = [[] for _ in nodes]
    downs: list[list[int]] = [[] for _ in nodes]
    for edge in edges:
        up, down = place[edge.up], place[edge.down]
        ups[down].append(up)
        downs[up].append(down)
    keys = ("id", "path", "title", "type", "tier", "status", "superseded_by", "content_hash")
    facts: dict[str, Any] = {
        name: [getattr(document, key) for document in nodes]
        for name, key in zip(NODES, keys, strict=True)
    }
    return Graph(
        {
            **facts,
            "ups": [tuple(sorted(found)) for found in ups],
            "downs": [tuple(sorted(found)) for found in downs],
            "edge_rows": [(e.up, e.down, e.origin, e.path, e.line) for e in edges],
            "finding_rows": [(f.kind, f.severity, f.path, f.line, f.what) for f in findings],
            "reviews": reviews,
            "sections": sections,
            "aliases": aliases,
            "executions": executions,
            "metrics": metrics,
            "doubts": doubts,
        }
    )
