"""Why a bead is where it is, in words and as data (T-22)."""

from __future__ import annotations

import pytest
from tests.support.beads import bead, surroundings, tracker_in, waiting

from ddx.base.errors import NotFound
from ddx.tracker.archive_file import archive
from ddx.tracker.explanation import BeadExplanation, cure_of, explain, rule_of, shown_blocker
from ddx.tracker.queue import BLOCKER_KINDS, Blocker


@pytest.fixture
def explained(tmp_path):
    def ask(bead_id: str, *rows, **around) -> BeadExplanation:
        view = tracker_in(tmp_path, *rows).snapshot()
        return explain(view, bead_id, surroundings(**around))

    return ask


def test_a_ready_bead_knows_its_place_and_who_is_ahead(explained):  # T-22
    rows = (bead("a"), bead("b", priority=0), bead("c", status="blocked"))
    found = explained("a", *rows)
    assert found == BeadExplanation(
        bead_id="a", standing="ready", place=2, ahead=("b",), blockers=(), not_closable=""
    )
    assert explained("b", *rows).place == 1


@pytest.mark.parametrize(
    ("fields", "others", "kind", "reason"),
    [
        ({"status": "blocked", "blocked__reason": "no key"}, [], "status", "is blocked: no key"),
        ({"status": "deferred"}, [], "status", "status is deferred"),
        (
            {"status": "in_progress", "owner": "helix", "claimed__pid": 812},
            [],
            "claimed",
            "held by helix (pid 812)",
        ),
        ({"superseded__by": "b,c"}, [], "superseded", "superseded by b and c"),
        ({"execution__eligible": False}, [], "not-execution-eligible", "not for agents"),
        (
            {"execution__eligible": False, "execution__skip__reason": "by hand"},
            [],
            "not-execution-eligible",
            "by hand",
        ),
        (
            {"merge__conflicts": [{"field": "title"}, {"field": "notes"}]},
            [],
            "merge-conflict",
            "both sides of a merge changed title and notes",
        ),
        (
            {"issue_type": "epic", "execution__eligible": True},
            [bead("b", parent="a")],
            "epic-only",
            "through its children",
        ),
        ({"retry__after": "2026-01-03T00:00:00Z"}, [], "retry-cooldown", "cooling down"),
        ({"verify": []}, [], "no-success-criteria", "nothing says how to check"),
        ({"acceptance": "It works"}, [], "no-success-criteria", "nobody can check 'works'"),
    ],
)
def test_a_blocked_bead_says_why_in_its_own_words(explained, fields, others, kind, reason):  # T-22
    found = explained("a", bead("a", **fields), *others)
    assert (found.standing, found.place) == ("blocked", 0)
    assert [held.kind for held in found.blockers] == [kind]
    assert reason in found.blockers[0].reason


def test_dependencies_are_named_with_their_status(explained):  # T-22, D-14
    rows = (waiting("a", "b", "c", "gone"), bead("b", status="closed"), bead("c"))
    found = explained("a", *rows)
    (held,) = found.blockers
    assert held.ids == ("c", "gone")
    assert held.reason == "waits for c (open) and gone (unknown)"
    assert found.not_closable == "waits for beads that are not closed: c and gone"


def test_a_finished_bead_has_nothing_in_its_way(explained):
    assert explained("a", bead("a", status="closed")) == BeadExplanation(
        bead_id="a",
        standing="finished",
        place=0,
        ahead=(),
        blockers=(),
        not_closable="it is closed",
    )
    assert explained("a", bead("a", status="cancelled")).standing == "finished"


def test_open_children_are_why_it_cannot_be_closed(explained):
    rows = (bead("a", issue_type="epic"), bead("b", parent="a"))
    assert explained("a", *rows).not_closable == "has open children: b"


def test_an_archived_bead_is_explained_and_an_unknown_one_is_not(tmp_path):
    tracker = tracker_in(tmp_path, bead("a", status="closed"), bead("b"))
    tracker.change(lambda view, now: archive(view))
    view = tracker.snapshot()
    around = tracker.surroundings()
    assert explain(view, "a", around).not_closable == "it is in the archive"
    with pytest.raises(NotFound, match="'c'"):
        explain(view, "c", around)


def test_every_kind_of_blocker_has_a_rule_and_a_cure_or_a_wait():  # T-22
    for kind in BLOCKER_KINDS:
        held = Blocker(kind, ids=("b", "c"), next_eligible_at="2026-01-03T00:00:00Z")
        assert rule_of(held)
        if kind not in ("pending-landing", "document-missing", "document-uncommitted"):
            assert cure_of("a", held)


@pytest.mark.parametrize(
    ("held", "cure"),
    [
        (Blocker("dependency", ids=("b", "c")), "close b and c first"),
        (Blocker("superseded", ids=("b",)), "work on b"),
        (
            Blocker("retry-cooldown", next_eligible_at="2026-01-03T00:00:00Z"),
            "it may run again at 2026-01-03T00:00:00Z",
        ),
        (Blocker("status"), "ddx bead reopen a --reason '...'"),
    ],
)
def test_a_cure_names_the_bead_and_what_it_waits_for(held, cure):  # T-22
    assert cure_of("a", held).startswith(cure)


def test_a_blocker_as_json(tmp_path):  # T-16
    view = tracker_in(tmp_path, bead("a", superseded__by="b")).snapshot()
    assert shown_blocker(view, 0, Blocker("superseded")) == {
        "kind": "superseded",
        "ids": ["b"],
        "reason": "superseded by b",
        "next_eligible_at": None,
    }
