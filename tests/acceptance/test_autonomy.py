"""How often a person is asked: low, medium and high (S-34, D-26)."""

# @requirement TC-408

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.runs import task
from tests.support.stub_agents import make_run_scene_with_reviewer

CONFLICT = {"labels": ["kind:escalation", "conflict:physics"], "title": "Faster than light?"}
UNCLEAR = {"labels": ["kind:escalation", "conflict:resolvable"], "title": "Euro or dollar?"}


def test_low_asks_before_each_action_and_a_no_ends_the_run(tmp_path: Path) -> None:  # S-34
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))
    done = hall.in_pty("run", "--autonomy", "low", "--no-auto-review", typed="y\nn\n")
    assert done.code == 0
    assert "build app-1?" in done.out
    assert "build app-2?" in done.out
    assert hall.calls() == ["build app-1"]
    assert hall.statuses() == {"app-1": "closed", "app-2": "open"}


@pytest.mark.timeout(200)
def test_ctrl_c_at_the_question_ends_the_run(tmp_path: Path) -> None:  # S-21, S-34
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"))
    done = hall.in_pty("run", "--autonomy", "low", typed="\x03", after="[y/N]")
    assert done.code == 0
    assert "not confirmed" in done.out
    assert hall.calls() == []


@pytest.mark.parametrize("level", ["medium", "high"])
def test_no_level_goes_on_against_a_conflict_that_nothing_settles(
    tmp_path: Path, level: str
) -> None:  # S-34, C-2
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-x", **CONFLICT))
    assert "Faster than light?" in hall.drain("--autonomy", level, code=4).err
    assert hall.calls() == []


def test_medium_stops_at_what_is_unclear(tmp_path: Path) -> None:  # S-34
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-x", **UNCLEAR))
    assert "Euro or dollar?" in hall.drain("--autonomy", "medium", code=4).err
    assert hall.calls() == []


def test_high_goes_on_beside_what_is_only_unclear(tmp_path: Path) -> None:  # S-34
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-x", **UNCLEAR))
    hall.drain("--autonomy", "high", "--no-auto-review")
    assert hall.statuses()["app-1"] == "closed"
