"""The lock, and the write beside that becomes the file or leaves no trace (T-7 to T-9)."""

from __future__ import annotations

import os

import pytest

from ddx.base.errors import Busy, DdxError
from ddx.base.files import Lock, Replacement, identity_of, remove_leftovers, replace
from ddx.testing import FakeClock


@pytest.fixture
def lock_at(tmp_path):
    path = str(tmp_path / "state" / "tracker.lock")

    def make(clock: FakeClock | None = None, *, wait_s: float = 10, command: str = "ddx bead list"):
        return Lock(path, wait_s=wait_s, clock=clock or FakeClock(), command=command)

    return make


def test_one_holds_the_lock_and_the_other_is_told_who(lock_at):  # T-8
    clock = FakeClock()
    with lock_at(command="ddx bead close app-1"), pytest.raises(Busy) as refused:
        lock_at(clock).__enter__()
    assert f"is held by pid {os.getpid()} (ddx bead close app-1)" in refused.value.message
    assert "for more than 10 s; nothing written" in refused.value.message
    assert "DDX_BEAD_LOCK_TIMEOUT" in refused.value.hint
    assert 10 <= sum(clock.slept_s) < 10.1


def test_a_lock_is_free_again_after_its_use_however_that_ended(lock_at):  # T-7
    clock = FakeClock()
    with pytest.raises(ZeroDivisionError), lock_at():
        _ = 1 / 0
    with lock_at(clock), pytest.raises(Busy):
        lock_at(clock, wait_s=0).__enter__()
    with lock_at(clock) as lock:
        assert lock.still_ours()
    assert os.path.exists(lock.path)
    assert clock.slept_s == []


def test_waiting_starts_short_and_never_gets_long(lock_at):  # T-8
    clock = FakeClock()
    with lock_at(), pytest.raises(Busy):
        lock_at(clock, wait_s=1).__enter__()
    assert clock.slept_s[0] == 0.001
    assert max(clock.slept_s) == 0.02


def test_a_deleted_lock_file_is_noticed_by_its_holder(lock_at):  # T-14a
    with lock_at() as lock:
        os.unlink(lock.path)
        assert not lock.still_ours()
        with lock_at() as other:
            assert other.still_ours()
            assert not lock.still_ours()


def test_a_dead_holder_is_not_named(lock_at):  # T-8
    with lock_at() as lock:
        with open(lock.path, "r+") as file:
            file.write("4194999 ddx bead old".ljust(400))
        with pytest.raises(Busy, match="is held by another process"):
            lock_at(wait_s=0).__enter__()


# Replacing


def leftovers(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole(tmp_path):  # T-9
    path = tmp_path / "deep" / "file"
    replace(str(path), (b"one", b"", b"two"))
    before = identity_of(str(path))
    replace(str(path), (b"three",), durable=False)
    assert path.read_bytes() == b"three"
    assert identity_of(str(path)) != before
    assert leftovers(path.parent) == ["file"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):  # T-9
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def parts():
        yield b"new"
        raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space left"):
        replace(str(path), parts())
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == ["file"]


def test_until_it_is_published_the_old_file_stands(tmp_path):  # T-9
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with Replacement(str(path)) as new:
        new.write(b"new")
        assert path.read_bytes() == b"old"
        assert os.path.dirname(new.beside) == str(tmp_path)
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == ["file"]


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_bytes_of_another_file_are_copied_from_any_place(tmp_path, size):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(size))
    with open(source, "rb") as file, Replacement(str(tmp_path / "file")) as new:
        new.write(b"<")
        new.copy(file.fileno(), 3, size - 2)
        new.write(b">")
        new.publish()
    assert (tmp_path / "file").read_bytes() == b"<" + source.read_bytes()[3:-2] + b">"


def test_a_source_that_shrank_is_an_error_and_no_short_file(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"short")
    with (
        open(source, "rb") as file,
        Replacement(str(tmp_path / "file")) as new,
        pytest.raises(DdxError, match="became shorter"),
    ):
        new.copy(file.fileno(), 0, 100)
    assert leftovers(tmp_path) == ["source"]


def test_only_the_leftovers_of_this_file_are_removed(tmp_path):  # T-9
    for name in ("file", "file.tmp-1-ab", "file.tmp-22-cd", "other.tmp-1-ab", "file.bak"):
        (tmp_path / name).touch()
    remove_leftovers(str(tmp_path / "file"))
    assert leftovers(tmp_path) == ["file", "file.bak", "other.tmp-1-ab"]


def test_the_identity_of_a_file_changes_with_every_change(tmp_path):
    path = tmp_path / "file"
    assert identity_of(str(path)) is None
    path.write_bytes(b"one")
    os.utime(path, ns=(1000, 1000))
    first = identity_of(str(path))
    assert identity_of(str(path)) == first
    path.write_bytes(b"two")
    assert identity_of(str(path)) != first
