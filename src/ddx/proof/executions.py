"""Running one definition, and keeping what came of it (X-11, X-22)."""

from __future__ import annotations

import os

from ddx.agents import Bounds, StopCause, supervise
from ddx.base import DdxError, Masker, for_children, value
from ddx.documents import (
    ERRORED,
    FAILED,
    STDOUT,
    SUCCESS,
    TIMED_OUT,
    OpenRun,
    RunRecord,
    UnreadableNumber,
    read_log,
    read_value,
)
from ddx.proof.evidence import code_of, fault_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.agents import StopRequest, Watch
    from ddx.base import Clock
    from ddx.documents import Execution
    from ddx.project import Project


@value
class _Outcome:
    status: str
    exit_code: int | None = None
    reason: str = ""


@value
class Place:
    """Where and how a definition is run; without a checkout it is the project's own."""

    checkout: str = ""
    env: Mapping[str, str] | None = None
    """All variables that the command gets, besides those of its definition."""
    wrap: Callable[[Sequence[str]], Sequence[str]] = tuple
    """What puts the command into a sandbox where there is one."""
    watch: Watch | None = None
    """Who else wants to have all that it prints, as it came."""
    stop: StopRequest | None = None


HERE = Place()


def run_execution(
    project: Project, execution: Execution, *, clock: Clock, place: Place = HERE
) -> RunRecord:
    """Run a definition and record its end; nothing that it started runs on.

    Whatever goes wrong with the command is a record too; only a repository that nobody trusts and a
    disk that refuses us are errors.
    """
    project.require_trust(to_run=f"the command of {execution.id} ({execution.path})")
    with OpenRun(project, clock=clock) as run:
        started_at = clock.stamp()
        outcome = _perform(project, run, execution, place, clock=clock)
        metrics: dict[str, float] = {}
        if outcome.status == SUCCESS:
            outcome, metrics = _measure(project, run, execution, outcome)
        return run.finish(
            RunRecord(
                run_id=run.run_id,
                definition_id=execution.id,
                artifact_ids=execution.artifact_ids,
                started_at=started_at,
                finished_at=clock.stamp(),
                status=outcome.status,
                exit_code=outcome.exit_code,
                metrics=metrics,
                reason=outcome.reason,
            )
        )


class _Listener:
    """Puts what a command prints into the run's logs, masked (X-24), and hands it on."""

    def __init__(self, run: OpenRun, masker: Masker, watch: Watch | None) -> None:
        self._stdout, self._masked_stdout = run.stdout, masker.stream()
        self._stderr, self._masked_stderr = run.stderr, masker.stream()
        self._watch = watch

    def output(self, chunk: bytes) -> None:
        self._stdout.write(self._masked_stdout.feed(chunk))
        if self._watch is not None:
            self._watch.output(chunk)

    def errors(self, chunk: bytes) -> None:
        self._stderr.write(self._masked_stderr.feed(chunk))
        if self._watch is not None:
            self._watch.errors(chunk)

    def verdict(self) -> StopCause | None:
        return None

    def close(self) -> None:
        self._stdout.write(self._masked_stdout.finish())
        self._stdout.close()
        self._stderr.write(self._masked_stderr.finish())
        self._stderr.close()


def _perform(
    project: Project, run: OpenRun, execution: Execution, place: Place, *, clock: Clock
) -> _Outcome:
    env = for_children({"DDX_PROJECT_ROOT": project.root}) if place.env is None else place.env
    listener = _Listener(run, Masker({**env, **execution.env}), place.watch)
    command = execution.command
    argv = ("sh", "-c", command) if isinstance(command, str) else command
    try:
        ended = supervise(
            list(place.wrap(argv)),
            cwd=_folder(place.checkout or project.root, execution.cwd),
            env={**env, **execution.env},
            bounds=Bounds(wall_s=execution.timeout_ms / 1000),
            watch=listener,
            clock=clock,
            stop=place.stop,
        )
    except DdxError as problem:
        return _Outcome(ERRORED, reason=problem.message)
    finally:
        listener.close()
    reason = fault_of(ended, execution.timeout_ms / 1000)
    failed = TIMED_OUT if ended.stopped is StopCause.TIMED_OUT else FAILED
    return _Outcome(failed if reason else SUCCESS, code_of(ended), reason)


def _folder(checkout: str, cwd: str) -> str:
    """Inside the checkout, wherever symbolic links lead."""
    home = os.path.realpath(checkout)
    folder = os.path.realpath(os.path.join(home, cwd))
    if folder != home and not folder.startswith(home + os.sep):
        raise DdxError(f"its folder {cwd} leads out of the project, to {folder}")
    if not os.path.isdir(folder):
        raise DdxError(f"its folder {cwd} does not exist")
    return folder


def _measure(
    project: Project, run: OpenRun, execution: Execution, outcome: _Outcome
) -> tuple[_Outcome, dict[str, float]]:
    """The numbers in what it printed; one that cannot be read makes the run a failure."""
    if not execution.measures:
        return outcome, {}
    output = read_log(project, run.run_id, STDOUT)
    metrics: dict[str, float] = {}
    for metric in execution.measures:
        found = read_value(metric, output)
        if isinstance(found, UnreadableNumber):
            return _Outcome(FAILED, outcome.exit_code, f"{metric.name}: {found.reason}"), {}
        metrics[metric.name] = found
    return outcome, metrics
