"""Around a run, from a second terminal: see it, stop it, pause it, and what it leaves."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from tests.support.attempts import Workshop, greeting, make_workshop, writes
from tests.support.tracker import ROOT, Done, wait_for

HELIX = str(ROOT / "bin/helix")
SCHEMAS = ROOT / "docs/reference/schemas"
RUN = ("--agent", "script", "--no-auto-review")
SLOW = "sleep 600\n"
QUICK = {path.stem: json.loads(path.read_text("utf-8")) for path in SCHEMAS.glob("*.json")}


def helix(shop: Workshop, *words: str, code: int | None = 0, **variables: str) -> Done:
    return shop.run(HELIX, *words, code=code, **variables)


def answer(shop: Workshop, schema: str, *words: str) -> Any:
    """The --json answer, which must fit its schema."""
    found = helix(shop, *words, "--json").json
    registry: Registry[Any] = Registry().with_resources(
        (f"{name}.json", Resource.from_contents(text)) for name, text in QUICK.items()
    )
    Draft202012Validator(QUICK[schema], registry=registry).validate(found)
    return found


def status(shop: Workshop) -> Any:
    return answer(shop, "helix-status", "status")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    found = make_workshop(tmp_path, greeting("app-1"), writes("app-2", "b.txt", priority=3))
    yield found
    end_run(found)


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Workshop]:
    """One whose first bead keeps its agent busy."""
    rows = (greeting("app-1", script=SLOW, priority=0), writes("app-2", "b.txt", priority=3))
    found = make_workshop(tmp_path, *rows)
    yield found
    end_run(found)


def end_run(shop: Workshop) -> None:
    """Nothing that a test has started outlives it."""
    path = shop.folder / "run-state.json"
    pid = json.loads(path.read_text())["pid"] if path.exists() else 0
    if pid and shop.run(HELIX, "stop", "--now", code=None).code:
        os.kill(pid, signal.SIGKILL)


def start(shop: Workshop, *words: str) -> int:
    """The pid of a run in the background whose agent is at work."""
    helix(shop, "start", *RUN, *words)
    wait_for(lambda: bool(status(shop)["run"]["current_attempt"]))
    wait_for(lambda: bool(shop.marked()))
    pid: int = status(shop)["run"]["pid"]
    return pid


def test_before_during_and_after_a_run(busy: Workshop):  # S-25
    assert status(busy)["run"] is None
    pid = start(busy)
    found = status(busy)
    assert found["run"]["state"] == "running"
    assert found["run"]["phase"] == "building"
    assert found["run"]["current_bead"] == "app-1"
    assert found["run"]["attempts"][0]["beads"] == ["app-1"]
    assert found["decisions"][0]["action"] == "build"
    assert found["attempts"][0]["outcome"] == "running"
    assert [claim["id"] for claim in found["claims"]] == ["app-1"]
    assert found["needs"] == []
    said = helix(busy, "status").out
    assert "building app-1" in said
    assert f"pid {pid}" in said
    ended = helix(busy, "stop", "--now")
    assert "has stopped" in ended.out
    assert busy.marked() == []
    after = status(busy)
    assert after["run"]["state"] == "ended"
    assert after["claims"] == []  # S-19
    assert after["attempts"][0]["outcome"] != "running"


def test_a_second_start_names_the_first(busy: Workshop):  # S-20
    pid = start(busy)
    refused = helix(busy, "start", *RUN, code=2)
    assert str(pid) in refused.err
    assert status(busy)["run"]["pid"] == pid


def test_start_says_why_a_run_did_not_begin(shop: Workshop):
    failed = helix(shop, "start", "--agent", "no-such-agent", code=None)
    assert failed.code == helix(shop, "run", "--agent", "no-such-agent", code=None).code != 0
    assert "no-such-agent" in failed.err
    assert "Traceback" not in failed.err


def test_start_where_no_run_can_be_leaves_nothing_behind(shop: Workshop, tmp_path: Path):
    bare = tmp_path / "bare"
    bare.mkdir()
    shop.git("init", "--quiet", cwd=bare)
    refused = shop.run(HELIX, "start", code=1, cwd=bare)
    assert "helix init" in refused.err
    assert [path.name for path in bare.iterdir()] == [".git"]


def test_a_run_that_is_short_is_over_and_its_log_is_there(shop: Workshop):
    helix(shop, "start", *RUN, "--max-cycles", "1")
    wait_for(lambda: status(shop)["run"]["state"] == "ended")
    log = helix(shop, "logs", "-f").out
    assert "app-1" in log
    assert "landed" in log
    assert Path(helix(shop, "logs", "--path").out.strip()).read_text().strip() == log.strip()


def test_stop_is_heard_at_the_next_boundary(busy: Workshop):  # S-26
    start(busy)
    asked = helix(busy, "stop", "--wait", "0")
    assert "next boundary" in asked.out
    assert status(busy)["run"]["asked"] == ["stop"]
    assert busy.marked()  # the agent goes on to its end


def test_pause_holds_the_next_cycle_and_resume_lets_it_go(tmp_path: Path):  # S-26
    hold = tmp_path / "hold"
    script = f"sh while [ -e {hold} ]; do sleep 0.1; done\nwrite hello.txt hello\n"
    hold.touch()
    rows = (greeting("app-1", script=script, priority=0), writes("app-2", "b.txt", priority=3))
    shop = make_workshop(tmp_path / "shop", *rows)
    try:
        start(shop, "--max-cycles", "2")
        assert "helix resume" in helix(shop, "pause").out
        assert status(shop)["needs"][0]["next"] == "helix resume"
        hold.unlink()
        wait_for(lambda: status(shop)["run"]["phase"] == "paused")
        assert status(shop)["run"]["completed_cycles"] == 1
        assert "goes on" in helix(shop, "resume").out
        wait_for(lambda: status(shop)["run"]["state"] == "ended")
        assert status(shop)["run"]["completed_cycles"] == 2
    finally:
        hold.unlink(missing_ok=True)
        end_run(shop)


def test_without_a_run_there_is_nothing_to_control(shop: Workshop):
    assert "no run is active" in helix(shop, "stop").out
    for word in ("pause", "resume"):
        refused = helix(shop, word, code=1)
        assert "helix start" in refused.err
    assert not (shop.folder / "run-state.json").exists()


def test_an_agent_cannot_control_the_run_that_started_it(shop: Workshop):
    inside = {"DDX_ATTEMPT_ID": "a1", "DDX_PROJECT_ROOT": str(shop.root)}
    for word in ("start", "stop", "pause", "resume", "recover"):
        assert "inside attempt a1" in helix(shop, word, code=1, **inside).err


def test_after_kill_9_it_is_named_as_dead_and_recovered(busy: Workshop):  # S-18, S-25, X-19
    pid = start(busy)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: status(busy)["run"]["state"] == "died")
    found = status(busy)
    assert "helix recover" in found["needs"][0]["next"]
    assert found["claims"][0]["is_orphaned"]
    assert found["attempts"][0]["outcome"] == "died"
    done = answer(busy, "helix-recovered", "recover")
    assert [one["beads"] for one in done["attempts"]] == [["app-1"]]
    assert busy.marked() == []
    assert status(busy)["claims"] == []
    assert "nothing to recover" in helix(busy, "recover").out


def test_recover_releases_what_is_named_and_leaves_what_is_alive(shop: Workshop):  # S-18
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    claim = {"status": "in_progress", "owner": "helix", "claim-id": "c", "claimed-at": now}
    here = os.uname().nodename
    shop.file_beads(
        greeting("gone", **claim, **{"claimed-pid": str(2**22 + 1), "claimed-machine": here}),
        greeting("live", **claim, **{"claimed-pid": str(os.getpid()), "claimed-machine": here}),
        greeting("away", **claim, **{"claimed-pid": "1", "claimed-machine": "elsewhere"}),
        greeting("mine", **{**claim, "owner": "mara"}),
    )
    for bead_id, said in {"live": "is alive", "mine": "no runner holds it"}.items():
        assert f"the claim on {bead_id} is left: " in (out := helix(shop, "recover", bead_id).out)
        assert said in out
    assert len(status(shop)["claims"]) == 4
    assert "'nope'" in helix(shop, "recover", "nope", code=1).err
    done = answer(shop, "helix-recovered", "recover")["claims"]
    assert {one["bead"] for one in done if one["released"]} == {"gone"}
    assert "released" in helix(shop, "recover", "away").out  # by a person's own request
    assert [claim["id"] for claim in status(shop)["claims"]] == ["live", "mine"]


def test_next_and_explain_agree_and_change_nothing(shop: Workshop):  # S-4
    before = shop.file.read_bytes()
    decided = answer(shop, "helix-next", "next")
    assert (decided["decision"]["action"], decided["decision"]["target"]) == ("build", "app-1")
    assert "app-1  Do app-1" in helix(shop, "next").out
    first = answer(shop, "helix-explain", "explain", "app-1")
    assert (first["is_next"], first["reasons"]) == (True, [])
    second = answer(shop, "helix-explain", "explain", "app-2")
    assert [reason["kind"] for reason in second["reasons"]] == ["queue-order"]
    assert "app-1" in second["reasons"][0]["reason"]
    assert "'nope'" in helix(shop, "explain", "nope", code=1).err
    assert shop.file.read_bytes() == before
    assert not (shop.folder / "run-state.json").exists()
    assert not (shop.folder / "executions").exists()


def test_explain_knows_what_the_run_has_against_a_bead(busy: Workshop):
    busy.file_beads(
        {"id": "epic", "title": "Epic", "issue_type": "epic"},
        greeting("app-1", parent="epic", script=SLOW),
        greeting("app-3", parent="epic", priority=4),
        writes("app-2", "b.txt", priority=0),
        greeting("app-4", **{"dep-on": "x"}),
    )
    busy.ddx("update", "app-2", "--set", "retry-after=2099-01-01T00:00:00Z")
    cooling = answer(busy, "helix-explain", "explain", "app-2")["reasons"]
    assert cooling[0]["kind"] == "retry-cooldown"
    assert "2099-01-01" in cooling[0]["cure"]
    start(busy)
    busy.ddx("update", "app-2", "--set", "retry-after=")
    found = answer(busy, "helix-explain", "explain", "app-2")
    assert found["run_active"]
    assert "focus" in [reason["kind"] for reason in found["reasons"]]


def test_cost_and_diff_come_from_the_records(shop: Workshop):
    helix(shop, "run", *RUN, "--max-cycles", "2")
    by_bead = answer(shop, "helix-cost", "cost")
    assert [row["key"] for row in by_bead["rows"]] == ["app-1", "app-2"]
    assert by_bead["total"]["cost_usd"] == pytest.approx(0.01)
    assert by_bead["total"]["tokens"] == 120
    days = [row["key"] for row in answer(shop, "helix-cost", "cost", "--by", "day")["rows"]]
    assert {day.replace("-", "") for day in days} == {name[:8] for name in shop.attempts()}
    assert answer(shop, "helix-cost", "cost", "--by", "model")["rows"][0]["key"] == "script"
    assert "$0.01" in helix(shop, "cost").out
    first, last = shop.attempts()
    patch = helix(shop, "diff", first).out
    assert "+hello" in patch
    assert helix(shop, "diff", last[-6:]).out == helix(shop, "diff", "last").out != patch
    assert "1 file changed" in helix(shop, "diff", "last", "--stat").out
    shop.run("git", "apply", "--reverse", "--check", "-", stdin=patch)
    assert "ddx agent attempts" in helix(shop, "diff", "nope", code=1).err
    assert "type more of it" in helix(shop, "diff", "2", code=2).err


def test_an_attempt_that_made_nothing_has_no_diff(tmp_path: Path):
    shop = make_workshop(tmp_path, greeting("app-1", script="say nothing\n"))
    shop.loop("--once", code=None)
    assert "made nothing" in helix(shop, "diff", "last", code=1).err


def test_watch_draws_when_something_changes_and_ends_in_order(shop: Workshop):  # S-25
    watcher = subprocess.Popen(
        [HELIX, "status", "--watch"], cwd=shop.root, env=shop.variables(), stdout=subprocess.PIPE
    )
    assert watcher.stdout is not None
    os.set_blocking(watcher.stdout.fileno(), False)
    seen = bytearray()

    def shows(text: bytes) -> bool:
        seen.extend(os.read(watcher.stdout.fileno(), 1 << 16) if _has_output(watcher) else b"")
        return text in seen

    try:
        wait_for(lambda: shows(b"2 beads: 2 open"))
        shop.ddx("close", "app-1", "--reason", "done")
        wait_for(lambda: shows(b"1 open, 1 closed"))
        assert b"\x1b" not in seen
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(timeout=120) == 0
    finally:
        watcher.kill()
        watcher.wait()
        watcher.stdout.close()


def _has_output(child: subprocess.Popen[bytes]) -> bool:
    import select

    return bool(select.select([child.stdout], [], [], 0)[0])


def test_json_and_watch_exclude_each_other(shop: Workshop):  # C-1
    assert "--watch" in helix(shop, "status", "--json", "--watch", code=2).err


def test_a_terminal_gets_its_width_and_a_pipe_gets_all(tmp_path: Path):  # C-5
    shop = make_workshop(
        tmp_path, greeting("app-1", title="much " * 60, status="blocked", **{"blocked-reason": "x"})
    )
    assert ("much " * 60).strip() in helix(shop, "status").out
    ours, theirs = pty.openpty()
    try:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        child = subprocess.Popen(
            [HELIX, "status"], cwd=shop.root, env=shop.variables(NO_COLOR="1"), stdout=theirs
        )
        assert child.wait(timeout=120) == 0
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "blocked" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_status_loads_no_more_than_a_hot_command(shop: Workshop):  # C-7
    import sys

    line = ("-X", "importtime", "-I", "-S", str(ROOT / "src/helix/__main__.py"), "status")
    ended = shop.run(sys.executable, *line)
    loaded = {row.rpartition("|")[2].strip() for row in ended.err.splitlines()}
    assert "helix.status" in loaded
    heavy = {"click", "typing", "re", "json", "enum", "dataclasses", "subprocess", "threading"}
    assert not loaded & heavy
    assert not any(name.startswith("ddx.attempts") for name in loaded)
    of_runs = {name for name in loaded if name.split(".")[:2] == ["helix", "run"]}
    assert of_runs <= {"helix.run", "helix.run.run_lock"}
