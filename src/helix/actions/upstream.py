"""Which documents govern a bead, and what they say now (S-3, D-6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ddx.execution.governing import Governing, govern
from ddx.execution.model import Bead
from ddx.tracker.model import links_of, text_of, texts_of

if TYPE_CHECKING:
    from ddx.execution.governing import GoverningDocument
    from ddx.graph.graph import Graph
    from ddx.tracker.model import Row

SEEN = "polished-upstream"
"""On a bead: the hashes of its documents when it was last looked at, or first selected."""


Memory: TypeAlias = dict[tuple[str, tuple[str, ...]], Mapping[str, str]]
"""What governed each bead, by what it names, when a run first saw it (S-3)."""


class Upstream:
    """The documents of every bead, each name followed once."""

    def __init__(self, graph: Graph, memory: Memory | None = None) -> None:
        self._graph = graph
        self._memory: Memory = {} if memory is None else memory
        self._known: dict[tuple[str, ...], tuple[GoverningDocument, ...]] = {}

    def documents(self, row: Row) -> tuple[GoverningDocument, ...]:
        """Those that the bead names, and all that is upstream of them."""
        names = (*links_of(row, "spec-id"), "", *links_of(row, "refs"))
        if len(names) == 1 or not len(self._graph):
            return ()
        if names not in self._known:
            found = govern(self._graph, Governing().definitions, [Bead(text_of(row, "id"), row)])
            self._known[names] = found.documents
        return self._known[names]

    def hashes(self, row: Row) -> dict[str, str]:
        return {item.id: item.content_hash for item in self.documents(row)}

    def paths(self, row: Row) -> frozenset[str]:
        return frozenset(item.path for item in self.documents(row))

    def has_moved(self, row: Row, *, awaited: Collection[str] = ()) -> bool:
        """Did a document change since somebody looked, or since this run first saw the bead?

        What it has `awaited`, because a bead before it was there to change it, is no surprise.
        """
        now = self.hashes(row)
        seen = seen_hashes(row)
        if seen is None:
            named = (*links_of(row, "spec-id"), *links_of(row, "refs"))
            seen = self._memory.setdefault((text_of(row, "id"), named), now)
        return any(seen.get(name) != now.get(name) for name in {*seen, *now} if name not in awaited)

    def named(self, row: Row) -> frozenset[str]:
        """The documents that the bead itself is about: by name, or at the paths that it writes."""
        names = [name.partition("#")[0] for name in links_of(row, "spec-id")]
        places = map(self._graph.find, (*names, *texts_of(row, "paths")))
        return frozenset(self._graph.ids[n] for n in places if n is not None)

    def missing(self, row: Row) -> str:
        """The spec-id that no document has; empty where there are no documents at all (S-3)."""
        if not len(self._graph):
            return ""
        for name in links_of(row, "spec-id"):
            wanted = name.partition("#")[0].strip()
            if self._graph.find(wanted) is None and not self._graph.holders(wanted):
                return name
        return ""


def seen_hashes(row: Row) -> Mapping[str, str] | None:
    """What was written on the bead; None: nobody has looked yet."""
    found = row.get(SEEN)
    if not isinstance(found, dict):
        return None
    return {str(name): str(said) for name, said in found.items()}
