"""The plugin as clients get it: the files that git would hand on, and nothing of a developer's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.tracker import ROOT

LONG_AGO = (1, 1)


def copy_plugin(folder: Path) -> Path:
    """A copy of this checkout as a clone would be; tests and benchmarks are left out."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists() and not name.startswith(("tests/", "benchmarks/")):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    return folder


def lend_environment(checkout: Path) -> None:
    """Our own environment for that checkout: what sets one up has tests of its own."""
    environment = checkout / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").symlink_to((ROOT / ".venv/bin/python").resolve())
    (environment / "lib").symlink_to(ROOT / ".venv/lib")
    (environment / ".ready").touch()
    os.utime(checkout / "pyproject.toml", LONG_AGO)
