"""Two histories of one tracker meet: T-14 rule by rule, then its laws over any histories."""

from __future__ import annotations

import copy
import json
from itertools import count
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ddx.base.errors import NotFound, Refused
from ddx.tracker.merge import (
    CONFLICTS,
    SETS,
    STANDING_KEYS,
    STRONGEST_FIRST,
    FieldConflict,
    MergeResult,
    RenamedBead,
    merge_trackers,
    resolve,
)
from ddx.tracker.row import Row

Tracker = dict[str, Row]
NOON = "2026-01-02T12:00:00Z"


HYPHENATED = {
    "claim_id": "claim-id",
    "claimed_at": "claimed-at",
    "claimed_machine": "claimed-machine",
    "merge_conflicts": "merge-conflicts",
    "superseded_by": "superseded-by",
}


def bead(bead_id: str = "app-1", **fields: Any) -> Row:
    row = {"id": bead_id, "title": "First", "status": "open", "created_at": NOON}
    return {**row, **{HYPHENATED.get(key, key): found for key, found in fields.items()}}


def edge(to: str, *, of: str = "app-1", **details: Any) -> Row:
    return {"issue_id": of, "depends_on_id": to, "type": "blocks", **details}


def merge(base: Tracker, ours: Tracker, theirs: Tracker) -> MergeResult:
    numbers = count(1)
    return merge_trackers(base, ours, theirs, new_id=lambda _: f"app-new{next(numbers)}")


def merge_one(base: Row, ours: Row, theirs: Row) -> tuple[Row, tuple[FieldConflict, ...]]:
    merged = merge({"app-1": base}, {"app-1": ours}, {"app-1": theirs})
    return merged.rows["app-1"], merged.conflicts


def notes_of(row: Row) -> list[Row]:
    return [event for event in row.get("events", ()) if event["kind"] == "merge"]


# Sets


@pytest.mark.parametrize("key", ["labels", "refs", "verify"])
@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        (["a"], ["a", "b"], ["a", "c"], ["a", "b", "c"]),
        (["a", "b"], ["b"], ["a"], []),
        (["a", "b"], ["b", "x"], ["a", "b", "y"], ["b", "x", "y"]),
        (["a"], ["b", "a"], ["c", "a"], ["b", "a", "c"]),
        ([], ["a"], ["b", "a"], ["a", "b"]),
        ([" a"], ["a", "b"], [], ["b"]),
        ("a", ["a", "b"], ["a", "c"], ["a", "b", "c"]),
    ],
)
def test_lists_merge_as_sets_in_our_order(key, base, ours, theirs, expected):  # T-14, T-5
    row, conflicts = merge_one(bead(**{key: base}), bead(**{key: ours}), bead(**{key: theirs}))
    assert row[key] == expected
    assert conflicts == ()


def test_events_and_comments_of_both_sides_are_kept():  # T-14
    old, here, there = ({"kind": "note", "summary": word} for word in ("old", "here", "there"))
    row, _ = merge_one(
        bead(events=[old], comments=[old]),
        bead(events=[old, here], comments=[here]),
        bead(events=[old, there], comments=[old, there]),
    )
    assert row["events"] == [old, here, there]
    assert row["comments"] == [here, there]


def test_events_that_moved_to_the_attachment_on_close_do_not_come_back():  # T-6
    old, late = {"kind": "note", "summary": "old"}, {"kind": "note", "summary": "late"}
    row, _ = merge_one(
        bead(events=[old]), bead(status="closed"), bead(events=[old, late], title="Second")
    )
    assert row["events"] == [late]
    assert row["status"] == "closed"


def test_dependencies_are_the_same_by_target_and_type():  # T-14, D-14
    row, conflicts = merge_one(
        bead(dependencies=[edge("app-2"), edge("app-3")]),
        bead(dependencies=[edge("app-3"), edge("app-4")]),
        bead(dependencies=[edge("app-2"), edge("app-3"), edge("app-4", type="related")]),
    )
    assert row["dependencies"] == [edge("app-3"), edge("app-4"), edge("app-4", type="related")]
    assert conflicts == ()


