"""What in a queue is no work: beads of our passes, and who was at the others and when. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.tracker.model import CLAIM_KEYS, labels_of

if TYPE_CHECKING:
    from ddx.tracker.model import Row

PASSING = frozenset(
    {
        *("updated_at", "events", "owner", "attempts", "retry-after", "blocked-basis"),
        *("polished-upstream", "speculation-basis", "intake-basis", "drafts-filed"),
        *CLAIM_KEYS,
    }
)
"""Fields: a queue that differs in these alone is the same queue to whoever looks at it."""


def is_supervisory(row: Row) -> bool:
    """The bead of a pass of ours: it comes and goes with the pass (A-4)."""
    labels = labels_of(row)
    return "kind:planning" in labels and any(it.startswith("action:") for it in labels)
