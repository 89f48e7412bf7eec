"""`helix input` as a person and as a program meets it (I-1 to I-11)."""

# @requirement TC-501

from __future__ import annotations

import json
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.documents import DESIGN, FRAME, SEED
from tests.support.requests import CHANGE, RequestScene, make_request_scene

SD = f"{DESIGN}/solution-designs/SD-001-test-solution.md"
TD = f"{DESIGN}/technical-designs/TD-001-first-design.md"
US_2 = f"{FRAME}/user-stories/US-002-second-story.md"
CLASHING = {
    SD: "# Solution\n\n[[FEAT-001, TD-001]]\n\n## Constraints\n\n- The store must use SQLite.\n",
    TD: "# Design\n\n[[US-001, TP-001]]\n\n## Constraints\n\n- The store must not use SQLite.\n",
}
SEARCHED = {US_2: "# Invoices on paper\n\nThey are printed.\n"}
VAGUE = "make invoices printable"


@pytest.fixture
def shop(tmp_path: Path) -> RequestScene:
    return make_request_scene(tmp_path / "w")


def names(asked: dict[str, object]) -> list[str]:
    return [bead["part"] for bead in asked["beads"]]  # type: ignore[attr-defined]


# What is filed


def test_the_seeds_request_files_its_beads_below_the_request(shop: RequestScene):  # I-6, I-7
    asked = shop.ask(CHANGE)
    request, *children = asked["beads"]
    assert [bead["spec_id"] for bead in children] == [
        *("US-001", "TD-001", "TP-001", "TP-001", "TP-001"),
    ]
    assert {bead["parent"] for bead in children} == {request["id"]}
    for before, bead in pairwise(children):
        assert bead["after"] == [before["id"]]
    rows = shop.rows()
    assert rows[request["id"]]["issue_type"] == "epic"
    assert {row.get("spec-id") for row in rows.values()} == {"US-001", "TD-001", "TP-001"}
    assert [row["id"] for row in shop.ddx("ready", "--execution", "--json").json] == [
        children[0]["id"]
    ]
    assert shop.ddx("validate-ready", children[0]["id"]).code == 0
    assert shop.ddx("doctor").code == 0


def test_the_same_request_on_the_same_repository_files_the_same(tmp_path: Path):  # I-1
    first, second = (make_request_scene(tmp_path / name) for name in ("one", "two"))
    for shop in (first, second):
        shop.git("commit", "--amend", "--no-edit", "--quiet", "--date=2026-01-01T00:00:00Z")
        for level, request in (("high", VAGUE), ("medium", CHANGE), ("high", "add a price list")):
            shop.ask(request, "--autonomy", level)
    base = first.git("rev-parse", "HEAD").id[:12]
    other = second.git("rev-parse", "HEAD").id[:12]
    said = json.dumps(second.filed()).replace(other, base)
    assert json.loads(said) == first.filed()


def test_the_same_request_once_more_files_and_changes_nothing(shop: RequestScene):  # I-6
    shop.ask(CHANGE)
    before = shop.file.read_bytes()
    asked = shop.ask("Change US-001 acceptance criteria!")
    assert {bead["state"] for bead in asked["beads"]} == {"known"}
    assert shop.file.read_bytes() == before


def test_a_part_that_has_come_since_is_added_below_the_same_request(shop: RequestScene):  # I-6
    first = shop.ask(CHANGE)
    shop.put_all({f"{DESIGN}/technical-designs/TD-002-more.md": "# More\n\n[[US-001]]\n"})
    second = shop.ask(CHANGE)
    states = {bead["part"]: bead["state"] for bead in second["beads"]}
    assert states.pop("document:TD-002") == "new"
    assert states.pop("tests:1") == "updated"
    assert set(states.values()) == {"known"}
    new = next(bead for bead in second["beads"] if bead["state"] == "new")
    assert new["parent"] == first["beads"][0]["id"]
    tests = next(bead for bead in second["beads"] if bead["part"] == "tests:1")
    assert new["id"] in tests["after"]


