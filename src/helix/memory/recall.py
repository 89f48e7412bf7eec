"""Recall: the memories that fit a question, few and in order, or none (M-3, M-4).

Candidates come from the words and from the embedder; only what is above the embedder's floor and
close to the best one competes, by the documented formula. Nothing here changes a memory: only
vectors that were missing are written, and no more of them than the asker has patience for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ddx.base import Busy, Clock, Refused, UsageError, changed, loads, value
from helix.memory.embedders import Calibration, EmbedderFailed, NoEmbedder, saturated
from helix.memory.model import MemoryKind, names_a_file
from helix.memory.rows import (
    bm25_scores,
    count_memories,
    coverages,
    edges_around,
    find_memory,
    memories_by_id,
    question_terms,
)
from helix.memory.scoring import (
    MOST_HOPS,
    RecallCandidate,
    Similarity,
    effectiveness_of,
    neighbours,
    rank,
)
from helix.memory.vectors import BATCH, count_waiting, embed_waiting, read_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from sqlite3 import Connection

    from helix.memory.embedders import Embedder, Vectors
    from helix.memory.model import Memory
    from helix.memory.scoring import RecalledMemory
    from helix.memory.store import MemoryStore
    from helix.memory.vectors import Matrix

LIMIT = 5
LONGEST_QUERY = 4_000
FILE_BONUS = 0.1
"""What it adds to a similarity that a memory names one of the files in question."""
MOST_CANDIDATES = 400
PATIENCE_S = 1.0
"""So long a question that nobody watches waits for memories to be embedded (M-5)."""
TEXT_ONLY = Calibration(floor=0.25, width=0.10, full=0.75, text_weight=1.0)
"""By words alone: on the scale of the share of the question that a memory holds."""

_NAMING = """
    SELECT id, file_patterns FROM memory
    WHERE instr(file_patterns, ?) > 0 OR instr(file_patterns, '/"') > 0
