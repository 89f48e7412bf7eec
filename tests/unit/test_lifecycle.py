"""From open to finished: claim, unclaim, close, reopen, cancel, block, supersede (T-21, T-24)."""

from __future__ import annotations

import pytest
from tests.support.beads import EARLIER, NOW, bead, edges, waiting

from ddx.base.errors import ConcurrentChange, NotFound, Refused, UsageError
from ddx.testing import MemoryView
from ddx.tracker.changeset import ChangeSet, add_event, event
from ddx.tracker.lifecycle import (
    BeadClosure,
    Claimant,
    block,
    cancel,
    claim,
    close,
    reopen,
    require_claim,
    supersede,
    unclaim,
)
from ddx.tracker.row import Row, blockers_of

MARA = Claimant("mara", "tower")
RUNNER = Claimant("helix", "tower", 812, pid_start="boot-77")
CLAIM = {
    "status": "in_progress",
    "owner": "helix",
    "claim-id": "c1",
    "claimed-at": EARLIER,
    "claimed-machine": "tower",
    "claimed-pid": "812",
    "claimed-pid-start": "boot-77",
}


def claimed(bead_id: str = "app-1", **fields) -> Row:
    return {**bead(bead_id, **fields), **CLAIM}


def closing(*rows: Row, bead_id: str = "app-1", archived: tuple[Row, ...] = (), **options):
    view = MemoryView(rows, archived=archived)
    return close(view, bead_id, BeadClosure(), actor="mara", now=NOW, **options)


def statuses(changes: ChangeSet) -> dict[str, str]:
    return {bead_id: row["status"] for bead_id, row in changes.put.items()}


# Claims (T-10, T-21, T-24, D-5)


def test_a_person_claims_with_a_name_and_no_process():  # D-5, T-24
    row = claim(MemoryView([bead()]), "app-1", MARA, claim_id="c1", now=NOW).put["app-1"]
    assert row == {
        **bead(),
        "status": "in_progress",
        "owner": "mara",
        "claim-id": "c1",
        "claimed-at": NOW,
        "claimed-machine": "tower",
        "updated_at": NOW,
    }


def test_a_runner_claims_with_its_process_and_its_start():  # D-5
    row = claim(MemoryView([bead()]), "app-1", RUNNER, claim_id="c1", now=NOW).put["app-1"]
    assert (row["owner"], row["claimed-pid"], row["claimed-pid-start"]) == (
        "helix",
        "812",
        "boot-77",
    )


def test_a_claim_leaves_nothing_of_an_old_one():  # D-5
    stale = bead(claimed__pid="99", claimed__pid__start="old", claim__id="c0")
    row = claim(MemoryView([stale]), "app-1", MARA, claim_id="c1", now=NOW).put["app-1"]
    assert not {"claimed-pid", "claimed-pid-start"} & row.keys()
    assert row["claim-id"] == "c1"


def test_a_held_bead_is_lost_and_its_holder_is_named():  # T-10
    with pytest.raises(ConcurrentChange) as lost:
        claim(MemoryView([claimed()]), "app-1", MARA, claim_id="c2", now=NOW)
    assert "app-1 is held by helix (pid 812 on tower) since 2026-01-01" in lost.value.message
    assert lost.value.exit_code == 5


@pytest.mark.parametrize("status", ["closed", "blocked", "proposed", "cancelled", "deferred"])
def test_only_an_open_bead_can_be_claimed(status):  # T-4
    with pytest.raises(Refused, match=f"app-1 is {status}, so it cannot be claimed"):
        claim(MemoryView([bead(status=status)]), "app-1", MARA, claim_id="c1", now=NOW)


def test_a_holder_must_have_a_readable_name():  # T-12
    hostile = Claimant("ma\x1bra", "tower")
    with pytest.raises(UsageError, match="owner holds the character"):
        claim(MemoryView([bead()]), "app-1", hostile, claim_id="c1", now=NOW)


def test_unclaim_leaves_the_bead_as_it_was():  # T-24
    row = unclaim(MemoryView([claimed(x="kept")]), "app-1", now=NOW).put["app-1"]
    assert row == {**bead(x="kept"), "updated_at": NOW}


