"""The whole graph as plain lists, so that ten thousand documents load in milliseconds. Pure.

Nodes are numbered; `graph.document(n)` makes the value for one of them, `graph.place[id]` finds it.
What only some questions need (edges with their places, findings, sections) is unpacked on demand.
"""

from __future__ import annotations

from ddx.base import NotFound, value
from ddx.documents.model import (
    LAST,
    WITHOUT_AUTHORITY,
    BrokenLink,
    Document,
    DocumentEdge,
    numbered_id,
    resolve,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ddx.base import Finding
    from ddx.documents.model import Placed

NODES = ("ids", "paths", "titles", "types", "tiers", "statuses", "successors", "hashes")
_FIELDS = ("id", "path", "title", "type", "tier", "status", "superseded_by", "content_hash")
"""Of a document, in the same order."""
LINKS = ("ups", "downs")
DETAILS = (
    *("edge_rows", "finding_rows", "reviews", "sections", "aliases", "executions", "metrics"),
    *("doubts", "gap_rows"),
)

_HISTORICAL = frozenset({"superseded", "deprecated", "archived", "historical"})
MAX_DEPTH = 10


@value
class ReachedNode:
    """A node on the way from a start: how far, and by which path of nodes."""

    n: int
    distance: int
    path: tuple[int, ...]


@value
class DocumentImpact:
    impacted: tuple[ReachedNode, ...]
    governing: tuple[ReachedNode, ...]
    superseded: tuple[ReachedNode, ...]
    """Upstream as well, but without authority any more: for a person to see."""


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
    gap_rows: list[tuple[str, str, str, int]]

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
        columns = zip(_FIELDS, NODES, strict=True)
        return Document(**{field: getattr(self, name)[n] for field, name in columns})

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

    def resolve(self, name: str) -> str:
        """The id that a name means, with or without its slug; empty: it is no document's."""
        return resolve(name, self.known)

    def rank(self, n: int) -> tuple[int, str]:
        """Where a node stands in the order of authority; what has no tier comes last."""
        tier = self.tiers[n]
        return (LAST if tier is None else tier, self.ids[n])

    def has_authority(self, n: int) -> bool:
        """Reports, plans and what was superseded have no say (G-4, G-6)."""
        return self.types[n] not in WITHOUT_AUTHORITY and not self.is_superseded(n)

    def is_reviewable(self, n: int) -> bool:
        """Tests and code are proven, not reviewed; records of a day and what is history stay."""
        return (
            self.has_authority(n)
            and self.types[n] not in ("test", "code")
            and self.statuses[n] not in _HISTORICAL
        )

    def is_superseded(self, n: int) -> bool:
        """It carries no authority any more and leads to its successor (G-6)."""
        return self.statuses[n] == "superseded" or bool(self.successors[n] and not self.statuses[n])

    def heirs(self, n: int) -> tuple[int, ...]:
        """What took the place of a superseded document."""
        if not self.successors[n] or not self.is_superseded(n):
            return ()
        places = (self.find(name) for name in self.successors[n])
        return tuple(place for place in places if place is not None and place != n)

    def edges(self) -> Iterator[DocumentEdge]:
        return (
            DocumentEdge(up, down, origin, path=path, line=line)
            for up, down, origin, path, line in self.edge_rows
        )

    def gaps(self) -> Iterator[BrokenLink]:
        """The names that lead nowhere, in the order of files and lines; each is a finding too."""
        return (
            BrokenLink(writer, target, path, line=line)
            for writer, target, path, line in self.gap_rows
        )

    def findings(self) -> tuple[Finding, ...]:
        from ddx.base import finding_of

        return tuple(finding_of(row) for row in self.finding_rows)

    # -- what follows from what --------------------------------------------------------------

    def closure(
        self, starts: Sequence[int], *, down: bool, max_depth: int = MAX_DEPTH
    ) -> list[ReachedNode]:
        """Breadth first from the starts; ordered by authority, then distance, then id."""
        steps = self.downs if down else self.ups
        found: list[ReachedNode] = []
        seen = set(starts)
        border = [ReachedNode(n, 0, (n,)) for n in starts]
        while border:
            beyond = []
            for reached in border:
                if reached.distance == max_depth:
                    continue
                # A superseded document leads to its replacement as well.
                for n in (*steps[reached.n], *self.heirs(reached.n)):
                    if n not in seen:
                        seen.add(n)
                        beyond.append(ReachedNode(n, reached.distance + 1, (*reached.path, n)))
            found += beyond
            border = beyond
        return self.ordered(found)

    def ordered(self, reached: Iterable[ReachedNode]) -> list[ReachedNode]:
        """By authority, then distance, then id."""
        return sorted(reached, key=self._order)

    def _order(self, reached: ReachedNode) -> tuple[int, int, str]:
        tier, name = self.rank(reached.n)
        return (tier, reached.distance, name)

    def impact(
        self, starts: Sequence[int], *, hits: Sequence[int] = (), max_depth: int = MAX_DEPTH
    ) -> DocumentImpact:
        """Impacted: all that follows from the starts. Governing: all that these follow from.

        Up and then down again is never gone, else every sibling would be impacted. `hits` were
        found by search: each is impacted itself, at distance 0, unless it is in one of the two
        sets already.
        """
        found = self._impact(starts, (), max_depth=max_depth)
        known = {*starts, *(item.n for sets in found.__dict__.values() for item in sets)}
        fresh = [n for n in dict.fromkeys(hits) if n not in known]
        return self._impact(starts, fresh, max_depth=max_depth) if fresh else found

    def _impact(
        self, starts: Sequence[int], hits: Sequence[int], *, max_depth: int
    ) -> DocumentImpact:
        below = self.closure([*starts, *hits], down=True, max_depth=max_depth)
        impacted = [*below, *(ReachedNode(n, 0, (n,)) for n in hits)]
        touched = [*starts, *(item.n for item in impacted)]
        above = self.closure(touched, down=False, max_depth=max_depth)
        return DocumentImpact(
            tuple(self.ordered(impacted)),
            tuple(item for item in above if not self.is_superseded(item.n)),
            tuple(item for item in above if self.is_superseded(item.n)),
        )

    # -- what a text or a person asks --------------------------------------------------------

    def named_in(self, text: str) -> tuple[dict[int, str], str]:
        """By node, the name it goes by in the text; and the text without those names."""
        from ddx.documents.terms import named_in

        return named_in(self, text)

    def unknown_in(self, text: str) -> tuple[str, ...]:
        """What is written like the id of a document and is none here, each once."""
        from ddx.documents.terms import unknown_in

        return unknown_in(self, text)

    def validate(self) -> list[Finding]:
        """Everything that is wrong with the documents, errors first, then by place."""
        from ddx.documents.templates import validate

        return validate(self)


def graph_of(
    documents: Sequence[Document],
    edges: Sequence[DocumentEdge],
    findings: Sequence[Finding],
    *,
    gaps: Sequence[BrokenLink],
    details: Mapping[str, Any],
) -> Graph:
    """The lists for these values, nodes in the order of ids; `details` are lists already."""
    nodes = sorted(documents, key=lambda document: document.id)
    place = {document.id: n for n, document in enumerate(nodes)}
    ups: list[list[int]] = [[] for _ in nodes]
    downs: list[list[int]] = [[] for _ in nodes]
    for edge in edges:
        up, down = place[edge.up], place[edge.down]
        ups[down].append(up)
        downs[up].append(down)
    facts: dict[str, Any] = {
        name: [getattr(document, field) for document in nodes]
        for name, field in zip(NODES, _FIELDS, strict=True)
    }
    return Graph(
        {
            **facts,
            **details,
            "ups": [tuple(sorted(found)) for found in ups],
            "downs": [tuple(sorted(found)) for found in downs],
            "edge_rows": [(e.up, e.down, e.origin, e.path, e.line) for e in edges],
            "finding_rows": [(f.kind, f.severity, f.where, f.line, f.what) for f in findings],
            "gap_rows": [(gap.writer, gap.target, gap.path, gap.line) for gap in gaps],
        }
    )
