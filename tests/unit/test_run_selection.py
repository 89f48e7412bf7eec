"""Which bead is next, and which may go along with it (S-5, S-8, D-12)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.run.model import (
    BuildCandidate,
    CoolingBead,
    Progress,
    RunView,
    batch_for,
    holds_focus,
    is_skipped,
    resting,
    selectable,
)

NOW = "2026-01-02T12:00:00Z"
SOON = "2026-01-02T12:00:40Z"
PAST = "2026-01-02T11:59:59Z"


def bead(name: str, **fields: Any) -> BuildCandidate:
    return BuildCandidate(name, **fields)


def picked(*ready: BuildCandidate, cooling: tuple[CoolingBead, ...] = (), **progress: Any) -> str:
    found = selectable(RunView(ready=ready, cooling=cooling, now=NOW), Progress(**progress))
    return found[0].id if found else ""


# Order (D-12)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"priority": 0, "rank": 9}, {"priority": 1, "rank": 1}),
        ({"rank": 5}, {"rank": None, "created_at": "2020-01-01T00:00:00Z"}),
        ({"rank": 0}, {"rank": None}),
        ({"rank": -1}, {"rank": 0}),
        ({"created_at": "2026-01-01T00:00:00Z"}, {"created_at": "2026-01-01T00:00:01Z"}),
        ({"created_at": "2026-01-01T09:00:00+09:00"}, {"created_at": "2026-01-01T00:30:00Z"}),
        ({"created_at": "2026-01-01T00:00:00Z"}, {"created_at": "never"}),
        ({"spec_id": "FEAT-1", "has_acceptance": True}, {"spec_id": "FEAT-1"}),
        ({"spec_id": "FEAT-1", "has_acceptance": True}, {"has_acceptance": True}),
        ({"priority": 4}, {"priority": 0, "is_epic": True}),
    ],
)
def test_the_queue_has_one_order(
    first: dict[str, Any], second: dict[str, Any]
) -> None:  # D-12, S-5
    beads = (bead("hx-1", **second), bead("hx-2", **first))
    assert picked(*beads) == picked(*reversed(beads)) == "hx-2"


def test_being_well_specified_breaks_only_a_tie() -> None:  # S-5
    good = {"spec_id": "FEAT-1", "has_acceptance": True}
    assert picked(bead("hx-9", priority=1), bead("hx-1", priority=2, **good)) == "hx-9"
    assert picked(bead("hx-1"), bead("hx-9")) == "hx-1"


# Skipping (S-6)


def test_a_skipped_bead_is_left_alone_until_it_changes() -> None:  # S-6
    progress = {"skipped": {"hx-1": "r1"}}
    assert picked(bead("hx-1", revision="r1"), bead("hx-2"), **progress) == "hx-2"
    assert picked(bead("hx-1", revision="r2"), bead("hx-2"), **progress) == "hx-1"


def test_a_bead_without_a_revision_can_be_skipped_too() -> None:
    assert is_skipped(Progress(skipped={"hx-1": ""}), "hx-1", "")
    assert not is_skipped(Progress(), "hx-1", "")


# Focus (S-5)

CHILDREN = (bead("hx-c", parent="E", priority=3), bead("hx-d", parent="E", priority=4))
OUTSIDE = bead("hx-a", priority=0)


def test_children_of_the_focus_come_before_outside_work_of_any_priority() -> None:  # S-5
    assert picked(OUTSIDE, *CHILDREN, focus="E") == "hx-c"
    assert picked(OUTSIDE, *CHILDREN) == "hx-a"


def test_a_cooling_child_holds_the_focus() -> None:  # S-5, D-7
    cooling = (CoolingBead("hx-c", SOON, "E"),)
    assert picked(OUTSIDE, cooling=cooling, focus="E") == ""
    assert picked(OUTSIDE, cooling=cooling) == "hx-a"
    assert picked(OUTSIDE, cooling=(CoolingBead("hx-c", SOON, "other"),), focus="E") == "hx-a"


def test_a_rest_that_is_over_holds_nothing() -> None:
    assert picked(OUTSIDE, cooling=(CoolingBead("hx-c", PAST, "E"),), focus="E") == "hx-a"
    assert resting(RunView(cooling=(CoolingBead("a", NOW), CoolingBead("b", SOON)), now=NOW)) == [
        CoolingBead("b", SOON)
    ]


def test_a_child_that_is_not_ready_is_never_picked() -> None:  # S-5, the old loop did (4.3)
    view = RunView(ready=(OUTSIDE,), epics_with_work=frozenset({"E"}), now=NOW)
    assert selectable(view, Progress(focus="E")) == [OUTSIDE]


def test_skipped_children_do_not_hold_the_focus() -> None:  # S-5, the old loop spun here (4.7)
    child = bead("hx-c", parent="E", revision="r1")
    progress = Progress(focus="E", skipped={"hx-c": "r1"})
    view = RunView(ready=(OUTSIDE, child), now=NOW)
    assert not holds_focus(view, progress)
    assert selectable(view, progress) == [OUTSIDE]


# Batches (S-8)

PRIMARY = bead("p", parent="E", spec_id="S", labels=("area:x", "area:y"))
SIBLING = bead("sibling", parent="E")
OF_DOCUMENT = bead("document", spec_id="S")
OF_AREA = bead("area", labels=("area:y",))
STRANGER = bead("stranger", parent="F", spec_id="T", labels=("area:z", "kind:bug"))


@pytest.mark.parametrize(
    ("others", "size", "batch"),
    [
        ((SIBLING,), 1, ("p",)),
        ((SIBLING, OF_DOCUMENT), 0, ("p",)),
        ((bead("both", parent="E", spec_id="S"), SIBLING), 9, ("p", "both", "sibling")),
        ((SIBLING,), 3, ("p", "sibling")),
        ((OF_DOCUMENT,), 3, ("p", "document")),
        ((OF_DOCUMENT, SIBLING), 3, ("p", "sibling", "document")),
        ((OF_DOCUMENT, SIBLING), 2, ("p", "sibling")),
        ((OF_AREA, SIBLING), 9, ("p", "sibling")),
        ((OF_AREA, OF_DOCUMENT), 9, ("p", "document")),
        ((OF_AREA, STRANGER), 9, ("p", "area")),
        ((STRANGER,), 9, ("p",)),
        ((), 9, ("p",)),
        ((PRIMARY,), 9, ("p",)),
        ((bead("epic", parent="E", is_epic=True), SIBLING), 9, ("p", "sibling")),
        ((bead("epic", parent="E", is_epic=True), OF_AREA), 9, ("p", "area")),
    ],
)
def test_a_batch_is_of_one_parent_or_document_and_else_of_one_area(  # S-8
    others: tuple[BuildCandidate, ...], size: int, batch: tuple[str, ...]
) -> None:
    assert batch_for(PRIMARY, (PRIMARY, *others), size=size, alone=frozenset()) == batch


def test_empty_links_are_nothing_in_common() -> None:
    assert batch_for(bead("a"), [bead("b")], size=9, alone=frozenset()) == ("a",)


def test_an_epic_runs_alone() -> None:  # S-8
    epic = bead("e", parent="E", is_epic=True)
    assert batch_for(epic, [SIBLING], size=9, alone=frozenset()) == ("e",)


@pytest.mark.parametrize(
    ("alone", "batch"),
    [({"p"}, ("p",)), ({"sibling"}, ("p", "document")), ({"document"}, ("p", "sibling"))],
)
def test_beads_of_a_batch_that_failed_run_alone(
    alone: set[str], batch: tuple[str, ...]
) -> None:  # S-8
    others = [SIBLING, OF_DOCUMENT]
    assert batch_for(PRIMARY, others, size=9, alone=frozenset(alone)) == batch


candidates = st.builds(
    BuildCandidate,
    st.sampled_from([f"hx-{n}" for n in range(8)]),
    parent=st.sampled_from(["", "E", "F"]),
    spec_id=st.sampled_from(["", "S", "T"]),
    labels=st.sampled_from([(), ("area:x",), ("area:y", "kind:bug")]),
    is_epic=st.booleans(),
    priority=st.integers(0, 4),
    rank=st.none() | st.integers(-2, 2),
    created_at=st.sampled_from(["", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]),
    revision=st.sampled_from(["r1", "r2"]),
)
queues = st.lists(candidates, max_size=6, unique_by=lambda each: each.id).map(tuple)
ids = st.sampled_from([f"hx-{n}" for n in range(8)])
skips = st.dictionaries(ids, st.sampled_from(["r1", "r2"]))


@given(queues, skips, st.sampled_from(["", "E", "F"]), st.integers(0, 4), st.frozensets(ids))
def test_a_batch_holds_only_what_may_be_built_now(  # S-5, S-6, S-8
    ready: tuple[BuildCandidate, ...],
    skipped: dict[str, str],
    focus: str,
    size: int,
    alone: frozenset[str],
) -> None:
    view, progress = RunView(ready=ready), Progress(focus=focus, skipped=skipped)
    free = selectable(view, progress)
    assert all(skipped.get(each.id) != each.revision for each in free)
    if not free:
        assert all(is_skipped(progress, each.id, each.revision) for each in ready)
        return
    batch = batch_for(free[0], free, size=size, alone=alone)
    members = {each.id: each for each in free}
    assert batch[0] == free[0].id
    assert len(set(batch)) == len(batch) <= max(size, 1)
    assert all(not members[each].is_epic and each not in alone for each in batch[1:])
    if holds_focus(view, progress):
        assert {members[each].parent for each in batch} == {focus}


@given(queues, st.randoms())
def test_the_order_does_not_depend_on_how_the_queue_was_listed(  # D-12
    ready: tuple[BuildCandidate, ...], chance: Any
) -> None:
    shuffled = list(ready)
    chance.shuffle(shuffled)
    assert selectable(RunView(ready=ready), Progress()) == selectable(
        RunView(ready=tuple(shuffled)), Progress()
    )
