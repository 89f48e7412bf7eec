"""Who is asked, with what, and that by hand and in a run it is the same (A-5, A-6, I-8, S-31)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.runs import make_run_scene, task
from tests.support.stub_agents import aligned, designed, make_run_scene_with_reviewer, polished
from tests.support.tracker import DDX, ROOT

SMART = """\
write app-1.txt done
say REVIEW_STATUS: CLEAN
say ISSUES_COUNT: 0
"""
CHEAP = "say NEXT_ACTION: STOP\n"
MODELS = re.compile(
    r"\b(?:opus|sonnet|haiku|claude-\d|gpt-?\d|o[134]-(?:mini|pro)|gemini-\d|llama-?\d|qwen-?\d)",
    re.IGNORECASE,
)
PASSES = ("check", "design", "align", "polish")


def test_a_stage_asks_for_smart_or_cheap_and_the_settings_say_which_that_is(
    tmp_path: Path,
) -> None:
    floor = make_run_scene(tmp_path / "w", agent="script")
    floor.root.joinpath("clever.script").write_text(SMART)
    floor.root.joinpath("quick.script").write_text(CHEAP)
    models = {"script": {"smart": "clever.script", "cheap": "quick.script"}}
    (floor.folder / "config.yaml").write_text(json.dumps({"models": models}))
    floor.commit("who is smart")
    done = floor.drain("--json").json
    assert (done["completed"], done["decision"]["action"]) == (1, "stop")
    models_of = {
        row["action"]: Path(row["model"]).name
        for path in floor.folder.glob("executions/*/manifest.json")
        if (row := json.loads(path.read_text()))
    }
    assert models_of == {
        "build": "clever.script",
        "review": "clever.script",
        "check": "quick.script",
    }


def test_a_model_that_a_person_names_is_asked_in_every_stage(tmp_path: Path) -> None:
    floor = make_run_scene(tmp_path / "w", agent="script")
    floor.root.joinpath("mine.script").write_text(f"{SMART}say NEXT_ACTION: STOP\n")
    models = {"script": {"smart": "nowhere", "cheap": "nowhere"}}
    (floor.folder / "config.yaml").write_text(json.dumps({"models": models}))
    floor.commit("who is smart")
    assert floor.drain("--model", "mine.script", "--json").json["completed"] == 1


def test_no_page_and_no_code_of_the_policy_names_a_model() -> None:
    pages = [*(ROOT / "workflows").rglob("*.md"), *(ROOT / "src/helix").rglob("*.py")]
    named = [
        f"{page.relative_to(ROOT)}: {found[0]}"
        for page in pages
        if (found := MODELS.search(page.read_text()))
    ]
    assert len(pages) > 50
    assert named == []


def test_by_hand_and_in_a_run_the_same_is_asked(tmp_path: Path) -> None:  # A-6, S-31
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", task("app-1", **{"execution-eligible": False})
    )
    hall.answers(
        "check", "NEXT_ACTION: DESIGN", "NEXT_ACTION: ALIGN", "NEXT_ACTION: POLISH", "GUIDANCE"
    )
    hall.plays("design", designed())
    hall.plays("align", aligned())
    hall.answers("polish", polished(changes=[{"id": "app-1", "description": "In euro."}]))
    before = hall.everything()
    by_hand = {name: hall.helix(name, "--dry-run", "--json").json["prompt"] for name in PASSES}
    assert hall.everything() == before
    hall.drain(code=1)
    kept = {
        label.removeprefix("action:"): hall.ddx("events", bead_id, "--json").json[0]["body"]
        for bead_id, row in hall.rows().items()
        for label in row.get("labels", ())
        if label.startswith("action:")
    }
    assert kept == {name: by_hand[name] for name in ("design", "align")}
    assert (hall.stage / "prompt-check-1").read_text() == by_hand["check"]
    assert (hall.stage / "prompt-polish-1").read_text() == by_hand["polish"]


def test_by_hand_and_in_a_run_the_same_is_filed(tmp_path: Path) -> None:
    """The same answers lead to the same beads, whoever asked for the pass."""
    finding = {
        "severity": "high",
        "title": "The sum is wrong",
        "acceptance": "- `test -f README.md` passes",
    }
    review = f"REVIEW_STATUS: ISSUES_FOUND\nISSUES_COUNT: 1\n```json\n{json.dumps([finding])}\n```"
    filed = []
    for words in (("run", "--max-cycles", "1"), ("review", "last-commit")):
        hall = make_run_scene_with_reviewer(tmp_path / words[0], task("app-1"))
        hall.answers("review", review, "REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0")
        if words[0] == "review":
            (hall.root / "app-1.txt").write_text("done\n")
            hall.commit("by a person")
        hall.helix(*words, code=None)
        (row,) = [row for row in hall.rows().values() if row["title"] == finding["title"]]
        filed.append({name: row[name] for name in ("labels", "acceptance", "priority")})
    assert filed[0] == filed[1]


@pytest.mark.parametrize("action", ["check", "review", "polish"])
def test_a_rehearsal_of_what_only_reads_shows_all_of_it_and_writes_no_byte(
    tmp_path: Path, action: str
) -> None:  # S-31
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1", title="Sum the cart"))
    (hall.root / "cart.txt").write_text("the new line\n")
    hall.commit("a cart")
    before, home = hall.everything(), sorted(hall.home.rglob("*"))
    shown = hall.helix(action, "--dry-run").out
    assert hall.everything() == before
    assert sorted(hall.home.rglob("*")) == home
    assert hall.calls() == []
    assert "maker --model giant-9" in shown
    assert ("+the new line" if action == "review" else "Sum the cart") in shown
    hall.answers("polish", polished())
    hall.helix(action, code=None)
    assert (hall.stage / f"prompt-{action}").read_text() in shown


def test_a_rehearsal_of_a_run_shows_the_whole_review_that_is_owed(tmp_path: Path) -> None:
    hall = make_run_scene_with_reviewer(tmp_path / "w")  # S-31, S-17
    hall.plays("review", "echo nothing")
    hall.drain(code=4)
    before = hall.everything()
    row = hall.drain("--dry-run", "--json").json
    assert hall.everything() == before
    assert row["decision"]["action"] == "review"
    assert "+done" in row["prompt"]
    assert row["prompt"] == hall.prompt("review")


def test_the_activity_of_a_bead_picks_the_page_of_its_attempt(tmp_path: Path) -> None:  # I-8, D-20
    path = "docs/helix/01-frame/features/FEAT-009-pay.md"
    frame = task(
        "app-1",
        labels=["helix", "activity:frame", "kind:document"],
        acceptance=f"- `{path}` exists\n- `{DDX} doc validate` passes",
    )
    hall = make_run_scene_with_reviewer(
        tmp_path / "w", frame, task("app-2", priority=4, labels=["phase:test"])
    )
    page = "---\nddx:\n  id: FEAT-009\n  depends_on: [prd]\n---\n# Pay\n"
    hall.builds("app-1", f"mkdir -p $(dirname {path})\ncat > {path} <<'END'\n{page}END\n")
    hall.drain("--no-auto-review", code=None)
    assert "Frame, one bead" in (hall.stage / "prompt-build-1").read_text()
    assert "Test, one bead" in (hall.stage / "prompt-build-2").read_text()
    assert hall.statuses() == {"app-1": "closed", "app-2": "closed"}
    assert path in hall.git("ls-files").out


def test_next_and_a_rehearsal_know_what_check_has_said_already(tmp_path: Path) -> None:  # S-4, S-14
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"))
    hall.answers("check", "NEXT_ACTION: GUIDANCE\nREASON: prices are unclear\nQUESTION: in euro?")
    hall.drain(code=4)
    told = hall.helix("next", "--json").json["decision"]
    assert (told["action"], told["question"]) == ("guidance", "in euro?")
    assert hall.drain("--dry-run", "--json").json["decision"] == told
    assert len(hall.calls("check")) == 1


def test_next_owes_no_review_where_none_are_made(tmp_path: Path) -> None:  # S-4, S-17
    hall = make_run_scene_with_reviewer(tmp_path / "w", task("app-1"), task("app-2"))
    hall.answers("review", "I cannot say")
    hall.drain(code=4)
    assert hall.helix("next", "--json").json["decision"]["action"] == "review"
    (hall.root / ".helix/config.yaml").write_text(
        '{"agent": "maker", "review": {"enabled": false}}'
    )
    assert hall.helix("next", "--json").json["decision"]["action"] == "build"
