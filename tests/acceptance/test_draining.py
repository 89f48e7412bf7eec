"""What `check` answers is obeyed exactly, and what it leads to is worked on (S-12 to S-14)."""

# @requirement TC-406

from __future__ import annotations

from pathlib import Path

from tests.support.attempts import CLEAN
from tests.support.runs import task
from tests.support.stub_agents import (
    RunScene,
    aligned,
    designed,
    draft,
    make_run_scene_with_reviewer,
    polished,
)

PASSES = "- `test -f {}` passes"
UNREADY = {"execution-eligible": False}


def waiting(tmp_path: Path) -> RunScene:
    """One bead, and nothing in it that a run could build."""
    return make_run_scene_with_reviewer(tmp_path / "w", task("app-1", **UNREADY))


def builds_all(hall: RunScene, name: str) -> None:
    """Whatever bead comes, the agent makes this file."""
    agent = hall.stage / "bin" / "maker"
    agent.write_text(agent.read_text().replace("echo done > ", f"echo x > {name}; echo done > "))


def test_align_asked_for_twice_runs_once_and_then_names_its_command(tmp_path: Path) -> None:
    hall = waiting(tmp_path)  # S-12, C-2
    hall.answers("check", "NEXT_ACTION: ALIGN\nREASON: drift")
    hall.plays("align", aligned())
    done = hall.drain(code=4)
    assert hall.decisions() == ["check", "align", "check", "guidance"]
    assert len(hall.calls("align")) == 1
    assert "helix align repo" in done.err
    assert hall.state["stop_reason"].endswith("helix align repo")
    assert hall.leftover() == CLEAN


def test_without_automatic_alignment_the_command_is_named_at_once(tmp_path: Path) -> None:
    hall = waiting(tmp_path)  # S-12, C-2
    hall.answers("check", "NEXT_ACTION: ALIGN")
    assert "helix align repo" in hall.drain("--no-auto-align", code=4).err
    assert hall.calls() == ["check"]


def test_what_an_alignment_finds_is_built_in_the_same_run(tmp_path: Path) -> None:  # S-12, A-4
    hall = waiting(tmp_path)
    hall.answers("check", "NEXT_ACTION: ALIGN", "NEXT_ACTION: STOP\nREASON: enough")
    hall.plays("align", aligned(1, draft("Add a", acceptance=PASSES.format("a.txt"))))
    builds_all(hall, "a.txt")
    done = hall.drain("--json").json
    assert done["completed"] == 1
    assert hall.decisions() == ["check", "align", "build", "review", "check", "stop"]
    assert sorted(hall.statuses().values()) == ["closed", "open"]


def test_a_design_that_adds_work_leads_to_its_build(tmp_path: Path) -> None:  # S-12, A-10
    hall = waiting(tmp_path)
    hall.answers("check", "NEXT_ACTION: DESIGN", "NEXT_ACTION: STOP")
    hall.plays("design", designed(draft("Add b", acceptance=PASSES.format("b.txt"))))
    builds_all(hall, "b.txt")
    hall.drain()
    assert hall.decisions() == ["check", "design", "build", "review", "check", "stop"]
    assert (hall.root / "docs/helix/02-design/plan-1.md").exists()
    assert (hall.root / "b.txt").exists()
    assert sorted(hall.statuses().values()) == ["closed", "open"]


def test_a_polish_that_adds_work_leads_to_its_build(tmp_path: Path) -> None:  # S-12, A-10
    hall = waiting(tmp_path)
    hall.answers("check", "NEXT_ACTION: POLISH", "NEXT_ACTION: STOP")
    new = {"key": "c", "title": "Add c", "acceptance": PASSES.format("c.txt")}
    hall.answers("polish", polished(new=[new]))
    builds_all(hall, "c.txt")
    hall.drain()
    assert hall.decisions() == ["check", "polish", "build", "review", "check", "stop"]
    assert sorted(hall.statuses().values()) == ["closed", "open"]


def test_passes_that_change_nothing_end_the_run(tmp_path: Path) -> None:  # S-13
    hall = waiting(tmp_path)
    hall.answers("check", "NEXT_ACTION: POLISH")
    hall.answers("polish", polished("IN_PROGRESS"))
    done = hall.drain(code=4)
    assert len(hall.calls("polish")) == 2
    assert "2 times in a row" in done.err


def test_build_in_vain_looks_for_orphans_and_goes_on_with_what_it_frees(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1", **UNREADY), task("app-2")
    )  # S-13, S-18
    now = hall.run("date", "-u", "+%Y-%m-%dT%H:%M:%SZ").id
    claim = {"status": "in_progress", "owner": "helix", "claim-id": "c", "claimed-at": now}
    hall.write([hall.rows()["app-1"], hall.rows()["app-2"] | claim])
    ages = f"sed -i s/{now}/2025-11-01T10:00:00Z/ {hall.file}"  # by its end the claim is old enough
    hall.plays("check", f"{ages}\necho NEXT_ACTION: BUILD", "echo NEXT_ACTION: STOP")
    hall.drain()
    assert hall.decisions()[:3] == ["check", "check", "build"]
    assert hall.statuses()["app-2"] == "closed"


def test_a_missing_authority_ends_in_guidance_and_no_check_is_asked(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1", **{"spec-id": "FEAT-404"})
    )  # S-3, C-2
    done = hall.drain(code=4)
    assert hall.calls() == []
    assert "FEAT-404" in done.err
    assert hall.state["last_decision"]["action"] == "guidance"
    assert hall.state["last_decision"]["blocking_authority"] == "FEAT-404"


def test_a_project_with_nothing_in_it_asks_what_to_build(tmp_path: Path) -> None:  # S-14, D-22
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    hall.write(b"")
    hall.git("rm", "-rq", "docs")
    hall.commit("nothing")
    assert "what shall be built?" in hall.drain(code=4).err
    assert hall.calls() == []


def test_a_polish_that_proposes_the_same_work_for_ever_ends(tmp_path: Path) -> None:  # S-13, S-14
    hall = waiting(tmp_path)
    hall.answers("check", "NEXT_ACTION: POLISH")
    new = {"key": "c", "title": "Add c", "acceptance": PASSES.format("c.txt")}
    hall.answers("polish", polished(new=[new]))
    builds_all(hall, "c.txt")
    hall.drain("--max-cycles", "5", "--no-auto-review", code=4)
    assert len(hall.calls("build")) == 1
    assert hall.decisions()[-1] == "guidance"


def test_builds_that_always_leave_something_for_later_end(tmp_path: Path) -> None:  # S-13, A-7
    hall = make_run_scene_with_reviewer(tmp_path / "w")
    later = draft("Tidy up", acceptance=PASSES.format("README.md"))
    agent = hall.stage / "bin" / "maker"
    says = f"echo '{later}'; echo $all > tidy.txt; echo done > "
    agent.write_text(agent.read_text().replace("echo done > ", says))
    hall.drain("--max-cycles", "6", "--no-auto-review")
    assert len(hall.calls("build")) == 3  # the bead, its follow-up, and one of that
    (left,) = [row for row in hall.rows().values() if row["status"] == "open"]
    assert left["execution-eligible"] is False
    assert "a person decides" in left["execution-skip-reason"]
