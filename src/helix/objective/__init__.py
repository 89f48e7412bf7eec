"""One objective from its words to its end: explore, plan, build, observe (O-1 to O-12).

The names that skills and scripts use: `Orchestrator`, `State`, `ErrorReason`, `AgentContract`,
`get_ready_tasks`, `check_stalled`, `build_context`, `parse_output`, `close_feedback_loop_verified`.
"""

from __future__ import annotations

from helix.objective.context import build_context, build_lineage, close_feedback_loop_verified
from helix.objective.contracts import AgentContract
from helix.objective.orchestrator import Orchestrator
from helix.objective.outputs import extract_mapping, parse_output
from helix.objective.readiness import check_stalled, detect_cycles, get_ready_tasks
from helix.objective.states import ErrorReason, Event, Result, State

__all__ = [
    "AgentContract",
    "ErrorReason",
    "Event",
    "Orchestrator",
    "Result",
    "State",
    "build_context",
    "build_lineage",
    "check_stalled",
    "close_feedback_loop_verified",
    "detect_cycles",
    "extract_mapping",
    "get_ready_tasks",
    "parse_output",
]