def test_what_is_done_is_not_asked_for_twice_while_its_request_is_open(shop: RequestScene):  # I-6
    asked = shop.ask(CHANGE)
    shop.ddx("close", asked["beads"][1]["id"], "--force")
    assert {bead["state"] for bead in shop.ask(CHANGE)["beads"]} == {"known"}
    for bead in reversed(asked["beads"]):
        shop.ddx("close", bead["id"], "--force")
    assert {bead["state"] for bead in shop.ask(CHANGE)["beads"]} == {"new"}


def test_a_second_new_capability_gets_the_next_numbers(shop: RequestScene):  # I-6, I-8
    first, second = (shop.ask(text) for text in ("add a price list", "add opening hours"))
    assert first["beads"][1]["documents"] == ["FEAT-002"]
    assert second["beads"][1]["documents"] == ["FEAT-003"]


def test_a_link_to_nothing_becomes_one_gap_bead(shop: RequestScene):  # I-5
    shop.put_all({TD: "# Design\n\n[[US-001, TP-001, SD-404]]\n"})
    for text in (CHANGE, "change US-001 a little"):
        asked = shop.ask(text, "--autonomy", "high")
    assert asked["gaps"] == [
        {"what": "TD-001 names SD-404, which does not exist", "path": TD, "line": 3}
    ]
    gaps = [row for row in shop.rows().values() if "kind:gap" in row["labels"]]
    assert len(gaps) == 1
    assert gaps[0]["execution-eligible"] is False


def test_a_hook_that_rejects_one_bead_files_none(shop: RequestScene):  # I-6, T-15
    hook = shop.folder / "hooks/validate-bead-create"
    hook.parent.mkdir(parents=True)
    hook.write_text("#!/bin/sh\ngrep -q 'Tests:' && exit 1\nexit 0\n")
    hook.chmod(0o755)
    before = shop.file.read_bytes()
    assert "rejects" in shop.helix("input", CHANGE, "--json", code=1).err
    assert shop.file.read_bytes() == before
    (shop.root / "wishes.txt").write_text(f"{CHANGE}\nwhy is there a prd?\n")
    first, second = shop.helix("input", "--batch", "wishes.txt", "--json", code=1).json["requests"]
    assert (bool(first["error"]), first["beads"]) == (True, [])  # I-9
    assert [bead["part"] for bead in second["beads"]] == ["answer"]
    assert len(shop.rows()) == 1


def test_links_that_would_close_a_ring_leave_everything_as_it_was(shop: RequestScene):  # I-6, T-12
    asked = {bead["part"]: bead["id"] for bead in shop.ask(CHANGE)["beads"]}
    shop.ddx("dep", "remove", asked["document:TD-001"], asked["document:US-001"])
    shop.ddx("dep", "add", asked["document:US-001"], asked["tests:1"])
    before = shop.file.read_bytes()
    shop.put_all({f"{DESIGN}/technical-designs/TD-002-more.md": "# More\n\n[[US-001]]\n"})
    assert "ring" in shop.helix("input", CHANGE, code=1).err
    assert shop.file.read_bytes() == before


