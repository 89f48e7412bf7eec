"""Git and editors do not take our lock; what we acknowledged survives them all the same (T-14a)."""

# @requirement TC-103

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.generate import encode
from tests.support.tracker import (
    REPLACED,
    LiveWriter,
    Repository,
    bead,
    make_repository,
    wait_until_it_waits,
)

BEADS = [bead(f"app-{n}") for n in range(8)]
ROUNDS = 3

SLOW_WRITER = """
import os, sys
path, content = sys.argv[1], sys.stdin.buffer.readline() + sys.stdin.buffer.readline()
if sys.argv[2] == "anew":
    os.unlink(path)
file = open(path, "wb", buffering=0)
file.write(content[:len(content) // 2 + 100])
print("half", flush=True)
sys.stdin.buffer.readline()
file.write(content[len(content) // 2 + 100:])
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Eight beads, committed, and `other`, a branch whose tracker has one less."""
    made = make_repository(tmp_path)
    made.write(BEADS)
    made.commit()
    made.git("checkout", "--quiet", "-b", "other")
    made.write(BEADS[1:])
    made.commit()
    made.git("checkout", "--quiet", "main")
    return made


# Under a live writer


def stash(repository: Repository, writer: LiveWriter) -> None:
    repository.git("stash", "--quiet", code=None)
    writer.await_more(1)
    repository.git("stash", "pop", "--quiet", code=None)


def checkout(repository: Repository, writer: LiveWriter) -> None:
    repository.git("checkout", "--quiet", "--force", "other")
    writer.await_more(1)
    repository.git("checkout", "--quiet", "--force", "main")


def pull(repository: Repository, writer: LiveWriter) -> None:
    remote = repository.checked_out(repository.root.parent / "remote")
    if not remote.root.exists():
        repository.git("clone", "--quiet", str(repository.root), str(remote.root))
        repository.git("remote", "add", "origin", str(remote.root))
    remote.ddx("create", "Made by a colleague")
    remote.commit()
    repository.git("commit", "--quiet", "--all", "--message", "local", code=None)
    repository.git("pull", "--no-rebase", "--no-edit", "--autostash", "origin", "main", code=None)


def reset(repository: Repository, writer: LiveWriter) -> None:
    repository.git("reset", "--quiet", "--hard")


@pytest.mark.parametrize("operation", [stash, checkout, pull, reset])
def test_no_acknowledged_bead_is_lost_while_git_rewrites_the_file(
    repository: Repository, operation: Callable[[Repository, LiveWriter], None]
) -> None:
    with LiveWriter(repository) as writer:
        for _ in range(ROUNDS):
            writer.await_more(2)
            operation(repository, writer)
        writer.await_more(2)

    assert writer.failed == []
    assert writer.notices >= 1
    assert len(writer.acknowledged) >= 2 * ROUNDS
    assert repository.kept_ids() >= set(writer.acknowledged)
    assert repository.leftovers() == []
    assert repository.ddx("list", "--json").json
    repository.ddx("create", "Afterwards", code=0)
    assert repository.ddx("create", "And again").err == ""


def test_what_git_rewound_comes_back_on_request(repository: Repository) -> None:
    with LiveWriter(repository) as writer:
        for _ in range(ROUNDS):
            writer.await_more(2)
            repository.git("reset", "--quiet", "--hard")
    lost = set(writer.acknowledged) - set(repository.rows())

    found = repository.ddx("doctor", code=None)
    assert lost
    assert all(bead_id in found.out for bead_id in lost)
    repository.ddx("doctor", "--bring-back", code=None)

    assert set(repository.rows()) >= {*writer.acknowledged, *(row["id"] for row in BEADS)}


# Noticing


def test_the_replacement_is_said_once_and_our_version_is_kept(repository: Repository) -> None:
    lost = repository.ddx("create", "Not committed").id
    repository.git("stash", "--quiet")

    first = repository.ddx("create", "After the stash")
    second = repository.ddx("create", "And another")

    assert first.err.count(REPLACED) == 1
    assert second.err == ""
    (backup,) = (repository.folder / "backups").iterdir()
    assert str(backup) in first.err
    assert lost in repository.rows(backup)
    assert lost not in repository.rows()


def test_a_refused_change_says_it_too_and_only_once(repository: Repository) -> None:
    repository.ddx("create", "Not committed")
    repository.git("stash", "--quiet")

    refused = repository.ddx("close", "app-none", code=1)

    assert refused.err.count(REPLACED) == 1
    assert repository.ddx("update", "app-1", "--claim").err == ""


def test_a_reader_neither_says_nor_keeps_anything(repository: Repository) -> None:  # T-20
    repository.ddx("create", "Not committed")
    repository.git("stash", "--quiet")

    assert repository.ddx("list").err == ""
    assert not (repository.folder / "backups").exists()


def test_every_version_of_a_day_is_kept(repository: Repository) -> None:
    for number in range(12):
        repository.ddx("update", "app-1", "--title", f"Title {number}")
        repository.git("checkout", "--quiet", "--force", "main", "--", ".ddx/beads.jsonl")

    repository.ddx("update", "app-1", "--title", "Last")

    kept = sorted((repository.folder / "backups").iterdir())
    titles = [repository.rows(file)["app-1"]["title"] for file in kept]
    assert titles == [f"Title {number}" for number in range(12)]


