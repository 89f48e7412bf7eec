"""align: a top-down audit for drift; its report lands, and each gap becomes a bead (A-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.graph.cache import load_graph
from ddx.tracker.model import RUNNER, labels_of, status_of
from ddx.tracker.updating import Patch, update
from ddx.values import value
from helix.actions.claims import counts_drafts, names_report
from helix.actions.documents import Order, make_pass
from helix.actions.model import Ended
from helix.actions.ordering import dated_path, told
from helix.actions.scope import REPO, resolve_scope
from helix.actions.series import Series
from helix.actions.supervisory import KIND
from helix.actions.upstream import SEEN, Upstream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes
    from helix.actions.model import Pass
    from helix.desk import Desk

ALIGN = "align"
ENDINGS = {
    "COMPLETE": Ended.DONE,
    "INCOMPLETE": Ended.UNFINISHED,
    "BLOCKED": Ended.BLOCKED,
}


def align(desk: Desk, scope: str = REPO) -> Pass:
    return make_align(desk, order_align(desk, scope))


def order_align(desk: Desk, scope: str = REPO) -> Order:
    place = resolve_scope(desk.site, scope)
    report = dated_path(desk, "06-iterate/alignment-reviews", "AR", place)
    asked = told(desk, ALIGN, place, f"Write the report to {report}.")
    return Order(
        asked.subject,
        asked.sections,
        ENDINGS,
        (names_report("ALIGN_REPORT"), counts_drafts("GAPS_FOUND")),
        report_key="ALIGN_REPORT",
        parent=asked.parent,
    )


def make_align(desk: Desk, order: Order) -> Pass:
    """The audit; one that looked at everything is noted on the beads that it looked at (S-3)."""
    looked_at = _look(desk, order.subject.scope)
    done = make_pass(desk, order)
    if done.ended is Ended.DONE and done.commit:
        _mark(desk, looked_at)
    return done


@value
class _LookedAt:
    """A bead as it was before the audit, and what its documents said."""

    revision: str
    hashes: Mapping[str, str]


def _look(desk: Desk, scope: str) -> dict[str, _LookedAt]:
    site = desk.site
    place = resolve_scope(site, scope)
    graph = load_graph(site.project, site.settings.document_roots, clock=site.clock)
    snapshot = site.tracker.snapshot()
    rows = [
        row
        for row in snapshot.rows()
        if status_of(row) == "open" and KIND not in labels_of(row) and place.holds(row)
    ]
    upstream = Upstream(graph)
    found = {row["id"]: upstream.hashes(row) for row in rows}
    return {
        bead_id: _LookedAt(snapshot.revision(bead_id), hashes)
        for bead_id, hashes in found.items()
        if hashes
    }


def _mark(desk: Desk, looked_at: Mapping[str, _LookedAt]) -> None:
    """What somebody changed meanwhile was not looked at."""

    def decide(snapshot: Snapshot, now: str) -> Changes:
        series = Series(snapshot, now=now)
        for bead_id, it in looked_at.items():
            if bead_id in snapshot and snapshot.revision(bead_id) == it.revision:
                patch = Patch({SEEN: dict(it.hashes)})
                series.add(update(series, bead_id, patch, now=now, by=RUNNER))
        return series.changes()

    desk.site.tracker.change(decide)