def test_an_edge_that_both_sides_added_is_the_older_one_and_the_other_is_noted():
    older = edge("app-2", created_at="2026-01-01T10:00:00+02:00", created_by="ann")
    newer = edge("app-2", created_at="2026-01-01T09:00:00Z", created_by="bob")
    one, _ = merge_one(bead(), bead(dependencies=[newer]), bead(dependencies=[older]))
    two, _ = merge_one(bead(), bead(dependencies=[older]), bead(dependencies=[newer]))
    assert one == two
    assert one["dependencies"] == [older]
    assert [json.loads(note["body"]) for note in notes_of(one)] == [newer]


def test_an_edge_removed_here_and_changed_there_is_kept():
    changed = edge("app-2", metadata={"why": "still needed"})
    row, _ = merge_one(
        bead(dependencies=[edge("app-2")]),
        bead(title="Second"),
        bead(dependencies=[changed]),
    )
    assert row["dependencies"] == [changed]
    assert merge_one(
        bead(dependencies=[edge("app-2"), edge("app-3")]),
        bead(dependencies=[edge("app-3")]),
        bead(dependencies=[changed, edge("app-3")]),
    )[0]["dependencies"] == [edge("app-3"), changed]


# Time


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-01-02T12:00:00Z", "2026-01-02T12:00:01Z"),
        ("2026-01-02T13:30:00+02:00", "2026-01-02T12:00:00Z"),
        ("2026-01-02T12:00:00Z", "2026-01-02T07:00:01-05:00"),
        ("2026-01-02T12:00:00Z", "2026-01-02T12:00:00.5Z"),
        ("2026-01-02T12:00:00.123456788Z", "2026-01-02T12:00:00.123456789Z"),
        ("2026-01-02T12:00:00", "2026-01-02T12:00:01Z"),
        ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
        ("2026-01-02T12:00:00Z", "2026-01-02t07:00:01-05:00 "),
        ("soon", "2026-01-02T12:00:00Z"),
        (None, "2026-01-02T12:00:00Z"),
    ],
)
def test_updated_at_is_the_later_instant(earlier, later):  # T-14
    for here, there in ((earlier, later), (later, earlier)):
        row, conflicts = merge_one(
            bead(updated_at="2020-01-01T00:00:00Z"),
            bead(updated_at=here, title="Second"),
            bead(updated_at=there, labels=["a"]),
        )
        assert row["updated_at"] == later
        assert conflicts == ()


# Standing


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        (one, two)
        for place, one in enumerate(STRONGEST_FIRST)
        for two in STRONGEST_FIRST[place + 1 :]
    ]
    + [("hooked", "in_progress"), ("blocked", "hooked")],
)
def test_the_stronger_status_wins_whichever_side_has_it(strong, weak):  # T-14
    base = bead(status="unheard-of")
    for ours, theirs in ((strong, weak), (weak, strong)):
        row, conflicts = merge_one(base, bead(status=ours), bead(status=theirs))
        assert row["status"] == strong
        assert conflicts == ()
        assert [json.loads(note["body"])["status"] for note in notes_of(row)] == [weak]


def test_closed_takes_its_evidence_along_and_leaves_no_claim():  # T-14, D-5
    claimed = bead(status="in_progress", owner="helix", claim_id="c1", claimed_machine="tower")
    closed = bead(status="closed", closing_commit_sha="abc", close_reason="done", session_id="s1")
    for ours, theirs in ((claimed, closed), (closed, claimed)):
        row, _ = merge_one(bead(), ours, theirs)
        assert {key: row[key] for key in row.keys() & STANDING_KEYS} == {
            "status": "closed",
            "closing_commit_sha": "abc",
            "close_reason": "done",
            "session_id": "s1",
        }
        (note,) = notes_of(row)
        assert note["summary"] == "kept closed; the other side had in_progress by helix (tower)"
        assert json.loads(note["body"])["claim-id"] == "c1"


