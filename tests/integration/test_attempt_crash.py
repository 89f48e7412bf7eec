"""Kill -9 at any step of an attempt: nothing is lost, done twice, half done or leaked (X-2, X-19).

The scenes stand in `tests.support.crash_attempt`; each is played once for all tests of it, which
run in one process for that (`tests.support.rings`). What an
assertion prints names the step, and that module says how to see it alone.
"""

# @requirement TC-303

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from tests.support.attempts import CLEAN, greeting, make_workshop, writes
from tests.support.crash_attempt import (
    NEVER,
    SCENES,
    UNHARMED,
    Accident,
    kill_at_every_step,
    kill_at_random,
)

from ddx.attempts.record import RecordWriter
from ddx.base.clock import Clock
from ddx.base.masking import Masker
from ddx.project.project import Project

# A scene is many attempts: minutes on a busy machine.
pytestmark = pytest.mark.timeout(1200)
every_scene = pytest.mark.parametrize("scene", SCENES)

NOTHING_TO_LAND = ("satisfied", "reconciling nothing")
KILLS, BEADS = 15, 12

ATTEMPT = (
    *("rename(.new-", "rename(beads.jsonl", "write(events.jsonl, claimed", "git update-ref refs"),
    *("git read-tree", "rename(manifest.json", "start shim of python", "write(events.jsonl, agent"),
    *("git add", "git write-tree", "git commit-tree", "rename(made.json", "start shim of sh"),
    *("rename(checks.json", "open(landing.lock", "rename(landing.json", "git merge"),
    *("unlink(landing.json", "unlink(hello.txt", "git update-ref -d", "rename(attachments"),
    *("write(events.jsonl, closed", "rename(result.json", "unlink(lock"),
)
"""What happens in a plain attempt, in this order."""


@cache
def trial(scene: str) -> list[Accident]:
    return kill_at_every_step(scene)


@cache
def random_trial(seed: int) -> Accident:
    return kill_at_random(seed, kills=KILLS, beads=BEADS)


@pytest.mark.parametrize("scene", ["success"])
def test_a_plain_attempt_was_killed_at_every_stage_of_it(scene: str) -> None:
    killings = sorted(trial(scene)[1:], key=lambda it: it.step)
    calls = [killing.call for killing in killings]

    place = 0
    for part in ATTEMPT:
        found = [n for n, call in enumerate(calls) if n >= place and part in call]
        assert found, f"no killing at {part} after {calls[place]}"
        place = found[0]
    assert {killing.step for killing in killings} == set(range(1, killings[-1].step + 1))


@every_scene
def test_every_killing_happened(scene: str) -> None:
    unharmed, *killings = sorted(trial(scene), key=lambda it: it.step)

    assert unharmed.how == UNHARMED
    assert len(killings) > 10
    for killing in killings:
        assert killing.call != NEVER, killing


@every_scene
def test_the_next_start_closes_every_bead(scene: str) -> None:
    for found in trial(scene):
        assert found.code == 0, found
        assert set(found.statuses.values()) == {"closed"}, found
        assert found.claimed == [], found


@every_scene
def test_a_bead_is_closed_once(scene: str) -> None:
    """Killed between event and row, the tracker may tell of the same closing twice (T-6)."""
    for found in trial(scene):
        for bead_id, closings in found.closings.items():
            assert len(set(closings)) == 1, (bead_id, found)
            assert len(closings) <= 1 + found.was_half_closed, (bead_id, found)


@every_scene
def test_a_bead_lands_once(scene: str) -> None:
    wanted = 0 if scene in NOTHING_TO_LAND else 1
    for found in trial(scene):
        for bead_id, attempts in found.landed.items():
            assert len(attempts) == wanted, (bead_id, found)


@every_scene
def test_what_an_agent_made_is_on_the_branch_or_at_a_ref(scene: str) -> None:
    for found in trial(scene):
        require_nothing_lost(found)


@every_scene
def test_what_is_kept_was_made_by_an_agent(scene: str) -> None:
    """A workspace that was going when we died is no work that deletes everything."""
    for found in trial(scene):
        assert not found.kept or scene not in NOTHING_TO_LAND, found
        for files in found.kept.values():
            assert {"README.md", ".ddx/beads.jsonl"} <= set(files), found


@every_scene
def test_what_is_the_operators_is_as_he_left_it(scene: str) -> None:
    for found in trial(scene):
        assert found.harmed == [], found
        assert found.broken == "", found


@every_scene
def test_nothing_is_left_over(scene: str) -> None:
    for found in trial(scene):
        assert found.leftovers == [], found


@every_scene
def test_yet_another_start_changes_nothing(scene: str) -> None:
    for found in trial(scene):
        assert found.restless == [], found


@every_scene
def test_the_story_of_a_killed_attempt_can_be_read(scene: str) -> None:
    for found in trial(scene):
        assert found.unreadable == "", found


@pytest.mark.parametrize("scene", ["new floor"])
def test_a_number_that_landed_is_the_floor_whoever_died(scene: str) -> None:
    for found in trial(scene):
        assert found.floors == [6], found


@pytest.mark.parametrize("seed", [1, 2])
def test_a_loop_killed_again_and_again_still_drains_the_queue(seed: int) -> None:
    found = random_trial(seed)

    assert found.code == 0, found
    assert set(found.statuses.values()) == {"closed"}, found
    assert found.claimed == [], found
    for bead_id in found.statuses:
        assert len(found.landed[bead_id]) == 1, (bead_id, found)
        assert len(set(found.closings[bead_id])) == 1, (bead_id, found)
    require_nothing_lost(found)
    assert (found.harmed, found.broken) == ([], ""), found
    assert (found.leftovers, found.restless) == ([], []), found


def test_a_workspace_that_could_not_be_removed_is_tried_again(tmp_path: Path) -> None:  # X-3a
    workshop = make_workshop(tmp_path / "w")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    record = RecordWriter.begin(
        Project(str(workshop.root)),
        "20260102T030405-1a2b3c",
        {"beads": [], "workspace": str(workspace)},
        clock=Clock(),
        masker=Masker({}),
        on_event=lambda happening: None,
    )
    record.finish({"outcome": "landed"}, leftover=str(workspace))
    assert workshop.unfinished() == [record.attempt]

    done = workshop.loop()

    assert "had died" not in done.err
    assert not workspace.exists()
    assert workshop.leftover() == CLEAN


def test_what_waits_is_landed_by_one_worker_only(tmp_path: Path) -> None:
    others = [writes(f"app-{n}", f"{n}.txt") for n in range(2, 5)]
    workshop = make_workshop(tmp_path / "w", greeting(), *others)
    (workshop.root / "hello.txt").write_text("mine\n")
    workshop.agent("execute-bead", "app-1", "--harness", "script", code=1)
    (waiting,) = workshop.refs()
    (workshop.root / "hello.txt").unlink()

    workshop.loop("--workers", "3")

    landings = [path.parent for path in (workshop.folder / "executions").glob("*/made.json")]
    again = [folder for folder in landings if waiting.rpartition("/")[2] in _told(folder)]
    assert len(again) == 1
    assert {row["status"] for row in workshop.rows().values()} == {"closed"}
    assert (workshop.refs(), workshop.leftover()) == ([], CLEAN)


def _told(folder: Path) -> str:
    return (folder / "events.jsonl").read_text().partition("landing-again")[2]


def require_nothing_lost(found: Accident) -> None:
    landed = {attempt for attempts in found.landed.values() for attempt in attempts}
    for attempt, files in found.made.items():
        kept = found.kept.get(attempt, [])
        assert attempt in landed or set(files) <= set(kept), (attempt, found)
