"""The contract between us and one agent program (X-4). Pure.

A harness says what to start and reads what comes back. It starts nothing itself and believes no
exit code and no sentence on its own: `finish` weighs the way the process ended against the events
that its output really held.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from ddx.supervision import Stopped
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class End(StrEnum):
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
        sources = {self.cost_source, other.cost_source}
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            (self.cost_usd or 0) + (other.cost_usd or 0) if known else None,
            CostSource.UNKNOWN
            if not known
            else CostSource.PRICED
            if CostSource.PRICED in sources
            else CostSource.REPORTED,
        )

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


class Kind(StrEnum):
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
class Event:
    """One thing that the agent's output told; `text` is for a person, `data` for `finish`."""

    kind: Kind
    text: str = ""
    usage: Usage | None = None
    """On USAGE and RESULT: see the harness for whether it adds up or is the total."""
    data: Mapping[str, Any] = {}


@value
class Exit:
    """How the process ended: a negative code is a signal's number."""

    code: int
    stopped: Stopped = Stopped.BY_ITSELF
    seconds: float = 0.0
    had_output: bool = True
    stderr_tail: str = ""


@value
class Reply:
    """What one call came to. `text` is the agent's last word and proves nothing."""

    end: End
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
class Detected:
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

    def detect(self) -> Detected:
        """Is it installed, in which version, and what can it do?"""

    def command(self, request: Request) -> Invocation:
        """How to start it for this request."""

    def parse(self, line: str) -> tuple[Event, ...]:
        """The events in one line of its output; a line that says nothing gives none."""

    def parse_error(self, line: str) -> tuple[Event, ...]:
        """The same for a line on stderr."""

    def finish(self, exit: Exit, events: Sequence[Event]) -> Reply:
        """What the call came to; `exit` is about the process, `events` about its words."""


STOPPED_ENDS = {
    Stopped.TIMED_OUT: End.TIMED_OUT,
    Stopped.STALLED: End.STALLED,
    Stopped.INTERRUPTED: End.INTERRUPTED,
    Stopped.OVER_BUDGET: End.LIMIT_BUDGET,
}
"""Where we ended the process, our reason stands, whatever its output says."""
