"""One objective from its words to its end: explore, plan, build, observe (O-1 to O-12).

The names that skills and scripts use: `Orchestrator`, `State`, `ErrorReason`, `AgentContract`,
`get_ready_tasks`, `check_stalled`, `build_context`, `parse_output`, `close_feedback_loop_verified`.
"""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.objective.agents import RESUME, AgentContract
    from helix.objective.driver import ObjectiveDriver
    from helix.objective.event_log import (
        NOTE,
        PAUSED,
        EventLog,
        clear,
        find_objective,
        find_objectives,
        objective_id,
        words_of,
    )
    from helix.objective.machine import TERMINAL, TRANSITIONS
    from helix.objective.model import (
        ErrorReason,
        Event,
        Result,
        State,
        check_stalled,
        detect_cycles,
        get_ready_tasks,
    )
    from helix.objective.operator import (
        CHOICES,
        IGNORE,
        Choose,
        Operator,
        OrphanedTask,
        find_orphans,
        settle_orphans,
    )
    from helix.objective.orchestrator import Orchestrator
    from helix.objective.task_outcome import LONGEST_OUTPUT, extract_mapping, parse_output
    from helix.objective.task_prompt import (
        build_context,
        build_lineage,
        close_feedback_loop_verified,
    )
else:
    __getattr__ = door(
        __name__,
        agents="AgentContract RESUME",
        driver="ObjectiveDriver",
        event_log=(
            "EventLog NOTE PAUSED clear find_objective find_objectives objective_id words_of"
        ),
        machine="TERMINAL TRANSITIONS",
        model="ErrorReason Event Result State check_stalled detect_cycles get_ready_tasks",
        operator="CHOICES Choose IGNORE Operator OrphanedTask find_orphans settle_orphans",
        orchestrator="Orchestrator",
        task_outcome="LONGEST_OUTPUT extract_mapping parse_output",
        task_prompt="build_context build_lineage close_feedback_loop_verified",
    )
