"""The vectors of all memories as matrices, and the rows that still wait for theirs (M-4, M-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ddx.base import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from sqlite3 import Connection

    from helix.memory.embedders import Embedder, Vectors
    from helix.memory.store import MemoryStore

BATCH = 32
"""Rows that are embedded and written together: so much is lost if somebody presses Ctrl-C."""

_KEPT = numpy.dtype("<f2")  # half precision: a thousandth of a cosine, for half of the disk
_BLOCK = 4096
_TWINS_AT_ONCE = 256
_COUNT = "SELECT count(*) FROM memory WHERE embedder = ?"
_THAT_WAIT = """
    FROM memory
    WHERE (embedder <> ? OR length(embedding) IS NOT ? OR length(trigger_embedding) IS NOT ?)
"""
_HOW_MANY_WAIT = "SELECT count(*)" + _THAT_WAIT
_WAITING = "SELECT id, trigger, resolution" + _THAT_WAIT + "ORDER BY id LIMIT ?"
_ONE_THAT_WAITS = "SELECT id, trigger, resolution" + _THAT_WAIT + "AND id = ?"
_WHOLE = """
    SELECT id, embedding FROM memory WHERE embedder = ? AND length(embedding) = ? ORDER BY id
"""
_TRIGGERS = """
    SELECT id, trigger_embedding FROM memory
    WHERE embedder = ? AND length(trigger_embedding) = ? AND type = ? ORDER BY id
"""
_WRITE = """
    UPDATE memory SET embedder = ?, embedding = ?, trigger_embedding = ?
    WHERE id = ? AND trigger = ? AND resolution = ?
"""


@value
class Matrix:
    """The vectors of one embedder, a row a memory, in the order of the ids."""

    ids: Sequence[int]
    vectors: Vectors

    def cosines(self, question: Vectors) -> Vectors:
        found: Vectors = self.vectors @ question
        return found


def read_matrix(db: Connection, embedder: Embedder) -> Matrix:
    """Of trigger and resolution together: what recall compares with."""
    rows = db.execute(_WHOLE, (embedder.id, _bytes(embedder)))
    return _filled(_most(db, embedder), embedder.dimension, rows)


def read_triggers(db: Connection, embedder: Embedder, type: str) -> Matrix:
    """Of the triggers of one type: what a new trigger is compared with (M-2)."""
    rows = db.execute(_TRIGGERS, (embedder.id, _bytes(embedder), type))
    return _filled(_most(db, embedder), embedder.dimension, rows)


def _most(db: Connection, embedder: Embedder) -> int:
    return int(db.execute(_COUNT, (embedder.id,)).fetchone()[0])


def _bytes(embedder: Embedder) -> int:
    """How long a vector is on the disk; one of another length was damaged, and is made again."""
    return embedder.dimension * _KEPT.itemsize


def _filled(most: int, dimension: int, rows: Iterator[tuple[int, bytes]]) -> Matrix:
    """Block by block into its place: never twice in memory."""
    vectors = numpy.empty((most, dimension), dtype=numpy.float32)
    ids: list[int] = []
    cursor = iter(rows)
    while block := [row for row, _ in zip(cursor, range(_BLOCK), strict=False)]:
        packed = b"".join(content for _, content in block)
        begin = len(ids)
        ids += [number for number, _ in block]
        vectors[begin : len(ids)] = numpy.frombuffer(packed, _KEPT).reshape(-1, dimension)
    return Matrix(ids, vectors[: len(ids)])


def packed(vector: Vectors) -> bytes:
    return vector.astype(_KEPT).tobytes()


def count_waiting(db: Connection, embedder: Embedder) -> int:
    """How many memories have no vectors of this embedder yet (M-4)."""
    return int(db.execute(_HOW_MANY_WAIT, _waits(embedder)).fetchone()[0])


def embed_waiting(
    store: MemoryStore,
    embedder: Embedder,
    *,
    first: Sequence[int] = (),
    goes_on: Callable[[], bool] = lambda: True,
    batch: int = BATCH,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Rows without vectors of this embedder get them, batch by batch; how many still wait.

    Those of `first` come first; once `goes_on` says no, the rest is left for another time.
    """
    with store.reading() as db:
        total = count_waiting(db, embedder)
        likely = [number for number in first if total and _find_waiting(db, embedder, number)]
    done = 0
    if total:
        progress(done, total)
    while done < total and goes_on():
        with store.reading() as db:
            found = (_find_waiting(db, embedder, number) for number in likely[:batch])
            rows = [row for row in found if row is not None]
            rows = rows or db.execute(_WAITING, (*_waits(embedder), batch)).fetchall()
        if not rows:  # another process was at it, too
            return 0
        del likely[:batch]
        _embed(store, embedder, rows)
        done += len(rows)
        progress(min(done, total), total)
    return max(total - done, 0)


def _embed(store: MemoryStore, embedder: Embedder, rows: Sequence[tuple[int, str, str]]) -> None:
    """Outside of any lock, since a model takes its time; a row that changed meanwhile waits on."""
    whole = embedder.embed([whole_text(trigger, resolution) for _, trigger, resolution in rows])
    triggers = embedder.embed([trigger for _, trigger, _ in rows])
    with store.writing() as db:
        for (number, trigger, resolution), one, other in zip(rows, whole, triggers, strict=True):
            given = (embedder.id, packed(one), packed(other), number, trigger, resolution)
            db.execute(_WRITE, given)


def _find_waiting(db: Connection, embedder: Embedder, number: int) -> tuple[int, str, str] | None:
    row: tuple[int, str, str] | None = db.execute(
        _ONE_THAT_WAITS, (*_waits(embedder), number)
    ).fetchone()
    return row


def _waits(embedder: Embedder) -> tuple[str, int, int]:
    return embedder.id, _bytes(embedder), _bytes(embedder)


def write_vectors(
    db: Connection, embedder: Embedder, number: int, *, whole: Vectors, trigger: Vectors
) -> None:
    """Of a row that was written in this very transaction."""
    db.execute(
        "UPDATE memory SET embedder = ?, embedding = ?, trigger_embedding = ? WHERE id = ?",
        (embedder.id, packed(whole), packed(trigger), number),
    )


def whole_text(trigger: str, resolution: str) -> str:
    """What is embedded for recall; the situation first, since models cut a text at its end."""
    return f"{trigger}\n{resolution}"


def twins(
    matrix: Matrix, order: Sequence[int], *, least: float
) -> Iterator[tuple[int, int, float]]:
    """Every pair that is at least so close, the better one first; block by block, never all."""
    place_of = {number: place for place, number in enumerate(matrix.ids)}
    vectors = matrix.vectors[[place_of[number] for number in order]]
    for begin in range(0, len(order), _TWINS_AT_ONCE):
        block = vectors[begin : begin + _TWINS_AT_ONCE] @ vectors[begin:].T
        for row, column in numpy.argwhere(block >= least).tolist():
            if column > row:
                yield order[begin + row], order[begin + column], float(block[row, column])
