"""What the plugin is made of besides its skills is of today: agents, icon, programs (P-3, P-4)."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
import yaml
from scripts.agent_pages import AGENTS, MODELS, pages
from scripts.make_icon import ICON, SIDE, colour_at
from tests.support.front_door import ROOT

from helix.objective.agents import NAMES, AgentContract

EVERY = 37
"""Pixels between two that are compared."""


@pytest.mark.parametrize("name", pages())
def test_a_page_says_what_the_contract_says(name: str) -> None:  # P-4
    assert (AGENTS / name).read_text("utf-8") == pages()[name], "run scripts/agent-pages"


def test_there_is_a_page_for_each_contract_and_for_no_other() -> None:
    assert {path.name for path in AGENTS.glob("*.md")} == {f"helix-{name}.md" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_client_can_read_its_head(name: str) -> None:  # O-7
    page = (AGENTS / f"helix-{name}.md").read_text("utf-8")
    head = yaml.safe_load(page.split("---\n")[1])
    contract = AgentContract(name)
    assert head["name"] == f"helix-{name}"
    assert head["description"] == contract.description
    assert head["model"] == MODELS[contract.model]
    may_write = {"Edit", "Write"} & set(head["tools"].split(", "))
    assert bool(may_write) == (name == "builder")


def test_the_icon_is_what_the_script_draws() -> None:
    width, height, lines = decoded(ICON)
    assert (width, height) == (SIDE, SIDE)
    for y in range(EVERY, SIDE, EVERY):
        for x in range(EVERY, SIDE, EVERY):
            drawn = tuple(map(round, colour_at(x + 0.5 - SIDE / 2, y + 0.5 - SIDE / 2)))
            assert tuple(lines[y][4 * x : 4 * x + 3]) == drawn


def decoded(png: Path) -> tuple[int, int, list[bytes]]:
    """Of a PNG in one piece whose lines are stored as they are."""
    content = png.read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", content[16:26])
    assert (depth, kind) == (8, 6)
    start = content.index(b"IDAT")
    size = int.from_bytes(content[start - 4 : start], "big")
    pixels = zlib.decompress(content[start + 4 : start + 4 + size])
    step = 4 * width + 1
    return width, height, [pixels[n * step + 1 : (n + 1) * step] for n in range(height)]


@pytest.mark.parametrize("path", ["bin/helix", "bin/ddx", "scripts/helix", "hooks/run"])
def test_what_the_plugin_starts_can_be_started(path: str) -> None:  # P-3
    assert os.access(ROOT / path, os.X_OK)


def test_both_names_of_the_launcher_are_the_same_program() -> None:  # P-3
    shown = [
        subprocess.run([ROOT / name, "--version"], capture_output=True, text=True, timeout=60)
        for name in ("bin/helix", "scripts/helix")
    ]
    assert shown[0].stdout == shown[1].stdout != ""


def test_the_plugin_starts_its_own_server() -> None:  # P-7
    manifest = json.loads((ROOT / ".claude-plugin/plugin.json").read_text("utf-8"))
    server = manifest["mcpServers"]["helix"]
    assert server == {"command": "${CLAUDE_PLUGIN_ROOT}/bin/helix", "args": ["mcp"]}
