"""Whether a harness may be given more work: limits, denials, the circuit breaker (X-8). Pure."""

from __future__ import annotations

from ddx.execution.model import Failed, Outcome, Preserved, Status
from ddx.harnesses.base import End
from ddx.instants import sort_key
from ddx.text import listed
from ddx.values import changed, value

MOST_FAULTS = 3
MOST_DENIALS = 2


def is_parked(outcome: Outcome) -> bool:
    """Did it meet a usage limit? Then nothing was tried at all."""
    reply = outcome.facts.reply
    return reply is not None and reply.end is End.RATE_LIMITED


@value
class Health:
    """What a harness did lately."""

    faults: int = 0
    """In a row, each the harness's own."""
    denials: int = 0
    parked_until: str = ""
    """RFC 3339 in UTC: it has told us so."""
    is_parked: bool = False
    reason: str = ""
    wanted: tuple[str, ...] = ()
    """The tools it was denied."""

    def after(self, outcome: Outcome, *, or_until: str) -> Health:
        """The same harness, one attempt later; `or_until` where a limit names no end."""
        reply = outcome.facts.reply
        reason = outcome.facts.reason
        if reply is not None and is_parked(outcome):
            until = reply.until or or_until
            return changed(self, is_parked=True, parked_until=until, reason=reason)
        if reply is not None and reply.end is End.DENIED:
            wanted = tuple(dict.fromkeys((*self.wanted, *reply.denied)))
            return changed(self, denials=self.denials + 1, wanted=wanted, reason=reason, faults=0)
        match outcome:
            case Failed(status=Status.HARNESS_FAULT) | Preserved(status=Status.HARNESS_FAULT):
                return changed(self, faults=self.faults + 1, denials=0, reason=reason)
            case Failed(status=Status.INTERRUPTED) | Preserved(status=Status.INTERRUPTED):
                return self
            case _:
                return Health()

    def awake(self, now: str) -> Health:
        """The same with its limit over, if it is."""
        over = self.is_parked and sort_key(self.parked_until) <= sort_key(now)
        return changed(self, is_parked=False, parked_until="") if over else self

    @property
    def is_broken(self) -> bool:
        return self.faults >= MOST_FAULTS

    @property
    def is_denied(self) -> bool:
        return self.denials >= MOST_DENIALS

    def complaint(self, harness: str) -> str:
        """Why nothing more is given to it, for a person."""
        if self.is_denied:
            wanted = listed(self.wanted) or "what it asked for"
            return f"{harness} was denied twice in a row; it needs {wanted}"
        if self.is_broken:
            return f"{harness} failed {self.faults} times in a row by its own fault: {self.reason}"
        if self.is_parked:
            return f"{harness} has reached its usage limit; it may go on at {self.parked_until}"
        return ""
