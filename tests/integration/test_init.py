"""`helix init` in a foreign repository: it makes what is missing and touches nothing else (P-5)."""

# @requirement TC-802

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.support.front_door import Person

from helix.install.repository_setup import BEGIN, END


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.begins_a_repository()
    return person


def test_what_it_makes_is_enough_to_work_and_a_second_time_changes_nothing(ada):  # P-5
    said = ada.helix("init", "--docs", "Bread club", "--trust")
    assert "is trusted now" in said
    assert "next: helix input" in said
    first = ada.everything()
    assert {"AGENTS.md", ".gitignore", ".ddx/beads.jsonl"} <= first.keys()
    assert json.loads(ada.ddx("doc", "list", "--json"))
    again = ada.helix("init", "--docs", "Bread club", "--trust")
    assert "is set up already" in again
    assert ada.everything() == first
    assert ada.git("config", "merge.ddx-beads.driver").strip()


def test_every_byte_that_was_there_stays(ada):  # P-5
    agents, ignored = ada.root / "AGENTS.md", ada.root / ".gitignore"
    agents.write_bytes(b"# Ours\r\n\r\nUse tabs.")
    ignored.write_bytes(b"*.pyc\r\n\xff\xfe.bin")
    ada.helix("init")
    assert agents.read_bytes().startswith(b"# Ours\r\n\r\nUse tabs.\r\n\r\n")
    assert ignored.read_bytes() == b"*.pyc\r\n\xff\xfe.bin\n/.helix-logs/\n"


def test_a_file_keeps_its_line_ends_and_its_mode(ada):  # P-5
    agents = ada.root / "AGENTS.md"
    agents.write_bytes(b"# Ours\r\n")
    agents.chmod(0o444)
    ada.helix("init")
    first = agents.read_bytes()
    assert first.count(b"\r\n") == first.count(b"\n") > 10
    assert agents.stat().st_mode & 0o777 == 0o444
    assert "is set up already" in ada.helix("init")
    assert agents.read_bytes() == first


def test_a_link_stays_a_link_and_one_that_leads_out_is_left(ada):  # P-5
    (ada.root / "CLAUDE.md").write_text("# Ours\n")
    (ada.root / "AGENTS.md").symlink_to("CLAUDE.md")
    ada.helix("init")
    assert (ada.root / "AGENTS.md").is_symlink()
    assert BEGIN in (ada.root / "CLAUDE.md").read_text()
    (ada.root / "AGENTS.md").unlink()
    (ada.home / "mine.md").write_text("mine\n")
    (ada.root / "AGENTS.md").symlink_to(ada.home / "mine.md")
    assert "left" in ada.helix("init")
    assert (ada.home / "mine.md").read_text() == "mine\n"


def test_from_a_subfolder_or_a_worktree_it_is_the_same_repository(ada):  # P-5
    below = ada.root / "packages/a"
    below.mkdir(parents=True)
    ada.helix("init", cwd=below)
    ada.git("worktree", "add", "-q", "../linked")
    assert "is set up already" in ada.helix("init", cwd=ada.root.parent / "linked")
    assert not list(below.iterdir())


def test_only_what_stands_between_the_marks_is_kept_up(ada):  # P-5
    agents = ada.root / "AGENTS.md"
    agents.write_text(f"before\n{BEGIN}\nold words\n{END}\nafter\n")
    ada.helix("init")
    text = agents.read_text()
    assert text.startswith(f"before\n{BEGIN}\n## Work in this repository")
    assert text.endswith(f"{END}\nafter\n")
    assert "old words" not in text


def test_torn_marks_are_told_and_nothing_is_guessed(ada):
    agents = ada.root / "AGENTS.md"
    agents.write_text(f"{BEGIN}\nmine\n")
    done = ada.types(sys.executable, "-m", "helix", "init", code=1)
    assert "torn" in done.stderr
    assert agents.read_text() == f"{BEGIN}\nmine\n"
    assert not (ada.root / ".ddx").exists()  # after 1 nothing was changed (C-2)


