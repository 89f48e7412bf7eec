"""Claims that nobody holds, runs that died, and a second run beside the first (S-18 to S-21)."""

# @requirement TC-405

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.attempts import CLEAN
from tests.support.runs import stopped, task
from tests.support.stub_agents import RunScene, make_run_scene_with_reviewer
from tests.support.tracker import Row, wait_for

from ddx.base.process import started_at

HERE = os.uname().nodename
LONG_AGO, NO_PID = "2025-11-01T10:00:00Z", 999_999_999
HOLDS = 'while [ ! -e "$stage/go" ]; do sleep 0.05; done\necho x > app-1.txt\n'


def claimed(name: str, at: str, *, pid: int = NO_PID, start: str = "1", machine: str = HERE) -> Row:
    return task(
        f"app-{name}",
        **{
            "status": "in_progress",
            "owner": "helix",
            "claim-id": f"ticket-{name}",
            "claimed-at": at,
            "claimed-pid": pid,
            "claimed-pid-start": start,
            "claimed-machine": machine,
        },
    )


def test_only_claims_that_are_old_and_whose_holder_is_gone_are_released(tmp_path: Path) -> None:
    us = os.getpid()  # S-18
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    rows = [
        claimed("young", now),
        claimed("old", LONG_AGO),
        claimed("alive", LONG_AGO, pid=us, start=started_at(us)),
        claimed("reused", LONG_AGO, pid=us, start="1"),
        claimed("away-young", now, machine="elsewhere"),
        claimed("away-old", LONG_AGO, machine="elsewhere"),
        claimed("mara", LONG_AGO) | {"owner": "mara"},
    ]
    hall = make_run_scene_with_reviewer(tmp_path / "w", *rows)
    done = hall.drain("--no-auto-review")
    found = {row["bead"]: row["released"] for row in hall.journal("claim")}
    assert found == {
        "app-young": False,
        "app-old": True,
        "app-alive": False,
        "app-reused": True,
        "app-away-young": False,
        "app-away-old": True,
    }
    for bead_id in found:
        assert done.err.count(f"the claim on {bead_id} ") == 1
    built = {call.split()[1] for call in hall.calls("build")}
    assert built == {bead_id for bead_id, released in found.items() if released}
    left = {bead_id: row["claim-id"] for bead_id, row in hall.rows().items() if "claim-id" in row}
    assert left == {
        f"app-{name}": f"ticket-{name}" for name in ("young", "alive", "away-young", "mara")
    }


def test_a_second_run_is_refused_then_the_first_is_killed_and_the_next_goes_on(
    tmp_path: Path,
) -> None:  # S-18, S-20, S-25, X-19
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    hall.builds("app-1", HOLDS)
    first = hall.launch()
    hall.await_call("build app-1")
    wait_for(lambda: "agent-usage" in _told(hall) and bool(hall.state["current_attempt"]))
    with stopped(first):
        before = hall.everything()
        refused, refused_s = timed(lambda: hall.drain(code=2))
        assert hall.everything() == before
    assert f"pid {first.pid}" in refused.err
    told, told_s = timed(lambda: hall.helix("status", "--json").json)
    assert told["run"]["state"] == "running"
    assert refused_s < 5 * max(told_s, 1)  # a second, on a machine that has nothing else to do
    first.send_signal(signal.SIGKILL)
    first.communicate()
    told = hall.helix("status", "--json").json
    assert (told["run"]["state"], told["run"]["current_bead"]) == ("died", "app-1")
    (hall.stage / "go").touch()
    hall.drain()
    assert hall.helix("status", "--json").json["run"]["state"] == "ended"
    assert hall.statuses() == {"app-1": "closed"}
    assert hall.leftover() == CLEAN


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began_s = time.monotonic()
    return call(), time.monotonic() - began_s


def _told(hall: RunScene) -> str:
    """What the only attempt has told of itself so far."""
    return "".join(path.read_text() for path in hall.folder.glob("executions/*/events.jsonl"))


def test_a_review_that_a_killed_run_owed_is_done_first(tmp_path: Path) -> None:  # S-17
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))
    hall.plays("review", "sleep 30", "echo REVIEW_STATUS: CLEAN\necho ISSUES_COUNT: 0")
    run = hall.launch()
    wait_for(lambda: "review" in hall.calls())
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert hall.statuses() == {"app-1": "closed", "app-2": "open"}
    hall.drain()
    assert hall.calls()[2:4] == ["review", "build app-2"]
    assert set(hall.statuses().values()) == {"closed"}
    assert hall.leftover() == CLEAN


def test_a_promised_review_that_nobody_can_make_any_more_is_said_once(tmp_path: Path) -> None:
    pruned, landed_late = "20260101T000000-aaaaaa", "20260101T000000-bbbbbb"  # S-17, C-9
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"))
    notes = hall.folder / "state" / "reviews"
    notes.mkdir(parents=True)
    for attempt in (pruned, landed_late):
        (notes / attempt).write_text("\n")
    record = hall.folder / "executions" / "20260102T000000-cccccc"
    record.mkdir(parents=True)
    result = {"status": "success", "outcome": "landed", "completed": True, "lands": landed_late}
    (record / "intent.json").write_text("{}")
    (record / "result.json").write_text(json.dumps(result))
    said = hall.drain("--max-cycles", "1").err
    for attempt in (pruned, landed_late):
        assert said.count(f"attempt {attempt} was to be reviewed, and cannot be: ") == 1
    assert [row["attempt"] for row in hall.journal("review")[:2]] == [pruned, landed_late]
    assert hall.statuses() == {"app-1": "closed"}  # neither of them is the cycle that was asked for
    assert hall.state["completed_cycles"] == 1
    assert list(notes.iterdir()) == []
    assert "to be reviewed" not in hall.drain().err


def test_a_run_that_cannot_even_begin_its_attempt_owes_no_review(tmp_path: Path) -> None:  # S-17
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"))
    hall.git("checkout", "--quiet", "--detach")
    assert "is on no branch" in hall.drain(code=2).err
    hall.git("checkout", "--quiet", "main")
    assert "to be reviewed" not in hall.drain().err
    assert hall.statuses() == {"app-1": "closed"}


def test_a_review_whose_commits_are_gone_does_not_hold_up_every_run(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))  # S-17
    hall.answers("review", "I cannot say", "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0")
    hall.drain(code=4)
    hall.git("reset", "--quiet", "--hard", "HEAD~1")  # the operator wants none of it
    hall.git("reflog", "expire", "--expire=now", "--all")
    hall.git("gc", "--quiet", "--prune=now")
    assert "cannot be: git no longer has" in hall.drain().err
    assert set(hall.statuses().values()) == {"closed"}  # the tracker was reset as well
