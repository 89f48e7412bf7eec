"""Tests with nothing but this machine: no network, not even an address of one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.tracker import ROOT

ALONE = 'ip link set lo up && test -z "$(ip route)" && exec "$@"'
PROBE_S = 20
LIMIT_S = 180


def run_alone(test: str, *, within: Path) -> str:
    """What pytest prints of one test that passes without a network."""
    words = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={within}"]
    ended = subprocess.run(
        [*_require_isolation(), sys.executable, *words, test],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def _require_isolation() -> list[str]:
    """What to put before a command so that there is nothing but this machine for it."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed: Debian's util-linux has it")
    as_root = () if os.geteuid() == 0 else ("--map-root-user",)
    isolated = ["unshare", "--net", *as_root, "sh", "-c", ALONE, "sh"]
    probed = subprocess.run([*isolated, "true"], capture_output=True, text=True, timeout=PROBE_S)
    if probed.returncode:
        pytest.skip(f"a network of one's own is not permitted here: {probed.stderr.strip()}")
    return isolated
