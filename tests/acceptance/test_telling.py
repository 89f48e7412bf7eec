"""What a run shows and leaves behind, and what must leave nothing at all (S-24 to S-33)."""

# @requirement TC-407

from __future__ import annotations

import re
import signal
from pathlib import Path
from shutil import which

from tests.support.runs import task
from tests.support.stub_agents import aligned, designed, make_run_scene_with_reviewer
from tests.support.tracker import SYSTEM_PATH, wait_for

from helix.cli.registry import COMMANDS

AT = r"helix: \[\d\d:\d\d:\d\d\] "
CALL = rf"{AT}\w+ complete \(rc=0, \d+s, (\d+) tokens\) — log L(\d+)–L(\d+) in (.+)"
WRONG = "echo wrong > wrong.txt\n"


def test_every_line_of_a_summary_has_its_form_and_every_range_is_true(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1"), task("app-2", priority=4)
    )  # S-27, S-28
    hall.builds("app-2", WRONG)
    done = hall.drain("-s", "--max-attempts", "1", code=4)
    lines = done.err.splitlines()
    assert re.fullmatch(rf"{AT}cycle 1: app-1 \(2 ready\)", lines[0])
    calls = [found for line in lines if (found := re.fullmatch(CALL, line))]
    assert len(calls) == len(hall.calls()) == 5
    (log,) = (hall.root / ".helix-logs").glob("helix-*.log")
    assert re.fullmatch(r"helix-\d{8}-\d{6}\.log", log.name)
    text = log.read_text().splitlines()
    for call, found in zip(hall.calls(), calls, strict=True):
        first, last = int(found[2]), int(found[3])
        assert found[4] == str(log)
        assert "agent started" in text[first - 1]
        assert "agent ended" in text[last - 1]
        assert sum("agent started" in line for line in text[first - 1 : last]) == 1, call
    spent = [int(found[1]) for found in calls]
    ends = [line for line in lines if "→" in line]
    assert re.fullmatch(
        rf"{AT}cycle 1: app-1 → COMPLETE \(1/1 done, {sum(spent[:2])} tokens\)", ends[0]
    )
    assert re.fullmatch(
        rf"{AT}cycle 2: app-2 → BLOCKED \(1/2 done, {sum(spent[:4])} tokens\)", ends[1]
    )
    assert not [line for line in lines if "agent started" in line or "agent said" in line]
    (journal,) = (hall.root / ".helix-logs").glob("*.jsonl")
    (report,) = (hall.root / ".helix-logs").glob("blockers-*.md")
    stamp = log.stem.removeprefix("helix-")
    assert (journal.stem, report.stem) == (log.stem, f"blockers-{stamp}")


def test_the_totals_are_the_sum_of_all_calls_of_every_kind(tmp_path: Path) -> None:  # S-28
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), review_agent="critic")
    hall.answers("check", "NEXT_ACTION: DESIGN", "NEXT_ACTION: ALIGN", "NEXT_ACTION: STOP")
    hall.plays("design", designed())
    hall.plays("align", aligned())
    usage = hall.drain("--json").json["usage"]
    kinds = [call.split()[0] for call in hall.calls()]
    assert kinds == ["build", "review", "check", "design", "check", "align", "check"]
    tokens, cost = hall.used_tokens(), 0.25 * len(kinds)
    assert usage["input"] + usage["output"] == hall.state["total_tokens"] == tokens
    assert usage["cost_usd"] == hall.state["total_cost_usd"] == cost
    told = [row["usage"] for row in hall.journal("call")]
    assert sum(row["input"] + row["output"] for row in told) == tokens
    assert hall.helix("cost", "--json").json["total"]["tokens"] == tokens


def test_help_and_dry_runs_change_no_byte_and_start_no_agent(tmp_path: Path) -> None:  # S-31, C-3
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    before = hall.everything()
    home = sorted(hall.home.rglob("*"))
    assert "run" in hall.helix("--help").out
    for command in COMMANDS:
        assert "Usage:" in hall.helix(command, "--help").out
    shown = hall.drain("--dry-run").out
    assert "app-1" in shown
    assert "maker --model giant-9" in shown
    assert hall.everything() == before
    assert sorted(hall.home.rglob("*")) == home
    assert hall.calls() == []


def test_a_watch_that_has_nothing_to_do_calls_nobody(tmp_path: Path) -> None:  # S-33, S-14
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    hall.drain()
    before = hall.calls()
    looks = tmp_path / "looks"
    run = hall.launch("--watch", PATH=f"{_counting_git(tmp_path / 'bin', looks)}:{SYSTEM_PATH}")
    wait_for(lambda: hall.state["phase"] == "watching" and hall.state["pid"] == run.pid)
    (hall.root / "note.txt").write_text("no document of ours\n")
    seen = len(looks.read_text().splitlines())
    # The first look may have begun before the note was there.
    wait_for(lambda: len(looks.read_text().splitlines()) >= seen + 2)
    run.send_signal(signal.SIGINT)
    assert run.wait(120) == 0
    assert hall.calls() == before  # the answer to this very state is known
    assert hall.state["total_tokens"] == 0
    assert hall.decisions() == ["check", "stop", "stop"]  # from memory; and our own Ctrl-C


def _counting_git(folder: Path, looks: Path) -> Path:
    """A folder whose `git` writes a line for each `git status` and is git in all else."""
    git = which("git", path=SYSTEM_PATH)
    folder.mkdir()
    (folder / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" status "*) echo >> {looks} ;; esac\nexec {git} "$@"\n'
    )
    (folder / "git").chmod(0o755)
    return folder