@pytest.mark.parametrize("status", ["closed", "blocked", "cancelled", None])
def test_unclaim_opens_only_what_was_in_progress(status):  # T-24
    row = unclaim(MemoryView([{**claimed(), "status": status}]), "app-1", now=NOW).put["app-1"]
    assert row["status"] == (status or "open")
    assert not (CLAIM.keys() - {"status"}) & row.keys()


def test_unclaim_of_a_free_bead_says_so_and_writes_nothing():  # T-24
    changes = unclaim(MemoryView([bead(owner="mara")]), "app-1", now=NOW)
    assert changes == ChangeSet({}, remarks=("app-1 was not claimed",))


LATE = [
    lambda view: unclaim(view, "app-1", claim_id="c0", now=NOW),
    lambda view: close(view, "app-1", BeadClosure(), actor="helix", now=NOW, claim_id="c0"),
    lambda view: close(view, "app-1", BeadClosure(), actor="x", now=NOW, claim_id="c0", force=True),
]


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize(
    ("row", "now_it_is"),
    [
        (claimed(), "held by helix (pid 812 on tower) since 2026-01-01T00:00:00Z"),
        (bead(), "open"),
        (bead(status="closed"), "closed"),
        (bead(status="blocked"), "blocked"),
    ],
)
def test_a_late_holder_is_refused_and_told_who_holds_it(late, row, now_it_is):  # T-21
    with pytest.raises(ConcurrentChange) as refused:
        late(MemoryView([row]))
    assert refused.value.message == f"app-1 is no longer yours: it is {now_it_is} now"


def test_the_holder_and_a_person_without_a_ticket_may_go_on():  # T-21
    require_claim(claimed(), "c1")
    require_claim(claimed(), "")
    assert unclaim(MemoryView([claimed()]), "app-1", claim_id="c1", now=NOW).put
    assert closing(claimed(), claim_id="c1").put


# Close


def test_a_bead_is_closed_with_its_evidence():  # T-6
    worked = claimed(retry__after=NOW, attempts=3, blocked__basis="x", x="kept", events=[{"n": 1}])
    ending = BeadClosure("throttled", commit="abc", session="s1")
    changes = close(MemoryView([worked]), "app-1", ending, actor="mara", now=NOW)
    assert changes.put["app-1"] == {
        **bead(x="kept"),
        "status": "closed",
        "owner": "helix",
        "closed_at": NOW,
        "close_reason": "throttled",
        "closing_commit_sha": "abc",
        "session_id": "s1",
        "updated_at": NOW,
    }
    first, last = changes.attached["app-1"]
    assert first == {"n": 1}
    assert (last["kind"], last["summary"], last["body"], last["actor"]) == (
        "closed",
        "throttled",
        "abc",
        "mara",
    )


def test_closing_again_says_so_and_writes_nothing():
    assert closing(bead(status="closed")) == ChangeSet({}, remarks=("app-1 was closed already",))


def test_an_old_ending_does_not_outlive_a_new_one():
    changes = closing(bead(close_reason="old", closing_commit_sha="old", blocked__reason="old"))
    assert (
        not {"close_reason", "closing_commit_sha", "blocked-reason"} & changes.put["app-1"].keys()
    )


def test_open_children_keep_a_bead_open():
    rows = (bead("app-1"), bead("app-2", parent="app-1"), bead("app-3", parent="app-1"))
    with pytest.raises(Refused, match="app-1 has open children: app-2 and app-3") as refused:
        closing(*rows)
    assert "--force" in refused.value.hint
    assert statuses(closing(*rows, force=True)) == {"app-1": "closed"}


@pytest.mark.parametrize(
    "child",
    [{"status": "closed"}, {"status": "cancelled"}, {"superseded__by": "app-9"}],
)
def test_finished_and_superseded_children_do_not_count(child):
    assert closing(bead("app-1"), bead("app-2", parent="app-1", **child)).put


@pytest.mark.parametrize("status", ["open", "in_progress", "blocked", "proposed"])
def test_every_other_child_counts(status):
    with pytest.raises(Refused, match="app-2"):
        closing(bead("app-1"), bead("app-2", parent="app-1", status=status))


@pytest.mark.parametrize("status", ["open", "cancelled", "in_progress"])
def test_open_dependencies_keep_a_bead_open(status):  # D-14
    rows = (waiting("app-1", "app-2"), bead("app-2", status=status))
    with pytest.raises(Refused, match="waits for beads that are not closed: app-2"):
        closing(*rows)
    assert closing(*rows, force=True).put


