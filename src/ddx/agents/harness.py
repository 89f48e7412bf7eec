"""The contract between us and one agent program (X-4). Pure.

A harness says what to start and reads what comes back. It starts nothing itself and believes no
exit code and no sentence on its own: `finish` weighs the way the process ended against the events
that its output really held.
"""

from __future__ import annotations

import json
import signal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from ddx.base import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_MOST_TOKENS = 10**12
_MOST_USD = 10**6
_REASON_LENGTH = 400


class StopCause(StrEnum):
    """Who ended the process: it did itself, or we did and why."""

    BY_ITSELF = "by itself"
    TIMED_OUT = "timed out"
    STALLED = "stalled"
    INTERRUPTED = "interrupted"
    OVER_BUDGET = "over budget"
    AFTER_RESULT = "after its result"
    """It had said its last word and did not go."""


class CallEnd(StrEnum):
    """How one call of an agent ended; only a completed one may land (X-15)."""

    COMPLETED = "completed"
    DENIED = "denied"
    LIMIT_TURNS = "limit_turns"
    LIMIT_BUDGET = "limit_budget"
    RATE_LIMITED = "rate_limited"
    AUTH = "auth"
    API_ERROR = "api_error"
    INTERRUPTED = "interrupted"
    CRASHED = "crashed"
    STALLED = "stalled"
    TIMED_OUT = "timed_out"

    @property
    def is_harness_fault(self) -> bool:
        """Whether the harness is the reason, whoever was asked for what (X-8)."""
        return self in _FAULTS


_FAULTS = frozenset({CallEnd.AUTH, CallEnd.RATE_LIMITED, CallEnd.API_ERROR, CallEnd.DENIED})


class CostSource(StrEnum):
    REPORTED = "reported"
    PRICED = "priced"
    UNKNOWN = "unknown"


@value
class Usage:
    """What this one call used; `input` excludes what came from or went to a cache."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost_usd: float | None = None
    cost_source: CostSource = CostSource.UNKNOWN

    @classmethod
    def read(cls, row: object) -> Usage | None:
        """The numbers of one usage line, or None if any of them cannot be one."""
        if not isinstance(row, dict):
            return None
        names = ("input", "cache_read", "cache_write", "output")
        counts = {name: row.get(name, 0) for name in names}
        if not all(type(count) is int and 0 <= count <= _MOST_TOKENS for count in counts.values()):
            return None
        cost = row.get("cost_usd")
        if cost is None:
            return cls(**counts)
        if type(cost) not in (int, float) or not 0 <= cost <= _MOST_USD:
            return None
        return cls(**counts, cost_usd=float(cost), cost_source=CostSource.REPORTED)

    @property
    def tokens(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: Usage) -> Usage:
        """Together; a cost that is unknown on one side stays unknown, unless nothing was used."""
        if not self.tokens and self.cost_usd is None:
            return other
        if not other.tokens and other.cost_usd is None:
            return self
        known = self.cost_usd is not None and other.cost_usd is not None
        sources = (self.cost_source, other.cost_source)
        source = CostSource.PRICED if CostSource.PRICED in sources else CostSource.REPORTED
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            cost_usd=(self.cost_usd or 0) + (other.cost_usd or 0) if known else None,
            cost_source=source if known else CostSource.UNKNOWN,
        )

    @property
    def in_words(self) -> str:
        """Tokens and cost for a person; an unknown cost is not 0 (X-7)."""
        if not self.tokens and self.cost_usd is None:
            return "usage unknown"
        cost = "cost unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        return f"{self.tokens:,} tokens, {cost}"

    def as_row(self) -> dict[str, Any]:
        return {**self.__dict__, "cost_source": str(self.cost_source)}


@value
class Request:
    """One prompt for an agent, and the bounds that it is asked to keep."""

    prompt: str
    workspace: str
    scratch: str
    """A folder of this call alone, outside the workspace, for files that the program needs."""
    model: str = ""
    effort: str = ""
    read_only: bool = False
    schema: str = ""
    """A JSON Schema that the reply must fit; empty: any text."""
    max_turns: int = 0
    max_cost_usd: float | None = None
    in_sandbox: bool = False
    """Ours holds it already; a second one inside would refuse every command."""
    script: str = ""
    """What the bead itself carries for the `script` harness."""


@value
class Invocation:
    """What to start: `env` is added to the child's environment, `without` is taken from it."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = {}
    without: tuple[str, ...] = ()
    stdin: str | None = None
    """None: closed, since some programs wait for ever on an open one."""
    files: Mapping[str, str] = {}
    """Written below the request's scratch folder before the start."""


