"""A person with an empty home, a foreign repository, and the two programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.tracker import ONE_THREAD

ROOT = Path(__file__).resolve().parents[2]


class Person:
    """Commands as this person types them; nothing of ours reaches their home but by them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.root = folder / "shop"
        self.home.mkdir()
        self.root.mkdir()
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
        )
        self.more: dict[str, str] = {}

    def types(
        self, *argv: str, code: int | None = 0, stdin: str = "", cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        variables = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
            "GIT_CONFIG_NOSYSTEM": "1",
            **ONE_THREAD,
            **self.more,
        }
        done = subprocess.run(
            argv,
            cwd=cwd or self.root,
            env=variables,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert code is None or done.returncode == code, (done.args, done.stdout, done.stderr)
        return done

    def helix(self, *words: str, code: int | None = 0, **more: Any) -> str:
        return self.types(sys.executable, "-m", "helix", *words, code=code, **more).stdout

    def ddx(self, *words: str, code: int | None = 0) -> str:
        return self.types(sys.executable, "-m", "ddx", *words, code=code).stdout

    def git(self, *words: str) -> str:
        return self.types("git", *words).stdout

    def begins_a_repository(self) -> None:
        self.git("init", "-q")
        (self.root / "README.md").write_text("# A shop\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "begin")

    def findings(self, *words: str) -> dict[str, dict[str, Any]]:
        """What `helix doctor` says, the last word of each name."""
        done = self.types(sys.executable, "-m", "helix", "doctor", *words, "--json", code=None)
        assert done.returncode in (0, 1), done.stderr
        return {it["name"]: it for it in json.loads(done.stdout)["findings"]}

    def everything(self) -> dict[str, bytes]:
        """Every file of the repository but git's own and what is only kept for speed."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {".git", "cache", "state"} & set(path.parts)
        }