"""
_MOST_FILES = 20
_MOST_LIKELY = 64
_FEW = 4
"""Rows at once where time is short: long texts take 0.1 s each."""


@value
class RecallQuery:
    """What is asked, and what an answer must be to count."""

    text: str
    type: str = ""
    limit: int = LIMIT
    min_effectiveness: float = 0.0
    files: tuple[str, ...] = ()


@value
class RecallResult:
    """The hits, best first, and how they were found."""

    hits: tuple[RecalledMemory, ...]
    terms: tuple[str, ...]
    embedder: str
    """Empty: by words alone."""
    note: str = ""
    """What was not as it should be, such as why it went by words alone."""


class Recall:
    """Answers questions from one store; the matrix is read again only after a change."""

    def __init__(
        self,
        store: MemoryStore,
        embedder: Embedder | NoEmbedder,
        *,
        patience_s: float | None = PATIENCE_S,
        progress: Callable[[int, int], None] = lambda done, total: None,
        clock: Clock = Clock(),
    ) -> None:
        """`patience_s` None: whoever asks waits, and sees `progress`, until all are embedded."""
        self._store = store
        self._embedder = embedder
        self._patience_s = patience_s
        self._progress = progress
        self._clock = clock
        self._matrix: Matrix | None = None
        self._seen: tuple[int, int] = (0, 0)

    def ask(self, question: RecallQuery, *, now: str) -> RecallResult:
        """The best memories for it, and their neighbours where there is room."""
        require_answerable(question)
        terms = question_terms(question.text[:LONGEST_QUERY])
        note = ""
        if isinstance(self._embedder, NoEmbedder):
            note = "" if self._embedder.is_chosen else self._embedder.reason
        else:
            try:
                return self._by_meaning(self._embedder, question, terms, now=now)
            except EmbedderFailed as problem:
                note = problem.message
        with self._store.reading() as db:
            found = coverages(db, terms, count_memories(db))
            similar = {number: Similarity(words=share) for number, share in found.items()}
            hits = _answer(db, question, similar, TEXT_ONLY, now=now)
        return RecallResult(hits, terms, "", note=note)

    def _by_meaning(
        self, embedder: Embedder, question: RecallQuery, terms: tuple[str, ...], *, now: str
    ) -> RecallResult:
        note = "" if self._is_current() else self._embed_waiting(embedder, terms)
        asked = embedder.embed([question.text[:LONGEST_QUERY]])[0]
        with self._store.reading() as db:
            matrix = self._current(db, embedder)
            similar = _similarities(matrix, asked, bm25_scores(db, terms), embedder.calibration)
            hits = _answer(db, question, similar, embedder.calibration, now=now)
        if note:  # rows wait: the next question goes on with them
            self._matrix = None
        return RecallResult(hits, terms, embedder.id, note=note)

    def _embed_waiting(self, embedder: Embedder, terms: tuple[str, ...]) -> str:
        """Why some rows had to be left without vectors; empty if none was.

        Those that share words with the question come first: they are the likeliest answers.
        """
        with self._store.reading() as db:
            scores = bm25_scores(db, terms) if count_waiting(db, embedder) else {}
        likely = sorted(scores, key=lambda number: -scores[number])[:_MOST_LIKELY]
        try:
            left = embed_waiting(
                self._store,
                embedder,
                first=likely,
                goes_on=self._goes_on(),
                batch=BATCH if self._patience_s is None else _FEW,
                progress=self._progress,
            )
        except (Busy, Refused) as problem:  # others write, or we may not: what is there will do
            return f"new memories could not be embedded: {problem.message}"
        word = "memory waits" if left == 1 else "memories wait"
        return f"{left:,} {word} to be embedded and may have been missed" if left else ""

    def _goes_on(self) -> Callable[[], bool]:
        patience_s, begun_ns = self._patience_s, self._clock.now_ns()
        if patience_s is None:
            return lambda: True
        return lambda: self._clock.now_ns() - begun_ns < patience_s * 1e9

    def _is_current(self) -> bool:
        return self._matrix is not None and self._store.state == self._seen

    def _current(self, db: Connection, embedder: Embedder) -> Matrix:
        if self._matrix is None or not self._is_current():
            self._matrix, self._seen = read_matrix(db, embedder), self._store.state
        return self._matrix


def require_answerable(question: RecallQuery) -> None:
    if not question.text.strip():
        raise UsageError("what is to be recalled?", hint='helix memory recall "flaky login test"')
    if question.type and question.type not in tuple(MemoryKind):
        raise UsageError(f"type must be failure or pattern, not {question.type!r}")
    if question.limit < 1:
        raise UsageError("at least one memory must be asked for", hint="--limit 1")


def _similarities(
    matrix: Matrix, asked: Vectors, scores: dict[int, float], calibration: Calibration
) -> dict[int, Similarity]:
    """Of the closest rows by cosine and of all that share words with the question."""
    cosines = matrix.cosines(asked)
    most = min(MOST_CANDIDATES, len(cosines))
    nearest = numpy.argpartition(-cosines, most - 1)[:most].tolist() if most else []
    place_of = {matrix.ids[place]: place for place in nearest}
    if scores:
        ids = numpy.asarray(matrix.ids)
        wanted = numpy.fromiter(scores, dtype=ids.dtype, count=len(scores))
        places = numpy.searchsorted(ids, wanted)
        place_of |= {
            number: place
            for number, place in zip(scores, places.tolist(), strict=True)
            if place < len(ids) and ids[place] == number
        }
    found = {}
    for number in (*place_of, *(number for number in scores if number not in place_of)):
        cosine = float(cosines[place_of[number]]) if number in place_of else 0.0  # no vectors yet
        bm25 = scores.get(number, 0.0)
        found[number] = Similarity(cosine, bm25, calibration.text_weight * saturated(bm25))
    return found


def _answer(
    db: Connection,
    question: RecallQuery,
    similar: dict[int, Similarity],
    calibration: Calibration,
    *,
    now: str,
) -> tuple[RecalledMemory, ...]:
    about = _naming(db, question.files)
    similar |= {
        number: changed(similar.get(number, Similarity()), files=FILE_BONUS) for number in about
    }
    above = [number for number, one in similar.items() if one.raw >= calibration.floor]
    known = memories_by_id(db, above)
    candidates = [
        RecallCandidate(known[number], similar[number]) for number in above if number in known
    ]
    fitting = [one for one in candidates if _fits(one.memory, question)]
    hits = rank(fitting, calibration, now=now)[: question.limit]
    room = question.limit - len(hits)
    return (*hits, *_beside(db, hits, question, now=now)[:room]) if hits and room else hits


def _beside(
    db: Connection, hits: Sequence[RecalledMemory], question: RecallQuery, *, now: str
) -> tuple[RecalledMemory, ...]:
    names = [hit.memory.name for hit in hits]
    edges = edges_around(db, names, hops=MOST_HOPS)
    found = neighbours(hits, edges, lambda name: find_memory(db, name), now=now)
    return tuple(hit for hit in found if _fits(hit.memory, question))


def _fits(memory: Memory, question: RecallQuery) -> bool:
    effectiveness = effectiveness_of(memory.helped, memory.failed)
    return question.type in ("", memory.type) and effectiveness >= question.min_effectiveness


def _naming(db: Connection, files: Sequence[str]) -> set[int]:
    """The memories that name one of the files, or a folder above it."""
    found: set[int] = set()
    for file in files[:_MOST_FILES]:
        for number, patterns in db.execute(_NAMING, (file.rpartition("/")[2],)):
            if number not in found and names_a_file(loads(patterns), (file,)):
                found.add(number)
    return found
