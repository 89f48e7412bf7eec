"""A bead as other rooms see it: named properties that bad rows cannot break (T-2, T-5)."""

from __future__ import annotations

import pytest
from tests.support.beads import EARLIER, bead, edges

from ddx.tracker.bead import Bead, BeadEvent


def test_a_bead_tells_its_known_keys_by_name():
    found = Bead.of(
        bead(
            "app-1",
            description="why",
            parent=" app-0 ",
            spec__id="FEAT-1, FEAT-2",
            refs=["TD-1"],
            paths=["src/a.py", " "],
            labels=["area:ui"],
            notes="said",
            attempts=3,
            superseded__by="app-2,app-3",
            replaces="app-9",
            dependencies=edges("app-1", "app-7"),
            owner="mara",
            **{"queue-rank": 4, "claim-id": "c1"},
        ),
        "r1",
    )
    assert (found.id, found.revision, found.title) == ("app-1", "r1", "Do app-1")
    assert (found.status, found.type, found.priority, found.rank) == ("open", "task", 2, 4)
    assert (found.parent, found.spec_id) == ("app-0", "FEAT-1, FEAT-2")
    assert found.documents == ("FEAT-1", "FEAT-2", "TD-1")
    assert (found.paths, found.labels, found.verify) == (("src/a.py",), ("area:ui",), ("true",))
    assert (found.superseded_by, found.replaces) == (("app-2", "app-3"), ("app-9",))
    assert (found.waits_for, found.attempts) == (("app-7",), 3)
    assert (found.owner, found.holder, found.claim_id) == ("mara", "mara", "c1")
    assert (found.description, found.notes, found.created_at) == ("why", "said", EARLIER)
    assert found.is_eligible
    assert not found.is_finished
    assert not found.is_in_conflict


def test_an_empty_row_is_an_open_task_that_says_nothing():
    found = Bead.of({})
    assert (found.id, found.status, found.type, found.priority) == ("", "open", "task", 2)
    assert (found.labels, found.events, found.waits_for, found.documents) == ((), (), (), ())
    assert (found.attempts, found.rank, found.criteria) == (0, None, ())


@pytest.mark.parametrize("status", ["closed", "cancelled"])
def test_a_closed_and_a_cancelled_bead_are_finished(status):
    assert Bead.of(bead(status=status)).is_finished


@pytest.mark.parametrize(
    ("written", "attempts"), [(2, 2), ("2", 2), (-1, 0), ([], 0), ("x", 0), ("1" * 9, 0)]
)
def test_attempts_that_are_no_count_are_none(written, attempts):
    assert Bead.of(bead(attempts=written)).attempts == attempts


def test_an_unknown_key_is_read_with_the_same_tolerance():
    found = Bead.of(bead(mark=7, many=["a", "", 3], one="b"))
    assert (found.text("mark"), found.text("many"), found.text("none")) == ("7", "", "")
    assert (found.texts("many"), found.texts("one"), found.texts("mark")) == (("a",), ("b",), ())
    assert (found.link("one"), found.links("one")) == ("b", ("b",))


def test_events_are_told_as_far_as_they_can_be_read():
    events = [{"kind": "noted", "summary": "s", "actor": "mara", "created_at": "t"}, "no event"]
    assert Bead.of(bead(events=events)).events == (
        BeadEvent("noted", "s", "", actor="mara", at="t"),
    )


def test_eligibility_by_kind_does_not_hear_the_beads_own_word():
    epic = Bead.of(bead(issue_type="epic", **{"execution-eligible": True}))
    assert epic.is_eligible
    assert not epic.is_eligible_by_kind


def test_the_content_is_the_same_whoever_holds_it():
    held = Bead.of(bead(owner="helix", claim__id="c", updated_at="later", events=[{}]))
    assert held.content() == Bead.of(bead()).content()
    assert held.content() != Bead.of(bead(notes="more")).content()
    assert held.content(besides={"notes"}) == Bead.of(bead(notes="more")).content(besides={"notes"})


def test_a_digest_is_of_the_named_fields_and_of_no_empty_one():
    one, other = Bead.of(bead(notes="", labels=["x"])), Bead.of(bead(labels=["y"]))
    assert one.digest(("title", "notes")) == other.digest(("title",))
    assert one.digest(("labels",)) != other.digest(("labels",))