def test_a_standing_that_one_side_changed_is_that_sides_even_if_it_is_weaker():
    closed = bead(status="closed", closing_commit_sha="abc")
    row, conflicts = merge_one(closed, bead(status="open"), {**closed, "notes": "look again"})
    assert (row["status"], row["notes"]) == ("open", "look again")
    assert "closing_commit_sha" not in row
    assert (notes_of(row), conflicts) == ([], ())


def test_of_two_claims_the_earlier_wins_and_the_other_is_noted():  # T-21
    def claim(who: str, at: str) -> Row:
        return bead(status="in_progress", owner=who, claim_id=f"c-{who}", claimed_at=at)

    early = claim("zoe", "2026-01-02T14:00:00+02:00")
    late = claim("ann", "2026-01-02T12:30:00Z")
    one, conflicts = merge_one(bead(), late, early)
    assert merge_one(bead(), early, late)[0] == one
    assert (one["owner"], one["claim-id"], one["claimed-at"]) == (
        "zoe",
        "c-zoe",
        "2026-01-02T14:00:00+02:00",
    )
    assert conflicts == ()
    assert json.loads(notes_of(one)[0]["body"])["claim-id"] == "c-ann"


def test_a_new_claim_beats_a_touched_old_one():
    held = bead(
        status="in_progress", owner="helix", claim_id="c1", claimed_at="2026-01-01T00:00:00Z"
    )
    touched = {**held, "session_id": "s1"}
    anew = {**held, "claim-id": "c2", "claimed-at": "2026-01-02T00:00:00Z"}
    assert merge_one(held, touched, anew)[0]["claim-id"] == "c2"
    assert merge_one(held, anew, touched)[0]["claim-id"] == "c2"


def test_two_closings_agree_on_one_commit_and_keep_the_other_in_an_event():
    ours, theirs = (bead(status="closed", closing_commit_sha=sha) for sha in ("bbb", "aaa"))
    one, _ = merge_one(bead(), ours, theirs)
    assert one == merge_one(bead(), theirs, ours)[0]
    shas = {one["closing_commit_sha"], json.loads(notes_of(one)[0]["body"])["closing_commit_sha"]}
    assert shas == {"aaa", "bbb"}


def test_an_empty_owner_is_no_change_of_standing():  # T-5
    row, _ = merge_one(
        bead(), bead(owner="", title="Second"), bead(status="in_progress", owner="ann")
    )
    assert (row["status"], row["owner"]) == ("in_progress", "ann")
    assert notes_of(row) == []


# Other fields


def test_what_one_side_left_alone_is_the_others():  # T-14; bd's driver dropped what it did not know
    row, conflicts = merge_one(
        bead(description="d", unknown={"deep": [1]}, design="kept by both"),
        bead(description="D", unknown={"deep": [1]}, design="kept by both"),
        bead(description="d", unknown={"deep": [1, 2]}, design="kept by both", late=None),
    )
    assert row == bead(description="D", unknown={"deep": [1, 2]}, design="kept by both", late=None)
    assert conflicts == ()


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "entry"),
    [
        ({"x": 1}, {"x": 2}, {"x": 3}, {"field": "x", "base": 1, "theirs": 3}),
        ({}, {"x": 2}, {"x": 3}, {"field": "x", "theirs": 3}),
        ({"x": 1}, {"x": 2}, {}, {"field": "x", "base": 1}),
        ({"x": 1}, {}, {"x": 3}, {"field": "x", "base": 1, "theirs": 3}),
        ({"x": 1}, {"x": 2}, {"x": None}, {"field": "x", "base": 1, "theirs": None}),
        ({"x": 0}, {"x": 1}, {"x": True}, {"field": "x", "base": 0, "theirs": True}),
        (
            {"x": {}},
            {"x": {"a": 1}},
            {"x": {"b": 1}},
            {"field": "x", "base": {}, "theirs": {"b": 1}},
        ),
    ],
)
def test_a_field_changed_on_both_sides_keeps_ours_and_waits_for_a_person(
    base, ours, theirs, entry
):  # T-14
    row, conflicts = merge_one(bead(**base), bead(**ours), bead(**theirs))
    assert row == bead(**ours, merge_conflicts=[entry])
    assert conflicts == (FieldConflict("app-1", "x", ours.get("x"), other=theirs.get("x")),)


