"""What follows from an attempt and from a review: blocked, measured, asked about (S-10, S-36)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.attempts import CLEAN
from tests.support.runs import task
from tests.support.stub_agents import PRD_PATH, RunScene, make_run_scene_with_reviewer
from tests.support.tracker import wait_for

WRONG = "echo wrong > wrong.txt\n"
JUNIT = (
    '<testsuites><testsuite name="s" tests="1" failures="1">'
    '<testcase classname="tests.test_sum" name="test_sum" file="tests/test_sum.py" line="1">'
    '<failure message="3 is not 4">no</failure></testcase></testsuite></testsuites>'
)


def found(title: str) -> str:
    row = {"severity": "high", "title": title, "acceptance": "- `test -f README.md` passes"}
    head = "REVIEW_STATUS: ISSUES_FOUND\nISSUES_COUNT: 1"
    return f"{head}\n```json\n{json.dumps([row])}\n```"


def test_an_overreach_for_the_last_time_blocks_in_the_same_run(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1"), task("app-2", priority=4)
    )  # X-27, S-10
    hall.builds("app-1", f"echo REQ-9 >> {PRD_PATH}\necho x > app-1.txt\n")
    first = hall.drain("--no-auto-review", "--max-attempts", "2", code=4)
    assert "may it?" in first.err
    assert hall.statuses()["app-1"] == "open"
    second = hall.drain("--no-auto-review", "--max-attempts", "2", code=4)
    assert "may it?" in second.err  # blocked, and a person is asked all the same
    assert hall.statuses()["app-1"] == "blocked"
    assert "for the last time" in hall.rows()["app-1"]["blocked-reason"]
    hall.drain("--no-auto-review", "--max-attempts", "2", code=4)
    assert hall.calls("build") == ["build app-1", "build app-1", "build app-2"]


def test_findings_about_a_whole_epic_may_go_too_deep(tmp_path: Path) -> None:  # S-13, S-11
    epic = task("app-e", issue_type="epic", labels=["review-depth:2"], **{"spec-id": "prd"})
    hall = make_run_scene_with_reviewer(tmp_path / "w", epic, task("app-1", parent="app-e"))
    hall.answers("review", "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0", found("The sum is wrong"))
    assert "worth more work" in hall.drain(code=4).err
    assert hall.statuses() == {"app-e": "closed", "app-1": "closed"}


def test_the_phase_is_true_while_others_still_build(tmp_path: Path) -> None:  # S-24, S-38
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))
    phase = f'sed \'s/.*"phase": *"\\([a-z ]*\\)".*/\\1/\' {hall.root}/.ddx/run-state.json'
    hall.plays(
        "review",
        f'{phase} > "$stage/during"\necho REVIEW_STATUS: CLEAN\necho ISSUES_COUNT: 0\n'
        'touch "$stage/reviewed"',
    )
    waits = 'while [ ! -e "$stage/go" ]; do sleep 0.05; done'
    hall.builds("app-2", f"{waits}\necho x > app-2.txt\n")
    run = hall.launch("--workers", "2")
    wait_for(lambda: (hall.stage / "reviewed").exists())
    wait_for(lambda: hall.state["phase"] == "building")
    assert (hall.stage / "during").read_text().strip() == "review"
    assert hall.state["current_bead"] == "app-2"
    (hall.stage / "go").touch()
    assert run.wait(120) == 0
    assert hall.leftover() == CLEAN


# -- measure (S-36) ------------------------------------------------------------------------------


def with_tests(hall: RunScene) -> None:
    """A check whose report names a failing test."""
    (hall.root / "tests").mkdir()
    (hall.root / "tests/test_sum.py").write_text("# @spec-ref prd\n")
    (hall.root / "report.xml").write_text(JUNIT)
    check = 'cp report.xml "$DDX_EVIDENCE_DIR/junit.xml"; false'
    (hall.root / "check.sh").write_text(check)
    hall.commit("tests")


def test_failing_tests_are_traced_before_a_bead_is_blocked(tmp_path: Path) -> None:  # S-36, V-2
    proof = {"acceptance": "- `sh check.sh` passes"}
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1", **proof, **{"spec-id": "prd"})
    )
    with_tests(hall)
    hall.builds("app-1", WRONG)
    hall.drain("--no-auto-review", "--max-attempts", "1", "--max-cycles", "1", code=None)
    assert hall.rows()["app-1"]["status"] == "blocked"
    (told,) = hall.journal("measure")[:1]
    assert (told["scope"], told["passed"]) == ("app-1", False)
    kinds = [row["kind"] for row in hall.journal()]
    assert kinds.index("measure") < kinds.index("blocked")


def test_an_epic_is_measured_when_it_closes_and_before_its_review(tmp_path: Path) -> None:  # S-36
    epic = task("app-e", issue_type="epic", **{"spec-id": "prd"})
    hall = make_run_scene_with_reviewer(tmp_path / "w", epic, task("app-1", parent="app-e"))
    hall.drain()
    (told,) = hall.journal("measure")
    assert (told["scope"], told["passed"]) == ("app-e", True)
    kinds = [row["kind"] for row in hall.journal()]
    assert kinds.index("epic-closed") < kinds.index("measure")
    calls = [n for n, row in enumerate(hall.journal()) if row["kind"] == "call"]
    assert calls[-2] > kinds.index("measure")  # the review of the whole; then check


def test_without_traceback_nothing_is_measured(tmp_path: Path) -> None:  # S-36, I-3
    epic = task("app-e", issue_type="epic")
    hall = make_run_scene_with_reviewer(tmp_path / "w", epic, task("app-1", parent="app-e"))
    slider = hall.root / ".helix/slider-config.yaml"
    slider.write_text("verification: {auto_traceback: false}\n")
    hall.drain("--no-auto-review")
    assert hall.journal("measure") == []


# -- the slider --------------------------------------------------------------------------------


def test_the_level_is_the_flags_then_the_variables_then_the_files(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w")  # S-34, I-3, D-26
    (hall.root / ".helix/slider-config.yaml").write_text("autonomy_level: low\n")
    assert "low autonomy" in hall.drain(code=4).err
    assert hall.state["autonomy"] == "low"
    hall.drain(HELIX_AUTONOMY="high")
    assert hall.state["autonomy"] == "high"
    hall.drain("--autonomy", "medium", HELIX_AUTONOMY="low")
    assert hall.state["autonomy"] == "medium"


def test_an_old_assumption_is_not_built(tmp_path: Path) -> None:  # I-10
    long_ago = "2025-01-02T03:04:05Z"
    old = {"labels": ["kind:speculative"], "created_at": long_ago, "updated_at": long_ago}
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1", **old), task("app-2"))
    assert "app-1 is only proposed now" in hall.drain("--no-auto-review").err
    assert hall.statuses() == {"app-1": "proposed", "app-2": "closed"}
    assert hall.calls("build") == ["build app-2"]


# -- reviews that nobody waited for ------------------------------------------------------------


def test_work_that_another_command_lands_is_reviewed_by_the_next_run(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w")  # S-17, X-13
    (hall.root / "app-1.txt").write_text("the operator's own\n")
    hall.drain(code=None)
    assert hall.statuses() == {"app-1": "open"}
    (hall.root / "app-1.txt").unlink()
    hall.helix("check", code=None)  # it lands what waits, and reviews nothing
    assert hall.statuses() == {"app-1": "closed"}
    assert hall.calls("review") == []
    assert hall.helix("next", "--json").json["decision"]["action"] == "review"
    hall.drain()
    assert hall.calls("review") == ["review"]
    hall.drain()
    assert hall.calls("review") == ["review"]
