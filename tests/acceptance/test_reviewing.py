"""Fresh eyes: by another agent, on exactly what changed, and each finding filed once."""

# @requirement TC-403

from __future__ import annotations

import json
from pathlib import Path

from tests.support.runs import task
from tests.support.stub_agents import make_run_scene_with_reviewer

CLEAN = "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0"


def found(*titles: str, severity: str = "high") -> str:
    rows = [
        {
            "severity": severity,
            "title": title,
            "file": "app-1.txt",
            "line": 1,
            "detail": "",
            "area": "cart",
            "acceptance": "- `test -f README.md` passes",
        }
        for title in titles
    ]
    head = f"REVIEW_STATUS: ISSUES_FOUND\nISSUES_COUNT: {len(rows)}"
    return f"{head}\n\n```json\n{json.dumps(rows)}\n```"


def test_the_other_agent_reviews_and_never_learns_who_built(tmp_path: Path) -> None:  # S-15
    hall = make_run_scene_with_reviewer(tmp_path / "w", review_agent="critic")
    hall.builds("app-1", "echo 'the new line' > app-1.txt\n")
    hall.drain("--model", "giant-9")
    assert hall.argv("build") == ["maker --model giant-9"]
    assert hall.argv("check") == ["maker --model giant-9"]
    assert hall.argv("review") == ["critic --model owl-2"]
    prompt, seen = hall.prompt("review"), (hall.stage / "env-review").read_text()
    assert "giant-9" not in prompt + seen
    assert "maker" not in prompt
    assert "+the new line" in prompt
    assert "Do app-1" in prompt


def test_the_flag_names_another_reviewer_for_one_run(tmp_path: Path) -> None:  # S-15, C-6
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    hall.drain("--review-agent", "critic")
    assert [line.split()[0] for line in hall.argv("review")] == ["critic"]


def test_each_finding_is_filed_once_and_before_the_next_selection(tmp_path: Path) -> None:  # S-16
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2", priority=4))
    twice = found("The sum is wrong", "the sum is WRONG.")
    again = found("The sum is wrong")
    small = found("A comma", severity="low")
    hall.answers("review", twice, again, small, CLEAN)
    done = hall.drain("--json", code=None).json
    new = [bead_id for bead_id in hall.rows() if bead_id not in ("app-1", "app-2")]
    assert len(new) == 1
    assert hall.calls("build")[:2] == ["build app-1", f"build {new[0]}"]
    row = hall.rows()[new[0]]
    assert {"review-finding", "severity:high", "area:cart"} <= set(row["labels"])
    assert done["attempted"] > done["completed"]  # D-10: one with findings is not completed


def test_a_change_that_cannot_be_judged_stops_the_run_and_lands_no_more(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))  # S-16, C-2
    hall.plays("review", "echo 'all fine'; exit 3")
    assert "the review cannot be read" in hall.drain(code=4).err
    assert hall.calls("build") == ["build app-1"]
    assert hall.statuses() == {"app-1": "closed", "app-2": "open"}
