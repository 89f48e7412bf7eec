"""Where nothing can be written, the old tracker stands and the error says why (T-9)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.tracker import Repository, bead, make_repository

PAGE = 4096
ROOM = 1 << 20
NOTE = {"actor": "mara", "body": "b" * 300, "created_at": "2025-11-01T10:00:00Z", "kind": "note"}
BEADS = [bead(f"app-{n}", description="d" * 2000, events=[NOTE]) for n in range(10)]
CLOSED = [bead(f"app-c{n}", description="d" * 2000, status="closed") for n in range(4)]
CHANGES = {
    "update": ["update", "app-3", "--title", "Longer than before"],
    "create": ["create", "Another one", "--acceptance", "`true` passes"],
    "close": ["close", "app-4", "--reason", "done"],
    "archive": ["archive"],
}
every_change = pytest.mark.parametrize("change", CHANGES)

Mount = Callable[..., None]


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mount on a folder until the test is over; skips the test where that is forbidden."""
    mounted: list[Path] = []

    def mount(folder: Path, *options: str) -> None:
        done = subprocess.run(["mount", *options, folder], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
        if folder not in mounted:
            mounted.append(folder)

    try:
        yield mount
    finally:
        for folder in reversed(mounted):
            subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def small(tmp_path: Path, mount: Mount) -> Repository:
    """A repository whose `.ddx` is a small disk of its own, in use for a while."""
    repository = make_repository(tmp_path)
    mount(repository.folder, "-t", "tmpfs", "-o", f"size={ROOM}", "none")
    repository.ddx("init")
    repository.write([*BEADS, *CLOSED])
    repository.ddx("update", "app-0", "--add-label", "warm")
    return repository


def used_inodes(repository: Repository) -> int:
    answer = repository.run("stat", "--file-system", "--format", "%c %d", str(repository.folder))
    total, free = map(int, answer.out.split())
    return total - free


def attempt(repository: Repository, change: str) -> bool:
    """True if the change was made; a change that failed has left nothing behind."""
    before = repository.file.read_bytes()

    done = repository.ddx(*CHANGES[change], code=None)

    if done.code == 0:
        assert repository.file.read_bytes() != before
        assert done.err == ""
        return True
    assert done.code == 1, done
    assert f"{repository.folder}/" in done.err
    assert "No space left on device" in done.err
    assert "make room" in done.err
    assert repository.file.read_bytes() == before
    assert repository.leftovers() == []
    return False


@every_change
def test_a_full_disk_leaves_the_old_tracker_and_no_temporary_file(
    small: Repository, change: str
) -> None:
    """With a page more room each time, until there is enough: the disk fills up at every step."""
    ballast = small.folder / "ballast"
    free = int(small.run("stat", "-f", "--format", "%a", str(small.folder)).id)
    failures = 0
    for pages in range(40):
        ballast.write_bytes(bytes((free - pages) * PAGE))
        if attempt(small, change):
            break
        failures += 1
        ballast.unlink()
        assert small.ddx("list", "--json").json
    else:
        pytest.fail("there was never room enough")
    assert failures >= 5
    ballast.unlink()
    assert small.ddx("update", "app-0", "--add-label", "room").err == ""


@every_change
def test_a_disk_without_free_inodes_leaves_the_old_tracker(
    small: Repository, mount: Mount, change: str
) -> None:
    failures = 0
    for spare in range(12):
        limit = used_inodes(small) + spare
        mount(small.folder, "-o", f"remount,nr_inodes={limit}")
        if attempt(small, change):
            break
        failures += 1
        assert len(small.ddx("list", "--all", "--json").json) == len(BEADS) + len(CLOSED)
    else:
        pytest.fail("there was never room enough")
    assert failures


def test_the_same_command_works_once_there_is_room(small: Repository) -> None:
    (small.folder / "ballast").write_bytes(bytes(ROOM // 2))
    with pytest.raises(OSError), (small.folder / "more").open("wb") as more:
        more.write(bytes(ROOM))

    small.ddx("create", "Filed at last", code=1)
    (small.folder / "ballast").unlink()
    filed = small.ddx("create", "Filed at last").id

    assert small.rows()[filed]["title"] == "Filed at last"


def test_a_read_only_tracker_can_be_read_and_says_why_it_cannot_be_changed(
    tmp_path: Path, mount: Mount
) -> None:
    repository = make_repository(tmp_path)
    repository.write(BEADS)
    before = repository.worth_tracking()
    mount(repository.folder, "--bind", str(repository.folder))
    mount(repository.folder, "-o", "remount,ro,bind")

    reads = {"list": "app-1", "ready": "app-1", "show app-1": "app-1", "why app-1": "app-1"}
    for line, shown in (reads | {"status": f"{len(BEADS)} beads: "}).items():
        done = repository.ddx(*line.split())
        assert shown in done.out
        assert done.err == ""
    for words in CHANGES.values():
        done = repository.ddx(*words, code=1)
        assert f"{repository.folder}/" in done.err
        assert "Read-only file system" in done.err
        assert "ls -ld" in done.err  # C-3

    assert repository.worth_tracking() == before
