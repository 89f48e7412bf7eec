"""Changing a bead's fields and links (T-2, T-12, T-18)."""

from __future__ import annotations

import pytest
from tests.support.beads import NOW, bead, edges, waiting

from ddx.base.errors import NotFound, Refused, UsageError
from ddx.testing import MemoryView
from ddx.tracker.changeset import ChangeSet
from ddx.tracker.edits import BeadPatch, add_dependency, remove_dependency, update
from ddx.tracker.row import Row, blockers_of


def updated(patch: BeadPatch, *rows: Row) -> ChangeSet:
    return update(MemoryView(rows), rows[0]["id"], patch, now=NOW, by="mara")


def test_fields_are_set_and_taken_away_and_the_rest_stays():
    row = bead(description="old", notes="n", x={"kept": 1})
    patch = BeadPatch({"title": "New", "description": "", "priority": 0}, unset=("notes", "none"))
    changed = updated(patch, row).put["app-1"]
    expected = {**bead(title="New", x={"kept": 1}), "priority": 0, "updated_at": NOW}
    assert changed == expected


@pytest.mark.parametrize(
    "patch",
    [
        BeadPatch({}),
        BeadPatch({"title": "Do app-1", "priority": 2}),
        BeadPatch({"notes": ""}),
        BeadPatch({}, unset=("notes",)),
        BeadPatch({}, add_labels=("a",)),
        BeadPatch({}, remove_labels=("b",)),
        BeadPatch({}, parent="top"),
        BeadPatch({}, depends_on=("other",)),
    ],
)
def test_a_patch_that_changes_nothing_writes_nothing(patch):  # T-10
    row = waiting("app-1", "other", labels=["a"], parent="top")
    top = bead("top", status="in_progress")
    assert updated(patch, row, top, bead("other")) == ChangeSet({})


def test_a_bead_without_a_parent_stays_so():
    assert updated(BeadPatch({}, parent=""), bead()) == ChangeSet({})


def test_labels_come_and_go():
    patch = BeadPatch({}, add_labels=("b", " c "), remove_labels=("a",))
    assert updated(patch, bead(labels=[" a", "b"])).put["app-1"]["labels"] == ["b", "c"]
    gone = updated(BeadPatch({}, remove_labels=("a",)), bead(labels=["a"])).put["app-1"]
    assert "labels" not in gone


def test_notes_grow_by_lines():
    assert updated(BeadPatch({}, append_notes="second"), bead(notes="first")).put["app-1"][
        "notes"
    ] == ("first\nsecond")
    assert updated(BeadPatch({}, append_notes="first"), bead()).put["app-1"]["notes"] == "first"


def test_only_what_is_added_to_the_notes_is_held_to_the_rule():  # T-5, T-12
    old = bead(notes="from \x1b elsewhere")
    assert updated(BeadPatch({}, append_notes="ours"), old).put["app-1"]["notes"].endswith("\nours")
    with pytest.raises(UsageError, match="notes holds the character"):
        updated(BeadPatch({}, append_notes="ou\x1brs"), old)


@pytest.mark.parametrize("name", ["title", "priority", "issue_type", "schema_version"])
def test_what_every_bead_has_cannot_be_taken_away(name):
    with pytest.raises(UsageError, match=f"{name} cannot be taken away"):
        updated(BeadPatch({}, unset=(name,)), bead())


@pytest.mark.parametrize("name", ["status", "id", "claim-id", "events", "parent", "replaces"])
def test_what_a_command_owns_is_neither_set_nor_unset(name):
    for patch in (BeadPatch({name: "x"}), BeadPatch({}, unset=(name,))):
        with pytest.raises(UsageError, match="by hand"):
            updated(patch, bead(**{name.replace("-", "__"): "old"}))


# Links


def test_a_bead_moves_below_another_and_away_from_it():
    rows = (bead("a"), bead("top"))
    assert updated(BeadPatch({}, parent="top"), *rows).put["a"]["parent"] == "top"
    away = updated(BeadPatch({}, parent=""), bead("a", parent="top"), bead("top"))
    assert "parent" not in away.put["a"]


def test_a_second_child_that_moves_in_makes_an_epic():  # T-18
    rows = (bead("a"), bead("top"), bead("b", parent="top"))
    changes = updated(BeadPatch({}, parent="top"), *rows)
    assert changes.put["top"]["issue_type"] == "epic"


@pytest.mark.parametrize(
    ("parent", "error"),
    [("none", NotFound), ("a", Refused), ("child", Refused), ("wanted", Refused)],
)
def test_a_parent_that_cannot_be_is_refused(parent, error):  # T-12
    rows = (waiting("a", "wanted"), bead("child", parent="a"), bead("wanted"))
    with pytest.raises(error):
        updated(BeadPatch({}, parent=parent), *rows)


def test_dependencies_are_replaced_as_a_set():
    row = bead("a", dependencies=edges("a", "b", "c") + edges("a", "d", type="related"))
    changes = updated(BeadPatch({}, depends_on=("c", "e", "e")), row, *map(bead, "bcde"))
    found = changes.put["a"]["dependencies"]
    assert [(edge["depends_on_id"], edge["type"]) for edge in found] == [
        ("c", "blocks"),
        ("d", "related"),
        ("e", "blocks"),
    ]
    assert "dependencies" not in updated(BeadPatch({}, depends_on=()), waiting("a", "b")).put["a"]


def test_a_bead_may_say_what_it_replaces():
    changes = updated(BeadPatch({}, replaces=("old",)), bead("a"), bead("old"), waiting("b", "old"))
    assert changes.put["old"]["superseded-by"] == "a"
    assert blockers_of(changes.put["b"]) == ("a",)


def test_a_dependency_is_added_once():
    view = MemoryView([bead("a"), bead("b")])
    changes = add_dependency(view, "a", "b", now=NOW, by="mara")
    assert blockers_of(changes.put["a"]) == ("b",)
    again = add_dependency(view.after(changes), "a", "b", now=NOW, by="mara")
    assert again == ChangeSet({}, remarks=("a waits for b already",))


def test_every_edge_goes_with_its_dependency():
    row = bead("a", dependencies=edges("a", "b") + edges("a", "b", type="related"))
    changes = remove_dependency(MemoryView([row]), "a", "b", now=NOW)
    assert "dependencies" not in changes.put["a"]
    nothing = remove_dependency(MemoryView([bead("a")]), "a", "b", now=NOW)
    assert nothing == ChangeSet({}, remarks=("a has no dependency on b",))


def test_malformed_edges_are_no_obstacle():  # T-5
    view = MemoryView([bead("a", dependencies=["b", None, {"depends_on_id": "b"}]), bead("b")])
    assert remove_dependency(view, "a", "b", now=NOW).put["a"]["dependencies"] == ["b", None]
    changes = add_dependency(
        MemoryView([bead("a", dependencies=["x"]), bead("b")]), "a", "b", now=NOW, by=""
    )
    assert changes.put["a"]["dependencies"][0] == "x"
