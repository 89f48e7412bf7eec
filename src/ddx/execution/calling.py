"""One call of an agent: started in its workspace, heard out, weighed by its harness (X-4)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.errors import DdxError
from ddx.execution.record import ERRORS, OUTPUT, LogFile
from ddx.execution.surrounding import environment_for
from ddx.harnesses.base import End, Event, Exit, Kind, Reply, Usage
from ddx.supervision import Bounds, Stopped, supervise
from ddx.text import cut
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.clock import Clock
    from ddx.execution.model import Limits
    from ddx.execution.record import Record
    from ddx.harnesses.base import Harness, Request
    from ddx.supervision import StopRequest

QUICK_S = 5.0
"""An exit sooner than this and without a word is the program's own fault (X-8)."""

_LONGEST_LINE = 10 << 20
_MOST_CHATTER = 400
_MOST_EVENTS = 100_000
_TAIL = 4000
_BUDGET_EVERY_NS = 1_000_000_000
_CHATTER = (Kind.SAID, Kind.TOOL, Kind.NOTICE)


@value
class Called:
    """What a call came to; `is_fault` where the harness, not the work, is to blame (X-8)."""

    reply: Reply
    is_fault: bool = False


def call_agent(
    harness: Harness,
    request: Request,
    *,
    record: Record,
    env: Mapping[str, str],
    limits: Limits,
    clock: Clock,
    stop: StopRequest | None = None,
    wrap: Callable[[Sequence[str]], Sequence[str]] = lambda argv: argv,
    name: str = "",
) -> Called:
    """Run the agent once; nothing it says is believed here, and nothing it leaves runs on.

    `wrap` puts the program into a sandbox where there is one. `name` is what people call it.
    """
    invocation = harness.command(request)
    os.makedirs(request.scratch, exist_ok=True)
    for file_name, text in invocation.files.items():
        path = os.path.join(request.scratch, file_name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    hearing = Hearing(harness, record, limits, clock)
    record.tell("agent-started", name or harness.name, model=request.model)
    try:
        ended = supervise(
            list(wrap(invocation.argv)),
            cwd=request.workspace,
            env=environment_for(env, more=invocation.env, without=invocation.without),
            stdin=None if invocation.stdin is None else invocation.stdin.encode(),
            bounds=Bounds(wall_s=limits.wall_s, idle_s=limits.idle_s),
            watch=hearing,
            clock=clock,
            stop=stop,
            changed_since=lambda ns: has_changed_since(request.workspace, ns),
        )
    except DdxError as problem:  # the program is missing or cannot be started
        hearing.close()
        return Called(Reply(End.CRASHED, reason=problem.message), is_fault=True)
    except BaseException:
        hearing.close()
        raise
    hearing.close()
    exit = Exit(ended.code, ended.stopped, ended.seconds, ended.had_output, hearing.error_tail)
    reply = harness.finish(exit, hearing.events())
    record.tell(
        "agent-ended",
        reply.reason or str(reply.end),
        end=str(reply.end),
        code=ended.code,
        seconds=round(ended.seconds, 3),
        strays=ended.strays,
        usage=reply.usage.as_row(),
    )
    return Called(reply, is_fault=_is_fault(reply, exit))


def _is_fault(reply: Reply, exit: Exit) -> bool:
    match reply.end:
        case End.AUTH | End.RATE_LIMITED | End.API_ERROR | End.DENIED:
            return True
        case End.CRASHED:
            return exit.seconds < QUICK_S and not exit.had_output
        case _:
            return False


class Hearing:
    """Reads the agent's output as it comes: to the log, and line by line into events."""

    def __init__(self, harness: Harness, record: Record, limits: Limits, clock: Clock) -> None:
        self._harness = harness
        self._record = record
        self._limits = limits
        self._clock = clock
        self._logs = tuple(LogFile(record.path(name), record.masker) for name in (OUTPUT, ERRORS))
        self._lines = (_Lines(), _Lines())
        self._weighty: list[tuple[int, Event]] = []
        self._chatter: list[tuple[int, Event]] = []
        self._count = 0
        self._has_result = False
        self._spent_events = 0
        self._looked_ns = 0
        self.error_tail = ""

    def output(self, chunk: bytes) -> None:
        self._logs[0].write(chunk)
        for line in self._lines[0].feed(chunk):
            self._hear(self._harness.parse(line))

    def errors(self, chunk: bytes) -> None:
        self._logs[1].write(chunk)
        for line in self._lines[1].feed(chunk):
            self._hear_error(line)

    def verdict(self) -> Stopped | None:
        """Enough, or the last word was said."""
        if len(self._weighty) > _MOST_EVENTS or self._is_over_budget():
            return Stopped.OVER_BUDGET
        return Stopped.AFTER_RESULT if self._has_result else None

    def events(self) -> list[Event]:
        """What was heard, in order; of mere talk only the last part."""
        return [
            event for _, event in sorted([*self._weighty, *self._chatter], key=lambda it: it[0])
        ]

    def close(self) -> None:
        for line in self._lines[0].finish():
            self._hear(self._harness.parse(line))
        for line in self._lines[1].finish():
            self._hear_error(line)
        for log in self._logs:
            log.close()

    def _hear_error(self, line: str) -> None:
        self.error_tail = f"{self.error_tail}{cut(line, _TAIL)}\n"[-_TAIL:]
        self._hear(self._harness.parse_error(line))

    def _hear(self, events: Sequence[Event]) -> None:
        for event in events:
            self._count += 1
            if event.kind in _CHATTER:
                self._chatter.append((self._count, event))
                if len(self._chatter) > _MOST_CHATTER:
                    del self._chatter[: _MOST_CHATTER // 2]
            else:
                self._weighty.append((self._count, event))
            self._has_result = self._has_result or event.kind is Kind.RESULT
            usage = {"usage": event.usage.as_row()} if event.usage else {}
            self._record.tell(f"agent-{event.kind}", cut(event.text, 2000), **usage)

    def _is_over_budget(self) -> bool:
        """Asked every tick; the sum is made at most once a second, and only of new events."""
        limits, now_ns = self._limits, self._clock.now_ns()
        if limits.max_cost_usd is None and limits.max_tokens is None:
            return False
        fresh = len(self._weighty) != self._spent_events
        if not fresh or now_ns - self._looked_ns < _BUDGET_EVERY_NS:
            return False
        self._spent_events, self._looked_ns = len(self._weighty), now_ns
        return exceeds(self._harness.finish(Exit(0), self.events()).usage, limits)


def exceeds(usage: Usage, limits: Limits) -> bool:
    """Has a known number passed its limit? An unknown cost passes none (X-7)."""
    too_dear = (
        limits.max_cost_usd is not None
        and usage.cost_usd is not None
        and usage.cost_usd >= limits.max_cost_usd
    )
    return too_dear or (limits.max_tokens is not None and usage.tokens >= limits.max_tokens)


class _Lines:
    """Bytes into lines; one that is too long is cut, never held."""

    def __init__(self) -> None:
        self._rest = b""
        self._too_long = False

    def feed(self, chunk: bytes) -> list[str]:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        lines = []
        for line in whole:
            if not self._too_long:
                lines.append(line.decode("utf-8", "replace").rstrip("\r"))
            self._too_long = False
        if len(self._rest) > _LONGEST_LINE:
            self._rest, self._too_long = b"", True
        return lines

    def finish(self) -> list[str]:
        rest, self._rest = self._rest, b""
        return [rest.decode("utf-8", "replace")] if rest and not self._too_long else []


def has_changed_since(workspace: str, ns: int) -> bool:
    """Did any file of the workspace change after that instant? Ends at the first that did."""
    unseen = [workspace]
    while unseen:
        try:
            entries = list(os.scandir(unseen.pop()))
        except OSError:
            continue  # removed while we looked
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_mtime_ns > ns:
                    return True
                if entry.is_dir(follow_symlinks=False):
                    unseen.append(entry.path)
            except OSError:
                continue
    return False
