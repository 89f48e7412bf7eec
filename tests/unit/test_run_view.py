"""What a run sees of queue and documents, and what it writes on beads (S-1, S-3, S-10, S-22)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from benchmarks.generate import encode
from tests.support.tracker import LONG_AGO_NS, bead, edge

from ddx.agents.supervision import StopRequest
from ddx.attempts.context import AttemptContext, Limits, StopControls
from ddx.attempts.limits import EngineOptions, UsageMeter
from ddx.base.masking import Masker
from ddx.project.settings import read_settings
from ddx.testing import FakeClock, make_repo
from ddx.tracker.tracker import Tracker
from helix.passes.question import PromptPages
from helix.passes.scope import SEEN, Scope, ScopeKind
from helix.project.context import Agent, PassContext
from helix.project.settings import AutonomySettings, HelixSettings
from helix.run import upkeep
from helix.run.journal import RunJournal, RunState, ScreenMode, StateFile, UnfinishedBead
from helix.run.model import RoutingRules, RunView
from helix.run.run import Run, RunOptions
from helix.run.view import ProjectSnapshot, read_view

REPO = Scope("repo", ScopeKind.REPO)


class Scene:
    """A project with these beads, and looks at it."""

    def __init__(self, folder: Path, *rows: dict[str, Any]) -> None:
        project = make_repo(folder)
        os.mkdir(project.ddx())
        path = Path(project.ddx("beads.jsonl"))
        path.write_bytes(b"".join(encode(row) for row in sorted(rows, key=lambda row: row["id"])))
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
        self.root = Path(project.root)
        clock = FakeClock()
        settings = read_settings(project, clock=clock)
        tracker = Tracker(project, clock=clock)
        self.site = AttemptContext(
            project=project,
            settings=settings,
            tracker=tracker,
            clock=clock,
            masker=Masker({}),
            stop=StopRequest(),
            on_event=lambda happening: None,
        )

    @property
    def desk(self) -> PassContext:
        agent = Agent("stub")
        return PassContext(
            site=self.site,
            settings=HelixSettings({}, {}),
            pages=PromptPages("", ""),
            builder=agent,
            reviewer=agent,
            limits=Limits(),
            on_call=lambda action, reply: None,
        )

    def look(self, **words: Any) -> ProjectSnapshot:
        return ProjectSnapshot(self.desk, REPO, **words)

    def view(self, **words: Any) -> RunView:
        return read_view(self.look(**words), state="s")

    def row(self, bead_id: str) -> dict[str, Any]:
        return self.site.tracker.snapshot().row(bead_id)


def ready(view: RunView) -> list[str]:
    return [found.id for found in view.ready]


def test_worn_out_is_what_only_other_beads_keep_from_one_more_attempt(tmp_path: Path) -> None:
    def waiting(bead_id: str, **more: Any) -> dict[str, Any]:  # S-10
        return bead(bead_id, attempts=3, dependencies=[edge(bead_id, "a-0")], **more)

    scene = Scene(
        tmp_path,
        bead("a-0", attempts=2),
        bead("a-1", attempts=3),
        waiting("a-2"),
        waiting("a-3", status="blocked"),
        waiting("a-4", status="in_progress"),
        waiting("a-5", **{"execution-eligible": False}),
        waiting("a-6", **{"retry-after": "2027-01-01T00:00:00Z"}),
        waiting("a-7", acceptance=""),
    )
    assert [found.id for found in scene.look().worn_out(3)] == ["a-1", "a-2"]


def test_only_what_may_be_handed_out_is_ready(tmp_path: Path) -> None:  # T-16, S-5, X-20
    scene = Scene(
        tmp_path,
        bead("a-1", priority=3),
        bead("a-2", priority=1),
        bead("a-3", dependencies=[edge("a-3", "a-1")]),
        bead("a-4", **{"retry-after": "2027-01-01T00:00:00Z"}),
        bead("a-5", paths=["src/cart"]),
        bead("a-6", status="in_progress", paths=["src"]),
        bead("a-7", labels=["kind:planning", "action:align"]),
    )
    view = scene.view()
    assert ready(view) == ["a-2", "a-1"]
    assert [(it.id, it.until) for it in view.cooling] == [("a-4", "2027-01-01T00:00:00Z")]
    assert (view.claimed, view.unfinished) == (1, 6)  # the bead of a pass is no work
    assert ready(scene.view(busy=["a-2"])) == ["a-1"]


def test_what_waits_for_blocked_work_or_for_nothing_that_comes_is_blocked(tmp_path: Path) -> None:
    scene = Scene(  # C-2, D-14
        tmp_path,
        bead("a-1", status="blocked"),
        bead("a-2", dependencies=[edge("a-2", "a-1")]),
        bead("a-3", dependencies=[edge("a-3", "a-2")]),
        bead("a-4", dependencies=[edge("a-4", "a-9")]),
        bead("a-5", dependencies=[edge("a-5", "a-1"), edge("a-5", "a-6")]),
        bead("a-6"),
    )
    assert scene.view().blocked == ("a-1", "a-2", "a-3", "a-4")


def test_an_epic_is_finished_when_its_children_are_the_deepest_first(tmp_path: Path) -> None:
    scene = Scene(  # S-11
        tmp_path,
        bead("a-e", issue_type="epic"),
        bead("a-f", issue_type="epic", parent="a-e", status="closed"),
        bead("b-e", issue_type="epic"),
        bead("b-1", parent="b-e", status="closed"),
        bead("b-2", parent="b-e"),
        bead("c-e", issue_type="epic"),
    )
    view = scene.view()
    assert view.finished_epics == ("a-e",)
    assert view.epics_with_work == {"b-e"}


def test_a_decision_is_a_gap_once_nothing_else_can_go_on(tmp_path: Path) -> None:  # S-3
    rows = [
        bead("a-d", issue_type="decision", title="Euro?"),
        bead("a-1", dependencies=[edge("a-1", "a-d")]),
    ]
    (gap,) = Scene(tmp_path / "one", *rows).view().gaps
    assert (gap.question, gap.authority) == ("Euro?", "a-d")
    assert Scene(tmp_path / "two", *rows, bead("a-2")).view().gaps == ()


def test_a_physics_conflict_is_a_gap_whatever_else_is_ready(tmp_path: Path) -> None:  # S-34
    labels = ["kind:escalation", "conflict:physics"]
    scene = Scene(tmp_path, bead("a-1"), bead("a-2", labels=labels))
    (gap,) = scene.view().gaps
    assert gap.is_physics


@pytest.mark.parametrize(
    ("heir", "problem"),
    [
        (bead("x-1"), "there is no such bead"),
        (bead("a-2"), "does not say that it replaces it"),
        (bead("a-2", replaces="a-1", **{"superseded-by": "a-1"}), "supersedes itself"),
    ],
)
def test_supersession_must_be_attributable(  # S-22
    tmp_path: Path, heir: dict[str, Any], problem: str
) -> None:
    scene = Scene(tmp_path, bead("a-1", replaces="a-2", **{"superseded-by": "a-2"}), heir)
    assert problem in scene.view().gaps[0].reason


def test_a_supersession_that_both_sides_name_is_no_gap(tmp_path: Path) -> None:  # S-22
    scene = Scene(tmp_path, bead("a-1", **{"superseded-by": "a-2"}), bead("a-2", replaces="a-1"))
    assert scene.view().gaps == ()


def test_a_bead_is_polished_when_a_document_that_was_seen_says_something_else(
    tmp_path: Path,
) -> None:  # S-3
    scene = Scene(tmp_path, bead("a-1", **{"spec-id": "prd"}), bead("a-2", **{"spec-id": "prd"}))
    page = scene.root / "docs" / "helix" / "prd.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Product\n")
    assert scene.view(edited=lambda root: ()).to_polish == ()
    look = scene.look(edited=lambda root: ())
    upkeep.remember(scene.site, ["a-1"], {"a-1": look.upstream.hashes(look.beads["a-1"])})
    assert scene.row("a-1")[SEEN].keys() == {"prd"}
    assert scene.view(edited=lambda root: ()).to_polish == ()
    page.write_text("# Product\n\nWith bells.\n")
    assert scene.view(edited=lambda root: ()).to_polish == ("a-1",)
    held = scene.look(edited=lambda root: ["docs/helix/prd.md"])  # S-23
    assert {it.kind for it in held.queue.held.values()} == {"document-uncommitted"}


def test_a_bead_whose_document_does_not_exist_has_its_own_kind_of_blocker(tmp_path):  # S-3
    scene = Scene(tmp_path, bead("a-1", **{"spec-id": "FEAT-404"}))
    page = scene.root / "docs/helix/prd.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Product\n")
    (held,) = scene.look(edited=lambda root: ()).queue.held.values()
    assert (held.kind, held.reason) == ("document-missing", "there is no document FEAT-404")


def test_a_blocked_bead_says_why_once_and_keeps_its_labels(tmp_path: Path) -> None:  # S-10
    scene = Scene(
        tmp_path,
        bead("a-e", issue_type="epic"),
        bead("a-1", parent="a-e", labels=["area:x"], **{"retry-after": "2026-01-01T00:00:00Z"}),
    )
    look = scene.look()
    basis = upkeep.basis_of(look.beads["a-1"], look.upstream, commit="c")
    assert upkeep.block_bead(scene.site, "a-1", reason="it failed", basis=basis) == "a-e"
    assert upkeep.block_bead(scene.site, "a-1", reason="it failed", basis=basis) == ""
    row = scene.row("a-1")
    assert row["labels"] == ["area:x", "blocked"]
    assert row["notes"] == "BLOCKED: it failed"
    assert "retry-after" not in row
    assert scene.row("a-e")["labels"] == ["blocked"]
    assert list(upkeep.reopen_changed(scene.look())) == []


def test_a_document_that_a_bead_was_waiting_for_is_no_surprise(tmp_path: Path) -> None:  # S-3
    before = {"spec-id": "prd", "status": "closed"}
    waits = {"dependencies": [{"depends_on_id": "a-1", "type": "blocks"}], "spec-id": "prd"}
    scene = Scene(
        tmp_path, bead("a-1", **before), bead("a-2", **waits), bead("a-3", **{"spec-id": "prd"})
    )
    page = scene.root / "docs" / "helix" / "prd.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Design\n")
    look = scene.look(edited=lambda root: ())
    seen = {it: look.upstream.hashes(look.beads[it]) for it in ("a-2", "a-3")}
    upkeep.remember(scene.site, ["a-2", "a-3"], seen)
    page.write_text("# Design\n\nAs a-1 was to make it.\n")
    assert scene.view(edited=lambda root: ()).to_polish == ("a-3",)


def test_a_chain_is_no_surprise_at_its_end_nor_to_its_epic(tmp_path: Path) -> None:  # S-3
    path, spec = "docs/helix/TD-001.md", {"spec-id": "TD-001"}
    scene = Scene(
        tmp_path,
        bead("a-e", issue_type="epic", **spec),
        bead("a-1", status="closed", parent="a-e", paths=[path]),
        bead("a-2", parent="a-e", dependencies=[{"depends_on_id": "a-1", "type": "blocks"}]),
        bead("a-3", dependencies=[{"depends_on_id": "a-2", "type": "blocks"}], **spec),
        bead("a-4", **spec),
    )
    page = scene.root / path
    page.parent.mkdir(parents=True)
    page.write_text("# Design\n")
    look = scene.look(edited=lambda root: ())
    ids = ["a-e", "a-3", "a-4"]
    upkeep.remember(scene.site, ids, {it: look.upstream.hashes(look.beads[it]) for it in ids})
    page.write_text("# Design\n\nAs a-1 was to make it.\n")
    assert scene.view(edited=lambda root: ()).to_polish == ("a-4",)


def test_a_blocked_bead_opens_again_once_its_ground_has_moved(tmp_path: Path) -> None:  # S-10
    scene = Scene(tmp_path, bead("a-1", attempts=4))
    look = scene.look()
    basis = upkeep.basis_of(look.beads["a-1"], look.upstream, commit="c")
    upkeep.block_bead(scene.site, "a-1", reason="it failed", basis=basis)
    changed = {**scene.row("a-1"), "description": "more words"}
    scene.site.tracker.change(lambda view, now: _put(changed))
    assert list(upkeep.reopen_changed(scene.look())) == []  # D-6: not material
    changed = {**scene.row("a-1"), "acceptance": "- `make test` passes"}
    scene.site.tracker.change(lambda view, now: _put(changed))
    (opened,) = upkeep.reopen_changed(scene.look())
    assert opened.reason == "its acceptance was changed"
    row = scene.row("a-1")
    assert row["status"] == "open"
    assert "attempts" not in row and "blocked-basis" not in row
    assert row["events"][-1]["kind"] == "reopened"


def test_a_polish_that_changes_nothing_leaves_a_bead_blocked(tmp_path: Path) -> None:  # S-10
    scene = Scene(tmp_path, bead("a-1", attempts=4, **{"spec-id": "prd"}))
    page = scene.root / "docs" / "helix" / "prd.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Product\n")
    look = scene.look(edited=lambda root: ())
    seen = look.upstream.hashes(look.beads["a-1"])
    basis = upkeep.basis_of(look.beads["a-1"], look.upstream, commit="c")
    upkeep.block_bead(scene.site, "a-1", reason="it failed", basis=basis)
    for hashes, reasons in ((seen, []), ({"prd": "another"}, ["it was polished"])):
        polished = {**scene.row("a-1"), "polished-upstream": hashes}
        scene.site.tracker.change(lambda view, now, row=polished: _put(row))
        opened = upkeep.reopen_changed(scene.look(edited=lambda root: ()))
        assert [one.reason for one in opened] == reasons


def test_an_assumption_that_nobody_looked_at_is_only_proposed(tmp_path: Path) -> None:  # I-10
    words = {"label": "kind:speculative", "ttl_days": 14}
    now = FakeClock().stamp()
    fresh = {"labels": ["kind:speculative"], "created_at": now, "updated_at": now}
    scene = Scene(tmp_path, bead("a-1", **fresh), bead("a-2", **fresh), bead("a-3"))
    assert set(ready(scene.view())) == {"a-1", "a-2", "a-3"}
    upkeep.settle_assumptions(scene.look(), **words)
    seen = {**scene.row("a-2"), "description": "it is so"}
    scene.site.tracker.change(lambda view, now: _put(seen))
    scene.site.clock.advance(15 * 86_400)
    (expired,) = upkeep.settle_assumptions(scene.look(), **words)
    assert expired.bead == "a-1"
    assert set(ready(scene.view())) == {"a-2", "a-3"}
    row = scene.row("a-1")
    assert (row["status"], row["events"][-1]["kind"]) == ("proposed", "proposed")
    assert upkeep.settle_assumptions(scene.look(), **words) == []


def _put(row: dict[str, Any]) -> Any:
    from ddx.tracker.changeset import ChangeSet

    return ChangeSet({row["id"]: row})


# -- what a run tells while others work ------------------------------------------------------


def test_a_bead_that_is_taken_up_while_an_attempt_writes_the_state_breaks_nothing(
    tmp_path: Path,
) -> None:  # S-24: attempts write it, from threads of their own
    class Passing(UnfinishedBead):
        """The loop's thread takes up another bead just while this one is written."""

        def as_row(self) -> dict[str, Any]:
            run.take_up(["a-2"])
            return super().as_row()

    scene = Scene(tmp_path, bead("a-1"), bead("a-2"))
    clock, orders = scene.site.clock, EngineOptions("stub")
    journal = RunJournal(
        str(scene.root),
        clock=clock,
        masker=Masker({}),
        tell=lambda sentence: None,
        mode=ScreenMode.PLAIN,
    )
    run = Run(
        scene.desk,
        RunOptions(RoutingRules(), orders, AutonomySettings({}, {})),
        journal=journal,
        meter=UsageMeter(orders, clock),
        state=StateFile(scene.site.project, clock, RunState("j", 1, started_at=clock.stamp())),
        wishes=StopControls(StopRequest()),
        scope=REPO,
    )
    run.blockers["a-1"] = Passing("a-1", "Do a-1", "it drifted")
    run.blockers["a-2"] = UnfinishedBead("a-2", "Do a-2", "it drifted")
    run.write()
    run.write()
    assert [row["bead"] for row in run.state.now.blockers] == ["a-1"]
    journal.close()
