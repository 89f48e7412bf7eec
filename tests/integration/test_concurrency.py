"""Many processes at once: nothing is lost, and a claim has one winner (T-7, T-8, T-10, T-21)."""

# @requirement TC-101

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.tracker import (
    Done,
    Repository,
    bead,
    make_repository,
    rows_in,
    wait_until_it_waits,
)

PATIENT = {"DDX_BEAD_LOCK_TIMEOUT": "120"}
AT_ONCE = 40

HOLDER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
os.pwrite(fd, f"{os.getpid()} ddx bead import".encode().ljust(400), 0)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path)


def run_together(
    repository: Repository, commands: Sequence[Sequence[str]], *, at_once: int = AT_ONCE
) -> list[Done]:
    """Each command in a process of its own, as many at once as the machine bears."""
    done: list[Done] = []
    waiting = list(commands)
    running: list[subprocess.Popen[str]] = []
    while waiting or running:
        while waiting and len(running) < at_once:
            running.append(repository.start(*waiting.pop(0), **PATIENT))
        process = running.pop(0)
        out, err = process.communicate(timeout=150)
        done.append(Done(process.returncode, out, err))
    return done


def codes(done: list[Done]) -> Counter[int]:
    return Counter(each.code for each in done)


@contextmanager
def held_lock(repository: Repository) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the tracker's lock, whoever it may be."""
    (repository.folder / "state").mkdir(exist_ok=True)
    argv = [sys.executable, "-c", HOLDER, str(repository.folder / "state/tracker.lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        try:
            yield holder
        finally:
            holder.kill()


# One winner


def test_of_twenty_claimants_one_wins_and_nineteen_get_exit_5(repository: Repository) -> None:
    wanted = repository.ddx("create", "Wanted by all").id

    done = run_together(
        repository, [["update", wanted, "--claim", "--owner", f"agent-{n}"] for n in range(20)]
    )

    assert codes(done) == {0: 1, 5: 19}
    row = repository.rows()[wanted]
    (winner,) = [each for each in done if each.code == 0]
    assert row["claim-id"] in winner.out
    assert row["owner"] in winner.out
    for loser in done:
        assert loser is winner or f"held by {row['owner']}" in loser.err


def test_of_many_updates_against_one_revision_one_wins(repository: Repository) -> None:  # T-10
    wanted = repository.ddx("create", "Wanted by all").id
    revision = repository.ddx("show", wanted, "--json").json["revision"]

    done = run_together(
        repository,
        [["update", wanted, "--title", f"Title {n}", "--if-revision", revision] for n in range(10)],
    )

    assert codes(done) == {0: 1, 5: 9}
    assert all("changed: title" in each.err for each in done if each.code == 5)
    (winner,) = (n for n, each in enumerate(done) if each.code == 0)
    assert repository.rows()[wanted]["title"] == f"Title {winner}"


def test_a_late_holder_is_refused_and_told_who_holds_the_bead(repository: Repository) -> None:
    """The first claim was taken away and given to another while its holder slept (T-21)."""
    wanted = repository.ddx("create", "Slow work").id
    repository.ddx("update", wanted, "--claim", "--owner", "slow", "--claim-id", "c-1")
    repository.ddx("update", wanted, "--unclaim")
    repository.ddx("update", wanted, "--claim", "--owner", "quick", "--claim-id", "c-2")

    for words in (["close", wanted], ["update", wanted, "--unclaim"]):
        late = repository.ddx(*words, "--claim-id", "c-1", code=5)
        assert "held by quick" in late.err

    assert repository.rows()[wanted]["claim-id"] == "c-2"
    repository.ddx("close", wanted, "--claim-id", "c-2")


def test_thirty_takers_share_ten_ready_beads(repository: Repository) -> None:  # T-22
    repository.write([bead(f"app-{n}") for n in range(10)])

    done = run_together(repository, [["take", "--json"]] * 30, at_once=30)

    assert codes(done) == {0: 10, 1: 20}
    taken = [each.json["id"] for each in done if each.code == 0]
    assert sorted(taken) == sorted(repository.rows())
    assert all("nothing is ready" in each.err for each in done if each.code == 1)


# Nothing lost


def test_two_hundred_processes_create_two_hundred_beads(repository: Repository) -> None:
    done = run_together(repository, [["create", f"Bead {n}"] for n in range(200)], at_once=200)

    assert codes(done) == {0: 200}
    rows = repository.rows()
    assert len(rows) == 200
    assert {each.id for each in done} == set(rows)
    assert {row["title"] for row in rows.values()} == {f"Bead {n}" for n in range(200)}
    assert not any(each.err for each in done)
    assert repository.leftovers() == []


def test_writers_of_all_kinds_and_readers_never_meet_a_broken_file(repository: Repository) -> None:
    """A hundred writers, each with its own field of one of ten beads, and readers all the time."""
    ids = [f"app-{n}" for n in range(10)]
    ends = [f"end-{n}" for n in range(20)]
    repository.write([*map(bead, ids), *map(bead, ends), bead("goal")])
    writers = [
        *(["create", f"New {n}"] for n in range(20)),
        *(["update", ids[n % 10], "--add-label", f"label-{n}"] for n in range(20)),
        *(["update", ids[n % 10], "--set", f"x-{n}={n}"] for n in range(10)),
        *(["update", ids[n % 10], "--claim"] for n in range(20)),
        *(["close", ends[n]] for n in range(10)),
        *(["dep", "add", "goal", ends[n]] for n in range(10, 20)),
        *(["evidence", "add", "goal", "--kind", "k", "--summary", f"s-{n}"] for n in range(10)),
    ]
    readers = [["list", "--json"], ["ready", "--execution", "--json"], ["show", "goal", "--json"]]
    mixed = [words for n, words in enumerate(writers) for words in (words, readers[n % 3])]

    done = run_together(repository, mixed)

    written, read = done[::2], done[1::2]
    assert codes(read) == {0: 100}
    assert all(each.json for each in read)
    assert codes(written[50:70]) == {0: 10, 5: 10}
    assert codes([*written[:50], *written[70:]]) == {0: 80}
    assert not any(each.err for each in (*read, *written[:50], *written[70:]))
    rows = repository.rows()
    assert {row["title"] for row in rows.values()} >= {f"New {n}" for n in range(20)}
    labels = [label for name in ids for label in rows[name]["labels"]]
    assert sorted(labels) == sorted(f"label-{n}" for n in range(20))
    assert [rows[ids[n]][f"x-{n}"] for n in range(10)] == list(map(str, range(10)))
    assert all(rows[name]["status"] == "closed" for name in ends[:10])
    assert {item["depends_on_id"] for item in rows["goal"]["dependencies"]} == set(ends[10:])
    assert {item["summary"] for item in rows["goal"]["events"]} == {f"s-{n}" for n in range(10)}


def test_many_inits_and_creates_at_once_leave_every_bead(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    repository.run("rm", "-r", ".ddx")

    done = run_together(repository, [["init"], ["create", "x"]] * 15, at_once=30)

    made = {each.id for each in done[1::2] if each.code == 0}
    assert codes(done[::2]) == {0: 15}
    assert made == set(repository.rows())


# Waiting


def test_a_lock_held_too_long_is_an_error_that_names_the_holder(repository: Repository) -> None:
    repository.ddx("create", "There already")
    before = repository.file.read_bytes()

    with held_lock(repository) as holder:
        started = time.monotonic()
        done = repository.ddx("create", "Too late", code=1, DDX_BEAD_LOCK_TIMEOUT="0.5")
        waited = time.monotonic() - started
        assert f"pid {holder.pid} (ddx bead import)" in done.err
        assert "nothing written" in done.err
        assert repository.ddx("list", "--json").json, "a reader needs no lock"

    assert waited >= 0.5
    assert repository.file.read_bytes() == before
    repository.ddx("create", "In time", DDX_BEAD_LOCK_TIMEOUT="0")


def test_a_killed_holder_frees_the_lock_at_once(repository: Repository) -> None:  # T-8
    with held_lock(repository) as holder:
        waiting = repository.start("create", "Waits", DDX_BEAD_LOCK_TIMEOUT="60")
        wait_until_it_waits(waiting.pid)
        holder.send_signal(signal.SIGKILL)
        _, complaint = waiting.communicate(timeout=120)

    assert (waiting.returncode, complaint) == (0, "")


def test_a_lock_whose_folder_is_cleaned_away_is_made_anew(repository: Repository) -> None:
    """`git clean -x` deletes the lock file under holder and waiter alike (T-14a)."""
    repository.ddx("create", "There already")
    with held_lock(repository):
        waiting = repository.start("create", "Waits", DDX_BEAD_LOCK_TIMEOUT="60")
        wait_until_it_waits(waiting.pid)
        repository.git("clean", "-fdxq", ".ddx/state")
        _, complaint = waiting.communicate(timeout=120)

    assert (waiting.returncode, complaint) == (0, "")
    assert sorted(row["title"] for row in repository.rows().values()) == ["There already", "Waits"]
    assert rows_in((repository.folder / "state/beads.last").read_bytes()) == repository.rows()
