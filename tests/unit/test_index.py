"""The index counts for exactly the bytes it was made from; without it only time is lost (T-19)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.beads import bead, columns_of, lines_of, put_file, tracker_in, waiting

from ddx.base.errors import CorruptFile
from ddx.base.files import FileIdentity, identity_of
from ddx.base.values import changed
from ddx.testing import FakeClock
from ddx.tracker import snapshot as index
from ddx.tracker.changeset import ChangeSet
from ddx.tracker.columns import CORE, TEXTS, Columns
from ddx.tracker.tracker import Tracker

ROWS = (bead("a", title="größer"), waiting("b", "a", labels=["x"]), bead("c", status="closed"))
SETTLED = index.SETTLED_NS


def facts_of(columns: Columns | None):
    assert columns is not None
    names = (*CORE, *TEXTS, "starts", "ends", "contiguous")
    return {name: getattr(columns, name) for name in names}


class Case:
    """A tracker file and the index that was made for it."""

    def __init__(self, folder: Path, *, age_ns: int = SETTLED) -> None:
        self.path = folder / "beads.jsonl"
        self.folder = folder / "cache"
        self.path.write_bytes(lines_of(*ROWS))
        self.identity = identity_of(str(self.path))
        self.save(made_ns=self.identity.mtime_ns + age_ns)

    def save(self, *, made_ns: int) -> None:
        columns = columns_of(*ROWS)
        index.save_quietly(
            str(self.folder), str(self.path), columns, self.identity, made_ns=made_ns
        )

    @property
    def file(self) -> Path:
        (found,) = self.folder.iterdir()
        return found

    def loaded(self, identity: FileIdentity | None = None) -> Columns | None:
        return index.load(str(self.folder), str(self.path), identity or self.identity)


def test_an_index_gives_back_every_column(tmp_path):
    assert facts_of(Case(tmp_path).loaded()) == facts_of(columns_of(*ROWS))


def test_texts_are_unpacked_only_when_asked_for(tmp_path):  # T-19
    columns = Case(tmp_path).loaded()
    assert columns is not None
    assert not set(TEXTS) & columns.__dict__.keys()
    assert columns.titles[0] == "größer"
    assert set(TEXTS) <= columns.__dict__.keys()


@pytest.mark.parametrize("age_ns", [0, 1, SETTLED - 1, -5])
def test_an_index_made_too_soon_after_the_change_does_not_count(tmp_path, age_ns):  # T-19
    assert Case(tmp_path, age_ns=age_ns).loaded() is None


@pytest.mark.parametrize("field", ["inode", "size", "mtime_ns"])
def test_an_index_of_another_file_does_not_count(tmp_path, field):  # T-19
    case = Case(tmp_path, age_ns=9 * SETTLED)
    other = changed(case.identity, **{field: getattr(case.identity, field) + 1})
    if field == "inode":
        stem, _, _ = case.file.name.rpartition(f"{case.identity.inode:x}")
        case.file.rename(case.folder / f"{stem}{other.inode:x}.idx")
    assert case.loaded(other) is None


def test_an_index_cut_anywhere_does_not_count(tmp_path):  # T-19
    case = Case(tmp_path)
    whole = case.file.read_bytes()
    for length in range(len(whole)):
        case.file.write_bytes(whole[:length])
        assert case.loaded() is None, length


def test_an_index_with_any_byte_changed_does_not_count(tmp_path):  # T-19
    case = Case(tmp_path)
    whole = case.file.read_bytes()
    for place in range(len(whole)):
        case.file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert case.loaded() is None, place


@pytest.mark.parametrize("garbage", [b"", b"\0" * 500, b"ddx index 0 0 0\n" + b"\0" * 500])
def test_garbage_does_not_count(tmp_path, garbage):
    case = Case(tmp_path)
    case.file.write_bytes(garbage)
    assert case.loaded() is None


def test_without_an_index_there_is_none(tmp_path):
    case = Case(tmp_path)
    case.file.unlink()
    assert case.loaded() is None


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path):
    case = Case(tmp_path)
    case.file.unlink()
    case.folder.rmdir()
    case.folder.write_text("no folder")
    case.save(made_ns=case.identity.mtime_ns + SETTLED)
    assert case.loaded() is None


def test_indexes_of_files_that_are_gone_are_forgotten(tmp_path):
    case = Case(tmp_path)
    mine = case.file.name
    (case.folder / "beads.abc.idx").write_text("old")
    (case.folder / "beads-archive.abc.idx").write_text("the archive's")
    (case.folder / "settings.json").write_text("another's")
    index.forget_others(str(case.folder), str(case.path), keep=case.identity)
    assert {path.name for path in case.folder.iterdir()} == {
        mine,
        "beads-archive.abc.idx",
        "settings.json",
    }


# Reading all (T-11, D-15)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{broken", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"title":"x"}', "no id"),
        (b'{"id":"a"}', "the id 'a' stands in line 1 too"),
        (b"<<<<<<< HEAD", "git conflict markers"),
        (b"=======", "git conflict markers"),
        (b">>>>>>> theirs", "git conflict markers"),
        (b"||||||| base", "git conflict markers"),
        (b'{"id":"\xff"}', "not UTF-8"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_its_cure(line, what):  # T-11, D-15
    content = lines_of(bead("a")) + b"\n  \n" + line + b"\n" + lines_of(bead("z"))
    with pytest.raises(CorruptFile) as refused:
        index.build("there/beads.jsonl", content)
    assert refused.value.message.startswith("there/beads.jsonl:4: ")
    assert what in refused.value.message
    assert "nothing was changed" in refused.value.message
    assert "doctor" in refused.value.hint


def test_blank_lines_and_spaces_around_a_row_are_no_matter():  # T-5
    content = b"\n  " + lines_of(bead("b")) + b"\r\n" + lines_of(bead("a"))[:-1] + b" \r\n"
    columns = index.build("beads.jsonl", content)
    assert columns.ids == ["a", "b"]
    assert [content[columns.starts[n] : columns.ends[n]] for n in (0, 1)] == [
        lines_of(bead("a"))[:-1],
        lines_of(bead("b"))[:-1],
    ]


# In use


def indexes(tracker: Tracker) -> list[Path]:
    return sorted(Path(tracker.project.ddx("cache")).glob("*.idx"))


def test_a_reader_makes_the_index_and_the_next_one_believes_it(tmp_path):  # T-19
    clock = FakeClock()
    tracker = tracker_in(tmp_path, *ROWS, clock=clock)
    expected = facts_of(tracker.snapshot().columns)
    (made,) = indexes(tracker)
    again = Tracker(tracker.project, clock=clock).snapshot().columns
    assert "packed_texts" in again.__dict__
    assert facts_of(again) == expected
    made.unlink()
    assert facts_of(Tracker(tracker.project, clock=clock).snapshot().columns) == expected


def test_a_writer_leaves_an_index_that_counts_at_once(tmp_path):  # T-19
    tracker = tracker_in(tmp_path, *ROWS)
    tracker.change(lambda view, now: ChangeSet({"a": bead("a", title="New")}))
    assert len(indexes(tracker)) == 1
    again = Tracker(tracker.project, clock=tracker.clock).snapshot().columns
    assert "packed_texts" in again.__dict__
    assert again.titles[0] == "New"


def test_a_reader_waits_until_a_fresh_file_is_settled(tmp_path):  # T-14a
    clock = FakeClock()
    tracker = tracker_in(tmp_path, clock=clock)
    put_file(Path(tracker.path), lines_of(*ROWS), clock=clock, age_s=0)
    assert len(tracker.snapshot().columns) == 3
    assert 0.05 <= sum(clock.slept_s) < 0.1
    assert "packed_texts" in Tracker(tracker.project, clock=clock).snapshot().columns.__dict__


def test_the_cache_may_vanish_at_any_time(tmp_path):  # T-19
    tracker = tracker_in(tmp_path, *ROWS)
    view = tracker.snapshot()
    for path in indexes(tracker):
        path.unlink()
    os.rmdir(tracker.project.ddx("cache"))
    assert [row["id"] for row in view.rows()] == ["a", "b", "c"]
    assert view.columns.titles[0] == "größer"