def test_the_same_change_on_both_sides_is_no_conflict_whatever_the_order_of_keys():
    row, conflicts = merge_one(
        bead(x=0), bead(x={"a": 1, "b": [2]}, y=1), bead(x={"b": [2], "a": 1}, z=1)
    )
    assert row == bead(x={"a": 1, "b": [2]}, y=1, z=1)
    assert conflicts == ()


@pytest.mark.parametrize("key", ["parent", "superseded-by", "replaces", "spec-id"])
@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_link_and_none_are_the_same_link(key, empty):  # T-5
    row, conflicts = merge_one(bead(), bead(**{key: empty}, notes="n"), bead(**{key: "app-9"}))
    assert row[key] == "app-9"
    assert conflicts == ()
    untouched = bead(**{key: empty})
    row, _ = merge_one(untouched, {**untouched, "notes": "n"}, {**untouched, "design": "d"})
    assert row[key] == empty


def test_conflicts_that_wait_already_are_joined_and_a_settled_one_stays_settled():  # T-14
    first, second = {"field": "a", "theirs": 1}, {"field": "b", "theirs": 2}
    row, conflicts = merge_one(
        bead(merge_conflicts=[first], title="T"),
        bead(title="T2"),
        bead(merge_conflicts=[first, second], title="T3"),
    )
    assert row["merge-conflicts"] == [second, {"field": "title", "base": "T", "theirs": "T3"}]
    assert [conflict.field for conflict in conflicts] == ["title"]


# Deletion and creation


def test_deleted_on_one_side_and_left_alone_on_the_other_is_deleted():
    base = {"app-1": bead(), "app-2": bead("app-2")}
    rest = {"app-2": base["app-2"]}
    assert merge(base, rest, base).rows == rest
    assert merge(base, base, rest).rows == rest
    assert merge(base, {}, {}).rows == {}


def test_deleted_on_one_side_and_changed_on_the_other_is_kept_as_changed():  # bd lost the edit
    base, changed = {"app-1": bead()}, {"app-1": bead(notes="still alive")}
    assert merge(base, {}, changed) == merge(base, changed, {}) == MergeResult(changed, (), ())


def test_two_beads_made_under_one_id_both_live_and_theirs_is_renamed():  # T-14
    ours = {"app-1": bead(title="Ours")}
    theirs = {
        "app-1": bead(
            title="Theirs", created_at="2026-01-03T00:00:00Z", dependencies=[edge("app-0")]
        ),
        "app-2": bead(
            "app-2",
            parent="app-1",
            replaces="app-0, app-1",
            superseded_by=["app-1", "app-10"],
            refs=["app-1"],
            dependencies=[edge("app-1", of="app-2"), edge("app-10", of="app-2")],
        ),
    }
    merged = merge({}, ours, theirs)
    assert merged.renamed == (RenamedBead("app-1", "app-new1"),)
    assert merged.rows == {
        "app-1": ours["app-1"],
        "app-new1": {
            **theirs["app-1"],
            "id": "app-new1",
            "dependencies": [edge("app-0", of="app-new1")],
        },
        "app-2": {
            **theirs["app-2"],
            "parent": "app-new1",
            "replaces": "app-0,app-new1",
            "superseded-by": ["app-new1", "app-10"],
            "dependencies": [edge("app-new1", of="app-2"), edge("app-10", of="app-2")],
        },
    }


