"""Hooks as the client starts them: one line, a record, and never a failed tool call (O-11, P-8)."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.front_door import ROOT, Person

RUN = ROOT / "hooks/run"


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.begins_a_repository()
    person.ddx("bead", "init")
    return person


def call(
    ada: Person, hook: str, event: Any = None, *, raw: str | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    told = json.dumps({"cwd": str(ada.root), **(event or {})}) if raw is None else raw
    variables = {"HOME": str(ada.home), "PATH": os.environ["PATH"], **more}
    return subprocess.run(
        [str(RUN), hook],
        input=told,
        cwd=ada.root,
        env={"CLAUDE_PLUGIN_ROOT": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def edit(path: str) -> dict[str, Any]:
    return {"tool_name": "Edit", "session_id": "s-1", "tool_input": {"file_path": path}}


def operations(ada: Person) -> list[dict[str, Any]]:
    record = ada.root / ".helix/operations.jsonl"
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def test_a_session_begins_with_one_line_and_a_way_back_to_the_plugin(ada, tmp_path):  # O-11, P-8
    script = tmp_path / "env.sh"
    done = call(ada, "session-start", CLAUDE_ENV_FILE=str(script))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "HELIX: 0 memories; what needs a person: helix status\n"
    assert (ada.root / ".helix/plugin_root").read_text() == f"{ROOT}\n"
    told = ada.types(
        "sh", "-c", f'. {script}; echo "$HELIX_PLUGIN_ROOT|$HELIX_DB_PATH"'
    ).stdout.strip()
    assert told == f"{ROOT}|{ada.root}/.helix/helix.db"
    assert (ada.root / ".helix/helix.db").exists()


def test_an_edit_is_recorded_and_nothing_is_said(ada):  # O-11
    done = call(ada, "pre-tool-use", edit("src/a.py"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    row = operations(ada)[0]
    assert (row["tool"], row["path"], row["session"]) == ("Edit", "src/a.py", "s-1")


def test_a_broken_database_is_told_and_fails_nothing(ada):  # O-11
    (ada.root / ".helix").mkdir()
    (ada.root / ".helix/helix.db").write_bytes(b"this is no database" * 400)
    done = call(ada, "session-start")
    assert done.returncode == 0
    assert done.stdout.startswith("HELIX: the memory cannot be used (")
    assert done.stdout.count("\n") == 1
    assert call(ada, "pre-tool-use", edit("a.py")).returncode == 0
    assert len(operations(ada)) == 1


def test_a_database_that_somebody_holds_does_not_hold_the_session(ada):  # O-11
    call(ada, "session-start")
    with sqlite3.connect(ada.root / ".helix/helix.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        done = call(ada, "session-start")
    assert (done.returncode, done.stdout[:6]) == (0, "HELIX:")


@pytest.mark.parametrize(
    "raw", ["", "no JSON", "[1, 2]", '{"cwd": 7, "tool_input": []}', "{" * 9999]
)
@pytest.mark.parametrize("hook", ["session-start", "pre-tool-use", "dance"])
def test_whatever_is_told_the_tool_call_goes_on(ada, hook, raw):  # O-11
    done = call(ada, hook, raw=raw)
    assert done.returncode == 0
    assert not done.stdout.startswith("{")
    assert "Traceback" not in done.stderr


def test_where_helix_was_never_set_up_nothing_is_made(tmp_path):
    person = Person(tmp_path)
    person.begins_a_repository()
    for hook in ("session-start", "pre-tool-use"):
        done = call(person, hook, edit("a.py"))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (person.root / ".helix").exists()


def test_inside_an_attempt_the_record_is_the_attempts_own(ada):
    call(ada, "pre-tool-use", edit("a.py"), DDX_ATTEMPT_ID="20260101-000000-abcdef")
    assert operations(ada) == []


def test_the_record_does_not_grow_without_bound(ada):  # C-9
    record = ada.root / ".helix/operations.jsonl"
    record.parent.mkdir()
    record.write_bytes(b'{"at":"long ago"}\n' * 70_000)
    call(ada, "pre-tool-use", edit("a.py"))
    assert len(operations(ada)) == 1
    assert (ada.root / ".helix/operations.jsonl.1").stat().st_size > 1 << 20


def test_without_a_python_of_ours_it_says_so_and_ends_well(ada, tmp_path):
    plugin = tmp_path / "plugin"
    (plugin / "hooks").mkdir(parents=True)
    done = call(ada, "pre-tool-use", CLAUDE_PLUGIN_ROOT=str(plugin), PATH=str(tmp_path))
    assert done.returncode == 0
    assert "no Python 3.11" in done.stderr
