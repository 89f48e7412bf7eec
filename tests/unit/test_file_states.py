"""States that an acceptance names, judged inside of the workspace (T-17, X-11)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddx.proof.checks import find_fault
from ddx.proof.plan import spoken_state
from ddx.tracker.criteria import FileContains, PathAbsent, PathExists

OUTSIDE = "it leads out of the workspace"


@pytest.fixture
def space(tmp_path: Path) -> Path:
    space = tmp_path / "space"
    (space / "docs").mkdir(parents=True)
    (space / "docs/plan.md").write_text("# Plan\nRollback first\n")
    (space / "near").symlink_to("docs")
    (space / "dangling").symlink_to("nothing")
    (space / "loop").symlink_to("loop")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key.md").write_text("Rollback")
    (space / "far").symlink_to(tmp_path / "secret")
    (space / "far.md").symlink_to(tmp_path / "secret/key.md")
    (tmp_path / "space-two").mkdir()
    (space / "beside").symlink_to(tmp_path / "space-two")
    return space


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("docs/plan.md", ""),
        ("docs", ""),
        ("docs/", ""),
        ("near/plan.md", ""),
        ("docs/plan.md/", "it is no folder"),
        ("docs/other.md", "it does not exist"),
        ("dangling", "it does not exist"),
        ("loop", "it does not exist"),
        ("far", OUTSIDE),
        ("far/key.md", OUTSIDE),
        ("far.md", OUTSIDE),
        ("beside", OUTSIDE),
    ],
)
def test_a_path_exists(space, path, fault):
    assert find_fault(PathExists(path, "verify"), str(space)) == fault


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("docs/other.md", ""),
        ("other/folder/a.md", ""),
        ("docs/plan.md", "it is still there"),
        ("docs/", "it is still there"),
        ("dangling", "it is still there"),
        ("loop", "it is still there"),
        ("far", "it is still there"),
        ("far/gone.md", OUTSIDE),
    ],
)
def test_a_path_is_absent(space, path, fault):
    assert find_fault(PathAbsent(path, "verify"), str(space)) == fault


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("docs/plan.md", "Rollback", ""),
        ("near/plan.md", "Rollback first\n", ""),
        ("docs/plan.md", "rollback", "it does not hold that text"),
        ("docs/other.md", "x", "it does not exist"),
        ("docs", "x", "it is no file"),
        ("pipe", "x", "it is no file"),
        ("far.md", "Rollback", OUTSIDE),
        ("far/key.md", "Rollback", OUTSIDE),
    ],
)
def test_a_file_contains_a_text(space, path, text, fault):
    os.mkfifo(space / "pipe")
    assert find_fault(FileContains(path, text, "verify"), str(space)) == fault


@pytest.mark.parametrize("at", [0, (1 << 20) - 2, (1 << 20) - 1, 1 << 20, 3 << 20])
def test_a_text_is_found_wherever_it_lies_in_a_large_file(space, at):
    (space / "large").write_bytes(b"-" * at + b"needle" + b"-" * 1000)
    assert find_fault(FileContains("large", "needle", "verify"), str(space)) == ""
    assert find_fault(FileContains("large", "needles", "verify"), str(space)) != ""


def test_a_file_that_nobody_wrote_by_hand_is_not_read(space):
    with open(space / "huge", "wb") as file:
        file.truncate(1 << 40)
    assert "larger than" in find_fault(FileContains("huge", "x", "verify"), str(space))


def test_a_state_is_told_in_a_few_words():
    assert spoken_state(PathExists("a/b", "verify")) == "a/b exists"
    assert spoken_state(PathAbsent("a/b", "verify")) == "a/b is absent"
    assert len(spoken_state(FileContains("a/b", "x" * 500, "verify"))) < 120
