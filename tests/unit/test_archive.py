"""Closed beads that nobody needs in front of him, in a file of their own (T-1, D-14)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.beads import bead, lines_of, put_file, tracker_in, waiting

from ddx.base.files import identity_of
from ddx.testing import FakeClock
from ddx.tracker.archive_file import archive
from ddx.tracker.lifecycle import reopen
from ddx.tracker.queue import ready
from ddx.tracker.tracker import Tracker

JANUARY, JUNE = "2025-01-01T00:00:00Z", "2025-06-01T00:00:00Z"


def done(bead_id: str, at: str = JANUARY, **fields):
    return bead(bead_id, status="closed", closed_at=at, **fields)


def moved(folder: Path, *rows, **limits) -> list[str]:
    view = tracker_in(folder, *rows).snapshot()
    return sorted(archive(view, **limits).archived)


def archive_all(tracker: Tracker) -> None:
    tracker.change(lambda view, now: archive(view))


@pytest.mark.parametrize("status", ["open", "in_progress", "blocked", "cancelled", "deferred"])
def test_only_closed_beads_move(tmp_path, status):
    assert moved(tmp_path, bead("a", status=status), done("b")) == ["b"]


@pytest.mark.parametrize(
    "referring",
    [
        waiting("x", "a"),
        waiting("x", "a", type="waits-for", status="in_progress"),
        bead("x", parent="a"),
        bead("x", replaces="z,a"),
        bead("x", superseded__by="a", status="blocked"),
    ],
)
def test_what_an_unfinished_bead_refers_to_stays(tmp_path, referring):
    assert moved(tmp_path, done("a"), referring) == []
    finished = {**referring, "status": "cancelled"}
    assert moved(tmp_path, done("a"), finished) == ["a"]


def test_only_what_was_closed_before_that_day_moves(tmp_path):
    rows = (done("a", JANUARY), done("b", JUNE), bead("c", status="closed", updated_at=JANUARY))
    assert moved(tmp_path, *rows, closed_before="2025-03-01T00:00:00+01:00") == ["a", "c"]
    assert moved(tmp_path, *rows, closed_before=JANUARY) == []


def test_only_until_the_file_is_small_enough_the_longest_closed_first(tmp_path):
    rows = (done("a", JUNE), done("b", JANUARY), bead("c"))
    size = len(lines_of(*rows))
    assert moved(tmp_path, *rows, max_size=size) == []
    assert moved(tmp_path, *rows, max_size=size - 1) == ["b"]
    assert moved(tmp_path, *rows, max_size=0) == ["a", "b"]


def test_rows_move_byte_for_byte_into_a_sorted_file(tmp_path):  # T-1, T-7
    tracker = tracker_in(tmp_path, done("b", x=[1.0]), bead("c"), done("d"))
    archive_all(tracker)
    tracker.change(lambda view, now: reopen(view, "d", reason="", actor="", now=now))
    put_file(Path(tracker.path), lines_of(bead("c"), done("a")), clock=tracker.clock)
    archive_all(tracker)
    assert Path(tracker.archive_path).read_bytes() == lines_of(
        done("a"), done("b", x=[1.0]), done("d")
    )
    assert Path(tracker.path).read_bytes() == lines_of(bead("c"))


def test_dependencies_are_resolved_across_both_files(tmp_path):  # D-14
    tracker = tracker_in(tmp_path, done("a"), bead("b"))
    archive_all(tracker)
    put_file(Path(tracker.path), lines_of(waiting("b", "a"), waiting("c", "z")), clock=FakeClock())
    view = tracker.snapshot()
    assert [view.columns.ids[n] for n in ready(view.columns, tracker.surroundings())] == ["b"]
    assert view.status("a") == "closed"
    assert view.row("a") == done("a")
    assert view.revision("a")
    assert "a" not in view


def test_the_last_bead_may_go_too(tmp_path):  # T-14a
    tracker = tracker_in(tmp_path, done("a"))
    archive_all(tracker)
    assert Path(tracker.path).read_bytes() == b""
    again = Tracker(tracker.project, clock=tracker.clock)
    assert len(again.snapshot().columns) == 0
    assert again.snapshot().status("a") == "closed"
    again.change(lambda view, now: reopen(view, "a", reason="again", actor="mara", now=now))
    assert again.snapshot().status("a") == "open"


def test_a_bead_that_came_back_is_its_newer_self_in_both_files(tmp_path):
    tracker = tracker_in(tmp_path, done("a"), bead("b"))
    archive_all(tracker)
    tracker.change(lambda view, now: reopen(view, "a", reason="again", actor="mara", now=now))
    assert tracker.snapshot().status("a") == "open"
    assert tracker.snapshot().row("a")["events"][0]["kind"] == "reopened"


def test_nothing_to_move_writes_nothing(tmp_path):  # T-20
    tracker = tracker_in(tmp_path, bead("a"))
    before = identity_of(tracker.path)
    archive_all(tracker)
    assert identity_of(tracker.path) == before
    assert not Path(tracker.archive_path).exists()


def test_a_crash_between_the_two_files_leaves_a_bead_in_both_and_the_tracker_wins(tmp_path):  # T-9
    tracker = tracker_in(tmp_path, bead("a", title="live"), bead("b"))
    put_file(Path(tracker.archive_path), lines_of(done("a", title="old")), clock=FakeClock())
    view = tracker.snapshot()
    assert view.row("a")["title"] == "live"
    assert view.status("a") == "open"
