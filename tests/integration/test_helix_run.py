"""`helix run` on real repositories, with a stub agent that answers each action (S-1 to S-38)."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

from tests.support.attempts import CLEAN
from tests.support.background import SECOND_CTRL_C, hear
from tests.support.runs import RunScene, make_run_scene, stopped, task
from tests.support.tracker import edge, wait_for

FINDING = """\
REVIEW_STATUS: ISSUES_FOUND
ISSUES_COUNT: 1

```json
[{"severity": "high", "title": "The sum is wrong", "file": "app-1.txt", "line": 1,
  "detail": "off by one", "area": "cart", "acceptance": "- `test -f fixed.txt` passes"}]
```
"""


def statuses(floor: RunScene) -> dict[str, str]:
    return {bead_id: row["status"] for bead_id, row in floor.rows().items()}


# -- the drain -----------------------------------------------------------------------------


def test_a_queue_is_drained_reviewed_and_checked_once(tmp_path: Path) -> None:  # S-12, S-15, D-11
    floor = make_run_scene(tmp_path / "w", task("app-1", priority=3), task("app-2", priority=1))
    done = floor.drain("--json").json
    assert floor.calls() == ["build app-2", "review", "build app-1", "review", "check"]
    assert floor.decisions() == ["build", "review", "build", "review", "check", "stop"]
    assert statuses(floor) == {"app-1": "closed", "app-2": "closed"}
    assert (done["attempted"], done["completed"], done["exit_code"]) == (2, 2, 0)
    assert done["reason"] == "all is done"
    assert floor.leftover() == CLEAN


def test_every_call_counts_in_the_totals(tmp_path: Path) -> None:  # S-28
    floor = make_run_scene(tmp_path / "w")
    usage = floor.drain("--json").json["usage"]
    assert len(floor.calls()) == 3
    assert usage["input"] + usage["output"] == 360
    assert usage["cost_usd"] == floor.state["total_cost_usd"] == 0.03
    assert floor.state["total_tokens"] == 360


def test_an_answer_is_kept_by_its_state(tmp_path: Path) -> None:  # S-14
    floor = make_run_scene(tmp_path / "w")
    floor.drain()
    floor.drain()
    assert floor.calls("check") == ["check"]
    floor.drain("--check", "always-agent")
    assert floor.calls("check") == ["check", "check"]


def test_wait_stops_at_once(tmp_path: Path) -> None:  # S-12
    floor = make_run_scene(tmp_path / "w", task("app-1", **{"execution-eligible": False}))
    floor.answers("check", "NEXT_ACTION: WAIT\nREASON: others are at it\n")
    floor.drain()
    assert floor.calls() == ["check"]
    assert floor.state["stop_reason"] == "others are at it"


def test_guidance_stops_and_shows_the_question(tmp_path: Path) -> None:  # S-12, C-2
    floor = make_run_scene(tmp_path / "w", task("app-1", **{"execution-eligible": False}))
    floor.answers("check", "NEXT_ACTION: GUIDANCE\nREASON: unclear\nQUESTION: euro or dollar?\n")
    assert "euro or dollar?" in floor.drain(code=4).err
    assert floor.state["last_decision"]["question"] == "euro or dollar?"
    assert floor.state["exit_code"] == 4


def test_backfill_names_its_command_and_stops(tmp_path: Path) -> None:  # D-8
    floor = make_run_scene(tmp_path / "w", task("app-1", **{"execution-eligible": False}))
    floor.answers("check", "NEXT_ACTION: BACKFILL\n")
    assert "helix backfill repo" in floor.drain(code=4).err
    assert floor.calls() == ["check"]


def test_a_check_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:  # C-2, A-1
    floor = make_run_scene(tmp_path / "w", task("app-1", **{"execution-eligible": False}))
    floor.answers("check", "I would say STOP\n")
    assert "check cannot be read" in floor.drain(code=1).err


def test_build_said_twice_in_vain_looks_for_orphans_and_stops(tmp_path: Path) -> None:  # S-13
    floor = make_run_scene(tmp_path / "w", task("app-1", **{"execution-eligible": False}))
    floor.answers("check", "NEXT_ACTION: BUILD\n")
    floor.drain(code=4)
    assert floor.calls() == ["check"]
    assert floor.decisions() == ["check", "check", "guidance"]


def test_work_that_others_hold_is_waited_for_without_asking(tmp_path: Path) -> None:  # S-14, D-22
    held = {"status": "in_progress", "owner": "mara", "claim-id": "x"}
    floor = make_run_scene(tmp_path / "w", task("app-1", **held))
    floor.drain()
    assert floor.calls() == []
    assert floor.decisions() == ["wait"]


def test_max_cycles_counts_completed_ones(tmp_path: Path) -> None:  # S-9
    floor = make_run_scene(tmp_path / "w", *(task(f"app-{n}") for n in range(4)))
    done = floor.drain("--max-cycles", "2", "--json").json
    assert (done["attempted"], done["completed"]) == (2, 2)
    assert floor.calls("check") == []


def test_an_epic_holds_the_focus_then_closes_and_is_reviewed(tmp_path: Path) -> None:  # S-5, S-11
    floor = make_run_scene(
        tmp_path / "w",
        task("app-e", issue_type="epic", **{"spec-id": "prd"}),
        task("app-1", parent="app-e", priority=2),
        task("app-2", priority=2, created_at="2025-11-01T11:00:00Z"),
        task("app-3", parent="app-e", priority=4),
    )
    floor.drain()
    assert floor.calls("build") == ["build app-1", "build app-3", "build app-2"]
    assert statuses(floor)["app-e"] == "closed"
    order = [(row["action"], row["target"]) for row in floor.journal("decision")]
    assert order.index(("review", "app-e")) < order.index(("build", "app-2"))
    assert floor.calls("review") == ["review"] * 4  # three attempts and the epic


# -- failure -------------------------------------------------------------------------------


def test_a_bead_is_retried_with_backoff_and_then_blocked(tmp_path: Path) -> None:  # S-10, D-7
    floor = make_run_scene(tmp_path / "w", task("app-1", labels=["area:cart"]), task("app-2"))
    floor.builds("app-1", "echo wrong > wrong.txt\n")
    floor.drain("--max-attempts", "3", code=4)
    row = floor.rows()["app-1"]
    assert floor.calls("build app-1") == ["build app-1"] * 3
    assert row["status"] == "blocked"
    assert row["labels"] == ["area:cart", "blocked"]
    assert row["notes"].count("BLOCKED") == 1
    assert "retry-after" not in row
    assert set(row["blocked-basis"]) >= {"fingerprint", "documents", "commit"}
    assert statuses(floor)["app-2"] == "closed"
    assert floor.state["completed_cycles"] == 1
    report = next((floor.root / ".helix-logs").glob("blockers-*.md")).read_text()
    assert "app-1" in report and "attempts: 3" in report and "ddx bead reopen app-1" in report


def test_a_blocked_bead_is_not_tried_again_until_somebody_changes_it(tmp_path: Path) -> None:
    floor = make_run_scene(tmp_path / "w")  # S-10
    floor.builds("app-1", "echo wrong > wrong.txt\n")
    floor.drain("--max-attempts", "1", code=4)
    floor.drain("--max-attempts", "1", code=4)
    assert floor.calls("build") == ["build app-1"]
    floor.ddx("update", "app-1", "--acceptance", "- `test -f wrong.txt` passes")
    floor.drain("--max-attempts", "1")
    row = floor.rows()["app-1"]
    assert row["status"] == "closed"
    assert "blocked" not in row.get("labels", [])
    assert floor.calls("build") == ["build app-1"] * 2


def test_a_last_review_is_made_before_a_bead_is_blocked(tmp_path: Path) -> None:  # S-10
    floor = make_run_scene(tmp_path / "w")
    floor.builds("app-1", "echo wrong > wrong.txt\n")
    floor.answers("review", FINDING)
    floor.drain("--max-attempts", "1", code=4)
    assert floor.calls("review") == ["review"]
    assert floor.state["blockers"][0]["findings"] == ["high: The sum is wrong (app-1.txt:1)"]
    assert list(floor.rows()) == ["app-1"]


def test_a_blocked_child_labels_its_epic_and_releases_the_focus(tmp_path: Path) -> None:  # S-10
    floor = make_run_scene(
        tmp_path / "w",
        task("app-e", issue_type="epic"),
        task("app-1", parent="app-e", priority=0),
        task("app-2", parent="app-e", priority=4),
        task("app-3", priority=2),
    )
    floor.builds("app-1", "true\n")
    floor.drain("--max-attempts", "2", code=4)
    assert floor.calls("build") == ["build app-1"] * 2 + ["build app-3", "build app-2"]
    assert floor.rows()["app-e"]["labels"] == ["blocked"]
    assert floor.state["blockers"][0]["epic"] == "app-e"


def test_outside_a_focus_other_work_runs_while_a_bead_rests(tmp_path: Path) -> None:  # D-7
    floor = make_run_scene(tmp_path / "w", task("app-1", priority=0), task("app-2"))
    floor.builds("app-1", 'test -e "$stage/second" && echo x > app-1.txt; touch "$stage/second"\n')
    floor.drain(HELIX_BACKOFF_SLEEP="6")
    assert floor.calls("build") == ["build app-1", "build app-2", "build app-1"]
    assert statuses(floor) == {"app-1": "closed", "app-2": "closed"}
    assert "wait" in floor.decisions()


def test_findings_become_beads_before_the_next_selection(tmp_path: Path) -> None:  # S-16, D-10
    floor = make_run_scene(tmp_path / "w", task("app-1"), task("app-2", priority=4))
    floor.answers("review", FINDING, "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n")
    new = [*floor.rows()]
    done = floor.drain("--max-cycles", "1", "--json", code=None).json
    new = [bead_id for bead_id in floor.rows() if bead_id not in new]
    assert len(new) == 1
    row = floor.rows()[new[0]]
    assert {"review-finding", "severity:high", "area:cart"} <= set(row["labels"])
    assert floor.calls("build")[1] == f"build {new[0]}"
    assert done["attempted"] > done["completed"]


def test_a_review_that_cannot_be_read_stops_the_run_and_is_owed(tmp_path: Path) -> None:  # S-16
    floor = make_run_scene(tmp_path / "w", task("app-1"), task("app-2"))
    floor.answers("review", "looks fine to me\n")
    floor.drain(code=4)
    assert floor.calls() == ["build app-1", "review"]
    owed = floor.state["pending_review"]
    assert owed in floor.attempts()
    assert owed == floor.journal("decision")[1]["target"]
    floor.answers("review", "", "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n")
    floor.drain()
    assert floor.calls()[2:4] == ["review", "build app-2"]  # S-17
    assert floor.state["pending_review"] == ""


def test_small_changes_need_no_review_and_that_is_said(tmp_path: Path) -> None:  # D-24
    floor = make_run_scene(tmp_path / "w")
    done = floor.drain("--review-threshold", "5")
    assert floor.calls("review") == []
    assert "is not reviewed" in done.err
    assert floor.state["completed_cycles"] == 1


def test_follow_ups_are_filed(tmp_path: Path) -> None:
    floor = make_run_scene(tmp_path / "w")
    follow_up = {"title": "Tidy the cart", "acceptance": "- `test -f tidy.txt` passes"}
    said = f"FOLLOW_UP: {json.dumps(follow_up)}"
    floor.builds("app-1", f"echo x > app-1.txt\ncat <<'END'\n{said}\nEND\n")
    floor.drain("--max-cycles", "1")
    titles = [row["title"] for row in floor.rows().values()]
    assert "Tidy the cart" in titles


# -- batches, drift, concurrent refinement -----------------------------------------------------


def test_a_batch_is_one_attempt_and_one_cycle(tmp_path: Path) -> None:  # S-8
    floor = make_run_scene(
        tmp_path / "w",
        task("app-1", **{"spec-id": "prd"}),
        task("app-2", **{"spec-id": "prd"}),
        task("app-3"),
    )
    floor.drain("--batch", "2")
    assert floor.calls("build") == ["build app-1", "build app-3"]
    assert set(statuses(floor).values()) == {"closed"}
    assert floor.state["attempted_cycles"] == 2


def test_a_batch_that_fails_charges_nobody_and_its_beads_run_alone(tmp_path: Path) -> None:  # S-8
    floor = make_run_scene(
        tmp_path / "w",
        task("app-1", labels=["area:cart"]),
        task("app-2", labels=["area:cart"]),
    )
    floor.builds("app-2", 'test -n "$DDX_BEAD_IDS" || echo x > app-2.txt\n')
    floor.drain("--batch", "2", "--max-attempts", "1")
    assert floor.calls("build") == ["build app-1", "build app-1", "build app-2"]
    assert set(statuses(floor).values()) == {"closed"}


def test_a_bead_that_changes_during_its_attempt_does_not_land(tmp_path: Path) -> None:  # S-6, D-6
    floor = make_run_scene(tmp_path / "w", task("app-1"), task("app-2", priority=4))
    ddx = Path(__file__).resolve().parents[2] / "bin/ddx"
    change = f"cd {floor.root} && env -u DDX_ATTEMPT_ID {ddx} bead dep add app-1 app-2"
    floor.builds("app-1", f"test -e app-2.txt || ({change}) >&2\necho x > app-1.txt\n")
    floor.drain()
    assert floor.calls("build") == ["build app-1", "build app-2"]
    assert statuses(floor) == {"app-1": "open", "app-2": "closed"}
    assert list(floor.state["skipped"]) == ["app-1"]  # in this run, until it changes again
    assert floor.rows()["app-1"].get("attempts", 0) == 0
    floor.drain()
    assert statuses(floor)["app-1"] == "closed"


def test_a_document_with_uncommitted_edits_holds_its_beads(tmp_path: Path) -> None:  # S-23
    floor = make_run_scene(tmp_path / "w", task("app-1", **{"spec-id": "prd"}), task("app-2"))
    with (floor.root / "docs/helix/01-frame/prd.md").open("a") as page:
        page.write("And bells.\n")
    floor.drain(code=None)
    assert floor.calls("build") == ["build app-2"]


def test_supersession_that_nobody_answers_needs_a_person(tmp_path: Path) -> None:  # S-22
    floor = make_run_scene(
        tmp_path / "w", task("app-1", **{"superseded-by": "app-9"}), task("app-2")
    )
    assert "app-9" in floor.drain(code=4).err
    assert floor.calls() == []


def test_an_open_decision_in_the_way_needs_a_person(tmp_path: Path) -> None:  # S-3
    floor = make_run_scene(
        tmp_path / "w",
        task("app-d", issue_type="decision", title="Euro or dollar?"),
        task("app-1", dependencies=[edge("app-1", "app-d")]),
        task("app-2"),
    )
    assert "Euro or dollar?" in floor.drain(code=4).err
    assert floor.calls("build") == ["build app-2"]


# -- one run, interrupts, crashes ------------------------------------------------------------


def test_a_second_run_is_refused_and_changes_no_byte(tmp_path: Path) -> None:  # S-20
    floor = make_run_scene(tmp_path / "w")
    floor.builds("app-1", 'while [ ! -e "$stage/go" ]; do sleep 0.05; done\necho x > app-1.txt\n')
    first = floor.launch()
    floor.await_call("build app-1")
    wait_for(lambda: floor.state["phase"] == "building" and bool(floor.state["current_attempt"]))
    with stopped(first):
        before = floor.everything()
        refused = floor.drain(code=2)
        assert floor.everything() == before
    assert f"pid {first.pid}" in refused.err
    assert floor.state["started_at"][:16] in refused.err
    (floor.stage / "go").touch()
    assert first.wait(120) == 0


def test_the_first_interrupt_finishes_the_attempt(tmp_path: Path) -> None:  # S-21
    floor = make_run_scene(tmp_path / "w", task("app-1"), task("app-2"))
    floor.builds("app-1", 'while [ ! -e "$stage/go" ]; do sleep 0.05; done\necho x > app-1.txt\n')
    run = floor.launch()
    floor.await_call("build app-1")
    run.send_signal(signal.SIGINT)
    hear(run, SECOND_CTRL_C)
    (floor.stage / "go").touch()
    assert run.wait(120) == 0
    assert statuses(floor) == {"app-1": "closed", "app-2": "open"}
    assert floor.state["stop_reason"] == "a stop was asked for"
    assert floor.state["pending_review"]  # owed, and done first by the next run (S-17)


def test_the_second_interrupt_keeps_the_work_and_frees_the_claim(tmp_path: Path) -> None:  # S-21
    floor = make_run_scene(tmp_path / "w")
    floor.builds("app-1", 'echo half > half.txt\ntouch "$stage/half"\nsleep 600\n')
    run = floor.launch()
    wait_for((floor.stage / "half").exists)
    run.send_signal(signal.SIGINT)
    hear(run, SECOND_CTRL_C)
    run.send_signal(signal.SIGINT)
    assert run.wait(120) == 130
    assert statuses(floor) == {"app-1": "open"}
    assert len(floor.refs()) == 1
    assert floor.rows()["app-1"].get("attempts", 0) == 0
    assert floor.leftover() == CLEAN


def test_sigterm_is_the_second_kind(tmp_path: Path) -> None:  # S-21
    floor = make_run_scene(tmp_path / "w")
    floor.builds("app-1", "echo half > half.txt\nsleep 60\n")
    run = floor.launch()
    floor.await_call("build app-1")
    run.send_signal(signal.SIGTERM)
    assert run.wait(120) == 143
    assert statuses(floor) == {"app-1": "open"}


def test_after_kill_the_next_run_cleans_up_and_goes_on(tmp_path: Path) -> None:  # S-18, X-19
    floor = make_run_scene(tmp_path / "w")
    floor.builds(
        "app-1",
        'if [ ! -e "$stage/go" ]; then echo half > half.txt; sleep 60; fi\necho x > app-1.txt\n',
    )
    run = floor.launch()
    floor.await_call("build app-1")
    wait_for(lambda: floor.rows()["app-1"]["status"] == "in_progress")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    (floor.stage / "go").touch()
    done = floor.drain()
    assert "had died" in done.err
    assert statuses(floor) == {"app-1": "closed"}
    assert floor.leftover() == CLEAN


def test_stop_and_pause_are_heard_at_the_next_boundary(tmp_path: Path) -> None:  # S-26
    floor = make_run_scene(tmp_path / "w", task("app-1"), task("app-2"))
    floor.builds(
        "app-1",
        f"touch {floor.folder}/state/run-pause\necho x > app-1.txt\n",
    )
    run = floor.launch()
    wait_for(
        lambda: (floor.folder / "run-state.json").exists() and floor.state["phase"] == "paused"
    )
    assert floor.calls("build") == ["build app-1"]
    (floor.folder / "state" / "run-stop").touch()
    assert run.wait(120) == 0
    assert statuses(floor)["app-2"] == "open"
    (floor.folder / "state" / "run-pause").unlink(missing_ok=True)


# -- watching, dry runs, output ----------------------------------------------------------------


def test_an_idle_watch_asks_nobody_and_wakes_for_new_work(tmp_path: Path) -> None:  # S-33
    floor = make_run_scene(tmp_path / "w")
    run = floor.launch("--watch")
    wait_for(lambda: floor.calls("check") == ["check"] and floor.state["phase"] == "watching")
    idle = floor.calls()
    new = floor.ddx("create", "More", "--acceptance", "- `true` passes").id
    wait_for(lambda: f"build {new}" in floor.calls())
    assert floor.calls()[: len(idle) + 1] == [*idle, f"build {new}"]
    wait_for(lambda: statuses(floor)[new] == "closed" and floor.state["phase"] == "watching")
    run.send_signal(signal.SIGINT)
    assert run.wait(120) == 0


def test_a_dry_run_shows_all_of_it_and_writes_no_byte(tmp_path: Path) -> None:  # S-31
    floor = make_run_scene(tmp_path / "w", task("app-1", **{"spec-id": "prd"}))
    before = floor.everything()
    done = floor.drain("--dry-run")
    assert floor.everything() == before
    assert "build app-1" in done.out
    assert str(floor.stage / "agent") in done.out
    assert "Your task: app-1" in done.out
    assert floor.calls() == []
    row = floor.drain("--dry-run", "--json").json
    assert row["decision"]["beads"] == ["app-1"]
    floor.drain("--no-auto-review")
    assert set(row["prompt"].splitlines()) == set(floor.prompt("build").splitlines())


def test_a_dry_run_of_a_drained_queue_asks_nobody(tmp_path: Path) -> None:  # S-31
    floor = make_run_scene(tmp_path / "w", task("app-1", status="closed"))
    before = floor.everything()
    assert "Decision: check" in floor.drain("--dry-run").out
    assert floor.everything() == before
    assert floor.calls() == []


def test_a_summary_has_the_documented_lines_and_true_ranges(tmp_path: Path) -> None:  # S-28
    floor = make_run_scene(tmp_path / "w")
    lines = floor.drain("-s", "--no-auto-review").err.splitlines()
    at = r"helix: \[\d\d:\d\d:\d\d\] "
    assert re.fullmatch(at + r"cycle 1: app-1 \(1 ready\)", lines[0])
    ended = re.fullmatch(
        at + r"\w+ complete \(rc=0, \d+s, 120 tokens\) — log L(\d+)\u2013L(\d+) in (.+)",
        lines[1],
    )
    assert ended
    assert re.fullmatch(at + r"cycle 1: app-1 → COMPLETE \(1/1 done, 120 tokens\)", lines[2])
    log = Path(ended[3]).read_text().splitlines()
    assert "agent started" in log[int(ended[1]) - 1]
    assert "agent ended" in log[int(ended[2]) - 1]


def test_several_workers_build_at_once_and_land_all(tmp_path: Path) -> None:  # S-38
    floor = make_run_scene(tmp_path / "w", *(task(f"app-{n}") for n in range(4)))
    for n in range(2):  # each waits for the other
        meet = f'touch "$stage/{n}"; while [ ! -e "$stage/{1 - n}" ]; do sleep 0.05; done\n'
        floor.builds(f"app-{n}", f"{meet}echo x > app-{n}.txt\n")
    done = floor.drain("--workers", "2", "--json").json
    assert (done["attempted"], done["completed"]) == (4, 4)
    assert set(statuses(floor).values()) == {"closed"}
    assert len(floor.calls("review")) == 4
    assert floor.leftover() == CLEAN


def test_low_autonomy_without_a_terminal_starts_nothing(tmp_path: Path) -> None:  # S-34
    floor = make_run_scene(tmp_path / "w")
    assert "no terminal" in floor.drain("--autonomy", "low", code=4).err
    assert floor.calls() == []


def test_a_corrupt_tracker_starts_no_agent(tmp_path: Path) -> None:  # S-37
    floor = make_run_scene(tmp_path / "w")
    floor.file.write_bytes(floor.file.read_bytes() + b"{ nonsense\n")
    assert "beads.jsonl:2" in floor.drain(code=4).err
    assert floor.calls() == []


def test_a_page_that_cannot_be_used_starts_no_agent(tmp_path: Path) -> None:  # S-37
    floor = make_run_scene(tmp_path / "w")
    pages = floor.root / ".helix" / "workflows" / "actions"
    pages.mkdir(parents=True)
    (pages / "check.md").write_text("")
    assert "check.md" in floor.drain(code=4).err
    assert floor.calls() == []


def test_three_faults_of_the_harness_end_the_run(tmp_path: Path) -> None:  # X-8, C-2
    floor = make_run_scene(tmp_path / "w", *(task(f"app-{n}") for n in range(5)))
    (floor.stage / "agent").unlink()
    floor.drain(code=1)
    assert floor.state["harness_faults"] == 3
    assert {row.get("attempts", 0) for row in floor.rows().values()} == {0}


def test_a_spent_budget_ends_the_run(tmp_path: Path) -> None:  # X-7, C-2
    floor = make_run_scene(tmp_path / "w", *(task(f"app-{n}") for n in range(5)))
    dear = """echo '{"usage": {"input": 1, "cost_usd": 0.01}}'\nsleep 30\n"""
    floor.builds("app-1", dear)  # it is stopped in the middle
    floor.drain("--no-auto-review", "--max-cost", "0.015", code=1)
    assert floor.calls("build") == ["build app-0", "build app-1"]
    assert "budget" in floor.state["stop_reason"]


def test_an_unknown_scope_is_a_mistake(tmp_path: Path) -> None:  # C-10
    floor = make_run_scene(tmp_path / "w")
    floor.drain("nothing-of-that-name", code=2)
    assert floor.calls() == []


def test_a_scope_limits_the_run(tmp_path: Path) -> None:  # C-10
    floor = make_run_scene(tmp_path / "w", task("app-1", labels=["area:cart"]), task("app-2"))
    floor.drain("area:cart")
    assert floor.calls("build") == ["build app-1"]


def test_context_heads_the_build_prompt(tmp_path: Path) -> None:  # S-30
    floor = make_run_scene(tmp_path / "w")
    (floor.root / "AGENTS.md").write_text(
        "# Us\n\n## Quick Reference\n\nmake test\n\n## More\n\nx\n"
    )
    floor.commit("agents")
    floor.drain()
    prompt = floor.prompt("build")
    assert prompt.index("make test") < prompt.index("Your task: app-1")
    assert "1 ready for execution" in prompt
    assert floor.dirty() == [" M .ddx/beads.jsonl", "?? .ddx/attachments/"]


# -- documents ---------------------------------------------------------------------------------


def test_a_document_that_changes_during_the_attempt_sends_its_bead_to_polish(
    tmp_path: Path,
) -> None:  # S-23, S-3
    floor = make_run_scene(tmp_path / "w", task("app-1", **{"spec-id": "prd"}))
    edit = f"cd {floor.root} && echo More. >> docs/helix/01-frame/prd.md && git commit -qam more"
    once = f'test -e "$stage/edited" || (touch "$stage/edited"; {edit}) >&2\n'
    floor.builds("app-1", f"{once}echo x > app-1.txt\n")
    floor.answers(
        "polish",
        "POLISH_STATUS: CONVERGED\nISSUES_MODIFIED: 0\nISSUES_CREATED: 0\nISSUES_MERGED: 0\n"
        '\n```json\n{"changes": [], "new": [], "merged": []}\n```\n',
    )
    floor.drain("--no-auto-review")
    assert floor.calls() == ["build app-1", "polish", "build app-1", "check"]
    assert statuses(floor) == {"app-1": "closed"}
    assert len(floor.refs()) == 1  # what drifted is kept


# -- recovery ----------------------------------------------------------------------------------


def test_an_old_claim_of_a_dead_runner_is_released_and_a_young_one_left(tmp_path: Path) -> None:
    held = {"status": "in_progress", "owner": "helix", "claimed-pid": "999999"}  # S-18
    floor = make_run_scene(
        tmp_path / "w",
        task("app-1", **held, **{"claim-id": "a", "claimed-at": "2025-11-01T10:00:00Z"}),
        task("app-2", **held, **{"claim-id": "b", "claimed-at": "2999-11-01T10:00:00Z"}),
    )
    done = floor.drain()
    assert "the claim on app-1 was released" in done.err
    assert "the claim on app-2 is left" in done.err
    assert statuses(floor) == {"app-1": "closed", "app-2": "in_progress"}
    assert [row["bead"] for row in floor.journal("claim")] == ["app-1", "app-2"]


def test_a_reviewer_at_its_limit_hands_over_to_the_alternate(tmp_path: Path) -> None:
    floor = make_run_scene(tmp_path / "w")
    limit = tmp_path / "limit.jsonl"
    limit.write_text('{"end": "rate_limited", "until": "2999-01-01T00:00:00Z"}\n')
    config = json.loads((floor.folder / "config.yaml").read_text())
    config["harnesses"]["limited"] = {"kind": "replay"}
    config["models"] = {"limited": {"smart": str(limit)}}
    config["limits"] = {"alternate": "stub"}
    (floor.folder / "config.yaml").write_text(json.dumps(config))
    words = ("--agent", "stub", "--review-agent", "limited", "--on-limit")
    assert "usage limit" in floor.drain(*words, "stop", code=1).err
    assert floor.state["pending_review"]
    floor.drain(*words, "switch")
    assert floor.calls() == ["build app-1", "review", "check"]
    assert floor.state["pending_review"] == ""


def test_proven_work_lands_once_the_way_is_free_and_is_reviewed_then(tmp_path: Path) -> None:
    floor = make_run_scene(tmp_path / "w")  # X-13, S-17
    (floor.root / "app-1.txt").write_text("the operator's own\n")
    floor.drain(code=None)
    assert statuses(floor) == {"app-1": "open"}
    assert floor.calls("build") == ["build app-1"]
    assert floor.calls("review") == []
    (floor.root / "app-1.txt").unlink()
    assert "had waited to land" in floor.drain().err
    assert statuses(floor) == {"app-1": "closed"}
    assert floor.calls("build") == ["build app-1"]
    assert floor.calls("review") == ["review"]
