"""Whoever changes what governs a bead is heard at the very next boundary (D-6, S-6, S-22, S-23).

The boundaries are met exactly: the operator types as the claim is about to be taken, as the landing
begins, and between the landing and the close.
"""

# @spec-ref TD-002

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.support.attempts import CLEAN
from tests.support.runs import task
from tests.support.stub_agents import BUILDER, PRD_PATH, RunScene, make_run_scene_with_reviewer

from ddx.attempts.context import Idle, Limits
from ddx.attempts.outcome import AttemptStatus, Landed, Outcome, Preserved
from ddx.attempts.record import AttemptEvent
from ddx.attempts.work import open_site, work_one
from ddx.base.clock import Clock
from ddx.project.project import find_project
from helix.passes.question import find_pages
from helix.project.context import Agent, PassContext
from helix.project.settings import read_helix_settings
from helix.run.build_policy import BuildPolicy

EDITS = {
    "spec-id": (("update", "{}", "--spec-id", "prd"),),
    "parent": (("update", "{}", "--parent", "app-e"),),
    "superseded-by": (("supersede", "{}", "--by", "app-y", "--reason", "better said"),),
    "replaces": (("update", "{}", "--replaces", "app-z"),),
    "dependencies": (("dep", "add", "{}", "app-y"),),
    "execution-eligible": (("update", "{}", "--execution-eligible", "false"),),
    "issue_type": (("update", "{}", "--type", "bug"),),
}
TAKEN = {"status": (("update", "{}", "--claim"),)}
LOST = {
    "status": (("update", "{}", "--unclaim"),),
    "owner": (("update", "{}", "--unclaim"), ("update", "{}", "--claim")),
    "claim-id": (("update", "{}", "--unclaim"), ("update", "{}", "--claim", "--owner", "helix")),
}


@pytest.fixture
def hall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunScene:
    """One bead for each field, named after it."""
    others = {"execution-eligible": False}
    rows = [task(f"app-{name}") for name in (*EDITS, *LOST, "text", "document")]
    hall = make_run_scene_with_reviewer(
        tmp_path / "w",
        task("app-e", issue_type="epic"),
        task("app-y", **others),
        task("app-z", **others),
        *(row | ({"spec-id": "prd"} if row["id"] == "app-document" else {}) for row in rows),
    )
    for name, given in hall.variables().items():
        monkeypatch.setenv(name, given)
    return hall


def types(hall: RunScene, bead_id: str, lines: tuple[tuple[str, ...], ...]) -> None:
    """The operator at the second terminal."""
    for words in lines:
        hall.ddx(*(word.format(bead_id) for word in words))


def attempted(hall: RunScene, bead_id: str, edit: Callable[[], None], *, at: str) -> Outcome | Idle:
    """One cycle's attempt, with the operator's edit just as it comes to this point."""

    def hear(happening: AttemptEvent) -> None:
        if happening.kind == at:
            edit()

    project = find_project(str(hall.root))
    site = open_site(project, hear)
    agent = Agent(BUILDER)
    desk = PassContext(
        site=site,
        settings=read_helix_settings(project, clock=Clock()),
        pages=find_pages(project),
        builder=agent,
        reviewer=agent,
        limits=Limits(),
        on_call=lambda action, reply: None,
    )
    policy = BuildPolicy(
        desk,
        (bead_id,),
        agent,
        limits=lambda beads: Limits(),
        begun=lambda attempt: edit() if at == "claim" else None,
    )
    return work_one(site, policy)


def test_what_changes_before_the_claim_is_not_even_begun(hall: RunScene) -> None:  # S-6, S-7, D-6
    for field, lines in (EDITS | TAKEN).items():
        bead_id = f"app-{field}"
        found = attempted(hall, bead_id, partial(types, hall, bead_id, lines), at="claim")
        assert isinstance(found, Idle) and found.again, field
        assert hall.rows()[bead_id].get("owner") != "helix", field
    assert hall.calls() == []
    assert hall.attempts() == []
    assert hall.leftover() == CLEAN


def test_what_changes_before_the_landing_is_kept_and_does_not_land(hall: RunScene) -> None:
    for field, lines in (EDITS | LOST).items():  # S-7, S-6, X-18, D-6
        bead_id = f"app-{field}"
        found = attempted(hall, bead_id, partial(types, hall, bead_id, lines), at="landing")
        assert isinstance(found, Preserved), field
        assert found.status is AttemptStatus.DRIFT, field
        assert found.ref in hall.refs(), field
        assert not (hall.root / f"{bead_id}.txt").exists(), field
        assert hall.rows()[bead_id]["status"] != "closed", field
        assert hall.rows()[bead_id].get("attempts", 0) == 0, field
    assert hall.leftover() == CLEAN