class AgentEventKind(StrEnum):
    """What an event says. Only SAID, TOOL and NOTICE may be thinned out when there are many."""

    STARTED = "started"
    SAID = "said"
    TOOL = "tool"
    NOTICE = "notice"
    WAITING = "waiting"
    """The program retries by itself: alive, but not working."""
    USAGE = "usage"
    DENIED = "denied"
    FAULT = "fault"
    """The program itself reports a failure; `data` says which."""
    RESULT = "result"
    """The program's last word. If it does not exit soon after, it hangs and is ended."""


@value
class AgentEvent:
    """One thing that the agent's output told; `text` is for a person, `data` for `finish`."""

    kind: AgentEventKind
    text: str = ""
    usage: Usage | None = None
    """On USAGE and RESULT: see the harness for whether it adds up or is the total."""
    data: Mapping[str, Any] = {}


@value
class ProcessExit:
    """How the process ended: a negative code is a signal's number."""

    code: int
    stopped: StopCause = StopCause.BY_ITSELF
    seconds: float = 0.0
    had_output: bool = True
    stderr_tail: str = ""

    def reason(self, program: str, text: str) -> str:
        """How a program ended that did not end well, and what it last said about it."""
        how = f"exit code {self.code}"
        if self.code < 0:
            known = {number.value: number.name for number in signal.Signals}
            how = known.get(-self.code, f"signal {-self.code}")
        complaint = (self.stderr_tail.strip() or text.strip())[-_REASON_LENGTH:].strip()
        return f"{program} ended with {how}" + (f": {complaint}" if complaint else "")


@value
class Reply:
    """What one call came to. `text` is the agent's last word and proves nothing."""

    end: CallEnd
    text: str = ""
    reason: str = ""
    usage: Usage = Usage()
    until: str = ""
    """Of a usage limit: when it ends, RFC 3339 in UTC; empty if the program did not say."""
    structured: Any = None
    """The reply that fits the request's schema; None if there is none that does."""
    denied: tuple[str, ...] = ()
    """The tools that the agent wanted and was not allowed."""
    session: str = ""
    retries: int = 0


@value
class DetectedProgram:
    """Whether the program is there and answers; `problem` says in words why it is not usable."""

    program: str
    path: str = ""
    version: str = ""
    capabilities: frozenset[str] = frozenset()
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


class Harness(Protocol):
    """One agent program. A new one is a module and a line in the registry, or an entry point."""

    name: str
    homes: tuple[str, ...]
    """Folders and files below the home folder that the program needs, such as `.claude`."""

    def detect(self) -> DetectedProgram:
        """Is it installed, in which version, and what can it do?"""

    def command(self, request: Request) -> Invocation:
        """How to start it for this request."""

    def parse(self, line: str) -> tuple[AgentEvent, ...]:
        """The events in one line of its output; a line that says nothing gives none."""

    def parse_error(self, line: str) -> tuple[AgentEvent, ...]:
        """The same for a line on stderr."""

    def finish(self, exit: ProcessExit, events: Sequence[AgentEvent]) -> Reply:
        """What the call came to; `exit` is about the process, `events` about its words."""


STOPPED_ENDS = {
    StopCause.TIMED_OUT: CallEnd.TIMED_OUT,
    StopCause.STALLED: CallEnd.STALLED,
    StopCause.INTERRUPTED: CallEnd.INTERRUPTED,
    StopCause.OVER_BUDGET: CallEnd.LIMIT_BUDGET,
}
"""Where we ended the process, our reason stands, whatever its output says."""


def row_in(line: str) -> dict[str, Any] | None:
    """The JSON object that a line is, or None; broken, deep and foreign lines are nothing."""
    text = line.strip()
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def object_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a reply is, or that its last line is; whoever asked must check it."""
    found = row_in(text)
    return row_in(text.strip().rpartition("\n")[2]) if found is None else found