def test_a_missing_dependency_keeps_a_bead_open_and_an_archived_one_does_not():  # D-14
    with pytest.raises(Refused, match="app-2"):
        closing(waiting("app-1", "app-2"))
    assert closing(waiting("app-1", "app-2"), archived=(bead("app-2", status="closed"),)).put


def test_other_edges_keep_nothing_open():  # D-14
    assert closing(waiting("app-1", "app-2", type="related"), bead("app-2")).put


def family(**changes: dict) -> list[Row]:
    """An epic of epics: top > middle > leaf, with a second leaf that is closed."""
    rows = {
        "top": bead("top", issue_type="epic"),
        "middle": bead("middle", issue_type="epic", parent="top"),
        "leaf": bead("leaf", parent="middle"),
        "other": bead("other", parent="middle", status="closed"),
    }
    return [{**row, **changes.get(bead_id, {})} for bead_id, row in rows.items()]


def test_the_last_child_closes_its_epic_only_where_asked():
    assert statuses(closing(*family(), bead_id="leaf")) == {"leaf": "closed"}
    changes = closing(*family(), bead_id="leaf", cascade=True)
    assert statuses(changes) == {"leaf": "closed", "middle": "closed", "top": "closed"}
    assert changes.put["top"]["close_reason"] == "its last open child leaf was closed"
    assert set(changes.attached) == {"leaf", "middle", "top"}
    assert changes.remarks == (
        "middle had no open child left and was closed too",
        "top had no open child left and was closed too",
    )


@pytest.mark.parametrize(
    ("changes", "closed"),
    [
        ({"other": {"status": "open"}}, {"leaf"}),
        ({"middle": {"issue_type": "task"}}, {"leaf"}),
        ({"middle": {"status": "cancelled"}}, {"leaf"}),
        ({"middle": {"parent": "gone"}}, {"leaf", "middle"}),
        ({"middle": {"dependencies": edges("middle", "gone")}}, {"leaf"}),
        ({"top": {"issue_type": "feature"}}, {"leaf", "middle"}),
        ({"top": {"dependencies": edges("top", "gone")}}, {"leaf", "middle"}),
    ],
)
def test_a_cascade_stops_where_something_is_open(changes, closed):
    assert set(closing(*family(**changes), bead_id="leaf", cascade=True).put) == closed


def test_a_cascade_passes_over_what_is_in_the_archive():
    rows = [row for row in family() if row["id"] != "middle"]
    archived = (bead("middle", issue_type="epic", status="closed", parent="top"),)
    assert set(closing(*rows, bead_id="leaf", cascade=True, archived=archived).put) == {"leaf"}


def test_the_reason_of_an_ending_is_held_to_the_rule_of_text():  # T-12
    with pytest.raises(UsageError, match="reason holds"):
        close(MemoryView([bead()]), "app-1", BeadClosure("a\x00"), actor="mara", now=NOW)


# Reopen, cancel, block


@pytest.mark.parametrize("status", ["closed", "cancelled", "blocked", "proposed", "deferred"])
def test_a_bead_reopens_from_any_other_status_with_a_clean_slate(status):
    ended = bead(
        status=status,
        owner="mara",
        closed_at=EARLIER,
        close_reason="done",
        closing_commit_sha="abc",
        session_id="s1",
        blocked__reason="waits",
        retry__after=NOW,
        attempts=4,
        claim__id="c0",
        x="kept",
    )
    changes = reopen(MemoryView([ended]), "app-1", reason="not yet", actor="mara", now=NOW)
    row = changes.put["app-1"]
    (said,) = row.pop("events")
    assert row == {**bead(x="kept"), "updated_at": NOW}
    assert (said["kind"], said["summary"]) == ("reopened", "not yet")
    assert said["body"].startswith(f"was {status} 2026-01-01T00:00:00Z done abc s1")


def test_what_is_open_or_held_is_not_reopened():
    with pytest.raises(Refused, match="app-1 is open already"):
        reopen(MemoryView([bead()]), "app-1", reason="", actor="mara", now=NOW)
    with pytest.raises(Refused, match="held by helix") as refused:
        reopen(MemoryView([claimed()]), "app-1", reason="", actor="mara", now=NOW)
    assert "--unclaim" in refused.value.hint