def test_what_changes_before_the_close_has_landed_and_stays_open(hall: RunScene) -> None:
    for field, lines in (EDITS | LOST).items():  # S-6, X-18, D-6
        bead_id = f"app-{field}"
        found = attempted(hall, bead_id, partial(types, hall, bead_id, lines), at="landed")
        assert isinstance(found, Landed), field
        assert found.left_open, field
        assert (hall.root / f"{bead_id}.txt").exists(), field
        assert hall.rows()[bead_id]["status"] != "closed", field
    assert hall.leftover() == CLEAN


def test_a_document_that_changes_during_the_attempt_holds_the_landing(hall: RunScene) -> None:
    def edit() -> None:  # S-23, D-6
        with (hall.root / PRD_PATH).open("a") as page:
            page.write("R-2 in euro\n")
        hall.git("commit", "-qam", "the operator")

    found = attempted(hall, "app-document", edit, at="landing")
    assert isinstance(found, Preserved)
    assert found.status is AttemptStatus.DRIFT
    assert hall.rows()["app-document"]["status"] == "open"


def test_words_about_a_bead_are_no_drift(hall: RunScene) -> None:  # S-7, D-6
    lines = (("update", "{}", "--description", "other words"),)
    found = attempted(hall, "app-text", partial(types, hall, "app-text", lines), at="landing")
    assert isinstance(found, Landed)
    assert hall.rows()["app-text"]["status"] == "closed"
    assert hall.rows()["app-text"]["description"] == "other words"


def test_a_supersession_during_a_run_is_honoured_at_the_next_boundary(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", *(task(f"app-{n}", priority=n - 1) for n in range(1, 5))
    )
    why = ("--reason", "better said")  # S-22, S-6
    running = hall.bead("supersede", "app-1", "--by", "app-3", *why)
    waiting = hall.bead("supersede", "app-2", "--by", "app-4", *why)
    hall.builds("app-1", f"{running}\n{waiting}\necho x > app-1.txt\n")
    hall.drain("--no-auto-review")
    assert hall.calls("build") == ["build app-1", "build app-3", "build app-4"]
    assert not (hall.root / "app-1.txt").exists()
    assert hall.statuses()["app-3"] == hall.statuses()["app-4"] == "closed"
    assert "app-1" in hall.state["skipped"]


def test_drifted_work_is_in_the_report_with_where_it_is_kept(tmp_path: Path) -> None:  # S-27
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"))
    drifts = hall.bead("update", "app-1", "--set", "execution-eligible=false")
    hall.builds("app-1", f"{drifts}\necho x > app-1.txt\n")
    hall.drain("--no-auto-review", code=None)
    (report,) = (hall.root / ".helix-logs").glob("blockers-*.md")
    (ref,) = hall.refs()
    said = report.read_text()
    assert f"kept: {ref}" in said
    assert f"git show {ref}" in said
    assert "changed meanwhile: execution-eligible" in said


def test_what_was_skipped_and_then_completed_is_in_nobodys_way(
    tmp_path: Path,
) -> None:  # S-24, S-27
    hall = make_run_scene_with_reviewer(
        tmp_path / "w",
        *(task(f"app-{name}", priority=n) for n, name in enumerate("12")),
        task("app-e", issue_type="epic", priority=4),
    )
    drifts = hall.bead("update", "app-1", "--parent", "app-e")
    once = f'[ -e "$stage/once" ] || {{ touch "$stage/once"; {drifts}; }}'
    hall.builds("app-1", f"{once}\necho x > app-1.txt\n")
    again = hall.bead("update", "app-1", "--title", "Do it all the same")
    hall.builds("app-2", f"{again}\necho x > app-2.txt\n")
    told = hall.drain("--no-auto-review")
    assert hall.calls("build") == ["build app-1", "build app-2", "build app-1"]
    assert hall.statuses()["app-1"] == "closed"
    assert hall.state["skipped"] == {}
    assert hall.state["blockers"] == []
    assert "0 skipped or blocked" in told.err
    assert list((hall.root / ".helix-logs").glob("blockers-*.md")) == []
