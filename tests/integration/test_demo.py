"""`helix demo` shows what it promises, quickly, and leaves nothing behind but its sample."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIME_LIMIT_S = 60


def demo(home: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """On a machine without agents, settings or trust."""
    return subprocess.run(
        [str(ROOT / "bin/helix"), "demo", "--folder", str(folder)],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo printed, and the home folder beside its sample `shop`."""
    home = tmp_path_factory.mktemp("demo")
    done = demo(home, home / "shop")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, home


def git(folder: Path, *words: str) -> list[str]:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_work_of_an_agent_lands_with_its_bead_closed(shown: tuple[str, Path]) -> None:
    text, home = shown
    (bead_id,) = re.findall(r"^  (\S+): landed, success$", text, re.MULTILINE)
    assert f"A price list [{bead_id}]" in git(home / "shop", "log", "--format=%s")
    assert (home / "shop/prices.txt").read_text() == "bell 4.50\n"
    assert f"closed: {bead_id}" in text


def test_work_that_fails_its_check_is_kept_and_nothing_else(
    shown: tuple[str, Path],
) -> None:
    text, home = shown
    (ref,) = git(home / "shop", "for-each-ref", "--format=%(refname)", "refs/helix")
    assert f"kept at {ref}" in text
    assert git(home / "shop", "show", f"{ref}:opening.md") == ["from 9 to 5"]
    assert not (home / "shop/opening.md").exists()
    assert not list((home / ".cache/helix/workspaces").glob("*/*"))


def test_exactly_one_claimant_wins(shown: tuple[str, Path]) -> None:  # T-10
    ends = re.findall(r"^  agent-\d: exit (\d)$", shown[0], re.MULTILINE)
    assert sorted(ends) == ["0"] + ["5"] * 7


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    done = demo(tmp_path, folder)
    assert done.returncode == 1
    assert "not empty" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