def test_nothing_of_ours_is_shown_by_git_but_what_is_for_git(ada):  # P-5
    ada.helix("init")
    ada.helix("memory", "store", "--type", "pattern", "--trigger", "naming of the tests here",
              "--resolution", "sentences")  # fmt: skip
    shown = ada.git("status", "--porcelain", "-uall").split("\n")
    names = {line[3:] for line in shown if line}
    assert names == {
        ".ddx/.gitattributes", ".ddx/.gitignore", ".ddx/beads.jsonl", ".gitignore", "AGENTS.md",
    }  # fmt: skip


def test_without_a_repository_it_says_what_to_do(tmp_path):  # C-3
    person = Person(tmp_path)
    done = person.types(sys.executable, "-m", "helix", "init", code=1)
    assert "git" in done.stderr
    assert not os.listdir(person.root)


def test_untrusted_stays_untrusted_unless_the_person_says_so(ada):
    answer = json.loads(ada.helix("init", "--json"))
    assert answer["trusted"] is False
    assert json.loads(ada.helix("init", "--trust", "--json"))["trusted"] is True


NODE = '{"scripts": {"test": "node --test"}}\n'


def test_what_proves_work_here_is_found_and_shown_with_the_command_that_writes_it(ada):
    (ada.root / "package.json").write_text(NODE)
    said = ada.helix("init")
    assert "tests run by `npm test` (package.json:1)" in said
    assert "next: helix init --yes" in said
    assert not (ada.root / ".ddx/config.yaml").exists()


def test_yes_writes_the_checks_that_were_found_once(ada):
    (ada.root / "pyproject.toml").write_text(
        '[project]\nname = "shop"\n[tool.pytest.ini_options]\n'
    )
    (ada.root / "tests").mkdir()
    (ada.root / "tests/test_cart.py").write_text("def test_it(): pass\n")
    answer = json.loads(ada.helix("init", "--yes", "--json"))
    config = ada.root / ".ddx/config.yaml"
    assert answer["done"][-1] == f"wrote 1 check and 2 set-up commands into {config}"
    settings = json.loads(ada.ddx("config", "show", "--json"))
    assert settings["checks.default"]["value"] == [".venv/bin/python -m pytest"]
    assert settings["workspace.setup"]["value"] == [
        "python3 -m venv .venv",
        ".venv/bin/python -m pip install -e . pytest",
    ]
    first = config.read_bytes()
    assert json.loads(ada.helix("init", "--yes", "--json"))["checks"] == []
    assert config.read_bytes() == first


def test_sections_of_the_persons_own_are_never_rewritten(ada):
    (ada.root / "package.json").write_text(NODE)
    (ada.root / ".ddx").mkdir()
    config = ada.root / ".ddx/config.yaml"
    config.write_text("checks:\n  tests: [checks/]\n")
    said = ada.helix("init", "--yes")
    assert "has a section `checks` already; add these lines to it:" in said
    assert config.read_text() == "checks:\n  tests: [checks/]\n"


def test_other_settings_stay_beside_what_is_written(ada):
    (ada.root / "package.json").write_text(NODE)
    (ada.root / ".ddx").mkdir()
    config = ada.root / ".ddx/config.yaml"
    config.write_text("# ours\nbead: {prefix: shop}")
    ada.helix("init", "--yes")
    assert config.read_text().startswith("# ours\nbead: {prefix: shop}\nchecks:\n")
    assert json.loads(ada.ddx("config", "show", "--json"))["bead.prefix"]["value"] == "shop"


def test_a_repository_without_tests_is_told_so(ada):
    said = ada.helix("init", "--yes")
    assert "no command that runs tests was found" in said
    assert "name one in .ddx/config.yaml" in said
    assert not (ada.root / ".ddx/config.yaml").exists()


def test_the_packages_of_a_monorepo_are_proven_each_by_its_own_test(ada):
    for name in ("a", "b"):
        (ada.root / f"packages/{name}").mkdir(parents=True)
        (ada.root / f"packages/{name}/package.json").write_text(NODE)
    ada.helix("init", "--yes")
    settings = json.loads(ada.ddx("config", "show", "--json"))
    assert settings["checks.scopes"]["value"] == [
        {"paths": ["packages/a/**"], "checks": ["cd packages/a && npm test"]},
        {"paths": ["packages/b/**"], "checks": ["cd packages/b && npm test"]},
    ]
