"""A run that gets better at its repository: it fails, is fixed, remembers, is credited (M-8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.runs import task
from tests.support.stub_agents import RunScene, make_run_scene_with_reviewer

PARSER = "Parse dates of invoices with the timezone of the customer"
LATER = "Parse dates of receipts with the timezone of the customer"
FIXED_LATER = """\
if [ -e "$stage/once" ]; then echo ok > app-1.txt; else touch "$stage/once"; echo x > wrong.txt; fi
"""


def learned(tmp_path: Path, *rows: dict[str, Any], **settings: Any) -> RunScene:
    """A hall whose first bead failed its check once and then passed."""
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1", title=PARSER), *rows, **settings
    )
    hall.builds("app-1", FIXED_LATER)
    hall.drain("--no-auto-review")
    assert hall.statuses()["app-1"] == "closed"
    return hall


def files_another(hall: RunScene) -> str:
    """A bead of the same kind, as a person files it."""
    proof = "- `test -f later.txt` passes"
    return hall.ddx("create", LATER, "--acceptance", proof).id


def memories(hall: RunScene) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = hall.helix("memory", "list", "--json").json
    return found


def test_what_failed_and_was_fixed_is_remembered_shown_and_credited(tmp_path: Path) -> None:
    hall = learned(tmp_path, memory={"holdout": 0})  # M-8, M-10, D-18
    (lesson,) = memories(hall)
    assert lesson["type"] == "failure"
    assert "test -f app-1.txt" in lesson["trigger"] + lesson["resolution"]
    assert (lesson["helped"], lesson["failed"]) == (0, 0)
    later = files_another(hall)
    hall.builds(later, "echo ok > later.txt\n")
    hall.drain("--no-auto-review")
    prompt = hall.prompt("build")
    assert "FAILURES_TO_AVOID" in prompt
    assert lesson["name"] in prompt
    records = sorted((hall.folder / "executions").glob("*/manifest.json"))
    manifests = [json.loads(record.read_text()) for record in records]
    policies = [it["policy"] for it in manifests if it.get("policy")]
    assert [it["memories"] for it in policies] == [[], [], [lesson["name"]]]
    events = hall.ddx("events", later, "--json").json
    shown = [it for it in events if it["kind"] == "memories"]
    assert lesson["name"] in shown[0]["summary"]
    (credited,) = memories(hall)
    assert (credited["helped"], credited["failed"]) == (0.5, 0)
    assert credited["last_used"]
    value = hall.helix("memory", "value", "--json").json
    assert (value["injected"]["passed"], value["injected"]["total"]) == (1, 1)


def test_a_held_out_attempt_goes_without_and_credits_nobody(tmp_path: Path) -> None:  # M-9
    hall = learned(tmp_path, memory={"holdout": 1})
    later = files_another(hall)
    hall.builds(later, "echo ok > later.txt\n")
    hall.drain("--no-auto-review")
    assert "FAILURES_TO_AVOID" not in hall.prompt("build")
    (lesson,) = memories(hall)
    assert (lesson["helped"], lesson["failed"]) == (0, 0)
    value = hall.helix("memory", "value", "--json").json
    assert (value["injected"]["total"], value["held_out"]["total"]) == (0, 1)


def test_a_memory_that_cannot_be_opened_never_stops_a_run(tmp_path: Path) -> None:  # M-4
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    (hall.root / ".helix/helix.db").write_bytes(b"rubbish" * 999)
    told = hall.drain("--no-auto-review")
    assert hall.statuses() == {"app-1": "closed"}
    assert "no memories for" in told.err
