"""Several edits in one write, each on top of those before it (T-12)."""

from __future__ import annotations

from itertools import count

import pytest
from tests.support.beads import bead, tracker_in

from ddx.base.errors import ConcurrentChange, DdxError, NotFound, Refused, UsageError
from ddx.tracker.edits import BeadPatch, TrackerEdit
from ddx.tracker.lifecycle import BeadClosure
from ddx.tracker.row import Row
from ddx.tracker.tracker import Tracker


def ids():
    numbers = count(1)
    return lambda: f"new-{next(numbers)}"


@pytest.fixture
def tracker_of(tmp_path):
    def make(*rows: Row) -> Tracker:
        return tracker_in(tmp_path, *rows)

    return make


def test_edits_see_each_other_and_are_one_write(tracker_of):
    tracker = tracker_of(bead("a"), bead("b"))

    def decide(edit: TrackerEdit) -> tuple[str, ...]:
        created = edit.create([{"title": "One", "parent": "a"}], draw_id=ids())
        edit.add_dependency("b", created[0])
        assert edit.waits_for("b") == created
        assert edit.children("a") == created
        edit.update("a", BeadPatch({}, add_labels=("x",)))
        assert edit.bead("a").labels == ("x",)
        assert edit.before.bead("a").labels == ()
        return created

    assert tracker.edit(decide) == ("new-1",)
    now = tracker.snapshot()
    assert now.bead("new-1").parent == "a"
    assert now.bead("b").waits_for == ("new-1",)
    assert now.bead("new-1").text("created_by") == "helix"


def test_a_refused_edit_leaves_no_trace_and_the_others_stand(tracker_of):
    tracker = tracker_of(bead("a"), bead("b"))

    def decide(edit: TrackerEdit) -> None:
        edit.add_dependency("a", "b")
        with pytest.raises(Refused, match="closes the ring"):
            edit.add_dependency("b", "a")
        with pytest.raises(UsageError, match="needs a title"):
            edit.create([{"title": "Good"}, {}], draw_id=ids())

    tracker.edit(decide)
    assert [it.id for it in tracker.snapshot().beads()] == ["a", "b"]
    assert tracker.snapshot().bead("b").waits_for == ()


def test_an_error_writes_nothing(tracker_of):
    tracker = tracker_of(bead("a"))
    before = tracker.snapshot().revision("a")

    def decide(edit: TrackerEdit) -> None:
        edit.block("a", reason="no")
        raise DdxError("stop")

    with pytest.raises(DdxError, match="stop"):
        tracker.edit(decide)
    assert tracker.snapshot().revision("a") == before


def test_every_end_of_a_bead(tracker_of):
    tracker = tracker_of(*(bead(name) for name in "abcdef"))

    def decide(edit: TrackerEdit) -> None:
        edit.block("a", reason="waits for a key")
        edit.cancel("b", reason="never")
        edit.close("c", BeadClosure("done"))
        edit.supersede("d", by=("e",), reason="says the same")
        edit.propose("f", reason="nobody looked")
        edit.block("e", reason="for a moment")
        edit.reopen("e", reason="over")

    tracker.edit(decide, by="mara")
    found = {it.id: it for it in tracker.snapshot().beads()}
    assert {name: it.status for name, it in found.items()} == {
        "a": "blocked",
        "b": "cancelled",
        "c": "closed",
        "d": "open",
        "e": "open",
        "f": "proposed",
    }
    assert found["a"].blocked_reason == "waits for a key"
    assert (found["d"].superseded_by, found["e"].replaces) == (("e",), ("d",))
    assert [(it.kind, it.summary, it.actor) for it in found["f"].events] == [
        ("proposed", "nobody looked", "mara")
    ]


def test_what_is_proposed_without_a_reason_has_no_event(tracker_of):
    tracker = tracker_of(bead("a"))
    tracker.edit(lambda edit: edit.propose("a"))
    assert tracker.snapshot().bead("a").events == ()


def test_a_claim_is_given_back_by_its_holder_only(tracker_of):
    tracker = tracker_of(bead("a", status="in_progress", owner="helix", claim__id="c1"))
    with pytest.raises(ConcurrentChange):
        tracker.edit(lambda edit: edit.unclaim("a", claim_id="c2"))
    tracker.edit(lambda edit: edit.unclaim("a", claim_id="c1"))
    assert tracker.snapshot().bead("a").status == "open"


def test_events_of_a_bead_closed_in_the_same_edit_are_all_kept(tracker_of):
    tracker = tracker_of(bead("a"))

    def decide(edit: TrackerEdit) -> None:
        edit.add_event("a", "noted", summary="first")
        edit.close("a", BeadClosure("done"))
        edit.add_event("a", "noted", summary="second")
        edit.add_event("a", "noted", summary="third")

    tracker.edit(decide)
    kept = [it["summary"] for it in tracker.attachments.events("a")]
    assert sorted(kept) == ["done", "first", "second", "third"]


def test_a_mark_is_kept_as_it_is_and_never_an_owned_field(tracker_of):
    tracker = tracker_of(bead("a"))
    tracker.edit(lambda edit: edit.mark("a", {"seen": {}, "basis": ""}))
    row = tracker.snapshot().bead("a").row
    assert (row["seen"], row["basis"]) == ({}, "")
    revision = tracker.snapshot().revision("a")
    tracker.edit(lambda edit: edit.mark("a", {"basis": ""}))
    assert tracker.snapshot().revision("a") == revision
    with pytest.raises(UsageError, match="status is no mark"):
        tracker.edit(lambda edit: edit.mark("a", {"status": "closed"}))


def test_an_edit_tells_beads_apart_that_it_changed(tracker_of):
    tracker = tracker_of(bead("a"), bead("b"))

    def decide(edit: TrackerEdit) -> None:
        edit.mark("a", {"seen": "x"})
        assert edit.bead("a").revision == ""
        assert edit.bead("b") == edit.before.bead("b")
        assert edit.find_bead("none") is None
        assert "none" not in edit
        with pytest.raises(NotFound):
            edit.bead("none")

    tracker.edit(decide)


def test_remarks_of_edits_and_of_the_caller_are_told_in_order(tracker_of):
    tracker = tracker_of(bead("a"))

    def decide(edit: TrackerEdit) -> tuple[str, ...]:
        edit.unclaim("a")
        edit.remark("and a word more")
        return edit.remarks

    assert tracker.edit(decide) == ("a was not claimed", "and a word more")
