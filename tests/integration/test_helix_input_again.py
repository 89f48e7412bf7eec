"""Requests that come again, that come at once, and that wait for an answer (I-1, I-4, I-6)."""

# @requirement TC-501

from __future__ import annotations

import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.documents import DESIGN, SEED
from tests.support.requests import CHANGE, RequestScene, make_request_scene

TD = f"{DESIGN}/technical-designs/TD-001-first-design.md"
ADR = f"{DESIGN}/adr/ADR-001-storage.md"
UNEQUAL = {
    TD: "# Design\n\n[[US-001, TP-001]]\n\n## Constraints\n\n- Storage uses SQLite.\n",
    ADR: "# Storage\n\n## Decision\n\nWe use PostgreSQL.\n",
}
REPLACE = "use postgres instead of sqlite"


@pytest.fixture
def shop(tmp_path: Path) -> RequestScene:
    return make_request_scene(tmp_path / "w")


@pytest.fixture
def torn(tmp_path: Path) -> RequestScene:
    """Its documents disagree, and one of them has more authority."""
    return make_request_scene(tmp_path / "w", {**SEED, **UNEQUAL})


def told(asked: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(bead["part"], bead["documents"]) for bead in asked["beads"]]


# The same again


def test_a_conflict_that_was_settled_is_not_filed_again(torn: RequestScene):  # I-5, I-6
    torn.ask(REPLACE, "--yes")
    before = torn.file.read_bytes()
    for level in ("low", "medium", "high"):
        asked = torn.ask(REPLACE, "--autonomy", level, "--yes")
        assert {bead["state"] for bead in asked["beads"]} == {"known"}
    assert torn.file.read_bytes() == before


@pytest.mark.parametrize("files", [{}, SEED], ids=["greenfield", "seed"])
def test_a_request_for_something_new_is_told_the_same_way_twice(tmp_path: Path, files):  # I-1, I-8
    shop = make_request_scene(tmp_path / "w", files)
    first, second = (shop.ask("add a price list") for _ in range(2))
    assert told(second) == told(first)
    assert {bead["state"] for bead in second["beads"]} == {"known"}
    assert shop.ask("add opening hours")["beads"][1]["documents"] != first["beads"][1]["documents"]


def test_a_request_that_is_done_is_filed_anew_and_that_is_said(shop: RequestScene):  # I-6
    asked = shop.ask(CHANGE)
    for bead in reversed(asked["beads"]):
        shop.ddx("close", bead["id"], "--force")
    again = shop.ask(CHANGE)
    assert again["remarks"] == [f"{asked['beads'][0]['id']} asked for the same and is done"]
    assert shop.ask(CHANGE)["remarks"] == []


def test_one_doubt_takes_the_place_of_another_and_never_vanishes(torn: RequestScene):  # I-3, I-4
    for allowed, label in (
        ("false", "escalation"),
        ("true", "speculative"),
        ("false", "escalation"),
    ):
        asked = torn.ask(REPLACE, "--autonomy", "high", HELIX_SPECULATIVE=allowed)
        work = [bead for bead in asked["beads"] if bead["role"] in ("document", "tests", "build")]
        assert len(work) == 4
        for bead in work:
            doubts = {"kind:escalation", "kind:speculative"} & set(bead["labels"])
            assert doubts == {f"kind:{label}"}
            assert bead["executable"] is (allowed == "true")


def test_an_assumption_that_a_person_reviewed_is_not_doubted_again(torn: RequestScene):  # I-10
    asked = torn.ask(REPLACE, "--autonomy", "high")
    (bead,) = (it for it in asked["beads"] if it["part"] == "document:TD-001")
    torn.ddx("update", bead["id"], "--remove-label", "kind:speculative")
    again = torn.ask(REPLACE, "--autonomy", "high")
    assert {bead["state"] for bead in again["beads"]} == {"known"}


# At once


