"""Both programs from the outside: every command's table, and a real repository to run them in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TypeAlias

from tests.support.tracker import ONE_THREAD

import ddx.cli.registry
import helix.cli.registry
from ddx.console.command import Command

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "reference" / "schemas"

ALL_COMMANDS: dict[str, Command] = {
    f"{program} {path}": registry.PROGRAM.load(path)
    for program, registry in (("ddx", ddx.cli.registry), ("helix", helix.cli.registry))
    for path in registry.COMMANDS
}

Ended: TypeAlias = "subprocess.CompletedProcess[str]"


def command_of(line: list[str]) -> str:
    """The path of the command that a line begins with: `ddx bead dep add`."""
    for count in range(4, 0, -1):
        path = " ".join(line[:count])
        if path in ALL_COMMANDS:
            return path
    raise KeyError(" ".join(line))


class EmptyRepository:
    """A git repository of a person who has never used us, and our programs started in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "shop"
        self.home = folder / "home"
        self.root.mkdir(parents=True)
        self.home.mkdir()
        self.run("git", "init", "--quiet", "--initial-branch=main")
        self.run("git", "commit", "--quiet", "--allow-empty", "-m", "an empty shop")

    @property
    def variables(self) -> dict[str, str]:
        """Of a person called Ann; the cache is ours, since our own environment may stand there."""
        cache = os.environ.get("XDG_CACHE_HOME") or f"{os.environ.get('HOME', '')}/.cache"
        who = {"NAME": "Ann", "EMAIL": "ann@example.invalid"}
        return {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "LOGNAME": "ann",
            "PATH": os.environ["PATH"],
            "XDG_CACHE_HOME": cache,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            **ONE_THREAD,
            **{f"GIT_AUTHOR_{key}": text for key, text in who.items()},
            **{f"GIT_COMMITTER_{key}": text for key, text in who.items()},
        }

    def run(self, *line: str, stdin: str = "", **variables: str) -> Ended:
        """One command line to its end; `ddx` and `helix` are this checkout's."""
        return subprocess.run(
            self.argv(*line),
            cwd=self.root,
            env={**self.variables, **variables},
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    def argv(self, *line: str) -> list[str]:
        program = str(ROOT / "bin" / line[0]) if line[0] in ("ddx", "helix") else line[0]
        return [program, *line[1:]]
