"""A change in the making, and the rules on links that no change may break (T-12)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.beads import NOW, bead, waiting

from ddx.base.errors import DdxError, NotFound, Refused
from ddx.testing import MemoryView
from ddx.tracker.changeset import ChangeSet, WorkingCopy
from ddx.tracker.edits import BeadPatch, add_dependency, update
from ddx.tracker.lifecycle import supersede
from ddx.tracker.row import Row, blockers_of, link_of


def working_on(*rows: Row, archived: tuple[Row, ...] = ()) -> WorkingCopy:
    return WorkingCopy(MemoryView(rows, archived=archived), now=NOW)


def test_a_change_lies_on_top_of_what_is_there():
    working = working_on(bead("a"), bead("b", parent="a"), waiting("c", "b"))
    working.put(bead("b", status="closed"))
    working.put(waiting("d", "a", parent="a"))
    assert working.status("b") == "closed"
    assert working.children("a") == ("d",)
    assert working.dependents("a") == ("d",)
    assert working.dependents("b") == ("c",)
    assert list(working.ancestors("d")) == ["a"]
    assert working.exists("d")
    assert not working.exists("e")
    assert set(working.changes().put) == {"b", "d"}


def test_a_row_is_stamped_when_it_is_put_and_never_changed_in_place():
    row = bead("a")
    assert working_on(row).put(row)["updated_at"] == NOW
    assert row["updated_at"] != NOW


def test_what_is_in_the_archive_is_known_but_does_not_change():
    working = working_on(bead("a"), archived=(waiting("old", "x", status="closed", parent="p"),))
    assert working.status("old") == "closed"
    assert working.is_archived("old")
    assert not working.is_archived("a")
    assert not working.is_archived("none")
    assert working.row_even_archived("old")["parent"] == "p"
    with pytest.raises(Refused, match="old is in the archive and cannot change"):
        working.row("old")
    with pytest.raises(NotFound):
        working.row("none")


# Dependencies


def test_a_dependency_must_be_known():  # T-12
    with pytest.raises(NotFound, match="'b'"):
        working_on(bead("a")).require_possible_dependency("a", "b")


def test_an_archived_bead_may_be_waited_for():
    working_on(bead("a"), archived=(bead("old", status="closed"),)).require_possible_dependency(
        "a", "old"
    )


def test_nobody_waits_for_himself():  # T-12
    with pytest.raises(Refused, match="a cannot wait for itself"):
        working_on(bead("a")).require_possible_dependency("a", "a")


def test_a_ring_of_waiting_is_refused_and_shown():  # T-12
    working = working_on(bead("a"), waiting("b", "a"), waiting("c", "b", type="depends_on"))
    with pytest.raises(Refused) as refused:
        working.require_possible_dependency("a", "c")
    assert "closes the ring a -> c -> b -> a" in refused.value.message


def test_what_does_not_block_closes_no_ring():  # D-14
    working = working_on(bead("a"), waiting("b", "a", type="related"))
    working.require_possible_dependency("a", "b")


def test_a_part_does_not_wait_for_its_whole():  # T-12
    working = working_on(bead("a"), bead("b", parent="a"), bead("c", parent="b"))
    for whole in ("a", "b"):
        with pytest.raises(Refused, match=f"c is part of {whole}, so it cannot wait"):
            working.require_possible_dependency("c", whole)
    working.require_possible_dependency("a", "c")


# Parents


def test_nobody_stands_below_himself():  # T-12
    working = working_on(bead("a"), bead("b", parent="a"), bead("c", parent="b"))
    for below in ("a", "b", "c"):
        with pytest.raises(Refused, match="so it cannot be its parent"):
            working.require_possible_parent("a", below)
    working.require_possible_parent("c", "a")


def test_nobody_stands_below_what_he_waits_for():  # T-12
    working = working_on(bead("a"), bead("b", parent="a"), waiting("c", "a"))
    for above in ("a", "b"):
        with pytest.raises(Refused, match="c waits for a, so it cannot stand below it"):
            working.require_possible_parent("c", above)


def test_nobody_takes_his_children_below_what_they_wait_for():  # T-12
    working = working_on(bead("a"), bead("b"), waiting("c", "a", parent="b"))
    with pytest.raises(Refused, match="c waits for a, so it cannot stand below it"):
        working.require_possible_parent("b", "a")


def test_rings_that_stand_in_the_file_do_not_hang_us():  # T-11
    working = working_on(
        waiting("a", "b", parent="b"), waiting("b", "a", parent="a"), waiting("c", "a")
    )
    assert list(working.ancestors("a")) == ["b"]
    assert set(working.descendants("a")) == {"b"}
    with pytest.raises(Refused):
        working.require_possible_dependency("b", "c")


# The law


IDS = ["a", "b", "c", "d", "e"]
LINKING = st.tuples(
    st.sampled_from(["wait", "parent", "supersede"]),
    st.sampled_from(IDS),
    st.lists(st.sampled_from(IDS), min_size=1, max_size=2),
)


@settings(max_examples=250, deadline=None)
@given(st.lists(LINKING, min_size=4, max_size=20))
def test_no_sequence_of_links_makes_a_ring(steps):  # T-12
    view = MemoryView(map(bead, IDS))
    for kind, bead_id, others in steps:
        try:
            view = view.after(linked(view, kind, bead_id, others))
        except DdxError:
            continue
        rows = view.rows
        assert_no_ring({one: blockers_of(row) for one, row in rows.items()})
        assert_no_ring({one: filter(None, [link_of(row, "parent")]) for one, row in rows.items()})
        for one, row in rows.items():
            assert not set(blockers_of(row)) & set(above(rows, one))


def linked(view: MemoryView, kind: str, bead_id: str, others: list[str]):
    if kind == "wait":
        return add_dependency(view, bead_id, others[0], now=NOW, by="mara")
    if kind == "parent":
        return update(view, bead_id, BeadPatch({}, parent=others[0]), now=NOW, by="mara")
    return supersede(view, bead_id, by=tuple(others), reason="", actor="mara", now=NOW)


def assert_no_ring(links) -> None:
    """Peel off, again and again, what leads nowhere: a ring is what remains."""
    left = {bead_id: set(wanted) for bead_id, wanted in links.items()}
    while free := [bead_id for bead_id, wanted in left.items() if not wanted & left.keys()]:
        for bead_id in free:
            del left[bead_id]
    assert not left, f"a ring: {left}"


def above(rows: dict[str, Row], bead_id: str) -> list[str]:
    found = [bead_id]
    while parent := link_of(rows[found[-1]], "parent"):
        found.append(parent)
    assert all(one != other for one, other in pairwise(found))
    return found[1:]


def test_several_edits_are_one_change_and_later_ones_see_the_earlier():
    working = working_on(bead("a"), bead("b"), archived=(bead("old"),))
    working.add(add_dependency(working, "b", "a", now=NOW, by="ann"))
    assert working.waits_for("b") == ("a",)
    with pytest.raises(Refused, match="closes the ring a -> b -> a"):
        add_dependency(working, "a", "b", now=NOW, by="ann")
    working.add(update(working, "a", BeadPatch({"description": "first"}), now=NOW, by="ann"))
    working.add(update(working, "a", BeadPatch({"title": "Second"}), now=NOW, by="ann"))
    made = working.changes()
    assert set(made.put) == {"a", "b"}
    assert (made.put["a"]["description"], made.put["a"]["title"]) == ("first", "Second")


def test_what_is_asked_of_a_change_is_what_will_stand():
    working = working_on(bead("a"), archived=(bead("old"),))
    working.add(ChangeSet({"c": waiting("c", "a")}, attached={"c": ({"n": 1},)}, remarks=("so",)))
    assert "c" in working and "old" not in working
    assert working.find("c") == working.row("c")
    assert working.find("old") == working.row_even_archived("old")
    assert working.find("nobody") is None
    assert working.is_waited_for("a") and not working.is_waited_for("c")
    made = working.changes()
    assert (dict(made.attached), made.remarks) == ({"c": ({"n": 1},)}, ("so",))


def test_an_archived_row_stays_archived_below_several_edits():
    working = WorkingCopy(working_on(bead("a"), archived=(bead("old"),)), now=NOW)
    with pytest.raises(Refused, match="in the archive"):
        update(working, "old", BeadPatch({"title": "New"}), now=NOW, by="ann")
    assert working.row_even_archived("old")["id"] == "old"
    with pytest.raises(NotFound):
        working.row("nobody")


def test_a_move_to_the_archive_is_a_write_of_its_own():
    with pytest.raises(ValueError, match="of its own"):
        working_on(bead("a")).add(ChangeSet({}, archived=frozenset({"a"})))
