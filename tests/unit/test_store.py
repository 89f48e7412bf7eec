"""One way to read the tracker's file and one way to write it (T-7 to T-10, T-14a)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.beads import bead, lines_of, put_file, tracker_in, waiting

from ddx.base.errors import Busy, ConcurrentChange, CorruptFile, DdxError, NotFound, Refused
from ddx.base.files import identity_of
from ddx.project.project import Project
from ddx.testing import FakeClock
from ddx.tracker.archive_file import AllBeads
from ddx.tracker.changeset import ChangeSet, add_event, event
from ddx.tracker.edits import BeadPatch, add_dependency, create, update
from ddx.tracker.lifecycle import BeadClosure, Claimant, claim, close, reopen
from ddx.tracker.row import Row, encode, events_of, revision_of
from ddx.tracker.tracker import ChangeResult, Tracker


def set_field(tracker: Tracker, bead_id: str, expect: dict[str, str] | None = None, **fields):
    tracker.clock.sleep(1)
    patch = BeadPatch(fields)
    return tracker.change(
        lambda view, now: update(view, bead_id, patch, now=now, by="mara"), expect=expect
    )


def content(tracker: Tracker) -> bytes:
    return Path(tracker.path).read_bytes()


def state_of(tracker: Tracker) -> dict[str, bytes]:
    """Every file below .ddx but what may come and go."""
    root = Path(tracker.project.ddx())
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.parent.name not in ("cache", "state")
    }


# Reading


def test_an_unchanged_file_is_read_once_and_a_changed_one_again(tmp_path):  # T-19
    tracker = tracker_in(tmp_path, bead("a"))
    first = tracker.snapshot()
    assert tracker.snapshot() is first
    put_file(Path(tracker.path), lines_of(bead("b")), clock=tracker.clock)
    assert [row["id"] for row in tracker.snapshot().rows()] == ["b"]
    assert [row["id"] for row in first.rows()] == ["a"]


def test_reading_writes_no_tracked_file(tmp_path):  # T-20
    tracker = tracker_in(tmp_path, bead("a"))
    before = state_of(tracker)
    view = tracker.snapshot()
    view.row("a")
    tracker.surroundings()
    assert state_of(tracker) == before
    assert not os.path.exists(tracker.project.ddx("state"))


def test_a_project_without_a_tracker_says_how_to_make_one(tmp_path):
    with pytest.raises(NotFound, match="has no tracker yet") as refused:
        Tracker(Project(str(tmp_path)), clock=FakeClock()).snapshot()
    assert refused.value.hint == "make one: helix init; for the queue alone: ddx bead init"


def test_an_unknown_id_is_met_with_its_neighbours(tmp_path):
    view = tracker_in(tmp_path, bead("app-1a2b"), bead("app-9z")).snapshot()
    with pytest.raises(NotFound, match="there is no bead '1a2'") as refused:
        view.row("1a2")
    assert refused.value.hint == "did you mean app-1a2b?"
    assert view.find("1a2") is None


# Writing (T-7, T-9)


def test_only_the_changed_row_is_written_anew(tmp_path):  # T-7
    odd = b'{"id" : "b",  "x":1.50, "title":"\\u00e4"}'
    tracker = tracker_in(tmp_path)
    file = Path(tracker.path)
    put_file(file, lines_of(bead("c")) + odd + b"\n\n" + lines_of(bead("a")), clock=tracker.clock)
    set_field(tracker, "c", title="New")
    assert content(tracker).splitlines() == [
        encode(bead("a")),
        odd,
        encode({**bead("c", title="New"), "updated_at": tracker.clock.stamp()}),
    ]


def test_what_decides_sees_the_file_as_it_is_now(tmp_path):  # T-7
    tracker = tracker_in(tmp_path, bead("a", n=0))
    other = Tracker(tracker.project, clock=tracker.clock)
    tracker.snapshot()
    for writer in (other, tracker, other, tracker):
        writer.change(
            lambda view, now: ChangeSet({"a": {**view.row("a"), "n": view.row("a")["n"] + 1}})
        )
    assert tracker.snapshot().row("a")["n"] == 4


def test_a_change_that_is_refused_leaves_everything_as_it_was(tmp_path):  # T-9
    tracker = tracker_in(tmp_path, waiting("a", "b"), bead("b"))
    before = state_of(tracker)
    with pytest.raises(Refused):
        tracker.change(lambda view, now: add_dependency(view, "b", "a", now=now, by=""))
    assert state_of(tracker) == before


def test_a_change_of_nothing_writes_nothing(tmp_path):  # T-20
    tracker = tracker_in(tmp_path, bead("a"))
    before = identity_of(tracker.path)
    assert set_field(tracker, "a", title="Do a") == ChangeResult({}, {})
    assert identity_of(tracker.path) == before


def test_what_was_applied_is_reported(tmp_path):  # T-10
    tracker = tracker_in(tmp_path, bead("a"))
    drafts = [{"title": "B", "id": "b1", "replaces": "a"}]
    applied = tracker.change(
        lambda view, now: create(view, drafts, now=now, by="", draw_id=lambda: "x")
    )
    assert applied.created == ("b1",)
    assert set(applied.rows) == {"a", "b1"}
    view = tracker.snapshot()
    for bead_id, row in applied.rows.items():
        assert view.row(bead_id) == row
        assert view.revision(bead_id) == applied.revisions[bead_id] == revision_of(encode(row))


def test_the_mode_of_the_file_is_kept(tmp_path):
    tracker = tracker_in(tmp_path, bead("a"))
    os.chmod(tracker.path, 0o640)
    set_field(tracker, "a", title="New")
    assert os.stat(tracker.path).st_mode & 0o777 == 0o640


def test_a_link_to_the_tracker_stays_a_link(tmp_path):
    tracker = tracker_in(tmp_path / "here", bead("a"))
    real = tmp_path / "elsewhere.jsonl"
    os.rename(tracker.project.ddx("beads.jsonl"), real)
    os.symlink(real, tracker.project.ddx("beads.jsonl"))
    linked = Tracker(tracker.project, clock=tracker.clock)
    set_field(linked, "a", title="New")
    assert os.path.islink(tracker.project.ddx("beads.jsonl"))
    assert b'"title":"New"' in real.read_bytes()


def test_leftovers_of_dead_writers_go_with_the_next_write(tmp_path):  # T-9
    tracker = tracker_in(tmp_path, bead("a"))
    left = Path(f"{tracker.path}.tmp-1-dead")
    left.write_text("half")
    set_field(tracker, "a", title="New")
    assert not left.exists()


def test_a_held_lock_stops_a_writer_and_no_reader(tmp_path):  # T-8
    tracker = tracker_in(tmp_path, bead("a"))
    before = content(tracker)
    with tracker.lock():
        assert tracker.snapshot().row("a")
        with pytest.raises(Busy, match="for more than 10 s"):
            set_field(Tracker(tracker.project, clock=FakeClock()), "a", title="New")
    assert content(tracker) == before


def test_the_approval_of_every_row_comes_before_the_first_byte(tmp_path):  # T-15
    seen: list[tuple[Row | None, Row]] = []

    def approve(old: Row | None, new: Row) -> None:
        seen.append((old, new))
        if new["title"] == "No":
            raise Refused("no")

    tracker = tracker_in(tmp_path, bead("a"), approve=approve)
    before = content(tracker)
    with pytest.raises(Refused):
        tracker.change(
            lambda view, now: ChangeSet({"a": bead("a", x=1), "b": bead("b", title="No")})
        )
    assert seen == [(bead("a"), bead("a", x=1)), (None, bead("b", title="No"))]
    assert content(tracker) == before


# Corruption (T-11, D-15)


@pytest.mark.parametrize("change", [False, True])
def test_a_corrupt_file_is_neither_read_nor_written(tmp_path, change):  # T-11
    tracker = tracker_in(tmp_path)
    broken = lines_of(bead("a")) + b"{broken\n"
    put_file(Path(tracker.path), broken, clock=tracker.clock)
    with pytest.raises(CorruptFile, match=r"beads\.jsonl:2"):
        set_field(tracker, "a", title="New") if change else tracker.snapshot()
    assert content(tracker) == broken


def test_an_index_never_hides_corruption(tmp_path):  # T-11, T-19
    tracker = tracker_in(tmp_path, bead("a"))
    tracker.snapshot()
    put_file(Path(tracker.path), lines_of(bead("a"))[:-3] + b"}}\n", clock=tracker.clock)
    with pytest.raises(CorruptFile):
        Tracker(tracker.project, clock=tracker.clock).snapshot()


# Revisions (T-10)


def test_a_revision_changes_if_and_only_if_the_bytes_do(tmp_path):  # T-10
    tracker = tracker_in(tmp_path, bead("a"), bead("b"))
    first = tracker.snapshot().revision("a")
    set_field(tracker, "b", title="New")
    assert tracker.snapshot().revision("a") == first
    set_field(tracker, "a", title="New")
    second = tracker.snapshot().revision("a")
    assert second != first
    reordered = content(tracker).splitlines()[::-1]
    put_file(Path(tracker.path), b"\n\n".join(reordered) + b"\n", clock=tracker.clock)
    assert tracker.snapshot().revision("a") == second


def test_the_expected_revision_lets_a_change_through_once(tmp_path):  # T-10
    tracker = tracker_in(tmp_path, bead("a"))
    seen = tracker.snapshot().revision("a")
    set_field(tracker, "a", expect={"a": seen}, title="Mine")
    with pytest.raises(ConcurrentChange) as lost:
        set_field(tracker, "a", expect={"a": seen}, title="Theirs")
    now = tracker.snapshot().revision("a")
    assert lost.value.message == (
        f"a has changed since revision {seen} (changed: title); it is {now} now"
    )
    assert lost.value.exit_code == 5
    assert tracker.snapshot().row("a")["title"] == "Mine"


def test_all_fields_changed_on_the_way_are_named(tmp_path):  # T-10
    tracker = tracker_in(tmp_path, bead("a"), bead("b"))
    seen = tracker.snapshot().revision("a")
    set_field(tracker, "a", title="One")
    set_field(tracker, "b", description="another bead")
    set_field(tracker, "a", priority=0, notes="n")
    Tracker(tracker.project, clock=tracker.clock).change(
        lambda view, now: claim(view, "a", Claimant("mara", "tower"), claim_id="c", now=now)
    )
    with pytest.raises(ConcurrentChange) as lost:
        set_field(tracker, "a", expect={"a": seen}, title="Two")
    named = "claim-id, claimed-at, claimed-machine, notes, owner, priority, status, title"
    assert f"(changed: {named})" in lost.value.message


def journal_of(tracker: Tracker) -> Path:
    return Path(tracker.project.ddx("state", "journal.jsonl"))


def test_without_a_journal_the_change_is_still_lost(tmp_path):  # T-10
    tracker = tracker_in(tmp_path, bead("a"))
    seen = tracker.snapshot().revision("a")
    set_field(tracker, "a", title="One")
    journal_of(tracker).write_bytes(b"cut sho")
    for _ in range(2):
        with pytest.raises(ConcurrentChange, match="it is not recorded what"):
            set_field(tracker, "a", expect={"a": seen}, title="Two")
        journal_of(tracker).unlink(missing_ok=True)


def test_a_revision_nobody_ever_had_is_refused(tmp_path):  # T-10
    tracker = tracker_in(tmp_path, bead("a"))
    with pytest.raises(ConcurrentChange, match="since revision 0123"):
        set_field(tracker, "a", expect={"a": "0123"}, title="Two")
    with pytest.raises(NotFound):
        set_field(tracker, "a", expect={"b": "0123"}, title="Two")


def test_a_full_journal_is_turned_over_once(tmp_path):
    tracker = tracker_in(tmp_path, bead("a"))
    set_field(tracker, "a", title="One")
    seen = tracker.snapshot().revision("a")
    with open(journal_of(tracker), "ab") as file:
        file.write(b" " * (1 << 20) + b"\n")
    set_field(tracker, "a", title="Two")
    assert not journal_of(tracker).exists()
    set_field(tracker, "a", notes="n")
    with pytest.raises(ConcurrentChange, match="changed: notes, title"):
        set_field(tracker, "a", expect={"a": seen}, title="Three")


# Events (T-6)


def test_events_leave_the_row_at_the_close_and_are_there_again_after(tmp_path):  # T-6
    tracker = tracker_in(tmp_path, bead("a"))

    def add(kind: str) -> None:
        tracker.clock.sleep(1)
        happened = event(kind, summary="s", at=tracker.clock.stamp())
        tracker.change(lambda view, now: add_event(view, "a", happened, now=now))

    def events_in_row() -> list[str]:
        return [happened["kind"] for happened in events_of(tracker.snapshot().row("a"))]

    add("first")
    tracker.clock.sleep(1)
    tracker.change(lambda view, now: close(view, "a", BeadClosure("done"), actor="mara", now=now))
    assert "events" not in tracker.snapshot().row("a")
    add("late")
    assert "events" not in tracker.snapshot().row("a")
    tracker.clock.sleep(1)
    tracker.change(lambda view, now: reopen(view, "a", reason="more", actor="mara", now=now))
    add("last")
    assert events_in_row() == ["reopened", "last"]
    assert [happened["kind"] for happened in AllBeads(tracker)["a"]["events"]] == [
        "first",
        "closed",
        "late",
        "reopened",
        "last",
    ]


# Someone else at the file (T-14a)


def test_a_file_that_was_replaced_is_taken_as_it_is_and_ours_is_kept(tmp_path):  # T-14a
    told: list[str] = []
    tracker = tracker_in(tmp_path, bead("a"), tell=told.append)
    set_field(tracker, "a", title="Ours")
    ours = content(tracker)
    put_file(Path(tracker.path), lines_of(bead("a", title="Theirs")), clock=tracker.clock)
    set_field(tracker, "a", notes="n")
    assert tracker.snapshot().row("a")["title"] == "Theirs"
    (kept,) = Path(tracker.project.ddx("backups")).iterdir()
    assert kept.read_bytes() == ours
    (sentence,) = told
    assert "was replaced by another program since our last write" in sentence
    assert str(kept) in sentence
    set_field(tracker, "a", notes="m")
    assert len(told) == 1


def replaced(tracker: Tracker, times: int) -> list[bytes]:
    """What is kept after another program has put its file in our place so often."""
    for number in range(times):
        set_field(tracker, "a", title=f"Ours {number}")
        put_file(Path(tracker.path), lines_of(bead("a")), clock=tracker.clock)
    set_field(tracker, "a", title="Last")
    return [it.read_bytes() for it in sorted(Path(tracker.project.ddx("backups")).iterdir())]


def test_ten_backups_are_kept_and_all_of_the_last_day(tmp_path):  # T-14a, C-9
    tracker = tracker_in(tmp_path, bead("a"))
    assert len(replaced(tracker, 13)) == 13
    tracker.clock.advance(86_400)
    kept = replaced(tracker, 3)
    assert len(kept) == 10
    assert b"Ours 2" in kept[-1]
    assert b"Ours 6" in kept[0]


def test_a_backup_that_alone_holds_a_bead_is_kept(tmp_path):  # T-14a, C-9
    tracker = tracker_in(tmp_path, bead("a"), bead("lost"))
    replaced(tracker, 12)
    for _ in range(3):
        tracker.clock.advance(2 * 86_400)
        kept = replaced(tracker, 12)
    assert [b'"lost"' in it for it in kept] == [True, *[False] * 12]


def test_of_many_backups_none_is_read_over_and_over(tmp_path, monkeypatch):  # T-14a
    tracker = tracker_in(tmp_path, bead("a"))
    replaced(tracker, 40)
    tracker.clock.advance(2 * 86_400)
    opened: list[str] = []
    really_open = open

    def note_and_open(path, *words, **more):
        opened.append(str(path))
        return really_open(path, *words, **more)

    monkeypatch.setattr("builtins.open", note_and_open)
    assert len(replaced(tracker, 1)) == 10
    assert len([path for path in opened if "backups" in path]) <= 2 * 41


def test_a_file_replaced_while_we_write_starts_us_over(tmp_path):  # T-14a
    tracker = tracker_in(tmp_path, bead("a"))
    seen: list[str] = []

    def decide(view, now):
        seen.append(view.row("a")["title"])
        if len(seen) == 1:
            put_file(Path(tracker.path), lines_of(bead("a", title="Theirs")), clock=tracker.clock)
        return ChangeSet({"a": {**view.row("a"), "notes": "ours"}})

    tracker.change(decide)
    assert seen == ["Do a", "Theirs"]
    row = tracker.snapshot().row("a")
    assert (row["title"], row["notes"]) == ("Theirs", "ours")


def test_a_lock_that_was_deleted_meanwhile_starts_us_over(tmp_path):  # T-7, T-14a
    tracker = tracker_in(tmp_path, bead("a"))
    held: list[int] = []

    def decide(view, now):
        lock = tracker.project.ddx("state", "tracker.lock")
        held.append(os.stat(lock).st_ino)
        if len(held) == 1:
            os.rename(lock, f"{lock}.gone")
        return ChangeSet({"a": bead("a", title="New")})

    tracker.change(decide)
    assert len(set(held)) == 2
    assert tracker.snapshot().row("a")["title"] == "New"


def test_a_file_replaced_again_and_again_is_left_alone(tmp_path):  # T-14a
    tracker = tracker_in(tmp_path, bead("a"))

    def decide(view, now):
        put_file(Path(tracker.path), lines_of(bead("a", title="Theirs")), clock=tracker.clock)
        return ChangeSet({"a": bead("a", title="Ours")})

    with pytest.raises(DdxError, match="replaced again and again; nothing was changed"):
        tracker.change(decide)
    assert tracker.snapshot().row("a")["title"] == "Theirs"


@pytest.mark.parametrize("missing", [True, False])
def test_a_tracker_that_vanished_is_an_error_and_never_empty(tmp_path, missing):  # T-14a
    tracker = tracker_in(tmp_path, bead("a"))
    set_field(tracker, "a", title="Ours")
    os.unlink(tracker.path)
    if not missing:
        Path(tracker.path).touch()
    clock = FakeClock()
    again = Tracker(tracker.project, clock=clock)
    for attempt in (again.snapshot, lambda: again.change(lambda view, now: ChangeSet({}))):
        with pytest.raises(DdxError, match="is missing or empty, but it held beads before"):
            attempt()
    assert clock.slept_s


def test_a_file_that_comes_back_within_a_second_is_waited_for(tmp_path):  # T-14a
    tracker = tracker_in(tmp_path, bead("a"))
    set_field(tracker, "a", title="Ours")
    ours = content(tracker)
    os.unlink(tracker.path)

    class Checkout(FakeClock):
        """git puts the file back while we wait."""

        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if len(self.slept_s) == 3:
                put_file(Path(tracker.path), ours, clock=self)

    assert Tracker(tracker.project, clock=Checkout()).snapshot().row("a")["title"] == "Ours"


def test_a_line_in_the_making_is_waited_for(tmp_path):  # T-14a
    tracker = tracker_in(tmp_path)
    whole = lines_of(bead("a"), bead("b"))
    put_file(Path(tracker.path), whole[:-20], clock=tracker.clock, age_s=0)

    class Writer(FakeClock):
        """An editor that needs a moment for its last bytes."""

        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if len(self.slept_s) == 10:
                put_file(Path(tracker.path), whole, clock=self, age_s=0)

    assert len(Tracker(tracker.project, clock=Writer()).snapshot().columns) == 2
