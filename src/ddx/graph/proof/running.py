"""Running one definition, and keeping what came of it (X-11, X-22)."""

from __future__ import annotations

import os

from ddx.environment import for_children
from ddx.errors import DdxError
from ddx.graph.proof.measuring import Unreadable, read_value
from ddx.graph.proof.records import (
    ERRORED,
    FAILED,
    STDOUT,
    SUCCESS,
    TIMED_OUT,
    OpenRun,
    Record,
    read_log,
)
from ddx.process import Ending, run_streamed
from ddx.trust import require_trust
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.clock import Clock
    from ddx.graph.proof.definitions import Execution
    from ddx.project import Project


@value
class _Outcome:
    status: str
    exit_code: int | None = None
    reason: str = ""


def run_execution(
    project: Project, execution: Execution, *, clock: Clock, checkout: str = ""
) -> Record:
    """Run a definition in a checkout, the project's own if none is named; its end is recorded.

    Whatever goes wrong with the command is a record too; only a repository that nobody trusts and a
    disk that refuses us are errors.
    """
    require_trust(project, to_run=f"the command of {execution.id} ({execution.path})")
    with OpenRun(project, clock=clock) as run:
        started_at = clock.stamp()
        outcome = _perform(project, run, execution, checkout or project.root, clock=clock)
        metrics: dict[str, float] = {}
        if outcome.status == SUCCESS:
            outcome, metrics = _measure(project, run, execution, outcome)
        return run.finish(
            Record(
                run.run_id,
                execution.id,
                execution.artifact_ids,
                started_at,
                clock.stamp(),
                outcome.status,
                outcome.exit_code,
                metrics,
                outcome.reason,
            )
        )


def _perform(
    project: Project, run: OpenRun, execution: Execution, checkout: str, *, clock: Clock
) -> _Outcome:
    try:
        ending = run_streamed(
            execution.command,
            cwd=_folder(checkout, execution.cwd),
            env=for_children({"DDX_PROJECT_ROOT": project.root, **execution.env}),
            timeout_s=execution.timeout_ms / 1000,
            stdout=run.stdout.write,
            stderr=run.stderr.write,
            clock=clock,
        )
    except DdxError as problem:
        return _Outcome(ERRORED, reason=problem.message)
    finally:
        run.stdout.close()
        run.stderr.close()
    match ending:
        case Ending(timed_out=True):
            limit = f"{execution.timeout_ms / 1000:g} s"
            return _Outcome(TIMED_OUT, reason=f"was ended after {limit}, its time limit")
        case Ending(code=0):
            return _Outcome(SUCCESS, 0)
        case Ending(code=code) if code < 0:
            return _Outcome(FAILED, reason=f"was ended by signal {-code}")
        case Ending(code=code):
            return _Outcome(FAILED, code, f"exit code {code}")


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
        if isinstance(found, Unreadable):
            return _Outcome(FAILED, outcome.exit_code, f"{metric.name}: {found.reason}"), {}
        metrics[metric.name] = found
    return outcome, metrics
