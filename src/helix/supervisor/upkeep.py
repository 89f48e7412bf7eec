"""What a run sees to before it decides: beads whose ground moved, work that landed unattended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.actions.reconciling import close_settled
from helix.supervisor.bookkeeping import reopen_changed, settle_assumptions
from helix.work import learn

if TYPE_CHECKING:
    from ddx.execution.model import Outcome
    from helix.supervisor.run import Run
    from helix.supervisor.view import Look


def look_again(run: Run) -> Look:
    """Blocked beads whose ground has changed are open, old assumptions are not (S-10, I-10).

    Conflicts and gaps that are over are closed (I-5).
    """
    look = run.look()
    slider = run.plan.slider
    reopened = list(reopen_changed(look))
    settled = settle_assumptions(
        look, label=slider.speculation_label, ttl_days=slider.speculation_ttl_days
    )
    run.take_up([one.bead for one in reopened])
    for one in reopened:
        run.journal.say(f"{one.bead} is open again: {one.reason}")
        run.journal.note("reopened", bead=one.bead, reason=one.reason)
    for one in settled:
        if one.reason:
            run.journal.say(f"{one.bead} is only proposed now: {one.reason}")
            run.journal.note("proposed", bead=one.bead, reason=one.reason)
    over = close_settled(look.site.project, look.site.tracker, look.graph)
    for it in over:
        if it.is_closed or run.unclosed.get(it.bead) != it.reason:
            run.journal.say(it.sentence)
            run.journal.note("settled", bead=it.bead, reason=it.reason, closed=it.is_closed)
    run.unclosed = {it.bead: it.reason for it in over if not it.is_closed}
    return run.look() if reopened or settled or any(it.is_closed for it in over) else look


def take_over_landed(run: Run) -> None:
    """What follows from work that landed while nobody waited for it: drafts and reviews."""
    for sentence in run.bench.file_unfiled(run.desk):
        run.journal.say(sentence)
    run.owe_landed()


def learn_late(run: Run, outcome: Outcome) -> None:
    """Memory hears of what ended without us, too (M-8)."""
    for remark in learn(run.desk, outcome):
        run.journal.remark(remark)
