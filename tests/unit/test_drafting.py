"""Filing beads: one or many in one write, all or nothing (T-3, T-12, T-18)."""

from __future__ import annotations

from itertools import count

import pytest
from tests.support.beads import NOW, bead, waiting

from ddx.base.errors import NotFound, Refused, UsageError
from ddx.testing import MemoryView
from ddx.tracker.changeset import ChangeSet
from ddx.tracker.edits import create
from ddx.tracker.row import Row, blockers_of, id_prefix, require_new_id


def filed(*drafts: dict, rows: tuple[Row, ...] = (), archived=(), draw_id=None) -> ChangeSet:
    numbers = count(1)
    view = MemoryView(rows, archived=archived)
    draw_id = draw_id or (lambda: f"new-{next(numbers)}")
    return create(view, drafts, now=NOW, by="mara", draw_id=draw_id)


def test_a_new_bead_says_everything_that_others_would_have_to_guess():  # T-2, D-13
    changes = filed({"title": " Fix login ", "x-mine": {"a": 1}})
    assert changes.put == {
        "new-1": {
            "id": "new-1",
            "title": "Fix login",
            "status": "open",
            "priority": 2,
            "issue_type": "task",
            "execution-eligible": True,
            "schema_version": 1,
            "created_at": NOW,
            "updated_at": NOW,
            "created_by": "mara",
            "x-mine": {"a": 1},
        }
    }


@pytest.mark.parametrize(
    ("draft", "eligible"),
    [
        ({}, True),
        ({"type": "bug"}, True),
        ({"type": "epic"}, False),
        ({"issue_type": "decision"}, False),
        ({"labels": ["kind:review"]}, False),
        ({"labels": ["action:align"], "execution-eligible": True}, True),
        ({"execution-eligible": "false"}, False),
    ],
)
def test_eligibility_is_written_at_birth(draft, eligible):  # D-13
    (row,) = filed({"title": "T", **draft}).put.values()
    assert row["execution-eligible"] is eligible


@pytest.mark.parametrize(
    "draft",
    [
        {},
        {"title": ""},
        {"title": None},
        {"title": "T", "status": "closed"},
        {"title": "T", "priority": 9},
        {"title": "T", "dependencies": []},
        {"title": "T\x00"},
    ],
)
def test_what_is_no_draft_is_refused(draft):  # T-12
    with pytest.raises(UsageError):
        filed(draft)


# Ids (T-3)


def test_ids_are_drawn_again_on_collision():  # T-18
    drawn = iter(["live", "kept", "a-1", "a-1", "a-2"])
    changes = filed(
        {"title": "A"},
        {"title": "B"},
        rows=(bead("live"),),
        archived=(bead("kept"),),
        draw_id=lambda: next(drawn),
    )
    assert list(changes.put) == ["a-1", "a-2"]


def test_drawing_ends():
    with pytest.raises(Refused, match="100 drawn ids were all taken"):
        filed({"title": "A"}, rows=(bead("same"),), draw_id=lambda: "same")


def test_a_draft_may_bring_its_id_once():
    assert list(filed({"title": "A", "id": "mine-1"}).put) == ["mine-1"]
    for rows, archived in (((bead("mine-1"),), ()), ((), (bead("mine-1"),))):
        with pytest.raises(Refused, match="there is a bead mine-1 already"):
            filed({"title": "A", "id": "mine-1"}, rows=rows, archived=archived)
    with pytest.raises(Refused, match="mine-1 already"):
        filed({"title": "A", "id": "mine-1"}, {"title": "B", "id": "mine-1"})


@pytest.mark.parametrize(
    "bead_id", ["a1", "app-1a2b3c4d", "A.b_c-d", "9lives", "x" * 64, "a.lockx", "a.b.c"]
)
def test_these_ids_may_be_written(bead_id):  # T-3
    assert require_new_id(bead_id) == bead_id


@pytest.mark.parametrize(
    "bead_id",
    [
        "",
        "a",
        "x" * 65,
        "-a",
        ".a",
        "_a",
        "a b",
        "a/b",
        "a..b",
        "a.lock",
        "é-1",
        "a\n",
        "a,b",
        "①2",
    ],
)
def test_these_ids_are_refused(bead_id):  # T-3
    with pytest.raises(UsageError, match="bead id"):
        require_new_id(bead_id)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("app", "app"),
        ("My Project!", "My-Project"),
        (".hidden", "hidden"),
        ("a..b", "a.b"),
        ("...", "bead"),
        ("", "bead"),
        ("größe", "gr--e"),
        ("x" * 80, "x" * 48),
    ],
)
def test_a_folder_name_becomes_a_prefix(name, prefix):  # T-3
    assert id_prefix(name) == prefix
    assert require_new_id(f"{id_prefix(name)}-1a2b3c4d")


# Links


