"""What a call came to: how the process ended, weighed against what it really said (X-4). Pure.

The harness reads its program's lines into events, and these words mean the same from all of them:

    RESULT   data["ok"]: whether the program itself calls it a success; its usage is the total
    FAULT    data["end"]: which End it means; data["until"]: when a limit ends
    DENIED   data["tool"]: what the agent was not allowed
    WAITING  the program tries again by itself; data["until"] as above
    USAGE    adds up; of those with one data["message"] only the last counts
    SAID     data["delta"]: goes on where the one before ended

and any of them may carry data["session"].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.agents.harness import (
    STOPPED_ENDS,
    AgentEvent,
    AgentEventKind,
    CallEnd,
    ProcessExit,
    Reply,
    StopCause,
    Usage,
)
from ddx.agents.output import LONGEST_REPLY, plain
from ddx.base import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIGNALS = {number: name for name, number in (("SIGHUP", 1), ("SIGINT", 2), ("SIGTERM", 15))}
_REASON_LENGTH = 400


def weigh(
    exit: ProcessExit, events: Sequence[AgentEvent], *, program: str, structured: Any = None
) -> Reply:
    """Completed only with a good last word, a clean exit and no denial; else the best reason."""
    end, reason = _end(exit, events, program)
    is_waiting = end is not CallEnd.COMPLETED and _waiting(events) is not None
    return Reply(
        end,
        text=last_words(events),
        reason=cut(reason, _REASON_LENGTH),
        usage=used(events),
        until=_last(events, "until") if end is CallEnd.RATE_LIMITED or is_waiting else "",
        structured=structured if end is CallEnd.COMPLETED else None,
        denied=tuple(dict.fromkeys(filter(None, (_of(each, "tool") for each in _denials(events))))),
        session=_last(events, "session"),
        retries=sum(each.kind is AgentEventKind.WAITING for each in events),
    )


def used(events: Sequence[AgentEvent]) -> Usage:
    """What the call has used, as far as the events tell; also while it still runs."""
    totals = [each.usage for each in events if each.kind is AgentEventKind.RESULT and each.usage]
    if totals:
        return totals[-1]
    parts = {
        each.data.get("message", place): each.usage
        for place, each in enumerate(events)
        if each.kind is AgentEventKind.USAGE and each.usage
    }
    return sum(parts.values(), Usage())


def last_words(events: Sequence[AgentEvent]) -> str:
    """What the agent said last: the result's own text, or all of its last utterance."""
    words: list[str] = []
    for each in reversed(events):
        if each.kind is AgentEventKind.RESULT and each.text and not words:
            return each.text
        if each.kind is AgentEventKind.SAID:
            words.append(each.text)
            if not each.data.get("delta"):
                break
        elif each.kind is AgentEventKind.TOOL and words:
            break
    return "".join(reversed(words))[-LONGEST_REPLY:]


def _end(exit: ProcessExit, events: Sequence[AgentEvent], program: str) -> tuple[CallEnd, str]:
    decisive = _decisive(events)
    if exit.stopped in STOPPED_ENDS:
        waiting = _waiting(events)
        waited = f" while it waited: {waiting.text}" if waiting else ""
        return STOPPED_ENDS[exit.stopped], f"{exit.stopped}{waited}"
    if decisive is not None and decisive.kind is AgentEventKind.FAULT:
        return CallEnd(decisive.data["end"]), decisive.text
    is_clean = exit.code == 0 or (decisive is not None and exit.stopped is StopCause.AFTER_RESULT)
    name = _SIGNALS.get(-exit.code) or _SIGNALS.get(exit.code - 128)
    if not is_clean and name:
        return CallEnd.INTERRUPTED, f"{program} was ended by {name}"
    if is_clean and _denials(events):
        return CallEnd.DENIED, f"not allowed: {', '.join(_wanted(events))}"
    if decisive is None or not is_clean:
        return CallEnd.CRASHED, _crash(exit, program, had_result=decisive is not None)
    return CallEnd.COMPLETED, _of(decisive, "reason")


def _decisive(events: Sequence[AgentEvent]) -> AgentEvent | None:
    """The last good result, unless a fault came after it; an API error yields to what says more."""
    faults: list[AgentEvent] = []
    result = None
    for each in reversed(events):
        if each.kind is AgentEventKind.RESULT and each.data.get("ok") is True:
            result = each
            break
        if each.kind is AgentEventKind.FAULT:
            faults.append(each)
    telling = [each for each in faults if each.data["end"] != CallEnd.API_ERROR]
    return next(iter(telling + faults), result)


def _waiting(events: Sequence[AgentEvent]) -> AgentEvent | None:
    """What the program waits for, if that is the last that it did."""
    doings = (each for each in reversed(events) if each.kind is not AgentEventKind.NOTICE)
    last = next(doings, None)
    return last if last is not None and last.kind is AgentEventKind.WAITING else None


def _crash(exit: ProcessExit, program: str, *, had_result: bool) -> str:
    how = f"signal {-exit.code}" if exit.code < 0 else f"exit code {exit.code}"
    what = "after a good result" if had_result else "and no result"
    complaint = _complaint(exit.stderr_tail) if exit.code > 0 else ""
    return f"{program} ended with {how} {what}" + (f": {complaint}" if complaint else "")


def _complaint(errors: str) -> str:
    """What the program says about its failure: the line that calls itself so, else its last."""
    said = [line for line in map(plain, errors.splitlines()) if line]
    named = [line for line in said if "error" in line.lower()]
    return next(iter(named + said[-1:]), "")


def _wanted(events: Sequence[AgentEvent]) -> list[str]:
    """What was denied, each once; a bare name yields to the same with what it was used on."""
    wanted = dict.fromkeys(each.text for each in _denials(events))
    return [one for one in wanted if not any(each.startswith(f"{one}: ") for each in wanted)]


def _denials(events: Sequence[AgentEvent]) -> list[AgentEvent]:
    return [each for each in events if each.kind is AgentEventKind.DENIED]


def _last(events: Sequence[AgentEvent], key: str) -> str:
    return next(filter(None, (_of(each, key) for each in reversed(events))), "")


def _of(event: AgentEvent, key: str) -> str:
    found = event.data.get(key)
    return found if isinstance(found, str) else ""
