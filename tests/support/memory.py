"""A store in a temporary folder, and an embedder whose similarities a test can foresee."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from ddx.base.masking import Masker
from ddx.testing import FakeClock
from helix.memory.embedders import Calibration, NoEmbedder
from helix.memory.model import Memory, MemoryDraft, MemoryKind, identity
from helix.memory.storage import (
    MemoryAdded,
    MemoryMerged,
    MemoryRejected,
    StoreContext,
    StoreOutcome,
    store_memory,
)
from helix.memory.store import MemoryStore

if TYPE_CHECKING:
    from helix.memory.embedders import Vectors

NOW = "2026-03-01T12:00:00.000000Z"
OFF = NoEmbedder("switched off", is_chosen=True)
MASKER = Masker({"API_TOKEN": "s3cr3t-value-of-ann"})
GARDEN = {
    "cat": "pet",
    "dog": "pet",
    "kitten": "pet",
    "rose": "flower",
    "tulip": "flower",
}


class WordEmbedder:
    """A number a word, counted; words that GARDEN knows count as what they are an example of."""

    def __init__(self, id: str = "words/1", dimension: int = 512) -> None:
        self.id = id
        self.dimension = dimension
        self.calibration = Calibration(floor=0.3, width=0.1, full=0.8, text_weight=0.2)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        rows = numpy.zeros((len(texts), self.dimension), dtype=numpy.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in identity(text).split() or ["nothing"]:
                meant = GARDEN.get(word, word)
                row[sum(map(ord, meant)) * 31 % self.dimension] += 1.0
            row /= numpy.linalg.norm(row)
        return rows


class Bench:
    """One database and what storing takes; `keep` stores in one line."""

    def __init__(self, folder: Path, embedder: WordEmbedder | NoEmbedder = OFF) -> None:
        self.clock = FakeClock()
        self.path = str(folder / "helix.db")
        self.store = MemoryStore(self.path)
        self.wits = StoreContext(embedder, MASKER)

    def __enter__(self) -> Bench:
        self.store.__enter__()
        return self

    def __exit__(self, *ended: object) -> None:
        self.store.close()

    @property
    def now(self) -> str:
        return self.clock.stamp()

    def offer(
        self, trigger: str, resolution: str = "Do it so", type: str = "failure"
    ) -> StoreOutcome:
        return store_memory(
            self.store, MemoryDraft(type, trigger, resolution), self.wits, now=self.now
        )

    def keep(self, trigger: str, resolution: str = "Do it so", type: str = "failure") -> str:
        match self.offer(trigger, resolution, type):
            case MemoryAdded(memory=memory) | MemoryMerged(memory=memory):
                return memory.name
            case MemoryRejected(reason=reason):
                raise AssertionError(reason)

    def memory(self, name: str) -> Memory:
        from helix.memory.rows import require_memory

        with self.store.reading() as db:
            return require_memory(db, name)

    def names(self) -> list[str]:
        from helix.memory.rows import all_memories

        with self.store.reading() as db:
            return [memory.name for memory in all_memories(db)]


def a_memory(name: str = "m", **fields: object) -> Memory:
    plain = {"type": MemoryKind.FAILURE, "trigger": "something happens", "resolution": "do it so"}
    return Memory(id=1, name=name, **{**plain, "created_at": NOW, **fields})  # type: ignore[arg-type]
