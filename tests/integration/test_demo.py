"""`helix demo` shows the whole loop, quickly, and leaves nothing behind but its sample."""

# @requirement TC-801

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIME_LIMIT_S = 120


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


def test_what_is_proven_lands_and_nothing_else(shown: tuple[str, Path]) -> None:
    _, home = shown
    landed = [line.split(" [")[0] for line in git(home / "shop", "log", "--format=%s", "--reverse")]
    assert landed == [
        "documents and settings",
        "beads",
        "FEAT-001: change FEAT-001: a bell costs 4.50",
        "Tests: change FEAT-001: a bell costs 4.50",
        "Build: change FEAT-001: a bell costs 4.50",
        "Prices have no currency",
        "A cart that adds up",
        "Delivery",
        "Opening hours",
    ]
    assert (home / "shop/prices.txt").read_text() == "bell 4.50 EUR\n"
    assert not (home / "shop/opening.txt").exists()
    assert not list((home / ".cache/helix/workspaces").glob("*/*"))


def test_each_way_a_cycle_may_end_is_seen(shown: tuple[str, Path]) -> None:  # S-10, S-15, S-23
    words = re.findall(r"→ ([A-Z]+) \(", shown[0])
    assert words == [
        *("COMPLETE", "COMPLETE", "FINDINGS", "COMPLETE"),
        *("COMPLETE", "DRIFTED", "RETRY", "BLOCKED"),
        *("COMPLETE", "COMPLETE"),
    ]


def test_the_run_asks_its_question_and_leaves_a_report(shown: tuple[str, Path]) -> None:  # S-27
    text, _ = shown
    assert "shall the opening hours stand in opening.txt or in opening.md?" in text
    assert "- blocked: a check failed for the last time: 2 attempts" in text
    assert "- found: high: It wrote opening.md, but opening.txt is asked for (opening.md:1)" in text
    assert "is open again: its acceptance was changed" in text


def test_it_begins_with_one_sentence_and_what_follows_from_it(shown: tuple[str, Path]) -> None:
    text, _ = shown  # I-6
    asked = text[text.index("$ helix input") :]
    filed = re.findall(r"^  shop-[0-9a-f]{8}  (.+?) +new ", asked, re.MULTILINE)
    assert filed == ["the request", "FEAT-001", "tests", "build"]


def test_the_epic_is_closed_and_reviewed(shown: tuple[str, Path]) -> None:  # S-11
    assert re.search(r"is closed: all its children are\n.* complete \(rc=0", shown[0])
    assert "queue     9 beads: 9 closed" in shown[0]


def test_exactly_one_claimant_wins(shown: tuple[str, Path]) -> None:  # T-10
    (codes,) = re.findall(r"^  exit codes: ([\d ]+)$", shown[0], re.MULTILINE)
    assert sorted(codes.split()) == ["0"] + ["5"] * 7


def test_the_way_on_can_be_typed_as_it_stands(shown: tuple[str, Path]) -> None:  # P-1
    text, home = shown
    (line,) = re.findall(r"^Look around: (.+)$", text, re.MULTILINE)
    typed = subprocess.run(
        ["sh", "-c", line],
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert (typed.returncode, typed.stderr) == (0, "")
    assert "beads landed" in typed.stdout


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    done = demo(tmp_path, folder)
    assert done.returncode == 1
    assert "not empty" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
