"""What a build leaves for later becomes beads, once, whatever happens to the run (A-7, X-19)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.attempts import CLEAN
from tests.support.objectives import make_objective_scene, step
from tests.support.runs import RunScene, task
from tests.support.stub_agents import make_run_scene_with_reviewer

LATER = "Round the sum"
PROOF = "- `test -f README.md` passes"
_DIES = """\
#!/bin/sh
[ -e {mark} ] && exit 0
touch {mark}
kill -9 $(cut -d' ' -f1 {root}/.ddx/state/run.lock)
sleep 1
"""


def leaves(title: str, **fields: object) -> str:
    """A line of shell that prints a follow-up, far behind what the result's excerpt holds."""
    row = {"title": title, "acceptance": PROOF, **fields}
    talk = "head -c 9000 /dev/zero | tr '\\0' x; echo"
    return f"{talk}\ncat <<'END'\nFOLLOW_UP: {json.dumps(row)}\nEND\n"


def hook(floor: RunScene, name: str, script: str) -> None:
    path = floor.folder / "hooks" / f"validate-bead-{name}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)


def dies_at(floor: RunScene, name: str) -> None:
    """The run is gone at the first write of that kind, before anything of it is on the disk."""
    hook(floor, name, _DIES.format(mark=floor.stage / "died", root=floor.root))


def titles(floor: RunScene) -> list[str]:
    return [row["title"] for row in floor.rows().values()]


def unfiled(floor: RunScene) -> list[Path]:
    return list(floor.folder.glob("executions/*/drafts.json"))


@pytest.mark.parametrize("moment", ["create", "update"])
def test_a_run_that_dies_around_its_landing_loses_no_follow_up(tmp_path: Path, moment: str) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"))
    hall.builds("app-1", f"{leaves(LATER)}echo x > app-1.txt\n")
    if moment == "update":  # its claim is a write as well: the hook comes when that is made
        arm = f"mkdir -p {hall.folder}/hooks && mv {hall.stage}/armed {hall.folder}/hooks"
        hall.builds("app-1", f"{arm}/validate-bead-update\n{leaves(LATER)}echo x > app-1.txt\n")
    dies_at(hall, moment)
    if moment == "update":
        (hall.folder / "hooks/validate-bead-update").rename(hall.stage / "armed")
    hall.drain("--no-auto-review", code=-9)
    assert LATER not in titles(hall)
    assert len(unfiled(hall)) == 1
    assert "left work for later" in hall.drain("--no-auto-review", code=None).err
    assert titles(hall).count(LATER) == 1
    (later,) = [row for row in hall.rows().values() if row["title"] == LATER]
    assert later["discovered-from"] == "app-1"
    hall.drain("--no-auto-review", code=None)
    assert titles(hall).count(LATER) == 1
    assert unfiled(hall) == []
    assert hall.leftover() == CLEAN


def test_a_follow_up_that_was_filed_when_the_run_died_is_not_filed_again(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"))
    hall.builds("app-1", f"{leaves(LATER)}echo x > app-1.txt\n")
    hall.drain("--no-auto-review", "--max-cycles", "1")
    (later,) = [row["id"] for row in hall.rows().values() if row["title"] == LATER]
    attempt = hall.rows()["app-1"]["session_id"]
    text = f"FOLLOW_UP: {json.dumps({'title': LATER})}"
    kept = {"bead": "app-1", "parent": "", "if_landed": False, "text": text}
    drafts = hall.folder / "executions" / attempt / "drafts.json"
    drafts.write_text(json.dumps(kept))  # as if it had died before this was removed
    hall.ddx("close", later, "--reason", "an open one would be known by its title")
    hall.drain("--no-auto-review")
    assert titles(hall).count(LATER) == 1
    assert not drafts.exists()


def test_an_objective_that_dies_at_its_filing_loses_no_follow_up(tmp_path: Path) -> None:
    yard = make_objective_scene(tmp_path / "w")  # A-7, O-5
    yard.plan(step("001"))
    yard.builds("001", f"{leaves(LATER)}echo x > 001.txt\necho DELIVERED: 001.txt\n")
    hooked = yard.folder / "hooks/validate-bead-create"
    dies_at(yard, "create")
    armed = hooked.rename(yard.stage / "armed")  # the plan's own tasks come first
    script = (yard.stage / "build-001").read_text()
    yard.builds("001", f"mv {armed} {hooked}\n{script}")
    yard.objective("Write some files", "--no-auto-review", code=-9)
    assert LATER not in titles(yard)
    yard.objective("resume", code=None)
    assert titles(yard).count(LATER) == 1
    assert unfiled(yard) == []


def test_a_project_that_does_not_want_the_follow_up_keeps_its_run(tmp_path: Path) -> None:  # T-15
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))
    hall.builds("app-1", f"{leaves(LATER)}echo x > app-1.txt\n")
    hook(hall, "create", "#!/bin/sh\necho no more beads >&2\nexit 1\n")
    told = hall.drain("--no-auto-review")
    assert "is not filed" in told.err
    assert "no more beads" in told.err
    assert hall.statuses() == {"app-1": "closed", "app-2": "closed"}
    hall.drain("--no-auto-review")  # it is tried again, and the run goes on again
    hook(hall, "create", "#!/bin/sh\n")
    hall.drain("--no-auto-review")
    assert titles(hall).count(LATER) == 1


def test_a_bead_that_vanished_under_its_attempt_does_not_end_the_run(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))  # S-22
    gone = f"grep -v '\"app-1\"' {hall.folder}/beads.jsonl > $stage/left"
    hall.builds(
        "app-1", f"{gone}\ncat $stage/left > {hall.folder}/beads.jsonl\n{leaves(LATER)}echo x > y\n"
    )
    hall.drain("--no-auto-review")
    assert hall.statuses() == {"app-2": "closed"}


def test_what_a_last_attempt_left_for_later_does_not_open_its_bead_again(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"))  # S-10, S-13
    number = """sed "s/NTH/$(grep -c '^build app-1$' "$stage/calls")/" """
    each = leaves("The NTH part", blocks=True).replace("cat <<", f"{number} <<")
    hall.builds("app-1", f"{each}echo x > wrong.txt\n")
    hall.drain("--no-auto-review", "--max-attempts", "2", code=4)
    assert hall.rows()["app-1"]["status"] == "blocked"
    assert hall.calls("build app-1") == ["build app-1", "build app-1"]


def test_what_was_shown_to_an_attempt_does_not_undo_that_its_bead_is_left_alone(
    tmp_path: Path,
) -> None:  # S-6, M-8
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1", title="Parse dates"), memory={"holdout": 0}
    )
    words = ("--trigger", "dates are to be parsed", "--resolution", "use the parser of the shop")
    hall.helix("memory", "store", "--type", "pattern", *words)
    hook(hall, "update", '#!/bin/sh\ngrep -q \'"status": *"closed"\' && exit 1\nexit 0\n')
    hall.drain("--no-auto-review", code=None)
    assert "use the parser of the shop" in hall.prompt("build")
    assert hall.calls("build") == ["build app-1"]
