"""`helix install`: links and launchers, and back again without a trace (P-3, D-16)."""

# @requirement TC-802

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.front_door import ROOT, Person

SKILLS = sorted(path.name for path in (ROOT / "skills").iterdir())


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    return Person(tmp_path)


def left_at_home(ada: Person) -> list[str]:
    """Every file, link and folder."""
    return sorted(str(path.relative_to(ada.home)) for path in ada.home.rglob("*"))


def test_skills_are_linked_where_each_agent_looks_and_commands_are_on_the_path(ada):  # D-16
    before = left_at_home(ada)
    ada.helix("install")
    for folder in (".agents", ".claude", ".codex"):
        linked = ada.home / folder / "skills"
        assert sorted(os.listdir(linked)) == SKILLS
        assert (linked / "helix/SKILL.md").read_text() == (
            ROOT / "skills/helix/SKILL.md"
        ).read_text()
    assert "version" in ada.types(str(ada.home / ".local/bin/helix"), "--version").stdout
    assert "in its place already" in ada.helix("install")
    ada.helix("install", "--remove")
    assert left_at_home(ada) == before


def test_a_folder_that_was_there_stays_even_if_it_is_empty(ada):  # P-3
    for name in (".claude/skills", ".local/bin"):
        (ada.home / name).mkdir(parents=True)
    before = left_at_home(ada)
    ada.helix("install", "--skills-only")
    ada.helix("install")  # a second one made other folders
    own = ada.home / ".codex/skills/mine"
    own.mkdir()
    ada.helix("install", "--remove")
    assert left_at_home(ada) == sorted([*before, ".codex", ".codex/skills", ".codex/skills/mine"])


def test_it_says_in_few_lines_what_it_did_and_what_is_left_to_do(ada):  # P-3, C-3
    said = ada.helix("install")
    assert f"linked {len(SKILLS)} skills in {ada.home}/.claude/skills\n" in said
    assert f'export PATH="{ada.home}/.local/bin:$PATH"' in said
    assert len(said.splitlines()) == 7
    ada.more = {"PATH": f"{ada.home}/.local/bin:/usr/bin:/bin"}
    assert "PATH" not in ada.helix("install")


def test_a_skill_that_helix_no_longer_has_is_taken_away(ada):  # P-3
    ada.helix("install", "--skills-only")
    record = ada.home / ".local/state/helix/installed.json"
    gone = ada.home / ".claude/skills/helix-gone"
    gone.symlink_to(ROOT / "skills/helix-gone")
    known = json.loads(record.read_text())
    row = {"path": str(gone), "target": str(ROOT / "skills/helix-gone"), "is_link": True}
    known["placed"].append(row)
    record.write_text(json.dumps(known))
    assert "helix-gone" in ada.findings()["skills"]["what"]
    assert f"removed the skill helix-gone in {gone.parent}" in ada.helix("install")
    assert ada.findings()["skills"]["ok"]


def test_a_launcher_whose_checkout_is_gone_says_what_to_type(ada):  # C-3
    ada.helix("install")
    launcher = ada.home / ".local/bin/helix"
    launcher.write_text(launcher.read_text().replace(str(ROOT), "/gone"))
    done = ada.types(str(launcher), "status", code=127)
    assert done.stderr == (
        "helix: /gone/bin/helix is gone; where HELIX lies now, type: bin/helix install\n"
    )


def test_homes_of_agents_may_lie_elsewhere(ada):  # D-16
    ada.more = {"CLAUDE_HOME": str(ada.home / "c"), "CODEX_HOME": str(ada.home / "x")}
    ada.helix("install", "--skills-only")
    assert (ada.home / "c/skills/helix").is_symlink()
    assert (ada.home / "x/skills/helix-run").is_symlink()
    assert not (ada.home / ".local/bin/helix").exists()


def test_what_is_not_ours_is_never_replaced(ada):  # P-3
    own = ada.home / ".claude/skills/helix-run"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text("mine")
    done = ada.types(sys.executable, "-m", "helix", "install", code=1)
    assert str(own) in done.stderr
    assert (own / "SKILL.md").read_text() == "mine"
    assert not (ada.home / ".agents").exists()


def test_what_somebody_changed_since_is_left(ada):  # P-3
    ada.helix("install")
    launcher = ada.home / ".local/bin/helix"
    launcher.write_text("#!/bin/sh\necho mine\n")
    said = ada.helix("install", "--remove")
    assert f"left {launcher}" in said
    assert launcher.read_text().endswith("mine\n")


def test_an_installation_that_moved_is_linked_anew(ada):
    ada.helix("install", "--skills-only")
    link = ada.home / ".agents/skills/helix"
    record = ada.home / ".local/state/helix/installed.json"
    record.write_text(record.read_text().replace(str(ROOT / "skills"), "/gone/skills"))
    for folder in (".agents", ".claude", ".codex"):
        for name in SKILLS:
            path = ada.home / folder / "skills" / name
            path.unlink()
            path.symlink_to(f"/gone/skills/{name}")
    assert "linked" in ada.helix("install", "--skills-only")
    assert os.readlink(link) == str(ROOT / "skills/helix")


@pytest.mark.parametrize("words", [("install",), ("init",)])
def test_an_installation_without_its_pages_is_refused(ada, tmp_path, words):  # P-3, S-37
    ada.begins_a_repository()
    source = tmp_path / "half/src"
    for name in ("ddx", "helix"):
        shutil.copytree(
            ROOT / "src" / name, source / name, ignore=shutil.ignore_patterns("*.weights", "*.pyc")
        )
    ada.more = {"PYTHONPATH": str(source), "HELIX_TRUST": "1"}
    done = ada.types(sys.executable, "-m", "helix", *words, code=4)
    assert str(tmp_path / "half/workflows") in done.stderr
    assert "install" in done.stderr.casefold()
    assert not (ada.root / ".helix").exists()
