"""Proving one tree: everything that was planned is run or looked at, to the last item (X-11).

A failure does not end it, so that the next attempt hears of all failures at once. How long it may
take is the sum of the time limits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, assert_never

from ddx.errors import CorruptFile, DdxError
from ddx.execution.model import Check, Measured, Proof
from ddx.execution.planning import (
    Impossible,
    Look,
    Plan,
    Run,
    plan_checks,
    spoken_command,
    spoken_plan,
)
from ddx.execution.ratchets import judge_ratchet, read_floors
from ddx.execution.record import LogFile
from ddx.execution.states import find_fault
from ddx.graph.proof.running import Place, run_execution
from ddx.supervision import Bounds, Stopped, supervise
from ddx.text import cut, listed
from ddx.trust import require_trust
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.clock import Clock
    from ddx.execution.planning import Planned
    from ddx.graph.proof.definitions import Execution
    from ddx.graph.proof.records import Record as RunRecord
    from ddx.masking import Masker
    from ddx.project import Project
    from ddx.supervision import StopRequest

__all__ = ["Plan", "plan_checks", "run_checks", "spoken_plan"]

FOLDER = "checks"
INTERRUPTED = "interrupted"
_TAIL_LINES = 40
_TAIL_LENGTH = 4_000
_HELD = 16_000
"""Of the output's end: masking may need more than is shown."""
_LONGEST_SLUG = 40


def run_checks(
    plan: Plan,
    *,
    commit: str,
    project: Project,
    workspace: str,
    record_folder: str,
    env: Mapping[str, str],
    masker: Masker,
    clock: Clock,
    stop: StopRequest | None = None,
    wrap: Callable[[Sequence[str]], Sequence[str]] = tuple,
    folder: str = FOLDER,
    after: Callable[[Check], None] = lambda check: None,
) -> Proof:
    """Judge the workspace, which holds the tree of `commit`; all output goes below the record.

    `folder` keeps the logs of a second look, at a merged tree, apart from those of the first.
    `after` is told of each check as soon as it has ended, while all is still as it left it.
    """
    if any(isinstance(item, Run) for item in plan.items):
        require_trust(project, to_run="its checks")
    os.makedirs(os.path.join(record_folder, folder), exist_ok=True)
    bench = _Bench(project, workspace, record_folder, folder, dict(env), masker, clock, stop, wrap)
    done: list[_Result] = []
    for number, item in enumerate(plan.items, start=1):
        done.append(bench.examine(number, item))
        for check in done[-1].checks:
            after(check)
    return Proof(
        commit,
        tuple(check for result in done for check in result.checks),
        tuple(measured for result in done for measured in result.measured),
    )


@value
class _Result:
    checks: tuple[Check, ...]
    measured: tuple[Measured, ...] = ()


@value
class _Ended:
    """How a command came out, however it was run."""

    reason: str
    exit_code: int | None
    record: RunRecord | None = None


