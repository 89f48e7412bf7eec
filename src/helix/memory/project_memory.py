"""What programs ask of the memories of a project, and the rows that answer them.

The commands of `helix memory` print these rows with --json, and the tools of `helix mcp` give them
as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from helix.memory.injection import INSTEAD, embedder_of, open_store, wits_of
from helix.memory.interchange import memory_row
from helix.memory.recall import Recall, require_answerable
from helix.memory.storage import MemoryAdded, MemoryMerged, MemoryRejected, store_memory
from helix.project import read_helix_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.base import Clock
    from ddx.project import Project
    from helix.memory.model import MemoryDraft
    from helix.memory.recall import RecallQuery, RecallResult
    from helix.memory.scoring import RecalledMemory
    from helix.memory.storage import StoreOutcome

_DIGITS = 4


def recall_memories(
    project: Project,
    question: RecallQuery,
    *,
    clock: Clock,
    progress: Callable[[int, int], None] | None = None,
) -> RecallResult:
    """The best memories for the question; who sees `progress` waits until all are embedded."""
    require_answerable(question)
    with open_store(project) as store:
        settings = read_helix_settings(project, clock=clock)
        embedder = embedder_of(project, settings, clock=clock)
        recall = (
            Recall(store, embedder)
            if progress is None
            else Recall(store, embedder, patience_s=None, progress=progress)
        )
        return recall.ask(question, now=clock.stamp())


def store_in_project(project: Project, draft: MemoryDraft, *, clock: Clock) -> StoreOutcome:
    """Added, merged with what is known, or rejected; an attempt's agent stores nothing (A-10)."""
    project.refuse_inside_an_attempt(what="storing memories", instead=INSTEAD)
    with open_store(project) as store:
        settings = read_helix_settings(project, clock=clock)
        return store_memory(
            store, draft, wits_of(project, settings, clock=clock), now=clock.stamp()
        )


def recalled_row(hit: RecalledMemory) -> dict[str, Any]:
    return {
        **memory_row(hit.memory),
        **_rounded(hit, "score relevance effectiveness recency"),
        "hop": hit.hop,
        "via": hit.via,
        "similarity": _rounded(hit.similarity, "cosine bm25 words files raw"),
    }


def _rounded(scored: object, names: str) -> dict[str, float]:
    return {name: round(getattr(scored, name), _DIGITS) for name in names.split()}


def stored_row(stored: StoreOutcome) -> dict[str, str]:
    match stored:
        case MemoryAdded(memory=memory):
            return {"status": "added", "name": memory.name, "reason": ""}
        case MemoryMerged(memory=memory, reason=reason):
            return {"status": "merged", "name": memory.name, "reason": reason}
        case MemoryRejected(reason=reason):
            return {"status": "rejected", "name": "", "reason": reason}
        case other:
            assert_never(other)
