"""Storing a memory: judged first, joined with what is known, one row whoever stores it (M-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ddx.base import changed, value
from helix.memory.embedders import EmbedderFailed, NoEmbedder
from helix.memory.model import LONGEST_RESOLUTION, identity, is_echo, patterns_of, rejection
from helix.memory.quarantine import suspicion, without_secrets
from helix.memory.rows import bm25_scores, find_same, insert, memories_by_id, put, question_terms

if TYPE_CHECKING:
    from sqlite3 import Connection

    from ddx.base import Masker
    from helix.memory.embedders import Embedder, Vectors
    from helix.memory.model import Memory, MemoryDraft, MemoryHistory
    from helix.memory.store import MemoryStore

SAME_TRIGGER = 0.85
"""Two triggers of one type that are this close say the same thing."""
MOST_HELD = 1_000
_MOST_ECHOES = 10
_HOLD = """
    INSERT INTO quarantine (type, trigger, resolution, source, reason, created_at)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_FORGET_OLDEST = """
    DELETE FROM quarantine WHERE id NOT IN (SELECT id FROM quarantine ORDER BY id DESC LIMIT ?)
"""


@value
class MemoryAdded:
    memory: Memory


@value
class MemoryMerged:
    """It was known: the memory that says it, as it stands now."""

    memory: Memory
    reason: str


@value
class MemoryRejected:
    reason: str
    is_held: bool = False
    """It waits for a person: `helix memory review`."""


StoreOutcome: TypeAlias = MemoryAdded | MemoryMerged | MemoryRejected


@value
class StoreContext:
    """What judging and comparing takes; the same for every memory of one command."""

    embedder: Embedder | NoEmbedder
    masker: Masker


def store_memory(
    store: MemoryStore,
    draft: MemoryDraft,
    wits: StoreContext,
    *,
    now: str,
    like: str = "",
    past: MemoryHistory | None = None,
    is_judged: bool = False,
) -> StoreOutcome:
    """Added under a name of its own, merged into what says the same, or rejected with a reason.

    Of a draft that a person has judged nothing is suspected any more.
    """
    if reason := rejection(draft):
        return MemoryRejected(reason)
    if not is_judged and (reason := suspicion(draft, wits.masker, like=like)):
        hold(store, draft, reason, wits.masker, now=now)
        return MemoryRejected(f"held back for a person to look at: {reason}", is_held=True)
    embedded = _embedded(draft, wits.embedder)
    with store.writing() as db:  # from the look to the write nobody else can store the same
        known, reason = _known(db, draft, embedded)
        if known is not None:
            return _merged(db, known, draft, reason)
        memory = insert(db, draft, now=now, like=like, past=past)
        if embedded is not None:
            from helix.memory.vectors import write_vectors

            embedder, whole, trigger = embedded
            write_vectors(db, embedder, memory.id, whole=whole, trigger=trigger)
            memory = changed(memory, embedder=embedder.id)
        return MemoryAdded(memory)


def hold(store: MemoryStore, draft: MemoryDraft, reason: str, masker: Masker, *, now: str) -> None:
    """Kept apart for a person, without its secrets (X-24); the oldest go when there are many."""
    texts = (draft.type, draft.trigger, draft.resolution, draft.source)
    with store.writing() as db:
        masked = (without_secrets(text, masker) for text in texts)
        db.execute(_HOLD, (*masked, reason, now))
        db.execute(_FORGET_OLDEST, (MOST_HELD,))


def _embedded(
    draft: MemoryDraft, embedder: Embedder | NoEmbedder
) -> tuple[Embedder, Vectors, Vectors] | None:
    """Before the lock is taken: a model may take its time. None: the row waits for it (M-4)."""
    if isinstance(embedder, NoEmbedder):
        return None
    from helix.memory.vectors import whole_text

    trigger, resolution = draft.trigger.strip(), draft.resolution.strip()
    try:
        whole, alone = embedder.embed([whole_text(trigger, resolution), trigger])
    except EmbedderFailed:  # the next recall tries again, and says so if it fails as well
        return None
    return embedder, whole, alone


def _known(
    db: Connection, draft: MemoryDraft, embedded: tuple[Embedder, Vectors, Vectors] | None
) -> tuple[Memory | None, str]:
    if same := find_same(db, draft):
        return same, "the same trigger is known"
    if embedded is not None:
        embedder, _, trigger = embedded
        near, similarity = _nearest(db, draft.type, embedder, trigger)
        if near is not None:
            return near, f"a similar trigger is known ({similarity:.2f})"
    terms = question_terms(f"{draft.trigger}\n{draft.resolution}")
    likely = sorted(bm25_scores(db, terms).items(), key=lambda found: -found[1])[:_MOST_ECHOES]
    for memory in memories_by_id(db, (number for number, _ in likely)).values():
        if is_echo(draft, memory):
            return memory, "it repeats what is known"
    return None, ""


def _nearest(
    db: Connection, type: str, embedder: Embedder, trigger: Vectors
) -> tuple[Memory | None, float]:
    from helix.memory.vectors import read_triggers

    known = read_triggers(db, embedder, type)
    if not known.ids:
        return None, 0.0
    cosines = known.cosines(trigger)
    place = int(cosines.argmax())
    similarity = float(cosines[place])
    if similarity < SAME_TRIGGER:
        return None, similarity
    number = known.ids[place]
    return memories_by_id(db, (number,)).get(number), similarity


def _merged(db: Connection, known: Memory, draft: MemoryDraft, reason: str) -> MemoryMerged:
    """What is new in it is added, so that no advice is lost; what it means is embedded again.

    The vector of its trigger stays: the next trigger is compared with it all the same.
    """
    patterns = tuple(dict.fromkeys((*known.file_patterns, *patterns_of(draft))))
    said = draft.resolution.strip()
    longer = f"{known.resolution}\n{said}"
    repeats = identity(said) in identity(known.resolution) or is_echo(draft, known)
    if repeats or len(longer) > LONGEST_RESOLUTION:
        if patterns != known.file_patterns:
            known = put(db, changed(known, file_patterns=patterns))
        return MemoryMerged(known, reason)
    merged = put(db, changed(known, resolution=longer, file_patterns=patterns))
    db.execute("UPDATE memory SET embedding = NULL WHERE id = ?", (merged.id,))
    return MemoryMerged(merged, f"{reason}; its resolution was added")