def test_a_hostile_ending_does_not_keep_a_bead_closed():  # T-12, T-23
    ended = bead(status="closed", close_reason="\x1b[31mdone")
    changes = reopen(MemoryView([ended]), "app-1", reason="", actor="mara", now=NOW)
    assert changes.put["app-1"]["events"][0]["body"] == r"was closed \x1b[31mdone"


def test_a_bead_comes_back_from_the_archive():
    view = MemoryView([], archived=[bead(status="closed")])
    changes = reopen(view, "app-1", reason="again", actor="mara", now=NOW)
    assert changes.put["app-1"]["status"] == "open"


@pytest.mark.parametrize(
    ("live", "old"),
    [
        (waiting("b", "old"), waiting("old", "b", status="closed")),
        (bead("b", parent="old"), bead("old", parent="b", status="closed")),
        (bead("b"), waiting("old", "b", parent="b", status="closed")),
    ],
)
def test_a_bead_from_the_archive_closes_no_ring(live, old):  # T-12
    with pytest.raises(Refused):
        reopen(MemoryView([live], archived=[old]), "old", reason="", actor="mara", now=NOW)


def test_a_bead_from_the_archive_may_have_links_that_lead_nowhere():
    old = waiting("old", "gone", parent="gone", status="closed")
    assert reopen(MemoryView([], archived=[old]), "old", reason="", actor="mara", now=NOW).put


def test_cancel_names_those_who_stay_blocked():  # D-14
    rows = [claimed(), waiting("b", "app-1"), waiting("c", "app-1"), waiting("d", "app-1")]
    rows[3]["status"] = "closed"
    changes = cancel(MemoryView(rows), "app-1", reason="no need", actor="mara", now=NOW)
    row = changes.put["app-1"]
    assert (row["status"], row["close_reason"], row["closed_at"]) == ("cancelled", "no need", NOW)
    assert not {"owner", "claim-id", "claimed-pid"} & row.keys()
    assert row["events"][-1]["kind"] == "cancelled"
    (remark,) = changes.remarks
    assert remark.startswith("b and c waited for app-1 and stay blocked")


@pytest.mark.parametrize("status", ["closed", "cancelled"])
def test_what_is_finished_is_neither_cancelled_nor_blocked(status):
    view = MemoryView([bead(status=status)])
    with pytest.raises(Refused, match=f"app-1 is {status}"):
        cancel(view, "app-1", reason="", actor="mara", now=NOW)
    with pytest.raises(Refused, match=f"app-1 is {status}"):
        block(view, "app-1", reason="", actor="mara", now=NOW)


def test_a_blocked_bead_has_its_reason_and_no_holder():  # T-4
    view = MemoryView([claimed()])
    row = block(view, "app-1", reason="needs a key", actor="mara", now=NOW).put["app-1"]
    assert (row["status"], row["blocked-reason"]) == ("blocked", "needs a key")
    assert not {"owner", "claim-id"} & row.keys()
    assert row["events"][-1]["summary"] == "needs a key"


# Supersede


def superseding(*rows: Row, old: str = "old", by: tuple[str, ...] = ("new",), archived=()):
    view = MemoryView(rows, archived=archived)
    return supersede(view, old, by=by, reason="better", actor="mara", now=NOW)


def test_both_sides_are_linked_and_the_old_bead_is_kept():
    changes = superseding(bead("old", x="kept"), bead("new"))
    old, new = changes.put["old"], changes.put["new"]
    assert (old["superseded-by"], old["status"], old["x"]) == ("new", "open", "kept")
    assert new["replaces"] == "old"
    assert (old["events"][-1]["kind"], old["events"][-1]["summary"]) == ("superseded", "better")


def test_several_replacements_and_several_replaced():
    changes = superseding(bead("old"), bead("n1", replaces="older"), bead("n2"), by=("n1", "n2"))
    assert changes.put["old"]["superseded-by"] == "n1,n2"
    assert changes.put["n1"]["replaces"] == "older,old"
    again = superseding(bead("old", superseded__by="n1"), bead("n1"), bead("n2"), by=("n2", "n1"))
    assert again.put["old"]["superseded-by"] == "n1,n2"


