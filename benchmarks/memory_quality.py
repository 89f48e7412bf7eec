"""How well recall finds the right memory, by the very code that answers `helix memory recall`.

The set is our own: benchmarks/memory/memories.jsonl, with four kinds of questions for each memory:

    objective   a task as it stands in a bead, about the same thing
    paraphrase  the trigger in other words
    symptom     what somebody sees who does not know the cause yet: hard on purpose
    keyword     two or three words that stand in it

Half of it is marked `unseen`: nothing was tuned on that half. But its questions were written by
somebody who had seen first scores. So there is a second set, blind/: other fields, another style,
objectives that are bare titles. It was written before anything was run on it, and nothing may ever
be tuned on it.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddx.base.instants import Instant
from ddx.base.values import changed
from helix.memory.embedders import Calibration, Embedder, NoEmbedder
from helix.memory.embedders.minilm import open_minilm
from helix.memory.model import MemoryDraft
from helix.memory.recall import Recall, RecallQuery
from helix.memory.rows import all_memories, insert, put
from helix.memory.store import MemoryStore

SET = Path(__file__).parent / "memory"
BLIND = SET / "blind"
KINDS = ("objective", "paraphrase", "symptom", "keyword")
BLIND_KINDS = ("objective", "paraphrase")
WAYS = ("words", "meaning", "both")
NOW_NS = 1_772_366_400 * 10**9
DAY_NS = 86_400 * 10**9
SEED = 20260301
AT = 5


@dataclass(frozen=True)
class Found:
    """Shares of questions whose memory came first, or among the first five."""

    first: float
    among: float


@dataclass(frozen=True)
class Quality:
    """By way of searching, part of the set and kind of question."""

    equal: dict[tuple[str, str, str], Found]
    """Relevance alone: no memory has a past."""
    priors: dict[tuple[str, str, str], Found]
    """The formula, where helped, failed and last used are drawn by chance."""
    over_all: dict[tuple[str, str, str], Found]
    """The same with the bare similarity as relevance, over all memories: why D-17 is there."""
    false_positives: dict[str, float]
    """Unrelated questions that got an answer."""
    memories: int
    unrelated: int
    draws: int


@dataclass(frozen=True)
class Blind:
    """The set that nobody has tuned on: by way of searching and kind of question."""

    equal: dict[tuple[str, str], Found]
    priors: dict[str, Found]
    false_positives: dict[str, float]
    memories: int
    unrelated: int


class Remembering:
    """An embedder that embeds each text once, and may read its similarities in another way."""

    def __init__(self, inner: Embedder, calibration: Calibration, known: dict[str, Any]) -> None:
        self.id = inner.id
        self.dimension = inner.dimension
        self.calibration = calibration
        self._inner = inner
        self._known = known

    def embed(self, texts: Sequence[str]) -> Any:
        import numpy

        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        if fresh:
            self._known |= dict(zip(fresh, self._inner.embed(fresh), strict=True))
        return numpy.stack([self._known[text] for text in texts])


def measure_quality(draws: int) -> Quality:
    """Everything, in a database of its own."""
    rows, unrelated = _read(SET)
    inner = _shipped()
    with tempfile.TemporaryDirectory() as folder, MemoryStore(f"{folder}/helix.db") as store:
        names = _fill(store, rows)
        ways = dict(_ways(inner))
        equal: dict[tuple[str, str, str], Found] = {}
        for way, embedder in ways.items():
            equal |= _scores(store, way, embedder, rows, names)
        false = {way: _share_answered(store, embedder, unrelated) for way, embedder in ways.items()}
        priors, over_all = _with_priors(store, ways, rows, names, draws)
    return Quality(
        equal,
        priors,
        over_all,
        false_positives=false,
        memories=len(rows),
        unrelated=len(unrelated),
        draws=draws,
    )


def measure_blind(draws: int) -> Blind:
    """The same for blind/, in a database of its own."""
    rows, unrelated = _read(BLIND)
    with tempfile.TemporaryDirectory() as folder, MemoryStore(f"{folder}/helix.db") as store:
        names = _fill(store, rows)
        ways = {way: embedder for way, embedder in _ways(_shipped()) if way in WAYS}
        equal: dict[tuple[str, str, str], Found] = {}
        for way, embedder in ways.items():
            equal |= _scores(store, way, embedder, rows, names)
        false = {way: _share_answered(store, embedder, unrelated) for way, embedder in ways.items()}
        priors, _ = _with_priors(store, {"both": ways["both"]}, rows, names, draws)
    return Blind(
        {(way, kind): found for (way, _, kind), found in equal.items()},
        {kind: found for (_, _, kind), found in priors.items()},
        false,
        len(rows),
        len(unrelated),
    )


def _read(folder: Path) -> tuple[list[dict[str, str]], list[str]]:
    lines = (folder / "memories.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines], (
        (folder / "unrelated.txt").read_text("utf-8").splitlines()
    )


def _shipped() -> Embedder:
    found = open_minilm()
    if isinstance(found, NoEmbedder):
        raise SystemExit(f"the shipped embedder is missing: {found.reason}")
    return found


def _ways(inner: Embedder) -> Iterator[tuple[str, Embedder | NoEmbedder]]:
    plain = inner.calibration
    known: dict[str, Any] = {}
    yield "words", NoEmbedder("not for this measurement", is_chosen=True)
    yield "meaning", Remembering(inner, changed(plain, text_weight=0.0), known)
    yield "both", Remembering(inner, plain, known)
    bare = changed(plain, floor=0.0, width=9.0, full=1.0)
    yield "both, no floor", Remembering(inner, bare, known)


def _fill(store: MemoryStore, rows: Sequence[dict[str, str]]) -> list[str]:
    with store.writing() as db:
        return [
            insert(
                db,
                MemoryDraft(row["type"], row["trigger"], row["resolution"]),
                now=Instant.at(NOW_NS).text,
            ).name
            for row in rows
        ]


def _scores(
    store: MemoryStore,
    way: str,
    embedder: Embedder | NoEmbedder,
    rows: Sequence[dict[str, str]],
    names: Sequence[str],
) -> dict[tuple[str, str, str], Found]:
    recall = Recall(store, embedder, patience_s=None)
    found: dict[tuple[str, str, str], list[tuple[bool, bool]]] = {}
    for kind in (kind for kind in KINDS if kind in rows[0]):
        for row, name in zip(rows, names, strict=True):
            hits = recall.ask(RecallQuery(row[kind], limit=AT), now=Instant.at(NOW_NS).text).hits
            got = [hit.memory.name for hit in hits]
            for part in ("all", *filter(None, [row.get("part")])):
                found.setdefault((way, part, kind), []).append((got[:1] == [name], name in got))
    return {key: _mean(hits) for key, hits in found.items()}


def _mean(hits: Sequence[tuple[bool, bool]]) -> Found:
    return Found(
        sum(first for first, _ in hits) / len(hits), sum(among for _, among in hits) / len(hits)
    )


def _share_answered(
    store: MemoryStore, embedder: Embedder | NoEmbedder, questions: Sequence[str]
) -> float:
    recall = Recall(store, embedder, patience_s=None)
    answered = [
        bool(recall.ask(RecallQuery(text), now=Instant.at(NOW_NS).text).hits) for text in questions
    ]
    return sum(answered) / len(answered)


def _with_priors(
    store: MemoryStore,
    ways: dict[str, Embedder | NoEmbedder],
    rows: Sequence[dict[str, str]],
    names: Sequence[str],
    draws: int,
) -> tuple[dict[tuple[str, str, str], Found], dict[tuple[str, str, str], Found]]:
    """Pasts that have nothing to do with what is asked: all that they can do is displace."""
    chance = random.Random(SEED)
    told: dict[tuple[str, str, str], list[Found]] = {}
    for _ in range(draws):
        _draw_pasts(store, chance)
        for way in [way for way in ("both", "both, no floor") if way in ways]:
            for key, found in _scores(store, way, ways[way], rows, names).items():
                told.setdefault(key, []).append(found)
    mean = {
        key: Found(
            sum(one.first for one in found) / len(found),
            sum(one.among for one in found) / len(found),
        )
        for key, found in told.items()
    }
    return (
        {key: found for key, found in mean.items() if key[0] == "both"},
        {key: found for key, found in mean.items() if key[0] != "both"},
    )


def _draw_pasts(store: MemoryStore, chance: random.Random) -> None:
    with store.writing() as db:
        for memory in all_memories(db):
            put(
                db,
                changed(
                    memory,
                    helped=chance.randrange(6) / 2,
                    failed=chance.randrange(6) / 2,
                    last_used=Instant.at(NOW_NS - int(chance.uniform(0, 60) * DAY_NS)).text,
                ),
            )
