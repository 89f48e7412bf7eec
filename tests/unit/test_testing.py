"""What we ship for tests keeps its own promises."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.beads import bead, edges, lines_of, put_file, tracker_in

from ddx.base.errors import NotFound
from ddx.git import commands as git
from ddx.testing import FakeClock, MemoryView, make_repo
from ddx.tracker.changeset import ChangeSet

IDS = ["a", "b", "c", "d"]


def test_time_moves_only_when_it_is_told_to():
    clock = FakeClock()
    assert clock.stamp() == clock.stamp() == "2026-01-02T03:04:05.000000Z"
    clock.sleep(0.25)
    clock.advance(60)
    assert clock.stamp() == "2026-01-02T03:05:05.250000Z"
    assert clock.slept_s == [0.25]
    early = FakeClock(datetime(1999, 12, 31, 23, 59, 59, 123456, tzinfo=UTC))
    assert early.stamp() == "1999-12-31T23:59:59.123456Z"
    assert early.now_ns() == 946_684_799_123_456_000


def test_a_repository_has_an_identity_and_a_first_commit(tmp_path):
    project = make_repo(tmp_path / "deep" / "app")
    assert project.name == "app"
    assert git.user_name(project.root) == "Mara"
    assert git.commit_id(project.root, "HEAD")
    assert git.changed_paths(project.root, ["."]) == ()


FIELDS = st.fixed_dictionaries(
    {"status": st.sampled_from(["open", "closed"])},
    optional={"parent": st.sampled_from(IDS), "waits": st.sets(st.sampled_from([*IDS, "x"]))},
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(FIELDS, max_size=4), st.sets(st.sampled_from(IDS)))
def test_beads_in_memory_answer_as_those_in_a_file(tmp_path, facts, archived):
    rows = []
    for bead_id, fields in zip(IDS, facts, strict=False):
        waits = sorted(fields.pop("waits", ()))
        rows.append(bead(bead_id, dependencies=edges(bead_id, *waits), **fields))
    live = [row for row in rows if row["id"] not in archived]
    old = [row for row in rows if row["id"] in archived]
    tracker = tracker_in(tmp_path, *live)
    put_file(tmp_path / ".ddx" / "beads-archive.jsonl", lines_of(*old), clock=tracker.clock)
    view, memory = tracker.snapshot(), MemoryView(live, archived=old)
    for bead_id in (*IDS, "x"):
        for ask in ("find", "__contains__", "status", "parent", "waits_for", "children"):
            assert getattr(memory, ask)(bead_id) == getattr(view, ask)(bead_id), ask
        for ask in ("dependents", "is_waited_for"):
            assert getattr(memory, ask)(bead_id) == getattr(view, ask)(bead_id), ask


def test_changes_make_the_next_view():
    view = MemoryView([bead("a"), bead("b")])
    after = view.after(ChangeSet({"a": bead("a", title="New")}, archived=frozenset({"b"})))
    assert after.row("a")["title"] == "New"
    assert "b" not in after
    assert after.row("b") == bead("b")
    assert view.row("a")["title"] == "Do a"
    with pytest.raises(NotFound, match="'c'"):
        after.row("c")
