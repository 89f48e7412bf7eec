"""What may be remembered, under which name, and which files it is about (M-1, M-2)."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.memory import MASKER, a_memory

from helix.memory.model import (
    LONGEST_NAME,
    MemoryDraft,
    files_in,
    free_name,
    identity,
    is_echo,
    names_a_file,
    patterns_of,
    rejection,
    slug_of,
)
from helix.memory.quarantine import suspicion

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("type", "trigger", "resolution", "reason"),
    [
        ("systemic", "long enough to count", "x", "type must be failure or pattern"),
        ("", "long enough to count", "x", "type must be"),
        ("failure", "   nine ch   ", "x", "trigger too short"),
        ("failure", "exactly 10", "x", ""),
        ("failure", "123456789", "x", "trigger too short"),
        ("failure", "long enough to count", " \n\t", "resolution empty"),
        ("pattern", "?!?!?!?!?!?!", "x", "trigger without a word"),
        ("pattern", "x" * 2001, "x", "trigger too long"),
        ("pattern", "long enough to count", "x" * 8001, "resolution too long"),
        ("pattern", "an escape \x1b[2J in it", "x", "character \\x1b"),
        ("pattern", "half a \ud800 pair in it", "x", "\\ud800"),
    ],
)
def test_what_may_not_be_remembered_is_told_why(type, trigger, resolution, reason):  # M-2
    said = rejection(MemoryDraft(type, trigger, resolution))
    assert said.startswith(reason) if not reason.startswith(("character", "\\")) else reason in said
    assert bool(said) == bool(reason)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"source": "x" * 201}, "source too long"),
        ({"files": ("x" * 401,)}, "a file's path is too long"),
        ({"files": ("half a \ud800.py",)}, "a file's path holds the character"),
    ],
)
def test_what_comes_along_with_a_memory_is_bounded_and_clean_too(said, reason):  # M-1, M-2
    draft = MemoryDraft("failure", "long enough to count", "x", **said)
    assert rejection(draft).startswith(reason)


def test_writing_it_differently_does_not_make_it_another_trigger():  # M-2
    assert identity("The  LOGIN-test, fails!") == identity("the login test fails")
    assert identity("Ｌogin") == identity("login")


@pytest.mark.parametrize(
    ("trigger", "name"),
    [
        ("Login test fails", "login-test-fails"),
        ("  CI: `npm ci` breaks!  ", "ci-npm-ci-breaks"),
        ("Größe falsch gesetzt", "größe-falsch-gesetzt"),
        ("???", "memory"),
        ("x" * 80, "x" * LONGEST_NAME),
    ],
)
def test_a_name_is_a_kebab_slug_that_reads_like_the_trigger(trigger, name):  # M-1
    assert slug_of(trigger) == name
    assert len(slug_of(f"{trigger} and very many more words than a name may ever have")) <= 50


def test_a_name_that_is_taken_gets_a_number():  # M-1
    assert free_name("a b", {"a-b", "a-b-2", "a-b-4"}) == "a-b-3"


def test_files_and_folders_are_found_in_the_text():  # M-1
    text = "See ./src/auth/login.py, tests/ and `config.yaml`; not example.com nor 3.14 nor src."
    assert files_in(text) == ("src/auth/login.py", "config.yaml", "tests/")
    assert patterns_of(MemoryDraft("failure", "in src/a.py", "x", files=("./b.py",))) == (
        "b.py",
        "src/a.py",
    )


@pytest.mark.parametrize(
    ("pattern", "file", "meant"),
    [
        ("src/a.py", "src/a.py", True),
        ("a.py", "src/deep/a.py", True),
        ("src/deep/a.py", "a.py", True),
        ("a.py", "data.py", False),
        ("src/a.py", "other/a.py", False),
        ("src/auth/", "src/auth/login.py", True),
        ("src/auth/", "src/authority.py", False),
        ("src/auth/", "src/auth", False),
    ],
)
def test_a_file_is_meant_by_whole_parts_of_its_path(pattern, file, meant):  # M-3
    assert names_a_file((pattern,), (file,)) is meant


# -- echoes ----------------------------------------------------------------------------------


def test_what_recall_handed_out_is_recognised_as_an_echo():  # M-10
    known = a_memory(
        trigger="Celery task runs before the transaction has committed",
        resolution="Enqueue with transaction.on_commit and pass the id",
    )
    shown = "Celery task runs before the transaction has committed"
    assert is_echo(MemoryDraft("pattern", shown, "enqueue with transaction on_commit"), known)
    assert is_echo(MemoryDraft("failure", f"{shown} -> Enqueue", "and pass the id"), known)
    assert not is_echo(
        MemoryDraft("failure", shown, "Retry the task until the row is there"), known
    )
    assert not is_echo(MemoryDraft("failure", "Another thing altogether", "pass the id"), known)


def test_the_set_of_the_benchmark_is_whole_and_fit_to_be_stored():  # M-11
    lines = (ROOT / "benchmarks/memory/memories.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    kinds = ("objective", "paraphrase", "symptom", "keyword")
    assert len(rows) >= 60
    assert sum(row["part"] == "unseen" for row in rows) >= 30
    assert all(row[kind].strip() for row in rows for kind in kinds)
    drafts = [MemoryDraft(row["type"], row["trigger"], row["resolution"]) for row in rows]
    assert [rejection(draft) or suspicion(draft, MASKER) for draft in drafts] == [""] * len(rows)
    assert len({identity(draft.trigger) for draft in drafts}) == len(rows)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("memories.jsonl", "2d4fad60ddd680c24df84ef3a94b937e93258e780e870452f9b57694970c0b2d"),
        ("unrelated.txt", "1db266fe7afc268836fd56239bf176ecb5380d83f2ccd63bf106529b4d76ce55"),
    ],
)
def test_the_blind_set_is_as_it_was_before_anybody_knew_its_scores(name, written):  # M-11
    content = (ROOT / "benchmarks/memory/blind" / name).read_bytes()
    assert sha256(content).hexdigest() == written
    assert len(content.splitlines()) >= 70