def test_drafts_name_each_other_by_key_or_id():
    changes = filed(
        {"title": "Epic", "type": "epic", "key": "e"},
        {"title": "A", "key": "a", "parent": "e", "depends-on": "b, old"},
        {"title": "B", "key": "b", "parent": "e", "depends_on": ["mine-1"]},
        {"title": "C", "id": "mine-1", "replaces": "old"},
        rows=(bead("old"),),
    )
    epic, a, b = "new-1", "new-2", "new-3"
    assert changes.put[a]["parent"] == changes.put[b]["parent"] == epic
    assert blockers_of(changes.put[b]) == ("mine-1",)
    assert blockers_of(changes.put[a]) == (b, "mine-1")
    assert changes.put["old"]["superseded-by"] == "mine-1"
    assert not {"key", "depends-on", "depends_on"} & changes.put[a].keys()


@pytest.mark.parametrize(
    ("drafts", "error"),
    [
        ([{"title": "A", "key": "k"}, {"title": "B", "key": "k"}], UsageError),
        ([{"title": "A", "parent": "none"}], NotFound),
        ([{"title": "A", "depends-on": "none"}], NotFound),
        ([{"title": "A", "replaces": "none"}], NotFound),
        ([{"title": "A", "key": "a", "depends-on": "a"}], Refused),
        ([{"title": "A", "key": "a", "parent": "a"}], Refused),
        (
            [
                {"title": "A", "key": "a", "depends-on": "b"},
                {"title": "B", "key": "b", "depends-on": "a"},
            ],
            Refused,
        ),
        (
            [
                {"title": "A", "key": "a", "parent": "b"},
                {"title": "B", "key": "b", "parent": "a"},
            ],
            Refused,
        ),
        ([{"title": "A", "parent": "old", "depends-on": "old"}], Refused),
    ],
)
def test_one_bad_link_and_nothing_is_filed(drafts, error):  # T-12
    with pytest.raises(error):
        filed({"title": "Good"}, *drafts, rows=(bead("old"),))


@pytest.mark.parametrize("status", ["closed", "cancelled"])
def test_nothing_is_filed_below_what_is_finished(status):
    with pytest.raises(Refused, match=f"top is {status}, so nothing can be added below it"):
        filed({"title": "A", "parent": "top"}, rows=(bead("top", status=status),))


# Epics (T-18)


def test_the_second_child_makes_an_epic():  # T-18
    top = bead("top", labels=["area:cli"], spec__id="FEAT-1", priority=1)
    one = filed({"title": "A", "parent": "top"}, rows=(top,))
    assert set(one.put) == {"new-1"}
    two = filed({"title": "B", "parent": "top"}, rows=(top, bead("first", parent="top")))
    became = {"issue_type": "epic", "execution-eligible": False}
    assert two.put["top"] == {**top, **became, "updated_at": NOW}
    assert two.remarks == ("top has several children now and became an epic",)


def test_two_children_at_once_make_an_epic_too():  # T-18
    drafts = ({"title": "A", "parent": "top"}, {"title": "B", "parent": "top"})
    assert filed(*drafts, rows=(bead("top"),)).put["top"]["issue_type"] == "epic"


def test_an_epic_stays_as_it_is():  # T-18
    epic = bead("top", issue_type="epic")
    rows = (epic, bead("first", parent="top"))
    assert set(filed({"title": "B", "parent": "top"}, rows=rows).put) == {"new-1"}


@pytest.mark.parametrize("grandparent", ["", "epic"])
def test_what_is_claimed_gets_siblings_instead(grandparent):  # T-18
    held = bead("top", status="in_progress", parent=grandparent)
    rows = (held, bead("first", parent="top"), bead("epic", issue_type="epic"))
    changes = filed({"title": "B", "parent": "top"}, rows=rows)
    assert changes.put["new-1"].get("parent", "") == grandparent
    assert "top" not in changes.put
    assert changes.remarks == ("top is claimed, so new-1 was filed beside it",)


def test_a_sibling_counts_as_a_child_of_the_bead_above():  # T-18
    rows = (bead("top"), bead("held", status="in_progress", parent="top"))
    changes = filed({"title": "B", "parent": "held"}, rows=rows)
    assert changes.put["new-1"]["parent"] == "top"
    assert changes.put["top"]["issue_type"] == "epic"


@pytest.mark.parametrize("above", [{"status": "in_progress"}, {"status": "closed"}])
def test_a_bead_above_that_is_held_or_ended_stays_what_it_is(above):  # T-18
    rows = (bead("top", **above), bead("held", status="in_progress", parent="top"))
    assert set(filed({"title": "B", "parent": "held"}, rows=rows).put) == {"new-1"}


def test_a_claimed_epic_takes_children():  # T-18
    epic = bead("top", issue_type="epic", status="in_progress")
    assert filed({"title": "B", "parent": "top"}, rows=(epic,)).put["new-1"]["parent"] == "top"


def test_rows_that_are_there_are_not_touched():
    rows = (bead("a"), waiting("b", "a"), bead("c"))
    before = [dict(row) for row in rows]
    filed({"title": "C", "depends-on": "c", "replaces": "a"}, rows=rows)
    assert list(rows) == before
