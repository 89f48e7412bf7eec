"""Failing tests are traced before a bead is blocked, and before an epic is reviewed (S-36)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import DdxError
from ddx.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix.supervisor.run import Run


def trace_failures(run: Run, about: str, *, beads: Sequence[str] = ()) -> None:
    """What cannot be measured is said, and the run goes on without."""
    if not run.plan.slider.auto_traceback:
        return
    with run.during("measure"):
        try:
            done = run.bench.measure(run.site, run.plan.slider, about, beads=beads)
        except (DdxError, OSError) as problem:
            why = problem.message if isinstance(problem, DdxError) else str(problem)
            run.journal.say(f"{about} could not be measured: {why}")
            return
    filed = {"created": list(done.created), "closed": list(done.closed)}
    run.journal.note("measure", scope=about, passed=done.passed, path=done.path, **filed)
    parts = [
        f"{about} was measured: {'everything holds' if done.passed else 'not all holds'}",
        f"filed {listed(done.created)}" if done.created else "",
        f"closed {listed(done.closed)}" if done.closed else "",
        *done.problems,
        *done.remarks,
    ]
    run.journal.remark("; ".join(filter(None, parts)))
