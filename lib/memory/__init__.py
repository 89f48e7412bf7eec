"""What this repository has taught: see `lib.memory.core`."""

from lib.memory.core import (
    chunk,
    connected,
    consolidate,
    decay,
    feedback,
    feedback_from_verification,
    get,
    health,
    prune,
    recall,
    relate,
    store,
)

__all__ = [
    "chunk",
    "connected",
    "consolidate",
    "decay",
    "feedback",
    "feedback_from_verification",
    "get",
    "health",
    "prune",
    "recall",
    "relate",
    "store",
]
