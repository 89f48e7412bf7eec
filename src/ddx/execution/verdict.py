"""From what an agent did to what it is called (X-15). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.execution.model import Status
from ddx.harnesses.base import End
from ddx.text import listed

if TYPE_CHECKING:
    from ddx.execution.calling import Called
    from ddx.execution.model import Limits, Proof

_ENDS = {
    End.LIMIT_TURNS: Status.AGENT_FAILED,
    End.LIMIT_BUDGET: Status.AGENT_FAILED,
    End.INTERRUPTED: Status.INTERRUPTED,
    End.STALLED: Status.TIMEOUT,
    End.TIMED_OUT: Status.TIMEOUT,
}
_WORDS = {
    End.DENIED: "the agent was not allowed to use what it needed",
    End.LIMIT_TURNS: "the agent reached its limit of turns",
    End.LIMIT_BUDGET: "the budget was spent",
    End.RATE_LIMITED: "the usage limit was reached",
    End.AUTH: "the agent is not logged in",
    End.API_ERROR: "the model's service reported an error",
    End.INTERRUPTED: "interrupted",
    End.CRASHED: "the agent's program failed",
    End.STALLED: "the agent stalled: no output and no activity",
    End.TIMED_OUT: "the time limit was reached",
}


def status_of_call(called: Called, limits: Limits) -> Status | None:
    """Why the call may not land; None if the agent completed it. Unknown ends are failures."""
    end = called.reply.end
    if end is End.COMPLETED:
        return None
    if end is End.LIMIT_BUDGET and limits.is_of_run:
        return Status.INTERRUPTED
    if called.is_fault:
        return Status.HARNESS_FAULT
    return _ENDS.get(end, Status.AGENT_FAILED)


def reason_of_call(called: Called) -> str:
    words = _WORDS.get(called.reply.end, str(called.reply.end))
    said = called.reply.reason
    return f"{words}: {said}" if said and said != words else words


def status_of_proof(proof: Proof) -> Status | None:
    """Why the tree may not land; None if every check passed."""
    if proof.ok:
        return None
    if proof.failures and all(check.is_ratchet for check in proof.failures):
        return Status.RATCHET_FAILED
    return Status.CHECK_FAILED


def reason_of_proof(proof: Proof) -> str:
    if not proof.checks:
        return "nothing could be checked"
    failed = [f"{check.name} ({check.reason})" for check in proof.failures]
    return f"failed: {listed(failed)}" if failed else ""
