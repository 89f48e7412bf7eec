"""What earlier attempts taught, found again when it helps, with proof that it does."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.memory.credits import (
        CREDIT,
        Interval,
        Lift,
        MemoryValue,
        SuccessRate,
        all_trials,
        credit,
        credit_report,
        value_of,
    )
    from helix.memory.embedders import Embedder, EmbedderFailed, NoEmbedder
    from helix.memory.health import health_of
    from helix.memory.injection import (
        INSTEAD,
        Injection,
        credit_outcome,
        embedder_of,
        learn_from_outcome,
        note_injection,
        open_store,
        prepare_injection,
        wits_of,
    )
    from helix.memory.interchange import (
        LARGEST_FILE,
        ImportResult,
        edge_row,
        export_rows,
        import_rows,
        memory_row,
        undo_last,
    )
    from helix.memory.learning import chunk, learn_observation
    from helix.memory.maintenance import (
        LEAST_EFFECTIVENESS,
        LEAST_USES,
        OLD_DAYS,
        USES_TO_SURVIVE,
        RemovalResult,
        accept_held,
        all_held,
        consolidate,
        drop_held,
        fading,
        forget,
        keep_exploration,
        pin,
        prune,
    )
    from helix.memory.model import Memory, MemoryDraft
    from helix.memory.project_memory import (
        recall_memories,
        recalled_row,
        store_in_project,
        stored_row,
    )
    from helix.memory.recall import LIMIT, Recall, RecallQuery
    from helix.memory.rows import all_memories, connected, edges_around, relate, require_memory
    from helix.memory.scoring import MOST_HOPS, RecalledMemory, effectiveness_of
    from helix.memory.storage import MemoryRejected, StoreContext
    from helix.memory.store import MemoryStore, database_path
    from helix.memory.vectors import BATCH, embed_waiting
else:
    __getattr__ = door(
        __name__,
        credits=(
            "CREDIT Interval Lift MemoryValue SuccessRate all_trials credit credit_report value_of"
        ),
        embedders="Embedder EmbedderFailed NoEmbedder",
        health="health_of",
        injection=(
            "INSTEAD Injection credit_outcome embedder_of learn_from_outcome note_injection "
            "open_store prepare_injection wits_of"
        ),
        interchange=(
            "ImportResult LARGEST_FILE edge_row export_rows import_rows memory_row undo_last"
        ),
        learning="chunk learn_observation",
        maintenance=(
            "LEAST_EFFECTIVENESS LEAST_USES OLD_DAYS RemovalResult USES_TO_SURVIVE accept_held "
            "all_held consolidate drop_held fading forget keep_exploration pin prune"
        ),
        model="Memory MemoryDraft",
        project_memory="recall_memories recalled_row store_in_project stored_row",
        recall="LIMIT Recall RecallQuery",
        rows="all_memories connected edges_around relate require_memory",
        scoring="MOST_HOPS RecalledMemory effectiveness_of",
        storage="MemoryRejected StoreContext",
        store="MemoryStore database_path",
        vectors="BATCH embed_waiting",
    )
