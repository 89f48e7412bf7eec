"""What an attempt on a task comes to: delivered, tried again, or given up (O-2, O-4). Pure.

The checks decide, not the builder's words: those only say what was delivered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.execution.model import Landed, NoChanges
from ddx.text import cut, listed, shown_on_one_line
from ddx.values import value
from helix.objective.outputs import LONGEST_SUMMARY, read_output
from helix.objective.readiness import TaskResult
from helix.policy.aftermath import AwaitLanding, Block, Completed, Guide, Park, Retry, Stop, follow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddx.execution.model import Check, Outcome
    from helix.policy.model import Rules

MOST_DISTURBANCES = 3
"""So often a task is begun again for a reason that is not its own."""
_LONGEST_REASON = 600


@value
class Delivered:
    summary: str
    needs_review: bool


@value
class Again:
    """Once it has rested; `is_disturbance`: no failure of the task's, so nothing counts it."""

    reason: str
    after_s: float = 0.0
    is_disturbance: bool = False


@value
class GivenUp:
    """It ends like this, and what is known of why."""

    result: TaskResult
    reason: str
    told: Mapping[str, Any] = {}


@value
class AwaitsLanding:
    """Proven; the operator's own edits are in the way (X-13)."""

    reason: str


@value
class Interrupted:
    pass


Verdict: TypeAlias = Delivered | Again | GivenUp | AwaitsLanding | Interrupted


def judge_outcome(
    outcome: Outcome, *, tries: int, disturbances: int, rules: Rules, outside: tuple[str, ...] = ()
) -> Verdict:
    """`tries` counts the attempts that failed, this one included; `outside` what left the delta."""
    if outside:
        reason = f"it changed files outside of its delta: {listed(outside[:5])}"
        if tries >= rules.max_attempts:
            return GivenUp(TaskResult.BLOCKED, reason, {"check": "delta", "error": "outside"})
        return Again(reason)
    left_open = outcome.left_open if isinstance(outcome, Landed | NoChanges) else ""
    followed = follow(outcome.status, tries, rules, left_open=left_open, documents_drifted=False)
    match followed:
        case Completed(needs_review=needs_review):
            return Delivered(summary_of(outcome), needs_review)
        case Retry(reason=reason, after_s=after_s):
            return Again(reason, after_s)
        case Block(reason=reason) | Guide(reason=reason):
            return GivenUp(TaskResult.BLOCKED, _why(reason, outcome), failure_of(outcome))
        case AwaitLanding(reason=reason):
            return AwaitsLanding(reason)
        case Stop():
            return Interrupted()
        case Park(reason=reason):
            return Again(_why(reason, outcome), is_disturbance=True)
    if left_open:
        return GivenUp(TaskResult.PARTIAL, followed.reason, {"reason": left_open})
    if disturbances >= MOST_DISTURBANCES:
        return GivenUp(TaskResult.BLOCKED, _why(followed.reason, outcome), failure_of(outcome))
    return Again(followed.reason, is_disturbance=True)


def summary_of(outcome: Outcome) -> str:
    """What was delivered: in the builder's words where it found some, else in ours."""
    reply = outcome.facts.reply
    said = read_output(reply.text).summary if reply else ""
    return cut(shown_on_one_line(said or outcome.facts.reason or "delivered"), LONGEST_SUMMARY)


def failure_of(outcome: Outcome) -> dict[str, Any]:
    """The check that failed, how, and with which words: what makes two failures the same (O-4)."""
    failed = next((check for check in outcome.facts.checks if not check.passed), None)
    if failed is None:
        return {"check": str(outcome.status), "error": cut(outcome.facts.reason, _LONGEST_REASON)}
    return {"check": failed.name, "exit_code": failed.exit_code, "error": _complaint(failed)}


def _complaint(check: Check) -> str:
    lines = [line.strip() for line in check.output_tail.splitlines() if line.strip()]
    return cut(lines[-1] if lines else check.reason, _LONGEST_REASON)


def _why(reason: str, outcome: Outcome) -> str:
    more = outcome.facts.reason
    return cut(f"{reason}: {more}" if more else reason, _LONGEST_REASON)
