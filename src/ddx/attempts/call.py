"""One call of an agent: asked in its workspace, heard out, weighed by its harness (X-4)."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from ddx import __version__
from ddx.agents import (
    AgentEvent,
    AgentEventKind,
    Bounds,
    CallEnd,
    Harnesses,
    ProcessExit,
    Reply,
    Request,
    StopCause,
    supervise,
)
from ddx.attempts.prompt import build_prompt
from ddx.attempts.record import ERRORS, MANIFEST, OUTPUT, PROMPT, USAGE
from ddx.attempts.sandbox import environment_for, wrapper
from ddx.base import DdxError, LogFile, cut, value
from ddx.proof import spoken_plan
from ddx.tracker import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.agents import Harness
    from ddx.attempts.attempt import AttemptTask
    from ddx.attempts.context import Limits
    from ddx.attempts.record import RecordWriter
    from ddx.attempts.workspace import PreparedWorkspace
    from ddx.base import Clock

QUICK_S = 5.0
"""An exit sooner than this and without a word is the program's own fault (X-8)."""
_LONGEST_LINE = 10 << 20
_MOST_CHATTER = 400
_MOST_EVENTS = 100_000
_TAIL = 4000
_BUDGET_EVERY_NS = 1_000_000_000
_CHATTER = (AgentEventKind.SAID, AgentEventKind.TOOL, AgentEventKind.NOTICE)


@value
class CallResult:
    """What a call came to; `is_fault` where the harness, not the work, is to blame (X-8)."""

    reply: Reply
    is_fault: bool = False


def ask_agent(room: PreparedWorkspace) -> CallResult:
    """The agent's one call; what it was told and what it cost is in the record."""
    task, record = room.task, room.record
    preparation = task.preparation
    prompt = build_prompt(
        task.project,
        task.beads,
        room.governing,
        checkout=room.path,
        before=preparation.sections,
        checks=()
        if preparation.checks
        else spoken_plan(task.beads, room.governing, room.project_checks, task.settings),
        after=preparation.closing_sections,
    )
    record.write_text(PROMPT, prompt)
    documents = {item.id: item.path for item in room.governing.documents}
    policy = dict(preparation.manifest)
    record.write(MANIFEST, {**manifest_of(task, prompt), "documents": documents, "policy": policy})
    request = Request(
        prompt,
        room.path,
        record.path("scratch"),
        model=preparation.model,
        effort=preparation.effort,
        max_cost_usd=preparation.limits.max_cost_usd,
        in_sandbox=task.settings.sandbox.kind != "none",
        script="\n".join(filter(None, (text_of(bead.row, "script") for bead in task.beads))),
    )
    return call_agent(room, request)


def manifest_of(task: AttemptTask, prompt: str) -> dict[str, Any]:
    """What every agent is asked for and with what, as manifest.json keeps it."""
    preparation = task.preparation
    return {
        "version": __version__,
        "harness": preparation.harness,
        "model": preparation.model,
        "effort": preparation.effort,
        "action": preparation.action,
        "base": task.target.base,
        "target": task.target.branch,
        "beads": {bead.id: bead.revision for bead in task.beads},
        "limits": dict(preparation.limits.__dict__),
        "prompt_sha256": hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest(),
    }


def call_agent(room: PreparedWorkspace, request: Request) -> CallResult:
    """Run the room's agent once, in a sandbox where there is one; what it used is on record.

    Nothing it says is believed here, and nothing it leaves runs on.
    """
    called = _call(room, Harnesses(room.task.settings).find(room.task.preparation.harness), request)
    room.record.write(USAGE, called.reply.usage.as_row())
    return called


def _call(room: PreparedWorkspace, harness: Harness, request: Request) -> CallResult:
    record, site, limits = room.record, room.task.site, room.task.preparation.limits
    scratch = (request.scratch, room.env["DDX_EVIDENCE_DIR"])
    wrap = wrapper(room.task, room.workspace.path, scratch=scratch)
    invocation = harness.command(request)
    _write_files(request.scratch, invocation.files)
    hearing = OutputReader(harness, record, limits, site.clock)
    record.tell("agent-started", room.task.preparation.harness, model=request.model)
    try:
        ended = supervise(
            list(wrap(invocation.argv)),
            cwd=request.workspace,
            env=environment_for(room.env, more=invocation.env, without=invocation.without),
            stdin=None if invocation.stdin is None else invocation.stdin.encode(),
            bounds=Bounds(wall_s=limits.wall_s, idle_s=limits.idle_s),
            watch=hearing,
            clock=site.clock,
            stop=site.stop,
            changed_since=lambda ns: has_changed_since(request.workspace, ns),
        )
    except DdxError as problem:  # the program is missing or cannot be started
        return CallResult(Reply(CallEnd.CRASHED, reason=problem.message), is_fault=True)
    finally:
        hearing.close()
    exit = ProcessExit(
        ended.code,
        ended.stopped,
        ended.seconds,
        had_output=ended.had_output,
        stderr_tail=hearing.error_tail,
    )
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
    return CallResult(reply, is_fault=_is_fault(reply, exit))


def _write_files(folder: str, files: Mapping[str, str]) -> None:
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _is_fault(reply: Reply, exit: ProcessExit) -> bool:
    match reply.end:
        case CallEnd.AUTH | CallEnd.RATE_LIMITED | CallEnd.API_ERROR | CallEnd.DENIED:
            return True
        case CallEnd.CRASHED:
            return exit.seconds < QUICK_S and not exit.had_output
        case _:
            return False


class OutputReader:
    """Reads the agent's output as it comes: to the log, and line by line into events."""

    def __init__(
        self, harness: Harness, record: RecordWriter, limits: Limits, clock: Clock
    ) -> None:
        self._harness = harness
        self._record = record
        self._limits = limits
        self._clock = clock
        self._logs = tuple(LogFile(record.path(name), record.masker) for name in (OUTPUT, ERRORS))
        self._lines = (_Lines(), _Lines())
        self._weighty: list[tuple[int, AgentEvent]] = []
        self._chatter: list[tuple[int, AgentEvent]] = []
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

    def verdict(self) -> StopCause | None:
        """Enough, or the last word was said."""
        if len(self._weighty) > _MOST_EVENTS or self._is_over_budget():
            return StopCause.OVER_BUDGET
        return StopCause.AFTER_RESULT if self._has_result else None

    def events(self) -> list[AgentEvent]:
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

    def _hear(self, events: Sequence[AgentEvent]) -> None:
        for event in events:
            self._count += 1
            if event.kind in _CHATTER:
                self._chatter.append((self._count, event))
                if len(self._chatter) > _MOST_CHATTER:
                    del self._chatter[: _MOST_CHATTER // 2]
            else:
                self._weighty.append((self._count, event))
            self._has_result = self._has_result or event.kind is AgentEventKind.RESULT
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
        return limits.are_spent(self._harness.finish(ProcessExit(0), self.events()).usage)


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
