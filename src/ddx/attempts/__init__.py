"""Managed attempts: isolated, proven, landed or preserved (X-1 to X-27)."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.attempts.branch_proof import TipWorkspace
    from ddx.attempts.commit import find_kept, forget_kept
    from ddx.attempts.context import (
        AgentProduct,
        AttemptContext,
        Boundary,
        Drift,
        Idle,
        Limits,
        Preparation,
        StopControls,
    )
    from ddx.attempts.delivery import land_kept, land_pending
    from ddx.attempts.doctor import examine_surroundings
    from ddx.attempts.engine import Answer, Attempt, End, Engine, Pass, Rest, View
    from ddx.attempts.limits import EngineOptions, UsageMeter
    from ddx.attempts.outcome import AttemptStatus, Failed, Landed, NoChanges, Outcome, Preserved
    from ddx.attempts.prompt import PromptSection, build_prompt
    from ddx.attempts.question import THROWN_AWAY, AgentQuestion
    from ddx.attempts.queue_driver import QueueDriver, prepare_plainly
    from ddx.attempts.record import AttemptEvent
    from ddx.attempts.records import AttemptRecord, OwedReviews, read_attempts
    from ddx.attempts.recovery import reconcile
    from ddx.attempts.work import open_site, work_one
else:
    __getattr__ = door(
        __name__,
        branch_proof="TipWorkspace",
        commit="find_kept forget_kept",
        context=("AgentProduct AttemptContext Boundary Drift Idle Limits Preparation StopControls"),
        delivery="land_kept land_pending",
        doctor="examine_surroundings",
        engine="Answer Attempt End Engine Pass Rest View",
        limits="EngineOptions UsageMeter",
        outcome="AttemptStatus Failed Landed NoChanges Outcome Preserved",
        prompt="PromptSection build_prompt",
        question="AgentQuestion THROWN_AWAY",
        queue_driver="QueueDriver prepare_plainly",
        record="AttemptEvent",
        records="AttemptRecord OwedReviews read_attempts",
        recovery="reconcile",
        work="open_site work_one",
    )
