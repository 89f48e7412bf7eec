"""The one bead on which a pass is run: found, made, or taken over (A-4)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.beads import bead, tracker_in

from ddx.agents.supervision import StopRequest
from ddx.attempts.context import AttemptContext, Limits
from ddx.attempts.record import RecordWriter
from ddx.base.errors import Refused
from ddx.base.masking import Masker
from ddx.base.process import started_at
from ddx.git.commands import run as git
from ddx.project.settings import read_settings
from ddx.testing import FakeClock, make_repo
from ddx.tracker.edits import BeadPatch, update
from ddx.tracker.lifecycle import BeadClosure, close
from ddx.tracker.row import Row
from helix.intake.filing import BASIS as INTAKE_BASIS
from helix.passes.pass_bead import (
    EarlierPass,
    PassSubject,
    acquire,
    find_done,
    remember_done,
    state_of,
)
from helix.passes.question import find_pages
from helix.passes.scope import BASIS as SPECULATION_BASIS
from helix.passes.scope import SEEN
from helix.project.context import Agent, PassContext
from helix.project.settings import read_helix_settings

LONG_AGO = "2026-01-01T00:00:00Z"
JUST_NOW = "2026-01-02T03:04:00Z"
ALIGN = PassSubject("align")
LABELS = ["kind:planning", "action:align", "scope:repo"]
DEAD = 2**22 + 1
"""No process can have this number."""


def make_desk(folder: Path, *rows: Row) -> PassContext:
    project = make_repo(folder)
    clock = FakeClock()
    tracker = tracker_in(folder, *rows, clock=clock)
    site = AttemptContext(
        project=project,
        settings=read_settings(project, clock=clock),
        tracker=tracker,
        clock=clock,
        masker=Masker({}),
        stop=StopRequest(),
        on_event=lambda happening: None,
    )
    settings = read_helix_settings(project, clock=clock)
    agent = Agent("script")
    return PassContext(
        site=site,
        settings=settings,
        pages=find_pages(project),
        builder=agent,
        reviewer=agent,
        limits=Limits(),
        on_call=lambda action, reply: None,
    )


def held(**fields: Any) -> Row:
    """The bead of an alignment that a runner of this machine is at."""
    return bead(
        "app-1",
        labels=LABELS,
        **{
            "status": "in_progress",
            "owner": "helix",
            "claim__id": "c1",
            "claimed__at": JUST_NOW,
            "claimed__machine": os.uname().nodename,
            **fields,
        },
    )


def row_of(desk: PassContext, bead_id: str) -> Row:
    return desk.site.tracker.snapshot().row(bead_id)


def close_bead(desk: PassContext, bead_id: str) -> None:
    desk.site.tracker.change(
        lambda view, now: close(view, bead_id, BeadClosure("done"), actor="helix", now=now)
    )


def test_a_bead_is_made_where_there_is_none(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    bead_id = acquire(desk, PassSubject("align", "FEAT-001", "FEAT-001"), prompt="look")
    row = row_of(desk, bead_id)
    assert row["title"] == "align: FEAT-001"
    assert row["spec-id"] == "FEAT-001"
    assert row["labels"] == ["kind:planning", "action:align", "scope:FEAT-001"]
    assert row["execution-eligible"] is False
    assert [event["body"] for event in row["events"]] == ["look"]


def test_an_open_one_is_used_again_with_its_newest_prompt(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    first = acquire(desk, ALIGN, prompt="look")
    assert acquire(desk, ALIGN, prompt="look") == first
    assert acquire(desk, ALIGN, prompt="look closer") == first
    assert [event["body"] for event in row_of(desk, first)["events"]] == ["look", "look closer"]
    assert len(list(desk.site.tracker.snapshot().rows())) == 1


@pytest.mark.parametrize(
    ("fields", "is_the_one"),
    [
        ({"labels": LABELS}, True),
        ({"labels": ["kind:planning", "action:align"]}, True),
        ({"labels": ["kind:planning", "action:align", "scope:area:cart"]}, False),
        ({"labels": ["kind:planning", "action:align"], "spec-id": "FEAT-001"}, False),
        ({"labels": ["kind:planning", "action:frame", "scope:repo"]}, False),
        ({"labels": ["action:align", "scope:repo"]}, False),
        ({"labels": LABELS, "status": "closed"}, False),
        ({"labels": LABELS, "status": "cancelled"}, False),
    ],
)
def test_only_the_one_of_this_scope_is_used(
    tmp_path: Path, fields: dict[str, Any], is_the_one: bool
) -> None:
    desk = make_desk(tmp_path, bead("app-1", **fields))
    assert (acquire(desk, ALIGN, prompt="look") == "app-1") is is_the_one


def test_a_bead_that_a_person_filed_for_a_document_counts(tmp_path: Path) -> None:
    row = bead("app-1", labels=["kind:planning", "action:align"], spec__id="FEAT-001")
    desk = make_desk(tmp_path, row)
    assert acquire(desk, PassSubject("align", "FEAT-001", "FEAT-001"), prompt="x") == "app-1"


def test_another_request_is_another_pass(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    first = acquire(desk, PassSubject("evolve", request="prices in euros"), prompt="x")
    second = acquire(desk, PassSubject("evolve", request="prices in dollars"), prompt="x")
    assert first != second
    assert acquire(desk, PassSubject("evolve", request="prices in euros"), prompt="x") == first
    assert row_of(desk, second)["title"] == "evolve: prices in dollars"


@pytest.mark.parametrize(
    "fields",
    [
        {"claimed__pid": str(os.getpid()), "claimed__pid__start": started_at(os.getpid())},
        {"claimed__pid": str(DEAD)},
        {"claimed__machine": "elsewhere"},
        {"owner": "mara", "claimed__at": LONG_AGO},
    ],
)
def test_a_live_one_that_is_held_is_refused_and_named(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    desk = make_desk(tmp_path, held(**fields))
    before = row_of(desk, "app-1")
    with pytest.raises(Refused, match=r"app-1 \(align: repo\) is held by") as refused:
        acquire(desk, ALIGN, prompt="look")
    assert refused.value.exit_code == 1
    assert fields.get("owner", "helix") in refused.value.message
    assert row_of(desk, "app-1") == before


@pytest.mark.parametrize(
    "fields",
    [
        {"claimed__pid": str(DEAD), "claimed__at": LONG_AGO},
        {
            "claimed__pid": str(os.getpid()),
            "claimed__pid__start": "another",
            "claimed__at": LONG_AGO,
        },
        {"claimed__machine": "elsewhere", "claimed__at": LONG_AGO},
    ],
)
def test_an_orphaned_one_is_taken_over(tmp_path: Path, fields: dict[str, Any]) -> None:  # S-18
    desk = make_desk(tmp_path, held(**fields))
    assert acquire(desk, ALIGN, prompt="look") == "app-1"
    row = row_of(desk, "app-1")
    assert row["status"] == "open"
    assert not {"owner", "claim-id", "claimed-at", "claimed-pid"} & set(row)
    assert [event["kind"] for event in row["events"]] == ["released", "prompt"]


@pytest.mark.parametrize("is_at_work", [True, False])
def test_our_own_record_tells_whether_the_holder_lives(  # D-23
    tmp_path: Path, is_at_work: bool
) -> None:
    desk = make_desk(tmp_path, held(claimed__at=JUST_NOW))
    site = desk.site
    record = RecordWriter.begin(
        site.project,
        "20260102T030405-abcdef",
        {"claims": {"app-1": "c1"}, "beads": ["app-1"]},
        clock=site.clock,
        masker=site.masker,
        on_event=site.on_event,
    )
    if is_at_work:
        with pytest.raises(Refused, match="a running attempt works on it"):
            acquire(desk, ALIGN, prompt="look")
    record.leave()
    assert acquire(desk, ALIGN, prompt="look") == "app-1"


def test_a_pass_that_was_done_is_known_until_something_changes(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, bead("app-9"))
    bead_id = acquire(desk, ALIGN, prompt="look")
    assert find_done(desk.site, ALIGN) is None
    close_bead(desk, bead_id)
    assert find_done(desk.site, ALIGN) is None
    remember_done(desk.site, bead_id, "COMPLETE")
    assert find_done(desk.site, ALIGN) == EarlierPass(bead_id, "COMPLETE")
    assert find_done(desk.site, PassSubject("frame")) is None
    assert find_done(desk.site, PassSubject("align", "area:cart")) is None
    close_bead(desk, "app-9")
    assert find_done(desk.site, ALIGN) is None


def test_an_open_bead_asks_for_a_pass_whatever_was_done_before(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    bead_id = acquire(desk, ALIGN, prompt="look")
    close_bead(desk, bead_id)
    remember_done(desk.site, bead_id, "COMPLETE")
    acquire(desk, ALIGN, prompt="look")
    assert find_done(desk.site, ALIGN) is None


def test_the_state_is_of_commits_and_of_the_queue_alone(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, bead("app-9"))
    state = state_of(desk.site)
    acquire(desk, ALIGN, prompt="look")
    (tmp_path / "notes.txt").write_text("not committed\n")
    assert state_of(desk.site) == state
    git(str(tmp_path), "add", "notes.txt")
    git(str(tmp_path), "commit", "--quiet", "-m", "notes")
    assert state_of(desk.site) != state


def test_a_mark_of_who_has_looked_makes_no_other_queue(tmp_path: Path) -> None:  # A-4, S-14
    desk = make_desk(tmp_path, bead("app-9"))
    state = state_of(desk.site)
    patch = BeadPatch(dict.fromkeys((SEEN, SPECULATION_BASIS, INTAKE_BASIS), "x"))
    desk.site.tracker.change(lambda view, now: update(view, "app-9", patch, now=now, by="helix"))
    assert state_of(desk.site) == state