def test_two_terminals_never_promise_the_same_document(shop: RequestScene):  # I-6, T-10
    texts = ("add a price list", "add opening hours", "add a newsletter", "add gift cards")
    threads = [threading.Thread(target=shop.ask, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = shop.rows().values()
    names = [row["title"].partition(":")[0] for row in rows if row.get("paths")]
    assert len(names) == len(set(names)) == 4 * len(texts)


def test_a_second_request_in_an_empty_repository_waits_for_the_top(tmp_path: Path):  # I-6, I-8
    shop = make_request_scene(tmp_path / "w", {})
    top = shop.ask("design a CRM")["beads"][1]["id"]
    feature = shop.ask("add opening hours")["beads"][1]
    assert feature["after"] == [top]
    assert [row["id"] for row in shop.ddx("ready", "--execution", "--json").json] == [top]


# What a person is told


def test_what_is_open_comes_with_what_to_type(torn: RequestScene):  # I-4, C-3
    done = torn.helix("input", REPLACE, code=4)
    hint = next(line for line in done.err.splitlines() if "answer: " in line)
    program, *words = shlex.split(hint.partition("answer: ")[2].partition(";")[0])
    assert program == "helix"
    assert torn.helix(*words, code=None).code == 4  # the conflict is left
    (conflict,) = (row for row in torn.rows().values() if row["title"].startswith("Conflict"))
    program, *words = shlex.split(conflict["description"].rpartition("last word: ")[2])
    assert torn.helix(*words).code == 0
    assert torn.rows()[conflict["id"]]["status"] == "closed"


def test_what_to_type_survives_a_shell_whatever_a_file_is_called(tmp_path: Path):  # I-4, C-3
    odd = f"{DESIGN}/Prices (new) & other's.md"
    shop = make_request_scene(tmp_path / "w", {**SEED, odd: "# Shelves\n\nShelves are of wood.\n"})
    done = shop.helix("input", "make shelves wider", code=4)
    hint = next(line for line in done.err.splitlines() if "answer: " in line)
    _, *words = shlex.split(hint.partition("answer: ")[2].partition("; or")[0])
    assert shop.helix(*words).code == 0
    (question,) = (row for row in shop.rows().values() if "kind:escalation" in row["labels"])
    assert question["status"] == "closed"
    assert shlex.split(question["description"].rpartition("answer: ")[2])[1:] == words


def test_without_a_tracker_nothing_is_looked_at_and_nothing_left_behind(tmp_path: Path):  # I-11
    shop = make_request_scene(tmp_path / "w")
    shop.run("/bin/rm", "-rf", ".ddx")
    assert "has no tracker yet" in shop.helix("input", CHANGE, code=1).err
    assert not (shop.root / ".ddx").exists()


def test_a_mistyped_answer_is_not_taken_for_one(torn: RequestScene):  # I-4
    asked = torn.ask(REPLACE, "--answer", "hit:TD-01=yes", code=4)
    assert asked["remarks"] == ["nothing was asked by the id hit:TD-01"]


def test_ctrl_c_says_what_it_means(shop: RequestScene):  # I-4
    done = shop.talk(CHANGE, "--autonomy", "low", typed=["y", "\x03"])
    assert "nothing was filed for it" in done.out


def test_a_terminal_that_does_not_know_its_width_cuts_nothing_away(shop: RequestScene):  # C-5
    assert f"US-001: {CHANGE}" in shop.talk(CHANGE, typed=[]).out


@pytest.mark.parametrize(
    ("name", "text"),
    [("w.txt", f"{CHANGE}\n\n???\n"), ("w.yaml", f"- {CHANGE}\n-\n  autonomy: low\n")],
)
def test_of_many_requests_the_wrong_one_is_named_by_its_line(
    shop: RequestScene, name, text
):  # I-9, C-3
    (shop.root / name).write_text(text)
    assert f"{name}:3: a request needs words" in shop.helix("input", "--batch", name, code=2).err
    assert shop.rows() == {}
