"""Conflicts and gaps that are over: who closes their beads, and who does not (I-5)."""

# @requirement TC-501

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.documents import DESIGN, SEED
from tests.support.requests import CHANGE, RequestScene, make_request_scene

TD = f"{DESIGN}/technical-designs/TD-001-first-design.md"
SD = f"{DESIGN}/solution-designs/SD-001-test-solution.md"
TWIN = f"{DESIGN}/technical-designs/TD-002-other.md"
OTHER = "change US-002 a little"


def design(*rules: str) -> str:
    items = "".join(f"- {rule}\n" for rule in rules)
    return f"# Design\n\n[[US-001]]\n\n## Constraints\n\n{items}"


WANTS = design("The store must use SQLite.")
BANS = design("The store must not use SQLite.")


@pytest.fixture
def shop(tmp_path: Path) -> RequestScene:
    """Two designs of one tier contradict each other, and a bead says so."""
    shop = make_request_scene(tmp_path / "w", {**SEED, TD: WANTS, TWIN: BANS})
    shop.ask(CHANGE, "--autonomy", "high", code=4)
    return shop


def escalations(shop: RequestScene) -> list[dict[str, Any]]:
    return [row for row in shop.rows().values() if "kind:escalation" in row.get("labels", ())]


def escalation(shop: RequestScene) -> dict[str, Any]:
    (row,) = escalations(shop)
    return row


def mend(shop: RequestScene, text: str = WANTS) -> None:
    shop.put_all({TWIN: text})
    shop.commit("the second design follows the first")


def test_the_next_request_closes_it_with_the_commit_and_what_was_compared(shop: RequestScene):
    mend(shop)
    asked = shop.ask(OTHER)
    row = escalation(shop)
    assert row["status"] == "closed"
    assert row["close_reason"] == "TD-001 and TD-002 agree again"
    assert row["closing_commit_sha"] == shop.git("rev-parse", "HEAD").id
    said = f"{row['id']} is closed: TD-001 and TD-002 agree again; what it held back is filed"
    assert any(remark.startswith(said) for remark in asked["remarks"])
    (event,) = shop.ddx("show", row["id"], "--json").json["events"]
    assert TD in event["body"] and TWIN in event["body"]
    parts = {bead["part"] for bead in shop.ask(CHANGE, "--autonomy", "high")["beads"]}
    assert {"document:TD-001", "document:TD-002"} <= parts


def test_an_edit_that_is_not_committed_settles_nothing(shop: RequestScene):
    shop.put_all({TWIN: WANTS})
    shop.ask(OTHER)
    assert escalation(shop)["status"] == "open"


@pytest.mark.parametrize(
    "words",
    [
        ("update", "--description", "we meet about it on Friday"),
        ("update", "--claim"),
        ("evidence", "add", "--kind", "note", "--summary", "ask the auditor"),
    ],
    ids=lambda words: words[-1],
)
def test_what_a_person_has_taken_up_is_theirs_to_close(shop: RequestScene, words):
    verb, *rest = words
    verbs = (verb, rest.pop(0)) if verb == "evidence" else (verb,)
    shop.ddx(*verbs, escalation(shop)["id"], *rest)
    before = escalation(shop)
    mend(shop)
    shop.ask(OTHER)
    assert escalation(shop) == before


@pytest.mark.parametrize("how", ["child", "dependency"])
def test_one_that_other_beads_keep_open_stops_nobody(shop: RequestScene, how: str):
    row = escalation(shop)
    words = ("--parent", row["id"]) if how == "child" else ()
    other = shop.ddx("create", "Ask the auditor", "--acceptance", "- `true` passes", *words).id
    if how == "dependency":
        shop.ddx("dep", "add", row["id"], other)
    mend(shop)
    remarks = shop.ask(OTHER)["remarks"]
    assert escalation(shop)["status"] == "open"
    assert any(said.startswith(f"{row['id']} stays open: ") for said in remarks)
    shop.ddx("close", other)
    shop.ask(OTHER)
    assert escalation(shop)["status"] == "closed"


