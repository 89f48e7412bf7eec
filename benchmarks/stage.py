"""Where a benchmark runs, and what its reader should know of that place."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from measure import CommandFailed, answer_of
from workload import REPOSITORY, Scratch


def open_scratch(folder: Path) -> Scratch:
    """A home of its own, so that nothing of the person's settings is measured."""
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@example.org\n")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "BEADS_NO_DAEMON": "1",  # bd's daemon would outlive us
    }
    return Scratch(folder, env)


def sizes_from(smallest: int) -> Callable[[str], tuple[int, ...]]:
    """Reads `1000,10000`; a size below `smallest` would measure nothing."""

    def read(text: str) -> tuple[int, ...]:
        sizes = tuple(sorted({int(word) for word in text.split(",")}))
        if sizes[0] < smallest:
            raise argparse.ArgumentTypeError(f"the smallest size is {smallest}")
        return sizes

    return read


def facts(scratch: Scratch, rounds: dict[int, int]) -> dict[str, str]:
    """The machine, the commit, and how often each size was run."""
    try:
        asked = ("git", "rev-parse", "HEAD")
        commit = answer_of(asked, cwd=REPOSITORY, env=scratch.env).decode().strip()
    except CommandFailed:
        commit = "none"
    return {
        "measured at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "commit": commit,
        "rounds": ", ".join(f"{count} at {size:,}" for size, count in rounds.items()),
    }
