"""From one sentence to landed documents, tests and code (I-6 to I-8)."""

from __future__ import annotations

from pathlib import Path

from tests.support.attempts import CLEAN
from tests.support.documents import DESIGN, SEED
from tests.support.requests import CHANGE, RequestScene, make_request_scene
from tests.support.runs import CLEAN_REVIEW
from tests.support.stub_agents import polished

# Does what each bead asks for: writes the documents at their paths, each naming what it follows
# from, or changes the files that it names.
MAKER = r"""#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys

prompt = sys.stdin.read()
stage = pathlib.Path(os.environ["STAGE"])
action, bead = os.environ["HELIX_ACTION"], os.environ.get("DDX_BEAD_ID", "")
with open(stage / "calls", "a") as calls:
    print(action, bead, file=calls)
(stage / f"prompt-{bead or action}").write_text(prompt)
if action != "build":
    sys.stdout.write((stage / f"{action}-1").read_text())
    sys.exit()
show = subprocess.run(["ddx", "bead", "show", bead, "--json"], capture_output=True, check=True)
row = json.loads(show.stdout)
row = row[0] if isinstance(row, list) else row
row = row.get("bead", row)
above = row.get("spec-id", "")
for path in map(pathlib.Path, row.get("paths", []) or ["made.txt"]):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() or path.suffix != ".md":
        with open(path, "a") as file:
            file.write(f"\nChanged for {row['title']}.\n")
        continue
    stem = path.stem
    own = {"product-vision": "vision"}.get(stem, "-".join(stem.split("-")[:2]))
    path.write_text(f"---\nddx:\n  id: {own}\n  depends_on: [{above}]\n---\n# {stem}\n")
    above = own
print("It is written.")
"""


def staffed(shop: RequestScene) -> RequestScene:
    """With an agent that can do what intake files."""
    shop.stage.mkdir(exist_ok=True)
    maker = shop.stage / "maker"
    maker.write_text(MAKER)
    maker.chmod(0o755)
    for action, text in (
        ("review", CLEAN_REVIEW),
        ("check", "NEXT_ACTION: STOP\nREASON: all is done\n"),
        ("polish", polished()),
    ):
        (shop.stage / f"{action}-1").write_text(text)
    env = f"{{STAGE: {shop.stage}}}"
    shop.put_all(
        {
            ".ddx/config.yaml": f"harnesses: {{maker: {{kind: command, argv: [{maker}], "
            f"env: {env}}}}}\n",
            ".helix/config.yaml": "agent: maker\n",
        }
    )
    shop.commit("settings")
    return shop


def landed(shop: RequestScene) -> list[str]:
    """The titles of what landed, oldest first."""
    lines = shop.git("log", "--format=%s", "--reverse").out.splitlines()
    return [line.rpartition(" [")[0] for line in lines if line.endswith("]")]


def polished_in(shop: RequestScene) -> list[str]:
    """What a bead waited for is no surprise: no step of a chain costs a look at the next (S-3)."""
    calls = (shop.stage / "calls").read_text().splitlines()
    return [call for call in calls if call.startswith("polish")]


def test_one_sentence_in_an_empty_repository_becomes_a_chain_of_landed_documents(
    tmp_path: Path,
):  # I-8
    shop = staffed(make_request_scene(tmp_path / "w", {}))
    asked = shop.ask("design a CRM with lead capture")
    assert [bead["role"] for bead in asked["beads"]] == ["request", *["document"] * 5]
    shop.drain(code=0)
    assert landed(shop) == [
        f"{name}: CRM with lead capture"
        for name in ("vision and prd", "FEAT-001", "US-001", "TD-001", "TP-001")
    ]
    statuses = {
        row["status"] for row in shop.rows().values() if "kind:planning" not in row["labels"]
    }
    assert statuses == {"closed"}
    documents = shop.run("/usr/bin/env", "sh", "-c", "find docs -name '*.md' | wc -l").out
    assert documents.strip() == "6"
    assert polished_in(shop) == []
    frame, design = (asked["beads"][n]["id"] for n in (2, 4))
    assert "Frame" in (shop.stage / f"prompt-{frame}").read_text()
    assert (shop.stage / f"prompt-{design}").read_text() != ""
    assert shop.leftover() == CLEAN


def test_a_change_is_carried_from_the_story_to_the_code(tmp_path: Path):  # I-6, I-7
    shop = staffed(make_request_scene(tmp_path / "w"))
    shop.ask(CHANGE)
    shop.drain(code=0)
    assert landed(shop) == [
        f"US-001: {CHANGE}",
        "TD-001: follow US-001",
        "TP-001: follow US-001",
        f"Tests: {CHANGE}",
        f"Build: {CHANGE}",
    ]
    assert {row["status"] for row in shop.rows().values()} <= {"closed"}
    assert polished_in(shop) == []


def test_an_agent_that_does_nothing_closes_nothing(tmp_path: Path):  # I-6, T-17
    shop = staffed(make_request_scene(tmp_path / "w"))
    (shop.stage / "maker").write_text(MAKER.replace("for path in map(", "for path in () and map("))
    asked = shop.ask(CHANGE)
    shop.drain("--max-attempts", "1", code=4)
    assert landed(shop) == []
    assert shop.rows()[asked["beads"][1]["id"]]["status"] == "blocked"


def test_a_run_goes_on_once_the_documents_agree_again(tmp_path: Path):  # I-5
    rule = "# D\n\n[[US-001]]\n\n## Constraints\n\n- The store must {}use SQLite.\n"
    one, other = (f"{DESIGN}/technical-designs/TD-{n}.md" for n in ("001-first-design", "002-x"))
    files = {**SEED, one: rule.format(""), other: rule.format("not ")}
    shop = staffed(make_request_scene(tmp_path / "w", files))
    (conflict,) = (
        bead["id"]
        for bead in shop.ask(CHANGE, "--autonomy", "high", code=4)["beads"]
        if bead["role"] == "escalation"
    )
    assert f"{conflict} is a conflict that no authority settles" in shop.drain(code=4).err
    shop.put_all({other: rule.format("")})
    shop.commit("the second design gives way")
    assert f"{conflict} is closed: TD-001 and TD-002 agree again" in shop.drain(code=0).err
    assert shop.rows()[conflict]["status"] == "closed"


def test_a_gap_that_the_project_wants_open_is_told_once_and_the_run_goes_on(tmp_path: Path):
    design = f"{DESIGN}/technical-designs/TD-001-first-design.md"  # I-5, T-15
    shop = staffed(
        make_request_scene(tmp_path / "w", {**SEED, design: "# D\n\n[[US-001, SD-404]]\n"})
    )
    beads = shop.ask(CHANGE, "--autonomy", "high")["beads"]
    (gap,) = (bead["id"] for bead in beads if bead["role"] == "gap")
    shop.put_all({design: "# D\n\n[[US-001]]\n"})
    shop.commit("without the name")
    hook = shop.root / ".ddx/hooks/validate-bead-update"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\ngrep kind:gap | grep -q closing_commit && exit 1\nexit 0\n")
    hook.chmod(0o755)
    told = shop.drain(code=None)
    assert told.err.count(f"{gap} stays open: validate-bead-update rejects {gap}") == 1
    assert len(landed(shop)) > 1
    assert shop.rows()[gap]["status"] == "open"