def test_one_that_the_project_wants_open_is_told_of_and_stops_nobody(shop: RequestScene):  # T-15
    hook = shop.root / ".ddx/hooks/validate-bead-update"
    hook.parent.mkdir()
    hook.write_text(
        "#!/bin/sh\ngrep -q kind:escalation || exit 0\necho people close it >&2\nexit 1\n"
    )
    hook.chmod(0o755)
    mend(shop)
    remarks = shop.ask(OTHER)["remarks"]
    row = escalation(shop)
    assert row["status"] == "open"
    said = f"{row['id']} stays open: validate-bead-update rejects {row['id']}: people close it"
    assert said in remarks
    hook.unlink()
    shop.ask(OTHER)
    assert escalation(shop)["status"] == "closed"


def test_how_urgent_somebody_finds_it_changes_nothing_of_what_it_says(shop: RequestScene):
    shop.ddx("update", escalation(shop)["id"], "--priority", "0", "--add-label", "area:store")
    mend(shop)
    shop.ask(OTHER)
    assert escalation(shop)["status"] == "closed"


def test_one_that_a_person_opened_again_stays_open(shop: RequestScene):
    mend(shop)
    shop.ask(OTHER)
    shop.ddx("reopen", escalation(shop)["id"], "--reason", "not yet")
    shop.ask(OTHER)
    assert escalation(shop)["status"] == "open"


def test_other_words_for_the_same_conflict_settle_nothing_until_they_are_told(shop: RequestScene):
    first = escalation(shop)["id"]
    mend(shop, design("SQLite must never be used for the store."))
    shop.ask(OTHER)
    assert escalation(shop)["status"] == "open"
    shop.ask(CHANGE, "--autonomy", "high", code=4)
    old, new = sorted(escalations(shop), key=lambda row: row["id"] != first)
    assert (old["status"], new["status"]) == ("closed", "open")
    assert old["close_reason"].endswith(f"{new['id']} tells the rest")


@pytest.mark.parametrize("broken", ["---\nddx: [\n---\n# Design\n", None], ids=["broken", "gone"])
def test_a_document_that_cannot_be_read_settles_nothing(shop: RequestScene, broken):
    if broken is None:
        (shop.root / TWIN).unlink()
        shop.commit("without it")
    else:
        mend(shop, broken)
    shop.ask(OTHER, code=None)
    assert escalation(shop)["status"] == "open"


def test_a_document_that_no_longer_stands_against_a_request_closes_it(tmp_path: Path):
    rule = "Lists must be stored in SQLite."
    shop = make_request_scene(tmp_path / "w", {**SEED, SD: design(rule)})
    shop.ask("store lists in MongoDB", code=4)
    shop.put_all({SD: design("Lists must be stored in MongoDB.")})
    shop.commit("the design gives way")
    shop.ask(OTHER)
    assert escalation(shop)["close_reason"] == "SD-001 no longer stands against the request"


def test_a_rehearsal_closes_nothing(shop: RequestScene):
    mend(shop)
    before = shop.file.read_bytes()
    shop.helix("input", OTHER, "--dry-run")
    assert shop.file.read_bytes() == before


def test_a_gap_that_was_filled_is_closed_and_one_of_another_name_is_not(tmp_path: Path):
    shop = make_request_scene(
        tmp_path / "w", {**SEED, TD: "# Design\n\n[[US-001, SD-404, SD-405]]\n"}
    )
    shop.ask(CHANGE, "--autonomy", "high")
    shop.put_all({TD: "# Design\n\n[[US-001, SD-405]]\n"})
    shop.commit("without the name")
    shop.ask(OTHER)
    gaps = [row for row in shop.rows().values() if "kind:gap" in row["labels"]]
    said = {row["title"]: row.get("close_reason", "") for row in gaps}
    assert said == {
        "Gap: TD-001 names SD-404, which does not exist": "TD-001 has no such gap now",
        "Gap: TD-001 names SD-405, which does not exist": "",
    }


def test_a_gap_is_open_until_what_fills_it_is_committed(tmp_path: Path):
    shop = make_request_scene(tmp_path / "w", {**SEED, TD: "# Design\n\n[[US-001, SD-404]]\n"})
    shop.ask(CHANGE, "--autonomy", "high")
    shop.put_all({SD.replace("SD-001", "SD-404"): "# What was missing\n"})
    shop.ask(OTHER)
    (gap,) = (row for row in shop.rows().values() if "kind:gap" in row["labels"])
    assert gap["status"] == "open"
    shop.commit("the missing one")
    shop.ask(OTHER)
    assert shop.rows()[gap["id"]]["status"] == "closed"
