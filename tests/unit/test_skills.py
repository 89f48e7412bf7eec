"""`helix skills validate`: our own skills are sound, and each fault planted is named (P-4)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.front_door import ROOT

from ddx import __version__
from helix.cli.registry import COMMANDS, words
from helix.install.skill_checks import validate_skills

AGENTLESS = {"input", "triage"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("skills", "workflows", ".claude-plugin", ".codex-plugin"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def faults(root: Path) -> list[str]:
    found = validate_skills(str(root), commands=words(), version=__version__)
    return [f"{Path(it.path).relative_to(root)}: {it.what}" for it in found]


def page(root: Path, name: str = "helix-run") -> Path:
    return root / "skills" / name / "SKILL.md"


def test_our_own_are_sound(root: Path) -> None:  # P-4
    assert faults(root) == []


def test_every_public_action_has_a_skill(root: Path) -> None:  # P-4
    actions = {
        *("check", "review", "align", "backfill", "design", "polish", "frame", "evolve", "triage"),
        *("input", "experiment", "build", "measure", "report", "run"),
    }
    assert actions <= set(COMMANDS)
    assert {f"helix-{name}" for name in actions} <= {it.name for it in (root / "skills").iterdir()}


def test_the_main_one_says_that_small_changes_need_none_of_it() -> None:  # P-4
    assert "single file" in (ROOT / "skills/helix/SKILL.md").read_text()


def test_each_says_where_the_command_is_if_no_path_leads_to_it(root: Path) -> None:  # P-4
    """codex puts no `bin` of a plugin on the PATH of its shell."""
    for skill in (root / "skills").iterdir():
        text = " ".join((skill / "SKILL.md").read_text().split())
        assert "`../../bin/helix` from the folder of this page" in text, skill
        assert (ROOT / "skills" / skill.name / "../../bin/helix").resolve() == ROOT / "bin/helix"


Plant = Callable[[Path], object]


def edit(old: str, new: str) -> Plant:
    return lambda root: page(root).write_text(page(root).read_text().replace(old, new, 1))


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (edit("name: helix-run", "name: helix-walk"), "calls itself 'helix-walk'"),
        (edit('description: "', 'description: "Runs. '), "names no state"),
        (edit("description:", "summary:"), "has no description"),
        (edit("name:", "name: [:"), "no YAML"),
        (edit("---\n", ""), "has no front matter"),
        (edit("argument-hint:", "arguments:"), "unknown field 'arguments'"),
        (edit("helix next", "helix nextest"), "names `helix nextest`"),
        (edit("1. Look", "1. `workflows/LOST.md` Look"), "names workflows/LOST.md"),
        (lambda root: page(root).unlink(), "is missing"),
        (lambda root: shutil.rmtree(root / "skills/helix"), "there is no skill helix"),
        (lambda root: shutil.rmtree(root / "workflows"), "workflows: is missing"),
        (
            lambda root: page(root).parent.rename(root / "skills/helix-dance"),
            "no command is called 'dance'",
        ),
        (lambda root: (root / "skills/loose.md").write_text("x"), "belongs to no skill"),
        (
            lambda root: (page(root).parent / "principles.md").write_text("x"),
            "stands in workflows/ too",
        ),
        (
            lambda root: (root / ".claude-plugin/plugin.json").write_text(
                json.dumps({"name": "helix", "version": "9.9.9"})
            ),
            "says version 9.9.9",
        ),
        (lambda root: (root / ".claude-plugin/marketplace.json").write_text("{"), "no JSON"),
    ],
)
def test_a_planted_fault_is_named(root: Path, plant: Plant, said: str) -> None:  # P-4
    plant(root)
    assert any(said in fault for fault in faults(root)), faults(root)


def test_a_script_of_a_skill_can_be_run(root: Path) -> None:  # P-4
    script = page(root).parent / "scripts/go"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    assert any("cannot be run" in fault for fault in faults(root))
    script.chmod(0o755)
    assert not any("cannot be run" in fault for fault in faults(root))


def test_a_task_list_of_the_agents_own_mirrors_the_beads_which_stay_the_truth() -> None:  # O-10
    text = " ".join((ROOT / "skills/helix/SKILL.md").read_text().split())
    assert "mirror the beads there" in text
    assert "When they differ, the bead is right." in text
