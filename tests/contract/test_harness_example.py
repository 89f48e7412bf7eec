"""The harness that docs/how-to/write-a-harness.md shows works as it stands (X-4)."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.attempts import CLEAN, Workshop, greeting, make_workshop

from ddx.agents.harness import AgentEvent, CallEnd, Harness, ProcessExit, StopCause
from ddx.agents.registry import Harnesses
from ddx.project.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/write-a-harness.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

SCRIBE = """#!/bin/sh
test "$1" = --json || exit 2
cat > "$DDX_EVIDENCE_DIR/prompt"
echo hello > hello.txt
echo '{"say": "done"}'
echo 'no JSON'
echo '{"done": true, "in": 100, "out": 20}'
"""


def block(language: str) -> str:
    """The one block of the page in that language."""
    (found,) = [text for name, text in BLOCK.findall(PAGE) if name == language]
    return found


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The page's package as an installer would leave it."""
    folder = tmp_path / "site-packages"
    about = folder / "scribe_harness-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "scribe_harness.py").write_text(block("python"))
    ((group, names),) = tomllib.loads(block("toml"))["project"]["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {target}" for name, target in names.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: scribe-harness\nVersion: 1.0\n")
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "scribe").write_text(SCRIBE)
    (folder / "scribe").chmod(0o755)
    return folder


@pytest.fixture
def scribe(package: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    monkeypatch.syspath_prepend(str(package))
    return Harnesses(Settings({}, {})).find("scribe")


def ddx(workshop: Workshop, package: Path, programs: Path, *words: str, code: int = 0) -> Any:
    """`ddx agent WORDS --json`, with the package and the program installed."""
    return workshop.run(
        *(sys.executable, "-m", "ddx", "agent", *words, "--json"),
        code=code,
        PYTHONPATH=os.pathsep.join((str(package), str(ROOT / "src"))),
        PATH=os.pathsep.join((str(programs), os.environ["PATH"])),
    ).json


def test_the_package_of_the_page_brings_a_harness_that_lands_work(
    tmp_path: Path, package: Path, programs: Path
) -> None:
    workshop = make_workshop(tmp_path / "w", greeting(script=""))
    listed = {row["name"]: row for row in ddx(workshop, package, programs, "list")}
    assert listed["scribe"]["usable"]
    done = ddx(workshop, package, programs, "execute-loop", "--once", "--harness", "scribe")
    (outcome,) = done["outcomes"]
    assert (outcome["outcome"], outcome["status"]) == ("landed", "success")
    assert (outcome["usage"]["input"], outcome["usage"]["output"]) == (100, 20)
    assert outcome["reply"]["text"] == "done"
    evidence = workshop.folder / "executions" / outcome["attempt"] / "evidence/prompt"
    assert "Do app-1" in evidence.read_text()
    assert workshop.leftover() == CLEAN


def test_the_group_of_entry_points_is_the_one_that_other_packages_know() -> None:
    assert list(tomllib.loads(block("toml"))["project"]["entry-points"]) == ["ddx.harnesses"]


def heard(harness: Harness, *lines: str) -> list[AgentEvent]:
    return [event for line in lines for event in harness.parse(line)]


@pytest.mark.parametrize(
    ("exit", "lines", "end"),
    [
        (ProcessExit(0), ['{"say": "all done"}'], CallEnd.CRASHED),
        (ProcessExit(1), ['{"done": true, "in": 1, "out": 1}'], CallEnd.CRASHED),
        (ProcessExit(0), ['{"done": true, "in": 1, "out": 1}'], CallEnd.COMPLETED),
        (
            ProcessExit(-9, StopCause.AFTER_RESULT),
            ['{"done": true, "in": 1, "out": 1}'],
            CallEnd.COMPLETED,
        ),
        (
            ProcessExit(0, StopCause.TIMED_OUT),
            ['{"done": true, "in": 1, "out": 1}'],
            CallEnd.TIMED_OUT,
        ),
        (ProcessExit(0), ['{"limit_until": "2999-01-01T00:00:00Z"}'], CallEnd.RATE_LIMITED),
        (ProcessExit(0), ["[" * 100_000, "[]", '{"done": 1}'], CallEnd.CRASHED),
    ],
)
def test_it_keeps_the_rules_that_the_page_names(
    scribe: Harness, exit: ProcessExit, lines: list[str], end: CallEnd
) -> None:
    assert scribe.finish(exit, heard(scribe, *lines)).end is end
