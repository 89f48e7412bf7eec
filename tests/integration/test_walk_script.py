"""`scripts/walk` counts the code that a command walks through, in a repository of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.tracker import ROOT


def walked(*words: str, code: int = 0) -> str:
    ended = subprocess.run(
        [ROOT / "scripts/walk", *words], capture_output=True, text=True, timeout=200, check=False
    )
    assert ended.returncode == code, ended.stderr
    return ended.stdout + ended.stderr


def test_a_walk_lists_the_files_of_ours_that_ran():
    first, counts, *files = walked("ready", "--list").splitlines()
    assert first == "ddx bead ready --json"
    assert counts.startswith(f"  files that ran {len(files)}, functions ")
    assert all(Path(ROOT, "src", file.strip()).is_file() for file in files)


def test_a_run_asks_one_agent_to_build_and_one_to_review():
    heads = [line for line in walked("run").splitlines() if line.endswith("hops to call_agent:")]
    assert len(heads) == 2


def test_an_unknown_walk_is_refused():
    assert "unknown walk away" in walked("away", code=2)