def test_our_references_to_our_bead_do_not_follow_their_rename():
    base = {"app-2": bead("app-2")}
    ours = {
        "app-1": bead(title="Ours"),
        "app-2": bead("app-2", dependencies=[edge("app-1", of="app-2")]),
    }
    theirs = {
        "app-1": bead(title="Theirs"),
        "app-2": bead("app-2", dependencies=[edge("app-1", of="app-2")]),
    }
    merged = merge(base, ours, theirs)
    assert [link["depends_on_id"] for link in merged.rows["app-2"]["dependencies"]] == [
        "app-1",
        "app-new1",
    ]


def test_an_odd_id_is_renamed_whole():  # T-3: ids that stand in a file are not judged
    merged = merge({}, {"a,b": bead("a,b", title="Ours")}, {"a,b": bead("a,b", title="Theirs")})
    assert {name: row["id"] for name, row in merged.rows.items()} == {
        "a,b": "a,b",
        "app-new1": "app-new1",
    }


def test_one_creation_seen_on_both_sides_is_one_bead():
    merged = merge({}, {"app-1": bead(labels=["a"])}, {"app-1": bead(labels=["b"], notes="n")})
    assert merged == MergeResult({"app-1": bead(labels=["a", "b"], notes="n")}, (), ())


def test_a_drawn_id_that_is_taken_is_drawn_again():  # T-18
    draws = iter(["app-1", "app-2", "app-3", "app-4", "app-4", "app-5"])
    theirs = {name: bead(name, title="Theirs") for name in ("app-1", "app-2")}
    merged = merge_trackers(
        {"app-3": bead("app-3")},
        {name: bead(name, title="Ours") for name in ("app-1", "app-2")},
        theirs,
        new_id=lambda _: next(draws),
    )
    assert merged.renamed == (RenamedBead("app-1", "app-4"), RenamedBead("app-2", "app-5"))


def test_an_id_source_that_never_gives_a_free_id_is_refused():
    sides = ({"app-1": bead(title=word)} for word in ("Ours", "Theirs"))
    with pytest.raises(Refused, match="two beads have the id app-1"):
        merge_trackers({}, *sides, new_id=lambda old: old)


def test_edges_belong_to_the_row_they_stand_in():
    stray = edge("app-2", of="elsewhere")
    row, _ = merge_one(bead(dependencies=[stray]), bead(dependencies=[stray], x=1), bead(y=1))
    assert row == bead(x=1, y=1)
    row, _ = merge_one(
        bead(dependencies=[stray]), bead(dependencies=[stray], x=1), bead(y=1, dependencies=[stray])
    )
    assert row["dependencies"] == [edge("app-2")]


@pytest.mark.parametrize("odd", [None, 7, "word", {"a": 1}, [None], [[1], {"a": []}], [7, True]])
def test_a_malformed_list_is_merged_and_not_lost(odd):  # T-5
    for key in SETS:
        ours, theirs = bead(**{key: odd}), bead(**{key: ["plain"]})
        row, conflicts = merge_one(bead(), ours, theirs)
        kept = [found for found in (odd if isinstance(odd, list) else [odd]) if found is not None]
        assert row[key] == [*kept, "plain"]
        assert conflicts == ()


# Settling a conflict


def test_resolve_settles_one_field_and_leaves_the_others():
    waiting = [{"field": "title", "base": "T", "theirs": "Theirs"}, {"field": "x", "base": 1}]
    row = bead(title="Ours", x=2, merge_conflicts=waiting)
    assert resolve(row, field="title", take="ours") == {**row, "merge-conflicts": waiting[1:]}
    taken = resolve(row, field="title", take="theirs")
    assert taken == {**row, "title": "Theirs", "merge-conflicts": waiting[1:]}
    assert resolve(taken, field="x", take="ours") == bead(title="Theirs", x=2)
    assert resolve(taken, field="x", take="theirs") == bead(title="Theirs")
    assert row["merge-conflicts"] == waiting


def test_resolve_settles_the_oldest_of_two_conflicts_in_one_field():
    row = bead(x=1, merge_conflicts=[{"field": "x", "theirs": 2}, {"field": "x", "theirs": 3}])
    assert resolve(row, field="x", take="theirs") == bead(
        x=2, merge_conflicts=[{"field": "x", "theirs": 3}]
    )


