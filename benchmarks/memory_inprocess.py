"""How long a question takes and how much memory it needs at one size; prints JSON.

    memory_inprocess.py DATABASE MEMORIES ROUNDS

The vectors are drawn by chance, since embedding a hundred thousand texts says nothing about recall;
the question is embedded by the shipped model each time.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from pathlib import Path

import numpy

from ddx.base.instants import Instant
from helix.memory.embedders import NoEmbedder
from helix.memory.embedders.minilm import open_minilm
from helix.memory.recall import Recall, RecallQuery
from helix.memory.store import MemoryStore
from helix.memory.vectors import packed

NOW = Instant.at(1_772_366_400 * 10**9).text
QUESTIONS = (
    "the import of orders fails after the upgrade of the database driver",
    "add a cursor to the paging of the customer list",
    "retry webhook calls with a timeout",
    "the login test is red at night",
)
_AT_ONCE = 2_000
_INSERT = """
    INSERT INTO memory (name, type, trigger, resolution, identity, created_at, embedder,
                        embedding, trigger_embedding)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def main() -> int:
    path, memories, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    embedder = open_minilm()
    if isinstance(embedder, NoEmbedder):
        raise SystemExit(embedder.reason)
    embedder.embed(["warm"])
    with MemoryStore(path) as store:
        if not Path(path).stat().st_size or not _count(store):
            _fill(store, memories, embedder.id, embedder.dimension)
        recall = Recall(store, embedder)
        before_mb = _peak_mb()
        first_ms = _timed(recall, QUESTIONS[0])
        warm_ms = [_timed(recall, QUESTIONS[n % len(QUESTIONS)]) for n in range(rounds)]
        embed_ms = [_embedding(embedder, QUESTIONS[n % len(QUESTIONS)]) for n in range(rounds)]
    answer = {
        "first_ms": first_ms,
        "warm_ms": warm_ms,
        "embed_ms": embed_ms,
        "peak_mb": _peak_mb(),
        "model_mb": before_mb,
        "file_mb": Path(path).stat().st_size / 1e6,
    }
    print(json.dumps(answer))
    return 0


def _count(store: MemoryStore) -> int:
    with store.reading() as db:
        return int(db.execute("SELECT count(*) FROM memory").fetchone()[0])


def _fill(store: MemoryStore, memories: int, embedder: str, dimension: int) -> None:
    chance, draw = random.Random(7), numpy.random.default_rng(7)
    words = _words()
    for begin in range(0, memories, _AT_ONCE):
        count = min(_AT_ONCE, memories - begin)
        vectors = draw.standard_normal((count, dimension), dtype=numpy.float32)
        vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
        with store.writing() as db:
            for number, vector in enumerate(vectors, start=begin):
                trigger = f"{number} {' '.join(chance.choices(words, k=9))}"
                resolution = " ".join(chance.choices(words, k=14))
                content = packed(vector)
                kind = "failure" if number % 2 else "pattern"
                given = (f"m-{number}", kind, trigger, resolution, trigger, NOW, embedder)
                db.execute(_INSERT, (*given, content, content))


def _words() -> list[str]:
    """As many as developers use, some of them often: from our own set, and made up."""
    text = (Path(__file__).parent / "memory/memories.jsonl").read_text("utf-8").lower()
    known = sorted({word for word in text.replace('"', " ").split() if word.isalpha()})
    return [*known, *(f"term{number}" for number in range(3_000))]


def _timed(recall: Recall, text: str) -> float:
    started = time.perf_counter()
    recall.ask(RecallQuery(text), now=NOW)
    return (time.perf_counter() - started) * 1000


def _embedding(embedder: object, text: str) -> float:
    started = time.perf_counter()
    embedder.embed([text])  # type: ignore[attr-defined]
    return (time.perf_counter() - started) * 1000


def _peak_mb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    sys.exit(main())
