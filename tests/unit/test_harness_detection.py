"""Is an agent program installed, and does it answer (X-4, X-21)?"""

from __future__ import annotations

from pathlib import Path

import pytest

from ddx.agents.claude import Claude
from ddx.agents.codex import Codex
from ddx.agents.gemini import Gemini
from ddx.agents.harness import Harness
from ddx.agents.opencode import OpenCode
from ddx.agents.program import detect_program


def program(folder: Path, script: str) -> str:
    path = folder / "agent"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("2.1.325 (Claude Code)", "2.1.325"),
        ("codex-cli 0.166.0", "0.166.0"),
        ("0.61.0", "0.61.0"),
        ("agent v1.0", ""),
        ("agent 1.18.33-beta.1+x", "1.18.33-beta.1+x"),
    ],
)
def test_the_version_is_read_from_what_it_prints(tmp_path, answer, version):
    found = detect_program(program(tmp_path, f'echo "{answer}"'), package="agent")
    assert found.version == version
    assert found.ok == bool(version)


def test_it_is_asked_with_its_own_variables_and_nothing_else(tmp_path):
    script = 'test "$1" = --version && test $# = 1 && echo "1.2.$NUMBER"'
    found = detect_program(program(tmp_path, script), package="agent", env={"NUMBER": "3"})
    assert found.version == "1.2.3"


@pytest.mark.parametrize(
    ("harness", "package"),
    [
        (Claude("no-such-claude"), "@anthropic-ai/claude-code"),
        (Codex("no-such-codex"), "@openai/codex"),
        (Gemini("no-such-gemini"), "@google/gemini-cli"),
        (OpenCode("no-such-opencode"), "opencode-ai"),
    ],
)
def test_a_missing_program_says_how_to_install_it(harness: Harness, package: str):
    found = harness.detect()
    assert not found.ok
    assert found.problem == f"{found.program} is not installed: npm install -g {package}"


def test_an_installed_program_tells_what_it_can(tmp_path):
    found = Claude(program(tmp_path, "echo 2.1.325")).detect()
    assert found.ok
    assert {"schema", "max_turns", "read_only"} <= found.capabilities


def test_a_program_that_fails_says_why(tmp_path):
    found = detect_program(program(tmp_path, "echo no node here >&2; exit 3"), package="agent")
    assert found.problem.endswith("--version ended with 3: no node here")


def test_a_program_that_cannot_be_started_says_why(tmp_path):
    path = tmp_path / "agent"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)
    assert "cannot start" in detect_program(str(path), package="agent").problem


def test_a_program_that_does_not_answer_is_not_waited_for(tmp_path):
    found = detect_program(program(tmp_path, "sleep 60"), package="agent", timeout_s=0.3)
    assert found.problem.endswith("--version gave no answer within 0.3 s")