def test_resolve_names_the_fields_that_are_in_conflict():
    row = bead(merge_conflicts=[{"field": "x"}, {"field": "notes"}, "odd"])
    with pytest.raises(NotFound, match=r"app-1 .* in 'title'; in conflict: notes and x"):
        resolve(row, field="title", take="ours")
    with pytest.raises(NotFound, match=r"app-1 .* in 'title', nor in any other field"):
        resolve(bead(), field="title", take="theirs")


# Laws over any two histories: a base, then random edits on either side

SCALARS = ("title", "priority", "parent", "unknown")
LISTS = ("labels", "verify")

words = st.sampled_from(["a", "b", "c"])
targets = st.sampled_from(["app-8", "app-9"])
times = st.integers(10, 14).map(lambda minute: f"2026-01-02T12:{minute}:00Z")
values = st.one_of(
    st.sampled_from(["a", "b", "", None, 0, 1, True]),
    st.lists(words, max_size=2),
    st.dictionaries(words, st.integers(0, 1), max_size=2),
)
edits = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(SCALARS), values),
    st.tuples(st.just("set"), st.sampled_from(SCALARS), values),
    st.tuples(st.just("unset"), st.sampled_from(SCALARS)),
    st.tuples(st.just("add"), st.sampled_from(LISTS), words),
    st.tuples(st.just("remove"), st.sampled_from(LISTS), words),
    st.tuples(st.just("link"), targets, st.sampled_from(["blocks", "related"]), times),
    st.tuples(st.just("link"), targets, st.just("blocks"), times),
    st.tuples(st.just("unlink"), targets),
    st.tuples(st.just("event"), words),
    st.tuples(st.just("claim"), words, times),
    st.tuples(st.just("close"), words),
    st.tuples(st.just("status"), st.sampled_from(["open", "blocked", "cancelled", "deferred"])),
    st.tuples(st.just("touch"), times),
)
lives = st.one_of(st.tuples(st.just("create"), words), st.tuples(st.just("delete")))
steps = st.one_of(
    st.tuples(st.just("app-1"), edits),  # most edits meet in one bead: there the sides collide
    st.tuples(st.just("app-1"), edits),
    st.tuples(st.sampled_from(["app-2", "app-3"]), edits),
    st.tuples(st.sampled_from(["app-2", "app-3"]), lives),
)
histories = st.lists(steps, min_size=6, max_size=16)


def edited(row: Row, edit: tuple[Any, ...]) -> Row:
    standing = {key: found for key, found in row.items() if key not in STANDING_KEYS}
    match edit:
        case ("set", key, found):
            return {**row, key: found}
        case ("unset", key):
            return {name: found for name, found in row.items() if name != key}
        case ("add", key, word):
            return {**row, key: [*(w for w in row.get(key, ()) if w != word), word]}
        case ("remove", key, word):
            return {**row, key: [w for w in row.get(key, ()) if w != word]}
        case ("link", to, kind, at):
            others = [
                old
                for old in row.get("dependencies", ())
                if (old["depends_on_id"], old["type"]) != (to, kind)
            ]
            added = edge(to, of=row["id"], type=kind, created_at=at)
            return {**row, "dependencies": [*others, added]}
        case ("unlink", to):
            links = row.get("dependencies", ())
            return {**row, "dependencies": [old for old in links if old["depends_on_id"] != to]}
        case ("event", word):
            events = [old for old in row.get("events", ()) if old["summary"] != word]
            return {**row, "events": [*events, {"kind": "note", "summary": word}]}
        case ("claim", who, at):
            claim = {"owner": who, "claim-id": f"{who}{at}", "claimed-at": at}
            return {**standing, "status": "in_progress", **claim}
        case ("close", sha):
            return {**standing, "status": "closed", "closing_commit_sha": sha}
        case ("status", status):
            return {**standing, "status": status}
        case ("touch", at):
            return {**row, "updated_at": at}
    raise AssertionError(edit)


