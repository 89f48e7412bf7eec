"""How memory is doing: what is there, what it is worth, what wants attention (M-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import value
from helix.memory.embedders import NoEmbedder
from helix.memory.maintenance import is_useless
from helix.memory.model import MemoryKind
from helix.memory.rows import all_edges, all_memories
from helix.memory.scoring import effectiveness_of
from helix.memory.store import LATEST

if TYPE_CHECKING:
    from helix.memory.embedders import Embedder
    from helix.memory.model import Memory
    from helix.memory.store import MemoryStore

HEALTHY, NEEDS_ATTENTION = "HEALTHY", "NEEDS_ATTENTION"


@value
class Tally:
    count: int
    helped: float
    failed: float


@value
class MemoryHealth:
    """`status` is HEALTHY when nothing wants attention; an empty store is not ill."""

    path: str
    schema: int
    total: int
    by_type: tuple[tuple[MemoryKind, Tally], ...]
    with_feedback: int
    effectiveness: float
    relationships: int
    embedder: str
    """Empty: recall goes by words alone."""
    waiting: int
    """Memories that have no vectors of this embedder yet."""
    held: int
    issues: tuple[str, ...]

    @property
    def status(self) -> str:
        return NEEDS_ATTENTION if self.issues else HEALTHY

    @property
    def sentence(self) -> str:
        """One line for whoever starts a session (O-11)."""
        word = "memory" if self.total == 1 else "memories"
        known = f"{self.total} {word}, {self.with_feedback} judged by checks"
        return f"{known}; {self.issues[0]}" if self.issues else known


def health_of(store: MemoryStore, embedder: Embedder | NoEmbedder) -> MemoryHealth:
    """Nothing is embedded and nothing is changed to find out."""
    name, waiting = "", 0
    with store.reading() as db:
        memories = all_memories(db)
        relationships = len(all_edges(db))
        held = int(db.execute("SELECT count(*) FROM quarantine").fetchone()[0])
        if not isinstance(embedder, NoEmbedder):
            from helix.memory.vectors import count_waiting  # needs numpy, as an embedder does

            name, waiting = embedder.id, count_waiting(db, embedder)
        broken = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    judged = [memory for memory in memories if memory.uses > 0]
    helped, failed = (sum(getattr(it, name) for it in judged) for name in ("helped", "failed"))
    issues = [
        *([] if broken == "ok" else [f"the database is damaged: {broken}"]),
        *_of_embedder(embedder),
        *_of_memories(memories),
        *([f"{held} held back: helix memory review"] if held else []),
    ]
    return MemoryHealth(
        path=store.path,
        schema=LATEST,
        total=len(memories),
        by_type=tuple((kind, _tally(memories, kind)) for kind in MemoryKind),
        with_feedback=len(judged),
        effectiveness=effectiveness_of(helped, failed),
        relationships=relationships,
        embedder=name,
        waiting=waiting,
        held=held,
        issues=tuple(issues),
    )


def _tally(memories: list[Memory], kind: MemoryKind) -> Tally:
    those = [memory for memory in memories if memory.type == kind]
    return Tally(len(those), sum(it.helped for it in those), sum(it.failed for it in those))


def _of_embedder(embedder: Embedder | NoEmbedder) -> list[str]:
    if not isinstance(embedder, NoEmbedder) or embedder.is_chosen:
        return []
    hint = f" ({embedder.hint})" if embedder.hint else ""
    return [f"recall goes by words alone: {embedder.reason}{hint}"]


def _of_memories(memories: list[Memory]) -> list[str]:
    useless = sum(map(is_useless, memories))
    return [f"{useless} hardly ever helped: helix memory prune --dry-run"] if useless else []