def test_two_terminals_with_the_same_request_file_it_once(shop: RequestScene):  # I-6, T-10
    threads = [threading.Thread(target=shop.ask, args=(CHANGE,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shop.rows()) == 6


def test_a_rehearsal_writes_not_a_byte(shop: RequestScene):  # I-1, S-31
    before = shop.everything()
    asked = shop.ask(CHANGE, "--dry-run")
    shop.helix("input", VAGUE, "--dry-run", "--assist", "--autonomy", "low")
    assert shop.everything() == before
    assert {bead["state"] for bead in asked["beads"]} == {"planned"}
    assert asked["beads"][2]["after"] == ["document:US-001"]


def test_hostile_words_reach_neither_a_shell_nor_the_terminal(shop: RequestScene):  # T-23
    shop.put_all({US_2: "# \x1b]0;owned\x07 `rm -rf .` $(touch owned)\n\n[[US-001]]\n"})
    shop.commit("hostile")
    done = shop.helix("input", "change US-001; $(touch owned) `touch owned`", "--yes")
    assert "\x1b]" not in done.out + done.err
    assert not (shop.root / "owned").exists()
    shop.ddx("doctor")


# Who is asked


def test_low_without_a_terminal_prints_its_questions_and_files_nothing(shop: RequestScene):  # I-4
    before = shop.file.read_bytes()
    asked = shop.ask(CHANGE, "--autonomy", "low", code=4)
    assert [it["id"] for it in asked["questions"]][:2] == ["start", "bead:document:US-001"]
    assert set(asked["questions"][0]) == {"id", "what", "why", "yes", "no", "default"}
    assert asked["beads"] == []
    text = shop.helix("input", CHANGE, "--autonomy", "low", code=4).out
    assert "Shall beads be filed" in text
    assert shop.file.read_bytes() == before


def test_low_by_answers_files_what_was_confirmed_and_no_more(shop: RequestScene):  # I-4
    questions = shop.ask(CHANGE, "--autonomy", "low", code=4)["questions"]
    said = [f"{it['id']}={'no' if 'build' in it['id'] else 'yes'}" for it in questions]
    words = [word for text in said for word in ("--answer", text)]
    asked = shop.ask(CHANGE, "--autonomy", "low", *words)
    assert names(asked) == [
        *("request", "document:US-001", "document:TD-001", "document:TP-001", "tests:1"),
    ]


def test_yes_answers_every_question_by_its_default(shop: RequestScene):  # I-1, I-4
    assert len(shop.ask(CHANGE, "--autonomy", "low", "--yes")["beads"]) == 6


def test_medium_without_a_terminal_files_what_is_sure_and_leaves_the_question(tmp_path: Path):
    shop = make_request_scene(tmp_path / "w", {**SEED, **SEARCHED})  # I-4
    asked = shop.ask("change US-001 as invoices are printed and US-404", code=None)
    assert asked["searched"] == "there is no document US-404"
    assert asked["exit_code"] == 4
    assert [it["id"] for it in asked["questions"]] == ["hit:US-002"]
    assert "document:US-001" in names(asked)
    assert "document:US-002" not in names(asked)
    escalations = [it for it in asked["beads"] if it["role"] == "escalation"]
    assert [it["executable"] for it in escalations] == [False]
    again = shop.ask(asked["request"], "--answer", "hit:US-002=yes")
    assert "document:US-002" in names(again)
    assert shop.rows()[escalations[0]["id"]]["status"] == "closed"
    assert shop.ask(asked["request"])["questions"] == []


def test_high_assumes_and_marks_what_rests_on_it(tmp_path: Path):  # I-4
    shop = make_request_scene(tmp_path / "w", {**SEED, **SEARCHED})
    asked = shop.ask(VAGUE, "--autonomy", "high")
    assert asked["questions"] == []
    assert len(asked["assumptions"]) == 1
    (bead,) = (it for it in asked["beads"] if it["part"] == "document:US-002")
    assert "kind:speculative" in bead["labels"]
    assert bead["executable"]
    assert "Assumption:" in shop.rows()[bead["id"]]["description"]


def test_where_assuming_is_switched_off_it_waits_for_a_person(tmp_path: Path):  # I-3
    shop = make_request_scene(tmp_path / "w", {**SEED, **SEARCHED})
    asked = shop.ask(VAGUE, "--autonomy", "high", HELIX_SPECULATIVE="false")
    (bead,) = (it for it in asked["beads"] if it["part"] == "document:US-002")
    assert "kind:escalation" in bead["labels"]
    assert not bead["executable"]
    confirmed = shop.ask(VAGUE, "--answer", "hit:US-002=yes")
    (bead,) = (it for it in confirmed["beads"] if it["part"] == "document:US-002")
    assert bead["state"] == "updated"
    assert "kind:escalation" not in bead["labels"]
    assert bead["executable"]


def test_a_conflict_is_escalated_with_both_documents_lines_and_texts(tmp_path: Path):  # I-5
    shop = make_request_scene(tmp_path / "w", {**SEED, **CLASHING})
    asked = shop.ask(CHANGE, code=4)
    (conflict,) = asked["conflicts"]
    assert (conflict["class"], conflict["winner"]) == ("resolvable", "SD-001")
    assert [(it["path"], it["line"]) for it in conflict["sides"]] == [(SD, 7), (TD, 7)]
    assert names(asked)[0] == "document:US-001"
    assert "document:TD-001" not in names(asked)
    key = asked["questions"][0]["id"]
    agreed = shop.ask(CHANGE, "--answer", f"{key}=yes")
    assert "document:TD-001" in names(agreed)
    (bead,) = (it for it in agreed["beads"] if it["role"] == "escalation")
    assert shop.rows()[bead["id"]]["status"] == "closed"
    assert shop.ask("change US-001 once more")["questions"] == []


def test_what_a_decision_record_decides_holds_for_designs_that_do_not_link_it(tmp_path: Path):
    record = f"{DESIGN}/adr/ADR-001-store.md"  # I-5, ADR-007
    decided = "# Store\n\n## Context\n\nX.\n\n## Decision\n\nWe use Postgres as the database.\n"
    designed = "# D\n\n[[US-001]]\n\n## Constraints\n\n- The database is SQLite.\n"
    quarrel = "# Old\n\n## Decision\n\nWe use MySQL as the database.\n"
    older = f"{DESIGN}/adr/ADR-002-old.md"
    shop = make_request_scene(tmp_path / "w", {**SEED, TD: designed, record: decided})
    asked = shop.ask("use postgres instead of sqlite", "--autonomy", "high")
    (conflict,) = asked["conflicts"]
    assert (conflict["class"], conflict["winner"]) == ("resolvable", "ADR-001")
    assert [it["role"] for it in asked["beads"]].count("escalation") == 1
    free = make_request_scene(tmp_path / "x", {**SEED, record: decided, older: quarrel})
    assert free.ask(CHANGE)["conflicts"] == []  # their quarrel has nothing to do with it


def test_physics_stops_its_path_at_high_and_the_rest_goes_on(tmp_path: Path):  # I-4, I-5
    other = f"{DESIGN}/technical-designs/TD-002-other.md"
    texts = ("- The store must use SQLite.", "- The store must not use SQLite.")
    one, two = (f"# D\n\n[[US-001]]\n\n## Constraints\n\n{text}\n" for text in texts)
    third = f"{DESIGN}/technical-designs/TD-003-free.md"
    shop = make_request_scene(
        tmp_path / "w", {**SEED, TD: one, other: two, third: "# F\n\n[[US-001]]\n"}
    )
    asked = shop.ask(CHANGE, "--autonomy", "high", code=4)
    assert [it["class"] for it in asked["conflicts"]] == ["physics"]
    documents = {bead["part"] for bead in asked["beads"] if bead["role"] == "document"}
    assert documents == {"document:US-001", "document:TD-003"}
    assert not any(it["executable"] for it in asked["beads"] if it["role"] == "escalation")


def test_another_technology_is_looked_for_where_the_old_one_stands(tmp_path: Path):  # I-2, I-4
    shop = make_request_scene(tmp_path / "w", {**SEED, SD: CLASHING[SD]})
    asked = shop.ask("use postgres instead of sqlite", code=4)
    assert [it["id"] for it in asked["questions"]] == ["hit:SD-001"]
    everywhere = {f"{DESIGN}/adr/ADR-00{n}-x.md": "# A\n\nWe use SQLite.\n" for n in range(1, 9)}
    wide = make_request_scene(tmp_path / "x", everywhere)
    assert len(wide.ask("use postgres instead of sqlite", code=4)["questions"]) == 8
    assert not any(bead["executable"] for bead in asked["beads"])
    high = shop.ask("use postgres instead of sqlite", "--autonomy", "high")
    assert "document:SD-001" in names(high)


def test_a_request_against_a_constraint_is_escalated_by_the_highest_that_says_so(tmp_path: Path):
    text = "# D\n\n[[FEAT-001]]\n\n## Constraints\n\n- Lists must be stored in SQLite.\n"
    shop = make_request_scene(tmp_path / "w", {**SEED, SD: text, TD: text})  # I-5
    asked = shop.ask("store lists in MongoDB", code=4)
    (conflict,) = asked["conflicts"]
    assert (conflict["class"], conflict["winner"]) == ("resolvable", "SD-001")
    assert [bead["role"] for bead in asked["beads"]] == ["escalation"]


# At a terminal


def test_a_dialogue_tells_what_why_and_what_follows(shop: RequestScene):  # I-4
    done = shop.talk(CHANGE, "--autonomy", "low", typed=["y", "n", "maybe", "", "", "", "no"])
    assert done.code == 0
    for word in ("Shall beads be filed", "why ", "yes ", "no ", "[Y/n]", "answer yes or no"):
        assert word in done.out
    filed = {row["intake-part"] for row in shop.rows().values()}
    assert filed == {"request", "document:TD-001", "document:TP-001", "tests:1"}


def test_the_end_of_the_input_is_a_no(shop: RequestScene):  # I-4
    done = shop.talk(CHANGE, "--autonomy", "low", typed=["\x04"])
    assert done.code == 0
    assert "nothing was filed" in done.out
    assert shop.rows() == {}
    shop.talk(CHANGE, "--autonomy", "low", typed=["y", "y", "\x04"])
    assert [row["intake-part"] for row in shop.rows().values()] == ["document:US-001"]


def test_ctrl_c_in_the_middle_files_nothing(shop: RequestScene):  # I-4, C-2
    done = shop.talk(CHANGE, "--autonomy", "low", typed=["y", "y", "\x03"])
    assert done.code == 130
    assert shop.rows() == {}


# Several at once


def test_a_batch_is_all_or_nothing_for_each_request_and_one_summary(shop: RequestScene):  # I-9
    (shop.root / "wishes.txt").write_text(f"# mine\n{CHANGE}\n\nadd a price list\n")
    done = shop.helix("input", "--batch", "wishes.txt")
    assert done.out.splitlines()[-1].startswith("2 requests: 13 beads filed")
    found = shop.helix("input", "--batch", "wishes.txt", "--json").json
    assert [len(it["beads"]) for it in found["requests"]] == [6, 7]


def test_a_batch_of_yaml_may_name_a_level(shop: RequestScene):  # I-9
    (shop.root / "wishes.yaml").write_text(
        f"- {CHANGE}\n- request: change US-002\n  autonomy: low\n"
    )
    found = shop.helix("input", "--batch", "wishes.yaml", "--json", code=4).json
    assert [it["exit_code"] for it in found["requests"]] == [0, 4]
    assert [len(it["beads"]) for it in found["requests"]] == [6, 0]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("w.yaml", "- request: x\n  level: high\n", "w.yaml:1: unknown key 'level'"),
        ("w.yaml", "- request: x\n  autonomy: turbo\n", "one of low, medium, high"),
        ("w.yaml", "request: x\n", "expected a list"),
        ("w.yaml", "- 'x\n", "w.yaml:"),
        ("w.txt", "\n# nothing\n", "holds no request"),
    ],
)
def test_a_batch_that_cannot_be_read_files_nothing_at_all(
    shop: RequestScene, name, text, said
):  # I-9
    (shop.root / name).write_text(text)
    done = shop.helix("input", "--batch", name, code=2)
    assert said in done.err
    assert shop.rows() == {}


