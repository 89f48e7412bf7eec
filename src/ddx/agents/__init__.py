"""Agent programs: how each is started, read and stopped."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.agents.background import BackgroundProgram
    from ddx.agents.harness import (
        STOPPED_ENDS,
        AgentEvent,
        AgentEventKind,
        CallEnd,
        CostSource,
        DetectedProgram,
        Harness,
        Invocation,
        ProcessExit,
        Reply,
        Request,
        StopCause,
        Usage,
    )
    from ddx.agents.process_tree import end_marked
    from ddx.agents.registry import Harnesses, HarnessStatus
    from ddx.agents.supervision import Bounds, StopRequest, SupervisedExit, Watch, supervise
else:
    __getattr__ = door(
        __name__,
        background="BackgroundProgram",
        harness=(
            "AgentEvent AgentEventKind CallEnd CostSource DetectedProgram Harness Invocation "
            "ProcessExit Reply Request STOPPED_ENDS StopCause Usage"
        ),
        process_tree="end_marked",
        registry="HarnessStatus Harnesses",
        supervision="Bounds StopRequest SupervisedExit Watch supervise",
    )
