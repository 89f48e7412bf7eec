"""Proven work that waits to be landed holds its beads back (X-13, T-16)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.support.tracker import Repository, bead, make_repository

from ddx.base.values import changed
from ddx.tracker.pending_landings import (
    PendingLanding,
    held_by_pending,
    read_pending,
    remove_pending,
    write_pending,
)

WAITING = PendingLanding(
    attempt="20260102T030405-1a2b3c4d",
    beads=("app-1", "app-2"),
    ref="refs/helix/attempts/app-1/20260102T030405-1a2b3c4d",
    commit="c0ffee" * 6 + "c0ff",
    reason="src/code.py is edited in your checkout",
    at="2026-01-02T03:04:05.000000Z",
)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "pending")


def told(folder: str) -> list[str]:
    sentences: list[str] = []
    read_pending(folder, tell=sentences.append)
    return sentences


def test_what_was_written_is_read_again_until_it_is_removed(folder):
    later = changed(WAITING, attempt="20260102T040000-ffffffff", beads=("app-3",))
    assert read_pending(folder) == []
    write_pending(folder, later)
    write_pending(folder, WAITING)
    assert read_pending(folder) == [WAITING, later]
    assert remove_pending(folder, WAITING.attempt)
    assert read_pending(folder) == [later]
    assert not remove_pending(folder, WAITING.attempt)
    assert not remove_pending(f"{folder}-elsewhere", WAITING.attempt)


def test_its_file_is_one_plain_object_named_after_the_attempt(folder):
    write_pending(folder, WAITING)
    [path] = Path(folder).iterdir()
    assert path.name == f"{WAITING.attempt}.json"
    assert json.loads(path.read_text()) == {**WAITING.__dict__, "beads": ["app-1", "app-2"]}


def test_every_bead_of_the_attempt_is_held_and_the_reason_names_it(folder):
    write_pending(folder, WAITING)
    write_pending(folder, changed(WAITING, attempt="z", beads=("app-2", "app-3"), reason="later"))
    held = held_by_pending(folder)
    assert set(held) == {"app-1", "app-2", "app-3"}
    assert {item.kind for item in held.values()} == {"pending-landing"}
    assert held["app-2"] == held["app-1"], "the first attempt's reason stands"
    assert WAITING.attempt in held["app-1"].reason
    assert WAITING.reason in held["app-1"].reason


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"beads": "app-1"}', "not a list of ids"),
        (b'{"beads": [1]}', "not a list of ids"),
        (b'{"beads": [], "attempt": 1}', "attempt is not a text"),
        (b"\xff", "utf-8"),
        (b'{"beads": []' + b" " * (2 << 20), "too large"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_hides_no_other(folder, content, why):
    write_pending(folder, WAITING)
    broken = Path(folder, "broken.json")
    broken.write_bytes(content)
    [sentence] = told(folder)
    assert sentence.startswith(f"{broken}: ")
    assert why in sentence
    assert read_pending(folder) == [WAITING]


def test_a_folder_in_the_place_of_a_file_is_told_and_other_files_do_not_count(folder):
    os.makedirs(os.path.join(folder, "odd.json"))
    Path(folder, "x.json.tmp-1-2").write_text("{")
    Path(folder, "gone.json").symlink_to("nowhere")
    [sentence] = told(folder)
    assert "odd.json" in sentence


def test_a_file_in_the_place_of_the_folder_means_that_nothing_waits(tmp_path):
    (tmp_path / "pending").touch()
    assert read_pending(str(tmp_path / "pending")) == []


# On the command line


@pytest.fixture
def app(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path)
    made.write([bead("app-1"), bead("app-9")])
    write_pending(str(made.folder / "state/pending"), WAITING)
    return made


def test_a_bead_whose_work_waits_is_not_handed_out(app):  # T-16
    assert [row["id"] for row in app.ddx("ready", "--execution", "--json").json] == ["app-9"]
    assert app.ddx("take", "--json").json["id"] == "app-9"
    assert "nothing is ready" in app.ddx("take", code=1).err


def test_blocked_and_why_say_what_it_waits_for(app):  # T-22
    [row] = app.ddx("blocked", "--json").json
    assert row["blocker"]["kind"] == "pending-landing"
    assert WAITING.reason in row["blocker"]["reason"]
    said = app.ddx("why", "app-1").out
    assert "pending-landing (X-13)" in said
    assert "commit or put aside your own edits" in said


def test_a_broken_file_warns_on_stderr_and_fails_no_command(app):
    (app.folder / "state/pending/broken.json").write_text("{\x1b[31m")
    done = app.ddx("ready", "--execution", "--json")
    assert [row["id"] for row in done.json] == ["app-9"]
    assert "broken.json" in done.err
