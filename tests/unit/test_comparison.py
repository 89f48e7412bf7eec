"""Two states of the tracker, told as sentences that a reviewer can read (T-22)."""

from __future__ import annotations

import pytest
from tests.support.beads import bead, edges, waiting

from ddx.tracker.explanation import BeadDifference, compare
from ddx.tracker.row import Row


def told(before: list[Row], after: list[Row]) -> list[str]:
    sides = [{row["id"]: row for row in rows} for rows in (before, after)]
    return [sentence for found in compare(*sides) for sentence in found.sentences]


def test_new_gone_and_changed_beads_are_told_in_the_order_of_ids():  # T-22
    before = [bead("b"), bead("c", status="closed"), bead("d")]
    after = [bead("a", issue_type="bug"), bead("b", title="New"), bead("d")]
    assert told(before, after) == [
        "a was filed as bug: Do a",
        "b title: Do b -> New",
        "c left the tracker (closed): Do c",
    ]


def test_a_difference_holds_both_values():
    (found,) = compare({"a": bead("a", x=1)}, {"a": bead("a", x=2)})
    assert found == BeadDifference(
        "a", "changed", {"x": {"from": 1, "to": 2}}, sentences=("a x: 1 -> 2",)
    )


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ({}, {}, []),
        ({}, {"updated_at": "2027-01-01T00:00:00Z"}, []),
        (
            {},
            {"status": "in_progress", "owner": "mara", "claim__id": "c"},
            ["a got owner: mara", "a went from open to in_progress by mara"],
        ),
        (
            {},
            {"status": "closed", "close_reason": "done", "closed_at": "2026"},
            ["a got close_reason: done", "a went from open to closed: done"],
        ),
        (
            {"status": "blocked", "blocked__reason": "key"},
            {},
            ["a has no blocked-reason any more", "a went from blocked to open"],
        ),
        (
            {"labels": ["x", "y"]},
            {"labels": ["y", "z", "w"]},
            ["a got the label z and w", "a lost the label x"],
        ),
        ({"labels": ["x", "y"]}, {"labels": ["y", "x"]}, ["a has its labels in another order"]),
        (
            {"dependencies": edges("a", "b")},
            {"dependencies": edges("a", "c", "d")},
            ["a waits for c and d now", "a waits for b no more"],
        ),
        (
            {"dependencies": edges("a", "b")},
            {"dependencies": edges("a", "b", type="waits-for")},
            ["a changed the details of a dependency"],
        ),
        ({}, {"events": [{}]}, ["a has new events"]),
        ({"claim__id": "c1"}, {"claim__id": "c2"}, ["a changed in its claim only"]),
    ],
)
def test_each_change_has_its_sentence(old, new, sentences):  # T-22
    assert told([bead("a", **old)], [bead("a", **new)]) == sentences


def test_long_and_hostile_text_is_cut_and_made_visible():  # T-23
    (sentence,) = told([bead("a")], [bead("a", title="\x1b[31m\n" + "x" * 500)])
    assert sentence.startswith(r"a title: Do a -> \x1b[31m\nxxx")
    assert sentence.endswith("…")
    assert len(sentence) < 100


def test_an_edge_to_nowhere_is_told_like_any_other():
    assert told([bead("a")], [waiting("a", "gone")]) == ["a waits for gone now"]
