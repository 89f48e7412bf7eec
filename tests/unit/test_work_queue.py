"""The queue by ids, and the beads of a snapshot (T-16, X-13)."""

from __future__ import annotations

from tests.support.beads import bead, tracker_in, waiting

from ddx.tracker.explanation import explain
from ddx.tracker.pending_landings import PendingLanding, write_pending
from ddx.tracker.queue import PENDING, Blocker


def test_the_queue_says_what_is_next_and_what_holds_the_others(tmp_path):
    tracker = tracker_in(
        tmp_path,
        bead("a", priority=3),
        bead("b", priority=1),
        waiting("c", "a"),
        bead("d", retry__after="2999-01-01T00:00:00Z"),
        bead("e", retry__after="2998-01-01T00:00:00Z"),
    )
    queue = tracker.queue(has_default_checks=True)
    assert queue.ready_for_execution() == ["b", "a"]
    assert queue.ready() == ["b", "d", "e", "a"]
    assert queue.cooling() == ["e", "d"]
    assert queue.blocker("b") is None
    assert [it.kind for it in queue.blockers("c")] == ["dependency"]
    assert explain(queue.view, "a", queue.around).ahead == ("b",)
    why = explain(queue.view, "c", queue.around)
    assert why.cure(queue.blockers("c")[0]).startswith("close a first")
    assert why.cure(Blocker("document-missing")) == ""
    held = queue.holding({"b": Blocker("document-missing", reason="gone")})
    assert held.ready_for_execution() == ["a"]
    assert queue.ready_for_execution() == ["b", "a"]


def test_what_waits_to_be_landed_is_held_and_listed(tmp_path):
    tracker = tracker_in(tmp_path, bead("a"), bead("b"))
    assert tracker.pending_landings() == ()
    waits = PendingLanding(
        attempt="one", beads=("a",), ref="refs/x", commit="c0ffee", reason="edits", at="now"
    )
    write_pending(tracker.project.ddx(*PENDING), waits)
    queue = tracker.queue(has_default_checks=True)
    assert queue.ready_for_execution() == ["b"]
    assert set(queue.held) == {"a"}
    held = queue.holding({"a": Blocker("document-missing", reason="gone")})
    assert held.held["a"].kind == "pending-landing"
    assert tracker.pending_landings() == (waits,)


def test_a_snapshot_hands_out_beads(tmp_path):
    tracker = tracker_in(
        tmp_path,
        bead("a", status="closed"),
        bead("b", status="blocked", priority=3),
        bead("c", status="blocked", priority=1),
        bead("d", status="odd"),
    )
    view = tracker.snapshot()
    assert [it.id for it in view.beads()] == ["a", "b", "c", "d"]
    assert [it.id for it in view.unfinished()] == ["b", "c", "d"]
    assert [it.id for it in view.with_status("blocked")] == ["b", "c"]
    assert [it.id for it in view.with_status("blocked", in_queue_order=True)] == ["c", "b"]
    assert view.counts() == {"closed": 1, "blocked": 2, "odd": 1}
    assert view.bead("b").revision == view.revision("b")
    assert view.find_bead("none") is None
    assert list(view.archived_beads()) == []
    assert (view.is_finished("a"), view.is_finished("b"), view.is_finished("none")) == (
        True,
        False,
        False,
    )
