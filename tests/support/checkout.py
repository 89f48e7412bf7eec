"""A copy of our checkout around two stub commands, and a pretend uv on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SYSTEM_PATH = "/usr/bin:/bin"

STUB_COMMAND = """
import json, resource, sys

def main():
    # The launcher became this process: what it forked counts as this one's children.
    forked = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt > 0
    seen = {"argv": sys.argv[1:], "path": sys.path, "stdin": sys.stdin.read(), "forked": forked}
    print(json.dumps(seen))
    return 7
"""

STUB_PROGRAM = """
import sys

class PROGRAM:
    @staticmethod
    def start():
        from helix.cli.main import main

        sys.exit(main())
"""

PRETEND_UV = """#!/bin/sh
echo "$*" >>"$UV_CALLS"
if [ -n "$UV_KILLS_SET_UP" ]; then kill -9 "$PPID"; fi
"""


class Checkout:
    """A copy of our launchers around two stub commands that print what they were given."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / 'it\'s a "checkout" of $HOME'
        self.environment = self.root / ".venv"
        self.tools = folder / "tools"
        self.calls = folder / "uv-calls"
        self.home = folder / "home"
        self.calls.touch()
        for name in ("bin", "scripts", "lib"):
            shutil.copytree(ROOT / name, self.root / name, symlinks=True)
        shutil.copy(ROOT / "pyproject.toml", self.root)
        for package in ("ddx", "helix"):
            source = self.root / "src" / package
            (source / "cli").mkdir(parents=True)
            shutil.copy(ROOT / "src" / package / "__main__.py", source)
            (source / "cli" / "main.py").write_text(STUB_COMMAND)
            (source / "cli" / "registry.py").write_text(STUB_PROGRAM)
        console = self.root / "src" / "ddx" / "console"
        console.mkdir()
        (console / "__init__.py").write_text("import sys\n\nleave = sys.exit\n")
        self.tools.mkdir()
        (self.tools / "python3").symlink_to(Path(sys.executable).resolve())
        (self.tools / "uv").write_text(PRETEND_UV)
        (self.tools / "uv").chmod(0o755)

    def variables(self, **changes: str) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.tools}:{SYSTEM_PATH}",
            "UV_CALLS": str(self.calls),
            "UV_KILLS_SET_UP": "",
            **changes,
        }

    def start(self, *argv: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv or (self.root / "bin/ddx",),
            cwd=self.root,
            env=self.variables(**changes),
            input="typed",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def installs(self) -> list[str]:
        return self.calls.read_text().splitlines()

    def edit_pyproject(self, old: str, new: str) -> None:
        path = self.root / "pyproject.toml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        later = (self.environment / ".ready").stat().st_mtime + 5
        os.utime(path, (later, later))
