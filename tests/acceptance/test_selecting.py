"""Which bead comes next, and what goes along with it (S-5, S-8, S-9, S-10)."""

# @requirement TC-406

from __future__ import annotations

from pathlib import Path

from tests.support.runs import task
from tests.support.stub_agents import aligned, make_run_scene_with_reviewer
from tests.support.tracker import edge

WRONG = "echo wrong > wrong.txt\n"


def test_a_focused_epic_never_hands_out_a_child_whose_dependency_is_open(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(  # S-5, D-14
        tmp_path / "w",
        task("app-e", issue_type="epic"),
        task("app-1", parent="app-e", priority=1),
        task("app-2", parent="app-e", priority=0, dependencies=[edge("app-2", "app-9")]),
        task("app-3", parent="app-e", priority=0, dependencies=[edge("app-3", "app-1")]),
        task("app-9", priority=4),
    )
    hall.drain("--no-auto-review")
    order = [call.split()[1] for call in hall.calls("build")]
    assert order == ["app-1", "app-3", "app-9", "app-2"]
    assert set(hall.statuses().values()) == {"closed"}


def test_an_intractable_bead_is_blocked_after_four_attempts_with_its_epic(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(  # S-10, D-7
        tmp_path / "w",
        task("app-e", issue_type="epic", labels=["area:cart"]),
        task("app-1", parent="app-e", title="Count the sum"),
        task("app-2", parent="app-e", priority=4),
    )
    hall.builds("app-1", WRONG)
    hall.drain("--no-auto-review", code=4)
    assert hall.calls("build") == ["build app-1"] * 4 + ["build app-2"]
    rows = hall.rows()
    assert (rows["app-1"]["status"], rows["app-1"]["labels"]) == ("blocked", ["blocked"])
    assert rows["app-e"]["labels"] == ["area:cart", "blocked"]
    assert rows["app-2"]["status"] == "closed"
    (report,) = (hall.root / ".helix-logs").glob("blockers-*.md")
    text = report.read_text()
    assert "## app-1: Count the sum" in text
    assert "- attempts: 4, time spent: " in text
    assert "- impact: its epic app-e " in text
    (ref,) = hall.state["blockers"][0]["refs"]
    assert f"- kept: {ref}" in text
    assert hall.git("rev-parse", "--verify", "--quiet", ref).code == 0
    assert "ddx bead reopen app-1" in text  # S-27: what to type next
    assert hall.helix("status").out.count("app-1")


def test_a_batch_takes_kin_by_parent_then_document_and_area_only_without_either(
    tmp_path: Path,
) -> None:  # S-8
    area = {"labels": ["area:cart"]}
    hall = make_run_scene_with_reviewer(
        tmp_path / "w",
        task("app-e", issue_type="epic"),
        task("app-1", priority=0, parent="app-e", **area),
        task("app-2", priority=3, parent="app-e"),
        task("app-3", priority=1, **{"spec-id": "prd"}, **area),
        task("app-4", priority=4, **{"spec-id": "prd"}),
        task("app-5", priority=2, **area),
        task("app-6", priority=4, **area),
    )
    hall.drain("--batch", "2", "--no-auto-review")
    batches = [row["beads"] for row in hall.journal("cycle-begun")]
    assert batches == [["app-1", "app-2"], ["app-3", "app-4"], ["app-5", "app-6"]]
    assert hall.state["completed_cycles"] == hall.state["attempted_cycles"] == 3
    assert set(hall.statuses().values()) == {"closed"}


def test_an_alignment_runs_once_for_every_count_of_completed_cycles(tmp_path: Path) -> None:  # S-9
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", *(task(f"app-{n}", priority=n - 1) for n in range(1, 5))
    )
    hall.builds("app-3", WRONG)  # a failed attempt right after the count asks for no second one
    hall.plays("align", aligned(name="AR-1"), aligned(name="AR-2"))
    hall.drain("--review-every", "2", "--max-attempts", "2", "--no-auto-review", code=4)
    calls = [call.split()[-1] if call.startswith("build") else "align" for call in hall.calls()]
    assert calls == ["app-1", "app-2", "align", "app-3", "app-3", "app-4", *calls[6:]]
    assert len(hall.calls("align")) == 1


def test_a_blocked_bead_is_opened_again_by_a_material_edit_alone(tmp_path: Path) -> None:  # S-10
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    hall.builds("app-1", WRONG)
    run = ("--max-attempts", "1", "--no-auto-review")
    hall.drain(*run, code=4)
    hall.ddx("update", "app-1", "--description", "try harder")
    hall.drain(*run, code=4)
    assert hall.calls("build") == ["build app-1"]  # words about it are not material (D-6)
    hall.ddx("update", "app-1", "--acceptance", "- `test -f wrong.txt` passes")
    done = hall.drain(*run)
    assert "app-1 is open again" in done.err
    assert [row["bead"] for row in hall.journal("reopened")] == ["app-1"]
    row = hall.rows()["app-1"]
    assert row["status"] == "closed"
    assert "blocked" not in row.get("labels", ())
