"""How memories stand to each other, and who is near whom (M-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import Refused, UsageError
from ddx.values import value
from helix.memory.model import Edge, Relation
from helix.memory.rows import add_edge, edges_around, find_memory, require_memory
from helix.memory.scoring import LEAST_WEIGHT

if TYPE_CHECKING:
    from helix.memory.model import Memory
    from helix.memory.store import MemoryStore


@value
class Near:
    """A memory that can be reached, by how many steps, and the one before it on the way."""

    memory: Memory
    hop: int
    via: str
    relation: Relation


def relate(
    store: MemoryStore, source: str, target: str, relation: str, *, now: str, weight: float = 1.0
) -> bool:
    """One edge between two memories that exist; False if it was there."""
    if relation not in tuple(Relation):
        raise UsageError(f"type must be one of {', '.join(Relation)}, not {relation!r}")
    if source == target:
        raise Refused(f"{source} cannot be related to itself")
    with store.writing() as db:
        require_memory(db, source)
        require_memory(db, target)
        return add_edge(db, Edge(source, target, Relation(relation), weight), now=now)


def connected(store: MemoryStore, name: str, *, hops: int) -> tuple[Near, ...]:
    """What can be reached over edges that are strong enough, nearest first, each once."""
    with store.reading() as db:
        require_memory(db, name)
        edges = [
            edge for edge in edges_around(db, (name,), hops=hops) if edge.weight >= LEAST_WEIGHT
        ]
        reached: dict[str, Near] = {}
        frontier = {name}
        for hop in range(1, hops + 1):
            step: dict[str, Near] = {}
            for edge in edges:
                for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                    if here in frontier and there != name and there not in (*reached, *step):
                        memory = find_memory(db, there)
                        if memory is not None:
                            step[there] = Near(memory, hop, here, edge.relation)
            reached |= step
            frontier = set(step)
        return tuple(reached.values())
