"""What may be written into a bead's fields, wherever the words come from (T-2, T-12)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.beads import NOW, bead, edges, waiting

from ddx.base.errors import UsageError
from ddx.base.json import Verbatim, dumps
from ddx.testing import MemoryView
from ddx.tracker.changeset import WorkingCopy
from ddx.tracker.fields import OWNED, checked, put_fields, with_dependency, without_dependency


@pytest.mark.parametrize(
    ("name", "given", "stored"),
    [
        ("title", "  Fix login ", "Fix login"),
        ("description", "  two\n\tlines ", "  two\n\tlines "),
        ("acceptance", "`$(x)` \"q\" 'q' \\ 队列", "`$(x)` \"q\" 'q' \\ 队列"),
        ("issue_type", "epic", "epic"),
        ("priority", 0, 0),
        ("priority", "4", 4),
        ("queue-rank", "-12", -12),
        ("queue-rank", "", None),
        ("queue-rank", None, None),
        ("budget", 1.5, 1.5),
        ("budget", "3", 3),
        ("execution-eligible", True, True),
        ("execution-eligible", "False", False),
        ("execution-eligible", "", None),
        ("labels", " area:cli ", ["area:cli"]),
        ("labels", ["b", " a", "b ", ""], ["b", "a"]),
        ("verify", ("pytest -q", "ruff check"), ["pytest -q", "ruff check"]),
        ("refs", None, None),
        (
            "x-mine",
            {"a": [1, None, True, "t", {"b": 2.5}]},
            {"a": [1, None, True, "t", {"b": 2.5}]},
        ),
        ("x-mine", {7: "number"}, {"7": "number"}),
        ("x-mine", {"b": {"d": 1, "c": 2}, "a": 3}, {"a": 3, "b": {"c": 2, "d": 1}}),
        ("notes", None, None),
    ],
)
def test_a_field_is_stored_like_this(name, given, stored):  # T-2
    assert repr(checked(name, given)) == repr(stored)


def test_a_number_given_as_text_keeps_its_spelling():
    assert dumps(checked("budget", "1.50")) == "1.50"
    assert checked("x-mine", Verbatim("2.50")).text == "2.50"


@pytest.mark.parametrize(
    ("name", "given", "complaint"),
    [
        ("title", "", "a bead needs a title"),
        ("title", " \n", "a bead needs a title"),
        ("title", None, "a bead needs a title"),
        ("title", ["a"], "title must be text"),
        ("title", "a\x00b", "title holds the character"),
        ("description", 5, "description must be text"),
        ("notes", {"a": 1}, "notes must be text"),
        ("issue_type", "story", "issue_type cannot be 'story'"),
        ("issue_type", None, "issue_type cannot be None"),
        ("priority", 5, "priority cannot be 5: it is one of 0, 1, 2, 3 or 4"),
        ("priority", -1, "priority cannot be -1"),
        ("priority", 1.0, "priority must be a whole number"),
        ("priority", True, "priority must be a number"),
        ("priority", "high", "priority must be a number, not 'high'"),
        ("queue-rank", "1.5", "queue-rank must be a whole number"),
        ("queue-rank", [1], "queue-rank must be a number"),
        ("budget", "much", "budget must be a number"),
        ("budget", float("nan"), "budget cannot hold nan"),
        ("execution-eligible", "maybe", "execution-eligible must be true or false"),
        ("execution-eligible", 1, "execution-eligible must be true or false"),
        ("labels", ["a", 5], "labels must hold texts, not 5"),
        ("labels", 5, "labels must hold texts, not 5"),
        ("labels", {"a": 1}, "labels must hold texts"),
        ("verify", ["a\x1b[0m"], "verify holds the character"),
        ("x-mine", {"a": ["\x07"]}, "x-mine holds the character"),
        ("x-mine", {"a\x07": 1}, "x-mine holds the character"),
        ("x-\x07", "a", "a field's name holds the character"),
        ("x-mine", date(2026, 1, 2), "JSON has no such value"),
        ("x-mine", [float("inf")], "JSON has no such value"),
    ],
)
def test_a_field_is_refused_like_this(name, given, complaint):  # T-12
    with pytest.raises(UsageError) as refused:
        checked(name, given)
    assert complaint in refused.value.message


@pytest.mark.parametrize("name", sorted(OWNED))
@pytest.mark.parametrize("given", ["app-2", None])
def test_a_field_that_a_command_owns_is_never_set_by_hand(name, given):
    with pytest.raises(UsageError, match="cannot be set by hand"):
        checked(name, given)


@pytest.mark.parametrize("link", ["parent", "depends-on", "replaces", "superseded-by"])
def test_no_link_escapes_its_rules_as_a_plain_field(link):  # T-12
    assert link in OWNED


def test_an_empty_value_takes_the_field_away_and_others_stay():
    row = bead(description="old", labels=["a"], x="kept")
    assert put_fields(row, {"description": "", "labels": [], "notes": None}) == {
        name: found for name, found in row.items() if name not in ("description", "labels")
    }
    assert row["description"] == "old"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(categories=["L", "P", "S"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("key"), inner, max_size=1),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(JSON_VALUES)
def test_any_clean_json_value_comes_back_exactly(given):  # T-12
    assert checked("x-mine", given) == given


def test_waiting_twice_is_waiting_once():
    rows = [waiting("app-2", "app-1"), bead("app-1"), waiting("app-3", "app-1", type="waits-for")]
    working = WorkingCopy(MemoryView(rows), now=NOW)
    assert with_dependency(working, rows[0], "app-1") is rows[0]
    assert with_dependency(working, rows[2], "app-1") is rows[2]


def test_a_new_edge_says_who_drew_it_and_when():  # T-1
    working = WorkingCopy(MemoryView([bead("app-1"), bead("app-2")]), now=NOW)
    linked = with_dependency(working, bead("app-2"), "app-1", by="mara")
    (edge,) = edges("app-2", "app-1")
    assert linked["dependencies"] == [{**edge, "created_at": NOW, "created_by": "mara"}]


def test_taking_edges_away_leaves_what_is_no_edge():  # T-2, T-5
    odd = ["app-1", {"depends_on_id": " app-1 ", "type": "related"}, {"depends_on_id": "app-1"}]
    row = bead("app-2", dependencies=odd)
    assert without_dependency(row, "app-1")["dependencies"] == ["app-1"]
    assert without_dependency(row, "app-1", only_blocking=True)["dependencies"] == odd[:2]
    assert "dependencies" not in without_dependency(waiting("app-2", "app-1"), "app-1")
