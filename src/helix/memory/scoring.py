"""Which memory comes first: the documented formula, among those that compete (D-17). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import Instant, changed, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from helix.memory.embedders import Calibration
    from helix.memory.model import Memory, MemoryEdge

RELEVANCE_WEIGHT, EFFECTIVENESS_WEIGHT, RECENCY_WEIGHT = 0.5, 0.3, 0.2
HALF_LIFE_DAYS = 7.0
UNPROVEN = 0.5
"""The effectiveness of a memory that no check has judged yet."""

LEAST_WEIGHT = 0.5
MOST_HOPS = 2
HOP_DISCOUNT = 0.5
"""What each step away from a direct hit leaves of its relevance."""

_DAY_S = 86_400.0


@value
class Similarity:
    """How close a memory is to a question, and what of that is due to what."""

    cosine: float = 0.0
    bm25: float = 0.0
    words: float = 0.0
    """What common words add."""
    files: float = 0.0
    """What a common file adds."""

    @property
    def raw(self) -> float:
        return self.cosine + self.words + self.files


@value
class RecallCandidate:
    memory: Memory
    similarity: Similarity


@value
class RecalledMemory:
    """A memory that was recalled, with every part of its score."""

    memory: Memory
    score: float
    relevance: float
    effectiveness: float
    recency: float
    similarity: Similarity
    hop: int = 0
    """0 for a direct hit; else how many edges away from one."""
    via: str = ""
    """The direct hit or neighbour that it hangs on."""


def score_of(relevance: float, effectiveness: float, recency: float) -> float:
    return (
        RELEVANCE_WEIGHT * relevance
        + EFFECTIVENESS_WEIGHT * effectiveness
        + RECENCY_WEIGHT * recency
    )


def effectiveness_of(helped: float, failed: float) -> float:
    """The share of helpful outcomes; in the middle while there is none."""
    return helped / (helped + failed) if helped + failed > 0 else UNPROVEN


def recency_of(memory: Memory, *, now: str) -> float:
    """Halved every week since it last helped, or since it was learned."""
    return float(2.0 ** (-idle_days(memory, now=now) / HALF_LIFE_DAYS))


def idle_days(memory: Memory, *, now: str) -> float:
    """Whole and broken days; a clock that went back makes nothing younger than new."""
    elapsed_s = Instant(memory.last_used or memory.created_at).seconds_until(now)
    return max(elapsed_s or 0.0, 0.0) / _DAY_S


def rank(
    candidates: Iterable[RecallCandidate], calibration: Calibration, *, now: str
) -> tuple[RecalledMemory, ...]:
    """The direct hits, best first: above the floor and close to the best one, then the formula."""
    above = [one for one in candidates if one.similarity.raw >= calibration.floor]
    if not above:
        return ()
    least = max(one.similarity.raw for one in above) - calibration.width
    close = [one for one in above if one.similarity.raw >= least]
    hits = [
        _recalled(it.memory, calibration.relevance(it.similarity.raw), it.similarity, now=now)
        for it in close
    ]
    return tuple(sorted(hits, key=lambda hit: (-hit.score, -hit.similarity.raw, hit.memory.name)))


def _recalled(
    memory: Memory,
    relevance: float,
    similarity: Similarity,
    *,
    now: str,
    hop: int = 0,
    via: str = "",
) -> RecalledMemory:
    effectiveness = effectiveness_of(memory.helped, memory.failed)
    recency = recency_of(memory, now=now)
    return RecalledMemory(
        memory,
        score_of(relevance, effectiveness, recency),
        relevance,
        effectiveness=effectiveness,
        recency=recency,
        similarity=similarity,
        hop=hop,
        via=via,
    )


# -- neighbours ----------------------------------------------------------------------------


def neighbours(
    hits: Sequence[RecalledMemory],
    edges: Iterable[MemoryEdge],
    find: Callable[[str], Memory | None],
    *,
    now: str,
) -> tuple[RecalledMemory, ...]:
    """Memories on edges from direct hits, best first, and none above the weakest of those."""
    weakest = min((hit.score for hit in hits), default=0.0)
    beside = _beside(edges)
    found = {hit.memory.name: hit for hit in hits}
    frontier = list(hits)
    for hop in range(1, MOST_HOPS + 1):
        reached: dict[str, RecalledMemory] = {}
        for origin in frontier:
            for name, weight in beside.get(origin.memory.name, ()):
                memory = None if name in found else find(name)
                if memory is None:
                    continue
                relevance = origin.relevance * min(weight, 1.0) * HOP_DISCOUNT
                via = origin.memory.name
                hit = _recalled(memory, relevance, Similarity(), now=now, hop=hop, via=via)
                if name not in reached or hit.score > reached[name].score:
                    reached[name] = hit
        found |= reached
        frontier = list(reached.values())
    joined = [hit for hit in found.values() if hit.hop]
    capped = [changed(hit, score=min(hit.score, weakest)) for hit in joined]
    return tuple(sorted(capped, key=lambda hit: (-hit.score, hit.hop, hit.memory.name)))


def _beside(edges: Iterable[MemoryEdge]) -> dict[str, list[tuple[str, float]]]:
    """Both directions of every edge that is strong enough."""
    found: dict[str, list[tuple[str, float]]] = {}
    for edge in edges:
        if edge.weight >= LEAST_WEIGHT and edge.source != edge.target:
            found.setdefault(edge.source, []).append((edge.target, edge.weight))
            found.setdefault(edge.target, []).append((edge.source, edge.weight))
    return found
