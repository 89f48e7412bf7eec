"""Proving one tree: everything that was planned is run or looked at, to the last item (X-11).

A failure does not end it, so that the next attempt hears of all failures at once. How long it may
take is the sum of the time limits.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, assert_never

from ddx.agents import Bounds, StopCause, supervise
from ddx.base import CorruptFile, DdxError, LogFile, changed, cut, listed, value
from ddx.proof.evidence import Check, Floors, MetricReading, Proof, code_of, fault_of, judge_ratchet
from ddx.proof.executions import Place, run_execution
from ddx.proof.plan import (
    CheckPlan,
    CommandCheck,
    FileStateCheck,
    ImpossibleCheck,
    spoken_command,
)
from ddx.tracker import FileContains, PathAbsent, PathExists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.agents import StopRequest
    from ddx.base import Clock, Masker
    from ddx.documents import Execution, RunRecord
    from ddx.project import Project
    from ddx.proof.plan import FileState, PlannedCheck


FOLDER = "checks"
INTERRUPTED = "interrupted"
_TAIL_LINES = 40
_TAIL_LENGTH = 4_000
_HELD = 16_000
"""Of the output's end: masking may need more than is shown."""
_LONGEST_SLUG = 40
_CHUNK = 1 << 20
_LARGEST_FILE = 256 << 20
_OUTSIDE = "it leads out of the workspace"


def run_checks(
    next_checker: Callable[[], Checker],
    plan: CheckPlan,
    commit: str,
    *,
    after: Callable[[Check], None] = lambda check: None,
) -> Proof:
    """Judge the tree of `commit`, which every checker's workspace holds as it is.

    A new checker is asked for after each command, because a command may change its workspace (H-1).
    `after` is told of each check as soon as it has ended, while all is still as it left it.
    """
    checker = next_checker()
    if any(isinstance(item, CommandCheck) for item in plan.items):
        checker.project.require_trust(to_run="its checks")
    os.makedirs(os.path.join(checker.record_folder, checker.folder), exist_ok=True)
    done: list[_Result] = []
    is_used = False
    for number, item in enumerate(plan.items, start=1):
        if is_used:
            checker = next_checker()
        done.append(checker.examine(number, item))
        is_used = isinstance(item, CommandCheck)
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
    measured: tuple[MetricReading, ...] = ()


@value
class _Ended:
    """How a command came out, however it was run."""

    reason: str
    exit_code: int | None
    record: RunRecord | None = None


@value
class Checker:
    """What every check of one proof shares; all output goes below the record."""

    project: Project
    workspace: str
    record_folder: str
    env: Mapping[str, str]
    masker: Masker
    clock: Clock
    stop: StopRequest | None = None
    wrap: Callable[[Sequence[str]], Sequence[str]] = tuple
    folder: str = FOLDER
    """Keeps the logs of a second look, at a merged tree, apart from those of the first."""

    def examine(self, number: int, item: PlannedCheck) -> _Result:
        """The checks that one planned item comes to."""
        origin = listed(item.origins)
        match item:
            case ImpossibleCheck():
                return _Result((Check(item.name, "", origin, passed=False, reason=item.reason),))
            case FileStateCheck() | CommandCheck() if self.stop is not None and self.stop.asked:
                command = spoken_command(item.command) if isinstance(item, CommandCheck) else ""
                return _Result(
                    (Check(item.name, command, origin, passed=False, reason=INTERRUPTED),)
                )
            case FileStateCheck():
                fault = find_fault(item.state, self.workspace)
                return _Result((Check(item.name, "", origin, passed=not fault, reason=fault),))
            case CommandCheck():
                return self._run(number, item, origin)
            case other:
                assert_never(other)

    def _run(self, number: int, item: CommandCheck, origin: str) -> _Result:
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
            name=item.name,
            command=spoken_command(item.command),
            origin=origin,
            passed=not reason,
            exit_code=ended.exit_code,
            seconds=(self.clock.now_ns() - begun_ns) / 1e9,
            reason=reason,
            output_tail=_tail(self.masker.mask(transcript.end)),
            log=log,
        )
        ratchets = list(self._ratchets(item, ended.record)) if ended.record else []
        return _Result(
            (check, *(held for held, _ in ratchets)),
            tuple(measured for _, measured in ratchets if measured is not None),
        )

    def _command(self, item: CommandCheck, transcript: _Transcript) -> _Ended:
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
        return _Ended(fault_of(ended, item.timeout_s), code_of(ended))

    def _execution(
        self, item: CommandCheck, execution: Execution, transcript: _Transcript
    ) -> _Ended:
        """A definition's run is kept among its runs as well: `ddx exec history` shows it."""
        record = run_execution(
            self.project,
            changed(execution, timeout_ms=int(item.timeout_s * 1000)),
            clock=self.clock,
            place=Place(self.workspace, self.env, self.wrap, watch=transcript, stop=self.stop),
        )
        reason = "" if record.ok else record.reason or record.status
        return _Ended(reason, record.exit_code, record)

    def _ratchets(
        self, item: CommandCheck, record: RunRecord
    ) -> Iterator[tuple[Check, MetricReading | None]]:
        """Of a run that gave its numbers; one that did not has failed already."""
        for metric in item.ratchets if record.ok else ():
            ratchet = Check(metric.name, "", metric.path, passed=False, is_ratchet=True)
            try:
                floors = Floors.read(self.project)
            except CorruptFile as problem:
                yield changed(ratchet, reason=problem.message, is_ratchet=False), None
                continue
            number = record.metrics[metric.name]
            held = judge_ratchet(metric, number, floors)
            reached = MetricReading(
                metric=metric.name,
                number=number,
                run_id=record.run_id,
                direction=metric.direction,
                unit=metric.unit,
                defined=metric.floor,
            )
            passed = changed(ratchet, passed=held.passed, reason=held.reason)
            yield passed, reached if held.is_new_floor else None


def find_fault(state: FileState, workspace: str) -> str:
    """Why the state does not hold; empty if it does. Links are followed only within."""
    home = os.path.realpath(workspace)
    place = os.path.join(home, state.path.rstrip("/"))
    match state:
        case PathAbsent():
            if not _is_within(os.path.realpath(os.path.dirname(place)), home):
                return _OUTSIDE
            return "it is still there" if os.path.lexists(place) else ""
        case PathExists():
            target = os.path.realpath(place)
            if not _is_within(target, home):
                return _OUTSIDE
            if not os.path.exists(target):
                return "it does not exist"
            is_folder = os.path.isdir(target)
            return "" if is_folder or not state.path.endswith("/") else "it is no folder"
        case FileContains():
            target = os.path.realpath(place)
            if not _is_within(target, home):
                return _OUTSIDE
            return _find_missing(target, state.text.encode("utf-8", "replace"))
        case other:
            assert_never(other)


def _is_within(path: str, home: str) -> bool:
    return path == home or path.startswith(home + os.sep)


def _find_missing(path: str, text: bytes) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError)
        return "it does not exist" if missing else f"it cannot be read: {problem.strerror}"
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return "it is no file"
        if status.st_size > _LARGEST_FILE:
            return f"it is larger than {_LARGEST_FILE >> 20} MB"
        return "" if _holds(fd, text) else "it does not hold that text"
    finally:
        os.close(fd)


def _holds(fd: int, text: bytes) -> bool:
    held = b""
    while chunk := os.read(fd, _CHUNK):
        held += chunk
        if text in held:
            return True
        held = held[max(len(held) - len(text) + 1, 0) :]
    return False


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

    def verdict(self) -> StopCause | None:
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