@value
class _Bench:
    """What every check of one proof shares."""

    project: Project
    workspace: str
    record_folder: str
    folder: str
    env: Mapping[str, str]
    masker: Masker
    clock: Clock
    stop: StopRequest | None
    wrap: Callable[[Sequence[str]], Sequence[str]]

    def examine(self, number: int, item: Planned) -> _Result:
        origin = listed(item.origins)
        match item:
            case Impossible():
                return _Result((Check(item.name, "", origin, False, reason=item.reason),))
            case Look() | Run() if self.stop is not None and self.stop.asked:
                command = spoken_command(item.command) if isinstance(item, Run) else ""
                return _Result((Check(item.name, command, origin, False, reason=INTERRUPTED),))
            case Look():
                fault = find_fault(item.state, self.workspace)
                return _Result((Check(item.name, "", origin, not fault, reason=fault),))
            case Run():
                return self._run(number, item, origin)
            case other:
                assert_never(other)

    def _run(self, number: int, item: Run, origin: str) -> _Result:
        log = f"{self.folder}/{number:02d}-{_slug(item.name)}.log"
        begun_ns = self.clock.now_ns()
        transcript = _Transcript(
            LogFile(os.path.join(self.record_folder, log), self.masker), item.prints
        )
        try:
            if item.execution is None:
                ended = self._command(item, transcript)
            else:
                ended = self._execution(item, item.execution, transcript)
        finally:
            transcript.close()
        missing = [cut(repr(text), 80) if text else "anything" for text in transcript.missing]
        reason = ended.reason or (f"it does not print {listed(missing)}" if missing else "")
        check = Check(
            item.name,
            spoken_command(item.command),
            origin,
            not reason,
            ended.exit_code,
            (self.clock.now_ns() - begun_ns) / 1e9,
            reason,
            _tail(self.masker.mask(transcript.end)),
            log,
        )
        ratchets = list(self._ratchets(item, ended.record)) if ended.record else []
        return _Result(
            (check, *(held for held, _ in ratchets)),
            tuple(measured for _, measured in ratchets if measured is not None),
        )

    def _command(self, item: Run, transcript: _Transcript) -> _Ended:
        command = item.command
        argv = ("sh", "-c", command) if isinstance(command, str) else command
        try:
            ended = supervise(
                list(self.wrap(argv)),
                cwd=self.workspace,
                env=self.env,
                bounds=Bounds(wall_s=item.timeout_s),
                watch=transcript,
                clock=self.clock,
                stop=self.stop,
            )
        except DdxError as problem:
            return _Ended(problem.message, None)
        if ended.stopped is Stopped.TIMED_OUT:
            return _Ended(f"was ended after {item.timeout_s:g} s, its time limit", None)
        if ended.stopped is not Stopped.BY_ITSELF:
            return _Ended(str(ended.stopped), None)
        if ended.code < 0:
            return _Ended(f"was ended by signal {-ended.code}", None)
        return _Ended(f"exit code {ended.code}" if ended.code else "", ended.code)

    def _execution(self, item: Run, execution: Execution, transcript: _Transcript) -> _Ended:
        """A definition's run is kept among its runs as well: `ddx exec history` shows it."""
        record = run_execution(
            self.project,
            changed(execution, timeout_ms=int(item.timeout_s * 1000)),
            clock=self.clock,
            place=Place(self.workspace, self.env, self.wrap, transcript, self.stop),
        )
        reason = "" if record.ok else record.reason or record.status
        return _Ended(reason, record.exit_code, record)

    def _ratchets(self, item: Run, record: RunRecord) -> Iterator[tuple[Check, Measured | None]]:
        """Of a run that gave its numbers; one that did not has failed already."""
        for metric in item.ratchets if record.ok else ():
            ratchet = Check(metric.name, "", metric.path, False, is_ratchet=True)
            try:
                floors = read_floors(self.project)
            except CorruptFile as problem:
                yield changed(ratchet, reason=problem.message, is_ratchet=False), None
                continue
            number = record.metrics[metric.name]
            held = judge_ratchet(metric, number, floors)
            reached = Measured(
                metric.name, number, record.run_id, metric.direction, metric.unit, metric.floor
            )
            passed = changed(ratchet, passed=held.passed, reason=held.reason)
            yield passed, reached if held.is_new_floor else None


class _Transcript:
    """All that a check prints: into its log, its end held, its texts looked for."""

    def __init__(self, log: LogFile, wanted: Sequence[str]) -> None:
        self._log = log
        self._end = b""
        self._seekers = [_Seeker(text) for text in wanted]

    def output(self, chunk: bytes) -> None:
        self._take(chunk, 0)

    def errors(self, chunk: bytes) -> None:
        self._take(chunk, 1)

    def verdict(self) -> Stopped | None:
        return None

    def close(self) -> None:
        self._log.close()

    @property
    def end(self) -> str:
        return self._end.decode("utf-8", "replace")

    @property
    def missing(self) -> list[str]:
        return [seeker.text for seeker in self._seekers if not seeker.is_found]

    def _take(self, chunk: bytes, stream: int) -> None:
        self._log.write(chunk)
        self._end = (self._end + chunk)[-_HELD:]
        for seeker in self._seekers:
            seeker.feed(chunk, stream)


class _Seeker:
    """Looks for a text in two streams that come in pieces; an empty one is any text at all."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_found = False
        self._bytes = text.encode("utf-8", "replace")
        self._held = [b"", b""]

    def feed(self, chunk: bytes, stream: int) -> None:
        if self.is_found:
            return
        together = self._held[stream] + chunk
        self.is_found = self._bytes in together if self._bytes else bool(chunk.strip())
        self._held[stream] = together[max(len(together) - len(self._bytes) + 1, 0) :]


def _tail(text: str) -> str:
    """The last lines, as many as a prompt can bear."""
    return "\n".join(text.rstrip().splitlines()[-_TAIL_LINES:])[-_TAIL_LENGTH:]


def _slug(name: str) -> str:
    kept = "".join(mark if mark.isascii() and mark.isalnum() else "-" for mark in name.lower())
    return "-".join(part for part in kept.split("-") if part)[:_LONGEST_SLUG].strip("-") or "check"
