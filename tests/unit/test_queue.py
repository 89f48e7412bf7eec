"""Which bead is next, and what stands in the way of the others (T-16, D-12 to D-14)."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.beads import NOW, bead, columns_of, surroundings, waiting

from ddx.tracker.queue import (
    BLOCKER_KINDS,
    Blocker,
    blocker,
    blockers,
    in_queue_order,
    ready,
    ready_for_execution,
    unfinished,
)
from ddx.tracker.row import Row


def ready_ids(*rows: Row, **around) -> list[str]:
    columns = columns_of(*rows)
    return [columns.ids[n] for n in ready(columns, surroundings(**around))]


def executed_ids(*rows: Row, **around) -> list[str]:
    columns = columns_of(*rows)
    return [columns.ids[n] for n in ready_for_execution(columns, surroundings(**around))]


def blockers_of(bead_id: str, *rows: Row, **around) -> tuple[Blocker, ...]:
    columns = columns_of(*rows)
    return blockers(columns, columns.place[bead_id], surroundings(**around))


def kinds_of(bead_id: str, *rows: Row, **around) -> list[str]:
    return [held.kind for held in blockers_of(bead_id, *rows, **around)]


# Order (D-12)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"priority": 0}, {"priority": 1, "queue__rank": -5, "created_at": "2020-01-01T00:00:00Z"}),
        ({"queue__rank": 9, "created_at": "2026-01-01T00:00:00Z"}, {"created_at": "2020-01-01"}),
        ({"queue__rank": -2}, {"queue__rank": -1}),
        ({"queue__rank": -1}, {"queue__rank": 0}),
        ({"queue__rank": 9}, {"queue__rank": 10}),
        ({"queue_rank": 1}, {"queue__rank": 2}),
        ({"queue__rank": -(10**30)}, {"queue__rank": 10**30}),
        ({"queue__rank": 10**30}, {"queue__rank": "3"}),
        ({"queue__rank": 3}, {"queue__rank": True}),
        ({"created_at": "2026-01-01T00:00:00Z"}, {"created_at": "2026-01-01T00:00:00.000000001Z"}),
        ({"created_at": "2026-01-01T09:00:00+09:00"}, {"created_at": "2026-01-01T00:00:00.1Z"}),
        ({"created_at": "2026-01-01T00:00:00.9Z"}, {"created_at": "2025-12-31T23:00:01-01:00"}),
        ({"created_at": "9999-12-31T23:59:59Z"}, {"created_at": "someday"}),
        ({"created_at": "2026-01-01T00:00:00Z"}, {"created_at": None}),
        ({"priority": 3}, {"priority": 4}),
        ({"priority": "0", "created_at": "2025-01-01"}, {"priority": 2}),
        ({"priority": True, "created_at": "2025-01-01"}, {"priority": 2}),
        ({"priority": 7, "created_at": "2025-01-01"}, {"priority": 2}),
        ({"priority": 4}, {"issue_type": "epic", "priority": 0, "queue__rank": 0}),
    ],
)
def test_the_queue_is_in_this_order(first, second):  # D-12
    assert ready_ids(bead("app-2", **first), bead("app-1", **second)) == ["app-2", "app-1"]


def test_the_id_decides_last():  # D-12
    assert ready_ids(bead("app-b"), bead("app-a"), bead("app-c")) == ["app-a", "app-b", "app-c"]


MOMENTS = ["2026-01-01T00:00:00Z", "2026-01-01T02:00:00.25+02:00", "2025-06-01T00:00:00.5Z", None]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["task", "epic"]),
            st.integers(0, 4),
            st.none() | st.integers(-3, 3),
            st.sampled_from(MOMENTS),
        ),
        max_size=12,
    )
)
def test_any_queue_is_sorted_by_the_rule(facts):  # D-12
    rows = {}
    for number, (type, priority, rank, created_at) in enumerate(facts):
        ranked = {} if rank is None else {"queue__rank": rank}
        made = bead(f"app-{number:02}", issue_type=type, priority=priority, **ranked)
        rows[made["id"]] = {**made, "created_at": created_at}

    def by_the_rule(bead_id: str):
        row = rows[bead_id]
        at = row["created_at"]
        return (
            row["issue_type"] == "epic",
            row["priority"],
            "queue-rank" not in row,
            row.get("queue-rank", 0),
            at is None,
            datetime.fromisoformat(at or "2000-01-01T00:00:00Z"),
            bead_id,
        )

    columns = columns_of(*rows.values())
    placed = in_queue_order(columns, list(range(len(columns))))
    assert [columns.ids[n] for n in placed] == sorted(rows, key=by_the_rule)


# Ready (T-16, D-14)


@pytest.mark.parametrize(
    ("status", "is_ready"),
    [
        ("open", True),
        ("", True),
        (None, True),
        ("in_progress", False),
        ("closed", False),
        ("blocked", False),
        ("proposed", False),
        ("cancelled", False),
        ("deferred", False),
        ("Open", False),
        ("someday", False),
    ],
)
def test_only_an_open_bead_is_ready(status, is_ready):  # T-4, T-16
    assert bool(ready_ids(bead(status=status))) is is_ready


@pytest.mark.parametrize(
    ("type", "blocks"),
    [
        ("blocks", True),
        ("depends_on", True),
        ("conditional-blocks", True),
        ("waits-for", True),
        ("related", False),
        ("discovered-from", False),
        ("parent-child", False),
        ("", True),
    ],
)
def test_only_these_edges_block(type, blocks):  # D-14
    rows = (waiting("app-2", "app-1", type=type), bead("app-1"))
    assert ("app-2" in ready_ids(*rows)) is not blocks
    assert ("dependency" in kinds_of("app-2", *rows)) is blocks


@pytest.mark.parametrize(
    ("status", "is_ready"),
    [
        ("closed", True),
        ("open", False),
        ("in_progress", False),
        ("blocked", False),
        ("cancelled", False),
        ("proposed", False),
        ("deferred", False),
    ],
)
def test_only_a_closed_dependency_lets_a_bead_go(status, is_ready):  # D-14
    rows = (waiting("app-2", "app-1"), bead("app-1", status=status))
    assert ("app-2" in ready_ids(*rows)) is is_ready


@pytest.mark.parametrize(
    ("archived", "is_ready"),
    [({}, False), ({"app-1": "closed"}, True), ({"app-1": "cancelled"}, False)],
)
def test_a_dependency_outside_the_file_counts_as_the_archive_says(archived, is_ready):  # D-14
    rows = (waiting("app-2", "app-1"),)
    assert bool(ready_ids(*rows, archived=archived)) is is_ready
    held = blockers_of("app-2", *rows, archived=archived)
    assert [item.ids for item in held] == ([] if is_ready else [("app-1",)])


def test_what_stands_in_the_file_beats_what_the_archive_says():  # D-14
    rows = (waiting("app-2", "app-1"), bead("app-1", status="open"))
    assert ready_ids(*rows, archived={"app-1": "closed"}) == ["app-1"]


def test_every_dependency_must_be_closed_and_the_open_ones_are_named():  # D-14
    rows = (
        waiting("app-9", "app-1", "app-2", "app-3"),
        bead("app-1", status="closed"),
        bead("app-2"),
    )
    (held,) = blockers_of("app-9", *rows)
    assert (held.kind, held.ids) == ("dependency", ("app-2", "app-3"))


def test_broken_edges_do_not_block():  # T-5
    broken = bead(dependencies=[{"depends_on_id": ""}, "app-2", None, {"type": "blocks"}])
    assert ready_ids(broken, bead("app-2")) == ["app-1", "app-2"]
    assert ready_ids(bead(dependencies="app-2")) == ["app-1"]


@pytest.mark.parametrize(("found", "is_ready"), [([], True), ([{"field": "title"}], False)])
def test_a_bead_with_merge_conflicts_is_not_ready(found, is_ready):  # T-14, T-16
    assert bool(ready_ids(bead(merge__conflicts=found))) is is_ready
    assert kinds_of("app-1", bead(merge__conflicts=found)) == (
        [] if is_ready else ["merge-conflict"]
    )


# Ready for execution (T-16, D-13)


@pytest.mark.parametrize(
    ("fields", "eligible"),
    [
        ({}, True),
        ({"issue_type": "bug"}, True),
        ({"issue_type": "decision"}, False),
        ({"issue_type": "epic"}, False),
        ({"issue_type": "decision", "execution__eligible": True}, True),
        ({"issue_type": "epic", "execution__eligible": True}, True),
        ({"execution__eligible": False}, False),
        ({"execution__eligible": "false"}, False),
        ({"execution__eligible": "True", "labels": ["kind:review"]}, True),
        ({"execution__eligible": ""}, True),
        ({"labels": ["kind:planning"]}, False),
        ({"labels": ["kind:escalation"]}, False),
        ({"labels": ["kind:gap"]}, False),
        ({"labels": ["kind:refinement"]}, False),
        ({"labels": [" kind:review "]}, False),
        ({"labels": ["action:align"]}, False),
        ({"labels": ["action"]}, True),
        ({"labels": ["kind:build", "area:cli"]}, True),
    ],
)
def test_who_is_eligible_for_execution(fields, eligible):  # D-13
    assert bool(executed_ids(bead(**fields))) is eligible
    assert ready_ids(bead(**fields)) == ["app-1"]
    assert kinds_of("app-1", bead(**fields)) == ([] if eligible else ["not-execution-eligible"])


def test_an_epic_with_children_is_done_through_them():  # T-16
    epic = bead("app-1", issue_type="epic", execution__eligible=True)
    child = bead("app-2", parent="app-1")
    assert executed_ids(epic, child) == ["app-2"]
    assert kinds_of("app-1", epic, child) == ["epic-only"]
    assert executed_ids(epic, {**child, "parent": ""}) == ["app-2", "app-1"]


def test_a_task_with_a_child_may_still_be_executed():  # T-16, T-18
    assert executed_ids(bead("app-1"), bead("app-2", parent="app-1")) == ["app-1", "app-2"]


@pytest.mark.parametrize(
    ("links", "superseded"),
    [("app-9", True), ("app-8,app-9", True), (["app-9"], True), ("", False), (" ", False)],
)
def test_a_superseded_bead_is_not_executed(links, superseded):  # T-16, T-5
    row = bead(superseded__by=links)
    assert bool(executed_ids(row)) is not superseded
    assert kinds_of("app-1", row) == (["superseded"] if superseded else [])


@pytest.mark.parametrize(
    ("until", "cooling", "shown"),
    [
        ("2026-01-02T03:04:06Z", True, "2026-01-02T03:04:06Z"),
        ("2026-01-02T03:04:05.5Z", True, "2026-01-02T03:04:05.5Z"),
        ("2026-01-02T04:04:10+01:00", True, "2026-01-02T03:04:10Z"),
        (NOW, False, ""),
        ("2026-01-02T03:04:04.999Z", False, ""),
        ("2026-01-02T05:04:05+03:00", False, ""),
        ("", False, ""),
        ("later", True, ""),
    ],
)
def test_a_bead_cools_down_until_its_time(until, cooling, shown):  # T-16, D-7
    row = bead(retry__after=until)
    assert bool(executed_ids(row)) is not cooling
    assert ready_ids(row) == ["app-1"]
    held = [(item.kind, item.next_eligible_at) for item in blockers_of("app-1", row)]
    assert held == ([("retry-cooldown", shown)] if cooling else [])


@pytest.mark.parametrize(
    ("fields", "default_checks", "proven"),
    [
        ({}, False, True),
        ({"verify": []}, False, False),
        ({"verify": []}, True, True),
        ({"verify": [], "acceptance": "`pytest -q` passes"}, False, True),
        ({"acceptance": "Everything works"}, True, False),
    ],
)
def test_a_bead_needs_success_criteria(fields, default_checks, proven):  # T-16, T-17
    around = {"has_default_checks": default_checks}
    assert bool(executed_ids(bead(**fields), **around)) is proven
    assert kinds_of("app-1", bead(**fields), **around) == (
        [] if proven else ["no-success-criteria"]
    )


@pytest.mark.parametrize("kind", ["pending-landing", "document-missing", "document-uncommitted"])
def test_the_outside_may_hold_a_bead(kind):  # T-16
    held = {"app-1": Blocker(kind, reason="a commit waits")}
    assert executed_ids(bead("app-1"), bead("app-2"), held=held) == ["app-2"]
    assert ready_ids(bead("app-1"), held=held) == ["app-1"]
    assert blockers_of("app-1", bead("app-1"), held=held) == (held["app-1"],)


# Blockers (T-16)


def test_a_claimed_bead_names_its_holder():  # T-16
    (held,) = blockers_of("app-1", bead(status="in_progress", owner="mara"))
    assert (held.kind, held.reason) == ("claimed", "claimed by mara")


@pytest.mark.parametrize("status", ["blocked", "proposed", "deferred", "someday"])
def test_another_status_is_named(status):  # T-4
    (held,) = blockers_of("app-1", bead(status=status))
    assert (held.kind, held.reason) == ("status", f"status is {status}")


def test_all_blockers_are_told_the_weightiest_first():  # T-16
    worst = waiting(
        "app-1",
        "app-9",
        issue_type="epic",
        status="blocked",
        merge__conflicts=[{"field": "title"}],
        superseded__by="app-2",
        execution__eligible=False,
        retry__after="2030-01-01T00:00:00Z",
        verify=[],
    )
    rows = (worst, bead("app-2", parent="app-1"))
    held = {"app-1": Blocker("pending-landing")}
    others = ("claimed", "document-missing", "document-uncommitted")
    expected = [kind for kind in BLOCKER_KINDS if kind not in others]
    assert kinds_of("app-1", *rows, held=held) == expected
    claimed = {**worst, "status": "in_progress"}
    assert kinds_of("app-1", claimed, rows[1])[:2] == ["merge-conflict", "claimed"]
    columns = columns_of(*rows)
    first = blocker(columns, 0, surroundings())
    assert first is not None
    assert first.kind == "merge-conflict"
    assert blocker(columns, 1, surroundings()) is None


STATUS = st.sampled_from(["open", "open", "open", "in_progress", "closed", "blocked"])
ANY_BEAD = st.fixed_dictionaries(
    {"status": STATUS, "issue_type": st.sampled_from(["task", "epic", "decision"])},
    optional={
        "parent": st.sampled_from(["app-0", "app-1"]),
        "dependencies": st.lists(
            st.fixed_dictionaries(
                {
                    "depends_on_id": st.sampled_from(["app-0", "app-2", "gone"]),
                    "type": st.sampled_from(["blocks", "related"]),
                }
            ),
            max_size=2,
        ),
        "superseded__by": st.sampled_from(["", "app-2"]),
        "execution__eligible": st.booleans(),
        "retry__after": st.sampled_from(["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]),
        "verify": st.sampled_from([[], ["true"]]),
        "merge__conflicts": st.sampled_from([[], [{"field": "x"}]]),
    },
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ANY_BEAD, max_size=5), st.booleans(), st.booleans())
def test_a_bead_is_ready_for_execution_if_nothing_blocks_it(facts, checks, holding):  # T-16
    columns = columns_of(*(bead(f"app-{n}", **fields) for n, fields in enumerate(facts)))
    held = {"app-1": Blocker("pending-landing")} if holding else {}
    around = surroundings(has_default_checks=checks, held=held)
    free = [n for n in range(len(columns)) if not blockers(columns, n, around)]
    assert ready_for_execution(columns, around) == in_queue_order(columns, free)
    assert set(free) <= set(ready(columns, around))


def test_finished_beads_are_left_out_of_what_is_unfinished():
    rows = [bead(f"app-{n}", status=status) for n, status in enumerate(("closed", "open"))]
    assert unfinished(columns_of(*rows, bead("app-2", status="cancelled"))) == [1]