# Wrong usage


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("x", "--autonomy", "turbo"), "low"),
        (("add a list", "add a cart"), "after 'add a list' comes 'add a cart'"),
        (("add", "a", "wish", "list"), "put it in quotes"),
        (("x", "--autonomy"), "--autonomy"),
        ((), "one request or --batch FILE"),
        (("x", "--batch", "f"), "not both"),
        (("",), "a request needs words"),
        (("x", "--answer", "start"), "ID=yes or ID=no"),
    ],
)
def test_wrong_usage_ends_with_two_before_anything_is_read(shop: RequestScene, words, said):  # I-11
    (shop.folder / "beads.jsonl").write_text("broken, and nobody looks\n")
    before = shop.everything()
    assert said in shop.helix("input", *words, code=2).err
    assert shop.everything() == before


def test_a_wrong_slider_is_named_with_its_line(shop: RequestScene):  # I-3, I-11
    shop.put_all({".helix/slider-config.yaml": "autonomy_level: high\nspeed: fast\n"})
    before = shop.everything()
    done = shop.helix("input", CHANGE, code=2)
    assert "slider-config.yaml:2: unknown setting 'speed'" in done.err
    assert "autonomy_level" in done.err
    assert shop.everything() == before


def test_the_slider_of_the_project_holds_unless_something_nearer_speaks(shop: RequestScene):  # I-3
    shop.put_all({".helix/slider-config.yaml": "autonomy_level: low\n"})
    assert shop.ask(CHANGE, code=4)["autonomy"] == "low"
    assert shop.ask(CHANGE, HELIX_AUTONOMY="medium")["autonomy"] == "medium"
    assert shop.ask(CHANGE, "--autonomy", "high", HELIX_AUTONOMY="low")["autonomy"] == "high"


