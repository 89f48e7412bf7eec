"""docs/explanation/one-bead-through-the-code.md names files and functions that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/one-bead-through-the-code.md").read_text(encoding="utf-8")
FILE = re.compile(r"`(src/[\w./]+)`")
ROW = re.compile(r"^\| [^|]+ \| `(src/\S+\.py)` \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
STEPS = [
    (path, name) for path, names in ROW.findall(PAGE) for name in re.findall(r"`([\w.]+)`", names)
]


@cache
def defined_in(path: str) -> set[str]:
    """Functions and classes of a module, and methods as `Class.method`; the file is only read."""
    found: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (it for it in node.body if isinstance(it, ast.FunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
    return found


@pytest.mark.parametrize(("path", "name"), STEPS, ids=lambda part: part.removeprefix("src/"))
def test_every_function_of_the_walk_is_in_the_file_that_the_page_names(path, name):
    assert name in defined_in(path), f"{path} has no {name}"


def test_every_row_names_a_file_and_a_function():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    heads = [line for line in rows if line.startswith("| step |")]
    assert heads and len(rows) == len(heads) + len(ROW.findall(PAGE))
    assert all(re.search(r"`[\w.]+`", names) for _, names in ROW.findall(PAGE))


def test_every_path_of_the_page_exists():
    for path in FILE.findall(PAGE):
        assert (ROOT / path).exists(), f"{path} does not exist"


@pytest.mark.parametrize("command", ["ddx bead ready", "helix input", "helix run"])
def test_each_command_has_its_walk(command):
    assert f"\n## {command}\n" in PAGE
