"""docs/reference/python-api.md: its program runs as it stands, and every name is at its door."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/python-api.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DOORS = re.compile(r"^### (ddx\.\w+)\n(.*?)(?=^### |\Z)", re.DOTALL | re.MULTILINE)
NOT_AN_API = {"console", "cli"}
DOCUMENTS = {
    "docs/helix/01-frame/prd.md": "# Shop\n",
    "docs/helix/02-design/technical-designs/TD-001-basket.md": (
        "---\nddx:\n  depends_on: [prd]\n---\n# Basket\n"
    ),
}


def block(language: str) -> str:
    """The one block of the page in that language."""
    (found,) = [text for name, text in BLOCK.findall(PAGE) if name == language]
    return found


def shown_at(door: str) -> set[str]:
    """What a room's `__init__` lists for a type checker; it is read, not imported."""
    source = (ROOT / "src" / door.replace(".", "/") / "__init__.py").read_text(encoding="utf-8")
    return {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{door}.")
        for alias in node.names
    }


def names_on_the_page() -> dict[str, list[str]]:
    """The names in the first column of each door's table."""
    return {
        door: [
            name
            for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
            for name in re.findall(r"`(\w+)`", row)
        ]
        for door, text in DOORS.findall(PAGE)
    }


def test_the_program_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    home, shop = tmp_path / "home", tmp_path / "shop"
    home.mkdir()
    for name, text in DOCUMENTS.items():
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(text)
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "src"),
    }

    def run(*line: str) -> str:
        done = subprocess.run(
            line, cwd=shop, env=environment, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done
        return done.stdout

    run("git", "init", "--quiet")
    run(sys.executable, "-m", "ddx", "bead", "init")
    assert run(sys.executable, "-c", block("python")) == block("text")


@pytest.mark.parametrize(("door", "names"), names_on_the_page().items())
def test_every_name_of_the_page_is_at_its_door(door: str, names: list[str]) -> None:
    assert names
    assert set(names) - shown_at(door) == set()


def test_every_room_of_ddx_is_on_the_page() -> None:
    rooms = {path.parent.name for path in (ROOT / "src/ddx").glob("*/__init__.py")} - NOT_AN_API
    assert {f"ddx.{room}" for room in rooms} == set(names_on_the_page())