# Advice


def test_an_agent_may_word_it_better_and_its_words_pass_the_same_rules(shop: RequestScene):  # I-1
    advice = {
        "beads": [
            {"part": "document:US-001", "title": "US-001 speaks of lists"},
            {"part": "tests:1", "acceptance": "- it works"},
            {"part": "build:1", "acceptance": "- `test -f list.py` passes"},
            {"part": "elsewhere", "title": "Mine"},
        ],
        "candidates": [{"id": "US-002", "why": "it also lists"}, {"id": "US-777", "why": "?"}],
    }
    _assisted(shop, f"```json\n{json.dumps(advice)}\n```")
    asked = shop.ask(CHANGE, "--assist", "--autonomy", "high")
    rows = {row["intake-part"]: row for row in shop.rows().values()}
    assert rows["document:US-001"]["title"] == "US-001 speaks of lists"
    assert "works" not in rows["tests:1"]["acceptance"]
    lines = rows["build:1"]["acceptance"].splitlines()
    assert lines[0].startswith('- `test -n "$(git diff --name-only')
    assert lines[-1] == "- `test -f list.py` passes"
    assert "kind:speculative" in rows["document:US-002"]["labels"]
    assert "document:US-777" not in rows
    assert len(asked["remarks"]) == 2


@pytest.mark.parametrize("reply", ["I would rather not.", "```json\n{}\n```\n```json\n{}\n```"])
def test_advice_that_cannot_be_read_is_said_and_changes_nothing(shop: RequestScene, reply):  # I-1
    _assisted(shop, reply)
    asked = shop.ask(CHANGE, "--assist")
    assert len(asked["beads"]) == 6
    assert asked["remarks"][0].startswith("no advice: ")


def _assisted(shop: RequestScene, reply: str) -> None:
    shop.stage.mkdir()
    agent = shop.stage / "agent"
    agent.write_text(f"#!/bin/sh\ncat > {shop.stage}/prompt\ncat <<'END'\n{reply}\nEND\n")
    agent.chmod(0o755)
    config = {"harnesses": {"stub": {"kind": "command", "argv": [str(agent)]}}}
    shop.put_all({".ddx/config.yaml": json.dumps(config), ".helix/config.yaml": "agent: stub\n"})
    shop.commit("settings")