def test_git_sees_nothing_of_what_is_kept(repository: Repository) -> None:
    for _ in range(2):
        repository.ddx("create", "Not committed")
        repository.git("stash", "--quiet")
    repository.ddx("create", "x")

    assert repository.git("status", "--porcelain").out == " M .ddx/beads.jsonl\n"


def test_our_own_commit_and_a_pull_of_it_are_no_replacement(repository: Repository) -> None:
    repository.ddx("create", "Filed")
    repository.ddx("commit")

    assert repository.ddx("create", "After our commit").err == ""


# Missing, empty, half


def gone(repository: Repository) -> None:
    repository.file.unlink()


def emptied_in_place(repository: Repository) -> None:
    repository.file.write_bytes(b"")


def replaced_by_nothing(repository: Repository) -> None:
    empty = repository.root / "empty"
    empty.touch()
    empty.rename(repository.file)


def on_a_branch_without_tracker(repository: Repository) -> None:
    repository.commit()
    repository.git("checkout", "--quiet", "--orphan", "bare")
    repository.git("rm", "-r", "--quiet", "--force", ".ddx/beads.jsonl")


@pytest.mark.parametrize(
    "accident", [gone, emptied_in_place, replaced_by_nothing, on_a_branch_without_tracker]
)
@pytest.mark.parametrize("writes", [1, 2])
def test_a_missing_or_empty_file_is_an_error_and_never_an_empty_tracker(
    repository: Repository, accident: Callable[[Repository], None], writes: int
) -> None:
    for number in range(writes):
        repository.ddx("update", "app-1", "--priority", str(number))
    accident(repository)
    was_there = repository.file.exists()

    commands = (["list"], ["create", "First of a new world"], ["take"], ["status"])
    for command in [repository.start(*words) for words in commands]:
        _, err = command.communicate(timeout=120)
        assert command.returncode == 1
        assert "missing or empty" in err
        assert "ddx bead doctor" in err
    repository.ddx("init", code=None)

    assert repository.file.exists() == was_there
    assert not was_there or repository.file.read_bytes() == b""
    repository.git("checkout", "--quiet", "--force", "main")
    repository.git("checkout", "--quiet", "--force", "main", "--", ".ddx/beads.jsonl")
    assert len(repository.ddx("list", "--json").json) == 8


@pytest.mark.parametrize("manner", ["in place", "anew"])
@pytest.mark.parametrize("words", [["list", "--json"], ["create", "Meanwhile"]])
def test_a_file_that_is_being_written_is_waited_for(
    repository: Repository, words: list[str], manner: str
) -> None:
    """A writer without our lock has written half of it when our command begins."""
    repository.ddx("update", "app-1", "--priority", "0")
    new = b"".join(encode(bead(f"new-{n}", description="d" * 500)) for n in range(2))

    with subprocess.Popen(
        [sys.executable, "-c", SLOW_WRITER, str(repository.file), manner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as slow:
        assert slow.stdin and slow.stdout
        slow.stdin.write(new)
        assert slow.stdout.readline() == b"half\n"
        command = repository.start(*words)
        wait_until_it_waits(command.pid, naps=10)
        slow.stdin.write(b"go on\n")
        out, err = command.communicate(timeout=120)

    assert command.returncode == 0, err
    if words[0] == "list":
        assert {"new-0", "new-1"} <= set(out.split('"'))
    else:
        assert {"new-0", "new-1", out.strip()} == set(repository.rows())


# Editors


def edited(repository: Repository) -> bytes:
    return repository.file.read_bytes().replace(b'"Do app-3"', b'"By hand."')


def in_place(repository: Repository) -> None:
    repository.file.write_bytes(edited(repository))


def by_rename(repository: Repository) -> None:
    new = repository.root / "new"
    new.write_bytes(edited(repository))
    new.rename(repository.file)


@pytest.mark.parametrize(("save", "notices"), [(in_place, 0), (by_rename, 1)])
def test_an_edit_by_hand_is_read_and_kept(
    repository: Repository, save: Callable[[Repository], None], notices: int
) -> None:
    """As long as before, and right after our write: only the file's time tells."""
    repository.ddx("update", "app-1", "--priority", "0")
    size = repository.file.stat().st_size

    save(repository)
    assert repository.file.stat().st_size == size
    title = repository.ddx("show", "app-3", "--json").json["title"]
    done = repository.ddx("update", "app-2", "--priority", "0")

    assert title == "By hand."
    assert repository.rows()["app-3"]["title"] == "By hand."
    assert repository.rows()["app-1"]["priority"] == 0
    assert done.err.count(REPLACED) == notices


# Cleaning


@pytest.mark.parametrize("what", [".ddx/state", ".ddx/cache", ".ddx"])
def test_git_clean_costs_only_the_memory_of_earlier_files(
    repository: Repository, what: str
) -> None:
    repository.ddx("create", "Before")
    repository.git("clean", "-fdxq", what)

    done = repository.ddx("create", "After")

    assert done.err == ""
    assert len(repository.ddx("list", "--json").json) == 10


def test_writers_go_on_while_git_cleans(repository: Repository) -> None:
    with LiveWriter(repository) as writer:
        for what in (".ddx/state", ".ddx/cache", ".ddx/state"):
            writer.await_more(2)
            repository.git("clean", "-fdxq", what)
        writer.await_more(2)

    assert writer.failed == []
    assert set(repository.rows()) >= set(writer.acknowledged)
