"""What a run sees to before it decides: beads whose ground moved, work that landed unattended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.supervisor.bookkeeping import reopen_changed, settle_assumptions
from helix.work import learn

if TYPE_CHECKING:
    from ddx.execution.model import Outcome
    from helix.supervisor.run import Run
    from helix.supervisor.view import Look


def look_again(run: Run) -> Look:
    """Blocked beads whose ground has changed are open, old assumptions are not (S-10, I-10)."""
    look = run.look()
    slider = run.plan.slider
    reopened = list(reopen_changed(look))
    settled = settle_assumptions(
        look, label=slider.speculation_label, ttl_days=slider.speculation_ttl_days
    )
    for one in reopened:
        run.journal.say(f"{one.bead} is open again: {one.reason}")
        run.journal.note("reopened", bead=one.bead, reason=one.reason)
    for one in settled:
        if one.reason:
            run.journal.say(f"{one.bead} is only proposed now: {one.reason}")
            run.journal.note("proposed", bead=one.bead, reason=one.reason)
    return run.look() if reopened or settled else look


def take_over_landed(run: Run) -> None:
    """What follows from work that landed while nobody waited for it: drafts and reviews."""
    for sentence in run.bench.file_unfiled(run.desk):
        run.journal.say(sentence)
    run.owe_landed()


def learn_late(run: Run, outcome: Outcome) -> None:
    """Memory hears of what ended without us, too (M-8)."""
    for remark in learn(run.desk, outcome):
        run.journal.remark(remark)