def test_dependents_move_to_the_replacements():
    rows = (
        bead("old"),
        bead("n1"),
        bead("n2"),
        waiting("a", "x", "old", type="waits-for"),
        waiting("b", "old", "n1"),
        waiting("c", "old", status="closed"),
        waiting("d", "old", type="related"),
    )
    changes = superseding(*rows, by=("n1", "n2"))
    moved = {bead_id: blockers_of(row) for bead_id, row in changes.put.items()}
    assert moved == {"old": (), "n1": (), "n2": (), "a": ("x", "n1", "n2"), "b": ("n1", "n2")}
    assert {edge["type"] for edge in changes.put["a"]["dependencies"]} == {"waits-for"}
    assert changes.remarks == ("a waits for n1 and n2 now", "b waits for n1 and n2 now")


def test_an_edge_that_does_not_block_stays_when_its_sister_moves():  # D-14
    both = bead("a", dependencies=edges("a", "old") + edges("a", "old", type="related"))
    changes = superseding(bead("old"), bead("new"), both)
    found = [(edge["depends_on_id"], edge["type"]) for edge in changes.put["a"]["dependencies"]]
    assert sorted(found) == [("new", "blocks"), ("old", "related")]


@pytest.mark.parametrize("type", ["blocks", "depends_on", ""])
def test_a_replacement_does_not_wait_for_what_it_replaces(type):
    changes = superseding(bead("old"), waiting("new", "old", type=type))
    assert blockers_of(changes.put["new"]) == ()


def test_a_bead_that_supersedes_itself_is_refused():
    with pytest.raises(Refused, match="old cannot supersede old: that would close a ring"):
        superseding(bead("old"), by=("old",))


def test_a_ring_of_replacements_is_refused_over_any_distance():
    rows = (bead("old"), bead("new", superseded__by="m"), bead("m", superseded__by="x,old"))
    with pytest.raises(Refused, match="new cannot supersede old"):
        superseding(*rows)


def test_replacements_in_the_archive_and_nowhere_do_not_stop_us():
    rows = (bead("old"), bead("new", superseded__by="gone,kept"))
    archived = (bead("kept", status="closed", superseded__by="gone"),)
    assert superseding(*rows, archived=archived).put["new"]["replaces"] == "old"


def test_dependents_that_would_wait_in_a_ring_stop_the_whole_change():  # T-12
    rows = (bead("old"), waiting("new", "a"), waiting("a", "old"))
    with pytest.raises(Refused, match="closes the ring a -> new -> a"):
        superseding(*rows)


@pytest.mark.parametrize(
    ("rows", "archived", "error"),
    [
        ([bead("old")], [], NotFound),
        ([bead("new")], [], NotFound),
        ([bead("old")], [bead("new", status="closed")], Refused),
        ([bead("new")], [bead("old", status="closed")], Refused),
    ],
)
def test_both_sides_must_be_there_and_changeable(rows, archived, error):
    with pytest.raises(error):
        superseding(*rows, archived=archived)


# Evidence (T-6)


def test_evidence_joins_the_row_while_the_bead_is_open_and_stands_beside_it_after():  # T-6
    happened = event("note", summary="seen", at=NOW, actor="mara")
    for status in ("open", "in_progress", "blocked", "cancelled"):
        changes = add_event(MemoryView([bead(status=status)]), "app-1", happened, now=NOW)
        assert changes.put["app-1"]["events"] == [happened]
        assert not changes.attached
    changes = add_event(MemoryView([bead(status="closed")]), "app-1", happened, now=NOW)
    assert "events" not in changes.put["app-1"]
    assert changes.attached == {"app-1": (happened,)}


@pytest.mark.parametrize(
    "change",
    [
        lambda view: claim(view, "none", MARA, claim_id="c", now=NOW),
        lambda view: unclaim(view, "none", now=NOW),
        lambda view: close(view, "none", BeadClosure(), actor="", now=NOW),
        lambda view: cancel(view, "none", reason="", actor="", now=NOW),
        lambda view: block(view, "none", reason="", actor="", now=NOW),
    ],
)
def test_an_unknown_bead_is_named_and_an_archived_one_does_not_change(change):
    with pytest.raises(NotFound, match="none"):
        change(MemoryView([bead()]))
    with pytest.raises(Refused, match="none is in the archive and cannot change"):
        change(MemoryView([], archived=[bead("none", status="closed")]))


def test_an_unknown_bead_is_not_reopened():
    with pytest.raises(NotFound, match="none"):
        reopen(MemoryView([bead()]), "none", reason="", actor="", now=NOW)
