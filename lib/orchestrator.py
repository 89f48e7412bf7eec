"""The machine of one objective: `python3 lib/orchestrator.py status|clear|transitions` (O-12)."""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.realpath(__file__ + "/../.."))
    from lib import become

    become("objective", sys.argv[1:])

from helix.objective import (
    ErrorReason,
    Event,
    Orchestrator,
    Result,
    State,
    check_stalled,
    get_ready_tasks,
)

__all__ = [
    "ErrorReason",
    "Event",
    "Orchestrator",
    "Result",
    "State",
    "check_stalled",
    "get_ready_tasks",
]
