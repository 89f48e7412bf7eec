"""The next file's columns are spliced from the last one's, and are none the worse for it (T-19)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.beads import bead, columns_of, lines_of, waiting

from ddx.tracker.columns import (
    CORE,
    HAS_CRITERION,
    IN_CONFLICT,
    INELIGIBLE,
    IS_VAGUE,
    SHADOWS,
    SUPERSEDED,
    TEXTS,
    Columns,
    NewRow,
    OldRows,
    entry_of,
)
from ddx.tracker.row import Row, encode, revision_of
from ddx.tracker.snapshot import build

IDS = [f"app-{letter}" for letter in "abcdefgh"]
FIELDS = st.fixed_dictionaries(
    {"title": st.sampled_from(["short", "größer " * 20])},
    optional={
        "status": st.sampled_from(["open", "closed", "in_progress"]),
        "parent": st.sampled_from(IDS),
        "labels": st.lists(st.sampled_from(["a", "b"]), max_size=2),
        "queue__rank": st.integers(-5, 5),
        "owner": st.just("mara"),
        "retry__after": st.just("2026-01-02T00:00:00Z"),
        "superseded__by": st.just("app-a"),
    },
)
TRACKERS = st.dictionaries(st.sampled_from(IDS), FIELDS, max_size=6)


def facts_of(columns: Columns) -> dict[str, Any]:
    names = (*CORE, *TEXTS, "starts", "ends", "contiguous")
    return {name: getattr(columns, name) for name in names}


def entries(rows: dict[str, Row]) -> dict[str, tuple[Any, bytes]]:
    return {bead_id: (entry_of(row, encode(row)), encode(row)) for bead_id, row in rows.items()}


def written(pieces: list[OldRows | NewRow], content: bytes, columns: Columns) -> bytes:
    """The file that the pieces describe."""
    lines = []
    for piece in pieces:
        if isinstance(piece, NewRow):
            lines.append(piece.line)
        else:
            places = range(piece.first, piece.last)
            lines += [content[columns.starts[n] : columns.ends[n]] for n in places]
    return b"".join(line + b"\n" for line in lines)


@settings(max_examples=120, deadline=None)
@given(TRACKERS, TRACKERS, st.frozensets(st.sampled_from(IDS), max_size=4), st.randoms())
def test_splicing_equals_building_from_scratch(before, put, removed, chance):  # T-19
    old = {bead_id: bead(bead_id, **fields) for bead_id, fields in before.items()}
    new = {bead_id: bead(bead_id, **fields) for bead_id, fields in put.items()}
    lines = [encode(row) for row in old.values()]
    chance.shuffle(lines)
    content = b"\n\n".join(lines) + b"\n" if chance.random() < 0.5 else lines_of(*old.values())
    columns = build("beads.jsonl", content)

    pieces, spliced = columns.spliced(entries(new), removed)

    kept = {bead_id: row for bead_id, row in old.items() if bead_id not in removed}
    after = lines_of(*{**kept, **new}.values())
    assert written(pieces, content, columns) == after
    assert facts_of(spliced) == facts_of(build("beads.jsonl", after))


def test_neighbours_are_kept_in_one_piece():
    columns = columns_of(*map(bead, IDS))
    put = entries({"app-d": bead("app-d", title="new"), "app-dd": bead("app-dd")})
    pieces, _ = columns.spliced(put, frozenset({"app-g"}))
    assert pieces == [
        OldRows(0, 3),
        NewRow(encode(bead("app-d", title="new"))),
        NewRow(encode(bead("app-dd"))),
        OldRows(4, 6),
        OldRows(7, 8),
    ]


@pytest.mark.parametrize(
    ("content", "contiguous"),
    [
        (b"", True),
        (lines_of(bead("a"), bead("b")), True),
        (lines_of(bead("b")) + lines_of(bead("a")), False),
        (lines_of(bead("a")) + b"\n" + lines_of(bead("b")), False),
        (b" " + lines_of(bead("a")), False),
        (lines_of(bead("a")) + b"\n", False),
        (lines_of(bead("a"))[:-1], False),
    ],
)
def test_only_a_file_in_our_form_is_copied_in_stretches(content, contiguous):  # T-1
    assert build("beads.jsonl", content).contiguous is contiguous


@pytest.mark.parametrize(
    ("fields", "mark"),
    [
        ({"verify": ["true"]}, HAS_CRITERION),
        ({"verify": [], "acceptance": "It works"}, IS_VAGUE),
        ({"execution__eligible": False}, INELIGIBLE | HAS_CRITERION),
        ({"superseded__by": "app-2"}, SUPERSEDED | HAS_CRITERION),
        ({"merge__conflicts": [{"field": "title"}]}, IN_CONFLICT | HAS_CRITERION),
        ({"revision": "mine"}, SHADOWS | HAS_CRITERION),
        ({"blockers": []}, SHADOWS | HAS_CRITERION),
        ({"verify": ["true"], "status": "closed"}, 0),
    ],
)
def test_what_the_queue_asks_is_marked(fields, mark):
    assert columns_of(bead(**fields)).marks == [mark]


def test_each_fact_stands_in_its_column():
    row = waiting(
        "app-1",
        "app-2",
        parent=" app-0 ",
        labels=[" area:cli", "x"],
        spec__id="FEAT-1",
        owner="mara",
        priority=1,
        retry__after="2026-01-02T00:00:00Z",
    )
    columns = columns_of(row)
    assert len(columns) == 1
    found = {name: facts[0] for name, facts in facts_of(columns).items() if isinstance(facts, list)}
    assert {**found, "orders": ""} == {
        "ids": "app-1",
        "statuses": "open",
        "priorities": 1,
        "orders": "",
        "types": "task",
        "parents": "app-0",
        "waits_for": ("app-2",),
        "marks": HAS_CRITERION,
        "retry_after": "2026-01-02T00:00:00.000000000",
        "titles": "Do app-1",
        "labels": ("area:cli", "x"),
        "specs": "FEAT-1",
        "owners": "mara",
        "revisions": revision_of(encode(row)),
        "starts": 0,
        "ends": len(encode(row)),
    }


def test_what_is_derived_follows_from_the_facts():
    columns = columns_of(
        bead("a", status="closed"), bead("b", parent="a"), waiting("c", "a", "b", parent="a")
    )
    assert columns.place == {"a": 0, "b": 1, "c": 2}
    assert columns.closed == {"a"}
    assert list(columns.children["a"]) == [1, 2]
    assert list(columns.waiters["b"]) == [2]
    with pytest.raises(AttributeError):
        _ = columns.nothing
