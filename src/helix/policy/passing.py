"""What of a bead only says who was at it and when, and nothing of what is to be done. Pure."""

from __future__ import annotations

from ddx.tracker.model import CLAIM_KEYS

PASSING = frozenset(
    {
        *("updated_at", "events", "owner", "attempts", "retry-after", "blocked-basis"),
        *("polished-upstream", "speculation-basis", "intake-basis", "drafts-filed"),
        *CLAIM_KEYS,
    }
)
"""Fields: a queue that differs in these alone is the same queue to whoever looks at it."""
