"""The loop: several workers, limits, denials, budgets, interruptions (X-7, X-8, X-18, X-20)."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from tests.support.attempts import CLEAN, Workshop, greeting, make_workshop, writes
from tests.support.background import SECOND_CTRL_C, hear, interrupt_a_worker
from tests.support.tracker import wait_for

FAILING = {"acceptance": "- `false` passes"}
ENOUGH_S = "6"
"""For a scripted agent to start and to write a file, on a busy machine."""


def recording(folder: Path, *lines: dict[str, Any]) -> str:
    """A file for the replay harness."""
    path = folder / "recording.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def many(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [writes(f"app-{n:03d}", f"files/{n:03d}.txt", **fields) for n in range(count)]


def subjects(workshop: Workshop) -> list[str]:
    return workshop.git("log", "--no-merges", "--format=%s").out.splitlines()


def test_a_queue_is_drained_in_its_order(tmp_path: Path) -> None:  # D-12
    workshop = make_workshop(
        tmp_path / "w",
        writes("app-1", "a.txt", priority=3),
        writes("app-2", "b.txt", priority=0),
        writes("app-3", "c.txt", dependencies=[{"issue_id": "app-3", "depends_on_id": "app-1"}]),
    )
    done = workshop.loop().json
    assert done["ended"] == "drained"
    assert [outcome["beads"] for outcome in done["outcomes"]] == [["app-2"], ["app-1"], ["app-3"]]
    assert done["completed"] == 3
    assert workshop.leftover() == CLEAN


def test_one_failing_bead_does_not_stop_the_others(tmp_path: Path) -> None:
    workshop = make_workshop(
        tmp_path / "w", writes("app-1", "a.txt", priority=0, **FAILING), *many(2)
    )
    done = workshop.loop(code=1).json
    assert done["attempted"] == 3
    assert done["completed"] == 2
    assert workshop.rows()["app-1"]["status"] == "open"
    assert workshop.rows()["app-1"]["attempts"] == 1


def test_at_most_so_many_attempts(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", *many(4))
    done = workshop.loop("--max", "3").json
    assert done["ended"] == "counted"
    assert done["completed"] == 3


def test_two_workers_land_every_bead_once(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", *many(12))
    done = workshop.loop("--workers", "2").json
    assert done["completed"] == 12
    found = subjects(workshop)
    for n in range(12):
        assert found.count(f"Do app-{n:03d} [app-{n:03d}]") == 1
    assert sorted(path.name for path in (workshop.root / "files").iterdir()) == [
        f"{n:03d}.txt" for n in range(12)
    ]
    assert workshop.leftover() == CLEAN
    assert workshop.refs() == []


def test_beads_that_share_paths_do_not_run_side_by_side(tmp_path: Path) -> None:
    script = (
        "sh test ! -e $OPERATOR/busy && touch $OPERATOR/busy && sleep 0.3 && rm $OPERATOR/busy\n"
    )
    rows = [
        writes(f"app-{n}", f"src/{n}.txt", paths=["src"], script=f"{script}write src/{n}.txt x\n")
        for n in range(3)
    ]
    workshop = make_workshop(tmp_path / "w", *rows)
    outside = tmp_path / "outside"
    outside.mkdir()
    done = workshop.loop("--workers", "3", OPERATOR=str(outside)).json
    assert done["completed"] == 3, done


def test_two_loops_share_one_queue(tmp_path: Path) -> None:  # T-10, X-20
    workshop = make_workshop(tmp_path / "w", *many(8))
    ends: list[dict[str, Any]] = []

    def drain() -> None:
        ends.append(workshop.loop(code=None).json)

    threads = [threading.Thread(target=drain) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(end["completed"] for end in ends) == 8
    assert {row["status"] for row in workshop.rows().values()} == {"closed"}
    for n in range(8):
        assert subjects(workshop).count(f"Do app-{n:03d} [app-{n:03d}]") == 1


def test_two_runs_racing_for_one_bead_attempt_it_once(tmp_path: Path) -> None:  # X-18, T-21
    workshop = make_workshop(tmp_path / "w", greeting(script="sleep 0.5\nwrite hello.txt x\n"))
    codes: list[int] = []

    def execute() -> None:
        done = workshop.agent("execute-bead", "app-1", "--harness", "script", code=None)
        codes.append(done.code)

    threads = [threading.Thread(target=execute) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes)[0] == 0
    assert all(code in (1, 5) for code in sorted(codes)[1:])
    assert subjects(workshop).count("Do app-1 [app-1]") == 1
    assert len(workshop.attempts()) == 1
    assert workshop.leftover() == CLEAN


def test_three_faults_of_the_harness_stop_the_run_and_charge_no_bead(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", *many(5))
    (workshop.folder / "config.yaml").write_text(
        "harnesses:\n  mine: {kind: command, argv: [./no-such-agent]}\n"
    )
    done = workshop.agent("execute-loop", "--harness", "mine", "--json", code=1).json
    assert done["ended"] == "broken"
    assert done["attempted"] == 3
    assert {outcome["status"] for outcome in done["outcomes"]} == {"harness_fault"}
    assert not any("attempts" in row for row in workshop.rows().values())
    assert {row["status"] for row in workshop.rows().values()} == {"open"}


def test_a_broken_harness_gives_way_to_the_alternate(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", *many(5))
    (workshop.folder / "config.yaml").write_text(
        "harnesses:\n  mine: {kind: command, argv: [./no-such-agent]}\n"
        "limits: {alternate: script}\n"
    )
    done = workshop.agent("execute-loop", "--harness", "mine", "--json", code=1).json
    assert done["attempted"] == 5
    assert done["completed"] == 2


def test_two_denials_in_a_row_ask_for_a_person(tmp_path: Path) -> None:  # C-2
    workshop = make_workshop(tmp_path / "w", *many(4))
    model = recording(tmp_path, {"denied": "Bash"}, {"end": "denied"})
    line = ("execute-loop", "--harness", "replay", "--model", model, "--json")
    done = workshop.agent(*line, code=4).json
    assert done["ended"] == "denied"
    assert done["attempted"] == 2
    assert "Bash" in done["reason"]
    assert not any("attempts" in row for row in workshop.rows().values())


def test_a_usage_limit_parks_the_harness_and_charges_nobody(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", *many(2))
    model = recording(tmp_path, {"end": "rate_limited", "until": "2999-01-01T00:00:00Z"})
    line = ("execute-loop", "--harness", "replay", "--model", model, "--on-limit", "stop", "--json")
    done = workshop.agent(*line, code=1).json
    assert done["ended"] == "parked"
    assert done["attempted"] == 1
    assert "2999-01-01" in done["reason"]
    assert not any("attempts" in row for row in workshop.rows().values())


def test_a_run_stops_when_its_tokens_are_spent(tmp_path: Path) -> None:
    rows = [
        writes(f"app-{n}", f"{n}.txt", script=f"write {n}.txt x\nusage 60 40\n") for n in range(4)
    ]
    workshop = make_workshop(tmp_path / "w", *rows)
    done = workshop.loop("--max-tokens", "200", code=1).json
    assert done["ended"] == "budget"
    assert done["attempted"] == 2
    assert done["usage"]["cost_usd"] is None


def test_an_attempt_that_overspends_is_stopped_and_kept(tmp_path: Path) -> None:
    script = "write hello.txt x\nusage 60000 1\nsleep 60\n"
    workshop = make_workshop(tmp_path / "w", greeting(script=script))
    (workshop.folder / "config.yaml").write_text("budget: {bead_tokens: 1000}\n")
    outcome = workshop.once(code=1)
    assert (outcome["outcome"], outcome["status"]) == ("preserved", "agent_failed")
    assert outcome["reply"]["end"] == "limit_budget"
    assert workshop.loop().json["attempted"] == 0


def test_a_hanging_agent_with_a_grandchild_leaves_no_process(tmp_path: Path) -> None:
    script = "write hello.txt x\nsh setsid nohup sleep 300 >/dev/null 2>&1 & sleep 300\n"
    workshop = make_workshop(tmp_path / "w", greeting(script=script))
    outcome = workshop.once("--timeout", ENOUGH_S, code=1)
    assert (outcome["outcome"], outcome["status"]) == ("preserved", "timeout")
    assert workshop.git("show", f"{outcome['ref']}:hello.txt").out == "x\n"
    assert workshop.leftover() == CLEAN
    row = workshop.rows()["app-1"]
    assert row["status"] == "open"
    assert "claim-id" not in row


def test_the_same_after_the_controller_was_killed(tmp_path: Path) -> None:
    script = "write hello.txt x\nsh setsid nohup sleep 300 >/dev/null 2>&1 & sleep 300\n"
    workshop = make_workshop(tmp_path / "w", greeting(script=script))
    controller = workshop.begin("execute-loop", "--once", "--harness", "script")
    wait_for(lambda: len(workshop.marked()) >= 3 and bool(workshop.workspaces()))
    wait_for(
        lambda: any(
            (workshop.cache / name / "hello.txt").exists() for name in workshop.workspaces()
        )
    )
    controller.kill()
    controller.wait()
    wait_for(lambda: not workshop.marked())

    done = workshop.loop("--once", "--timeout", ENOUGH_S, code=1)
    assert "had died: preserved" in done.err
    assert len(workshop.refs()) == 2
    for kept in workshop.refs():
        assert workshop.git("show", f"{kept}:hello.txt").out == "x\n"
    assert workshop.leftover() == CLEAN
    row = workshop.rows()["app-1"]
    assert row["status"] == "open"
    assert row["attempts"] == 1


@pytest.mark.parametrize("send", [Popen.send_signal, interrupt_a_worker])
def test_the_first_interrupt_finishes_what_runs(
    tmp_path: Path, send: Callable[[Popen[bytes], int], None]
) -> None:  # X-17, C-2; whichever thread the kernel chooses
    hold = "sh until test -e $OPERATOR/go; do sleep 0.05; done\n"
    rows = [writes(f"app-{n}", f"{n}.txt", script=f"{hold}write {n}.txt x\n") for n in range(3)]
    workshop = make_workshop(tmp_path / "w", *rows)
    line = ("execute-loop", "--harness", "script", "--json")
    controller = workshop.begin(*line, OPERATOR=str(tmp_path))
    wait_for(lambda: bool(workshop.marked()))
    send(controller, signal.SIGINT)
    hear(controller, SECOND_CTRL_C)
    (tmp_path / "go").touch()
    out, _ = controller.communicate(timeout=120)
    done = json.loads(out)
    assert controller.returncode == 0
    assert done["ended"] == "wound_down"
    assert done["completed"] == done["attempted"] == 1
    assert workshop.leftover() == CLEAN


def test_the_second_interrupt_keeps_the_work_and_frees_the_bead(tmp_path: Path) -> None:  # C-2
    script = "write hello.txt x\nsay begun\nsleep 300\n"
    workshop = make_workshop(tmp_path / "w", greeting(script=script))
    controller = workshop.begin("execute-loop", "--harness", "script", "--json")
    wait_for(
        lambda: any(
            (workshop.cache / name / "hello.txt").exists() for name in workshop.workspaces()
        )
    )
    controller.send_signal(signal.SIGINT)
    hear(controller, SECOND_CTRL_C)
    controller.send_signal(signal.SIGINT)
    out, _ = controller.communicate(timeout=120)
    (outcome,) = json.loads(out)["outcomes"]
    assert controller.returncode == 130
    assert (outcome["outcome"], outcome["status"]) == ("preserved", "interrupted")
    row = workshop.rows()["app-1"]
    assert row["status"] == "open"
    assert "attempts" not in row
    assert workshop.leftover() == CLEAN


def test_a_watching_loop_takes_up_new_work(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w")
    controller = workshop.begin("execute-loop", "--watch", "--harness", "script", "--json")
    wait_for(lambda: workshop.rows()["app-1"]["status"] == "closed")
    workshop.ddx(
        *("create", "More", "--acceptance", "- `test -f more.txt` passes"),
        *("--set", "script=write more.txt x"),
    )
    wait_for(lambda: (workshop.root / "more.txt").exists())
    controller.send_signal(signal.SIGINT)
    out, _ = controller.communicate(timeout=120)
    assert controller.returncode == 0
    assert json.loads(out)["completed"] == 2


def test_a_loop_killed_in_the_middle_and_started_again_does_nothing_twice(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", *many(16))
    controller = workshop.begin("execute-loop", "--workers", "2", "--harness", "script")
    wait_for(lambda: len(subjects(workshop)) >= 6)
    controller.kill()
    controller.wait()
    wait_for(lambda: not workshop.marked())
    done = workshop.loop("--workers", "2", code=None).json
    assert done["ended"] == "drained"
    assert {row["status"] for row in workshop.rows().values()} == {"closed"}
    found = subjects(workshop)
    for n in range(16):
        assert found.count(f"Do app-{n:03d} [app-{n:03d}]") == 1
    assert workshop.leftover() == CLEAN