def after(tracker: Tracker, history: list[Any]) -> Tracker:
    """The tracker as one side left it; edits of absent beads do nothing."""
    rows = dict(tracker)
    for bead_id, edit in history:
        if edit[0] == "create":
            rows.setdefault(bead_id, bead(bead_id, title=edit[1]))
        elif edit[0] == "delete":
            rows.pop(bead_id, None)
        elif bead_id in rows:
            rows[bead_id] = edited(rows[bead_id], edit)
    return rows


@st.composite
def forks(draw: st.DrawFn) -> tuple[Tracker, Tracker, Tracker]:
    base = after({name: bead(name) for name in ("app-1", "app-2")}, draw(histories))
    return base, after(base, draw(histories)), after(base, draw(histories))


def content(anything: Any) -> str:
    return json.dumps(anything, sort_keys=True)


def field(row: Row, key: str) -> str:
    """The content of a field; empty links are no links (T-5)."""
    if key not in row or (key in ("parent", "spec-id") and row[key] in ("", None)):
        return ""
    return content(row[key])


def standing_of(row: Row) -> Row:
    return {key: row[key] for key in STANDING_KEYS if key in row}


def elements_of(row: Row, key: str) -> dict[str, str]:
    """What makes an element that element, and all it says; they differ only for edges."""
    identity = ("depends_on_id", "type") if key == "dependencies" else ()
    return {
        content([element[part] for part in identity] or element): content(element)
        for element in row.get(key, ())
    }


def shared_rows(
    fork: tuple[Tracker, Tracker, Tracker], merged: MergeResult
) -> list[tuple[Row, ...]]:
    """Base, ours, theirs and merged of each bead that lived through both histories."""
    base, ours, theirs = fork
    survivors = base.keys() & ours.keys() & theirs.keys()
    return [(base[name], ours[name], theirs[name], merged.rows[name]) for name in sorted(survivors)]


@given(forks())
def test_a_side_that_did_nothing_changes_nothing(fork):
    base, ours, theirs = fork
    assert merge(base, ours, base) == MergeResult(ours, (), ())
    assert merge(base, base, theirs) == MergeResult(theirs, (), ())
    assert merge(base, ours, ours) == MergeResult(ours, (), ())


@given(forks())
def test_what_only_one_side_changed_is_never_lost(fork):
    merged = merge(*fork)
    for base, ours, theirs, row in shared_rows(fork, merged):
        for key in SCALARS:
            if field(theirs, key) == field(base, key):
                assert field(row, key) == field(ours, key)
            elif field(ours, key) == field(base, key):
                assert field(row, key) == field(theirs, key)
        assert standing_of(row) in (standing_of(ours), standing_of(theirs))
        if standing_of(theirs) == standing_of(base):
            assert standing_of(row) == standing_of(ours)
        elif standing_of(ours) == standing_of(base):
            assert standing_of(row) == standing_of(theirs)


@given(forks())
def test_a_field_changed_twice_is_equal_or_waits_with_their_value(fork):
    merged = merge(*fork)
    reported = {(conflict.bead, conflict.field) for conflict in merged.conflicts}
    for base, ours, theirs, row in shared_rows(fork, merged):
        waiting = {entry["field"]: entry for entry in row.get(CONFLICTS, ())}
        for key in SCALARS:
            seen = {field(base, key), field(ours, key), field(theirs, key)}
            assert (key in waiting) == ((row["id"], key) in reported) == (len(seen) == 3)
            if key in waiting:
                assert field(row, key) == field(ours, key)
                sides = {"base": base, "theirs": theirs}
                assert waiting[key] == {"field": key} | {
                    name: side[key] for name, side in sides.items() if key in side
                }


@given(forks())
def test_an_element_is_there_unless_one_side_removed_what_the_other_left_alone(fork):
    merged = merge(*fork)
    for base, ours, theirs, row in shared_rows(fork, merged):
        for key in SETS - {CONFLICTS}:
            old, here, there = (elements_of(side, key) for side in (base, ours, theirs))
            expected = {
                name
                for name in here | there
                if (name in here and name in there)
                or (here.get(name) or there.get(name)) != old.get(name)
            }
            notes = {content(note) for note in notes_of(row)}
            assert elements_of(row, key).keys() - notes == expected


@given(forks())
def test_a_standing_that_yields_is_noted(fork):
    merged = merge(*fork)
    for base, ours, theirs, row in shared_rows(fork, merged):
        distinct = {content(standing_of(side)) for side in (base, ours, theirs)}
        yielded = theirs if standing_of(row) == standing_of(ours) else ours
        if len(distinct) == 3:
            bodies = [json.loads(note["body"]) for note in notes_of(row)]
            lost = {key: found for key, found in yielded.items() if row.get(key) != found}
            lost = {key: found for key, found in lost.items() if key in STANDING_KEYS}
            assert any(lost.items() <= body.items() for body in bodies)


@given(forks())
def test_a_bead_is_gone_only_if_nobody_changed_it_meanwhile(fork):
    base, ours, theirs = fork
    merged = merge(base, ours, theirs)
    for name in base:
        here, there, old = (content(side.get(name)) for side in (ours, theirs, base))
        gone = "null" in (here, there) and {here, there} <= {"null", old}
        assert (name not in merged.rows) == gone


@given(forks())
def test_every_bead_has_one_id_and_its_edges_know_it(fork):
    base, ours, theirs = fork
    merged = merge(base, ours, theirs)
    assert list(merged.rows) == sorted(merged.rows)
    for name, row in merged.rows.items():
        assert row["id"] == name
        assert all(link["issue_id"] == name for link in row.get("dependencies", ()))
    made = (ours.keys() | theirs.keys()) - base.keys()
    assert made | {new.new for new in merged.renamed} <= merged.rows.keys()
    assert {new.old for new in merged.renamed} == {
        name
        for name in made & ours.keys() & theirs.keys()
        if field(ours[name], "title") != field(theirs[name], "title")
    }


@given(forks())
def test_both_machines_arrive_at_the_same_rows_outside_of_conflicts(fork):
    base, ours, theirs = fork
    one, two = merge(base, ours, theirs), merge(base, theirs, ours)
    assume(not one.renamed)
    disputed = {(conflict.bead, conflict.field) for conflict in one.conflicts}
    assert disputed == {(conflict.bead, conflict.field) for conflict in two.conflicts}

    def settled(rows: Tracker) -> dict[tuple[str, str], Any]:
        return {
            (name, key): {content(element) for element in row[key]}
            if key in SETS
            else field(row, key)
            for name, row in rows.items()
            for key in row
            if key != CONFLICTS and (name, key) not in disputed and field(row, key)
        }

    assert settled(one.rows) == settled(two.rows)


@given(forks())
def test_merging_the_same_side_again_changes_nothing(fork):
    base, ours, theirs = fork
    once = merge(base, ours, theirs)
    assume(not once.renamed)
    assert merge(base, once.rows, theirs).rows == once.rows


@given(forks())
def test_taking_theirs_yields_their_value_and_the_last_answer_clears_the_row(fork):
    base, ours, theirs = fork
    merged = merge(base, ours, theirs)
    rows = dict(merged.rows)
    for conflict in merged.conflicts:
        name, key = conflict.bead, conflict.field
        rows[name] = resolve(rows[name], field=key, take="theirs")
        assert field(rows[name], key) == field(theirs[name], key)
    assert not any(CONFLICTS in row for row in rows.values())


@given(forks(), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter_and_no_side_is_touched(fork, random):
    def shuffled(found: Any) -> Any:
        if isinstance(found, dict):
            pairs = [(key, shuffled(inner)) for key, inner in found.items()]
            random.shuffle(pairs)
            return dict(pairs)
        return [shuffled(item) for item in found] if isinstance(found, list) else found

    before = copy.deepcopy(fork)
    merged = merge(*fork)
    assert fork == before
    assert merge(*map(shuffled, fork)) == merged
