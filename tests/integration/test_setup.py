"""The two-command set-up (P-1): launchers, bootstrap and scripts, with a pretend uv on PATH."""

# @requirement TC-801

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkout import Checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture
def ready(checkout: Checkout) -> Checkout:
    """A checkout after its first start."""
    assert checkout.start().returncode == 7
    return checkout


def answer(started: subprocess.CompletedProcess[str]) -> Any:
    assert started.returncode == 7, started.stderr
    return json.loads(started.stdout)


@pytest.mark.parametrize("command", ["ddx", "helix"])
def test_the_first_start_sets_up_and_then_is_the_command(checkout: Checkout, command: str) -> None:
    first = checkout.start(checkout.root / "bin" / command, "two words", "", "*")

    assert answer(first)["argv"] == ["two words", "", "*"]
    assert answer(first)["stdin"] == "typed"
    assert answer(first)["forked"] is True
    assert "setting up" in first.stderr
    assert len(checkout.installs()) == 1
    assert "click" in checkout.installs()[0]
    assert "pytest==" not in checkout.installs()[0]


def test_our_sources_come_first_and_installed_packages_last(ready: Checkout) -> None:
    path = answer(ready.start())["path"]

    assert path[0] == f"{ready.root}/src"
    assert path[-1] == next((ready.environment / "lib").glob("python3*/site-packages")).as_posix()


def test_a_later_start_forks_nothing_and_needs_no_other_program(ready: Checkout) -> None:
    later = ready.start(ready.root / "bin/ddx", "ready", PATH="")

    assert answer(later)["argv"] == ["ready"]
    assert answer(later)["forked"] is False
    assert later.stderr == ""


def test_a_launcher_works_through_links_and_relative_names(ready: Checkout) -> None:
    (ready.home / "bin").mkdir(parents=True)
    (ready.home / "bin/d").symlink_to(ready.root / "bin/ddx")
    (ready.home / "again").symlink_to("bin/d")
    (ready.root / "elsewhere").symlink_to("bin")
    names: list[str | Path] = [ready.home / "again", "bin/ddx", "./bin/../bin/ddx", "elsewhere/ddx"]

    for name in names:
        assert answer(ready.start(name, "x"))["argv"] == ["x"]
    assert answer(ready.start("/bin/sh", "-c", "cd bin && ./ddx x"))["argv"] == ["x"]
    assert len(ready.installs()) == 1


def test_an_edit_that_leaves_the_dependencies_alone_installs_nothing(ready: Checkout) -> None:
    ready.edit_pyproject('name = "helix-supervisor"', 'name = "helix"')

    assert answer(ready.start())
    assert len(ready.installs()) == 1
    assert answer(ready.start(ready.root / "bin/ddx", PATH=""))


def test_a_changed_dependency_is_installed_into_the_same_environment(ready: Checkout) -> None:
    (ready.environment / "mine").touch()
    ready.edit_pyproject('"click>=8.1,<9"', '"click>=8.2,<9"')

    assert answer(ready.start())
    assert "click>=8.2,<9" in ready.installs()[1]
    assert (ready.environment / "mine").exists()


def test_starts_at_the_same_time_set_up_once(checkout: Checkout) -> None:
    starts = [
        subprocess.Popen(
            [checkout.root / "bin" / command],
            env=checkout.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for command in ("ddx", "helix", "ddx", "helix")
    ]
    for start in starts:
        start.communicate(timeout=120)

    assert [start.returncode for start in starts] == [7, 7, 7, 7]
    assert len(checkout.installs()) == 1


def test_a_set_up_that_was_killed_is_made_anew(checkout: Checkout) -> None:
    killed = checkout.start(UV_KILLS_SET_UP="yes")
    assert killed.returncode == 128 + 9
    assert not (checkout.environment / ".ready").exists()
    (checkout.environment / "bin/half-installed").touch()

    assert answer(checkout.start())
    assert not (checkout.environment / "bin/half-installed").exists()


def test_an_environment_whose_python_is_gone_is_made_anew(ready: Checkout) -> None:
    python = (ready.environment / "bin/python").readlink()
    (ready.environment / "bin" / python).unlink()

    assert answer(ready.start())
    assert len(ready.installs()) == 2


def test_a_moved_checkout_starts_as_before(ready: Checkout) -> None:
    ready.root = ready.root.rename(ready.home.with_name("moved"))

    assert answer(ready.start(PATH=""))["path"][0] == f"{ready.root}/src"


def test_an_environment_made_by_hand_is_adopted(checkout: Checkout) -> None:
    made = [sys.executable, "-m", "venv", "--without-pip", str(checkout.environment)]
    subprocess.run(made, check=True, timeout=60)
    (checkout.environment / "mine").touch()

    assert answer(checkout.start())
    assert (checkout.environment / "mine").exists()


def test_a_read_only_checkout_lives_in_the_cache_folder(checkout: Checkout) -> None:
    cache = checkout.home / "cache"
    launch = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99; exec "$1/bin/ddx"'
    argv = ["unshare", "--mount", "sh", "-c", launch, "sh", str(checkout.root)]
    first = checkout.start(*argv, XDG_CACHE_HOME=str(cache))
    if first.returncode in (1, 99, 127) and "setting up" not in first.stderr:
        pytest.skip("read-only mounts are not allowed here")

    assert answer(first)["path"][-1].startswith(f"{cache}/helix/env-")
    assert not checkout.environment.exists()
    assert answer(checkout.start(*argv, XDG_CACHE_HOME=str(cache)))
    assert len(checkout.installs()) == 1


def test_without_a_recent_python_it_says_what_to_install(checkout: Checkout) -> None:
    (checkout.tools / "python3").unlink()
    (checkout.tools / "cksum").symlink_to(shutil.which("cksum") or "")

    started = checkout.start(PATH=str(checkout.tools))

    assert started.returncode == 1
    assert "no Python 3.11 or newer" in started.stderr
    assert "apt install python3" in started.stderr


def test_an_old_python3_is_passed_over(checkout: Checkout) -> None:
    (checkout.tools / "python3").rename(checkout.tools / "python3.14")
    (checkout.tools / "python3").write_text("#!/bin/sh\nexit 1\n")
    (checkout.tools / "python3").chmod(0o755)

    assert answer(checkout.start())


def test_python_dash_m_starts_the_same_command(checkout: Checkout) -> None:
    source = str(checkout.root / "src")

    assert answer(checkout.start(sys.executable, "-m", "ddx", "x", PYTHONPATH=source))
    assert answer(checkout.start(sys.executable, "-m", "helix", "x", PYTHONPATH=source))


def test_the_test_script_installs_what_tests_need_once(ready: Checkout) -> None:
    for _ in range(2):
        started = ready.start(ready.root / "scripts/test", "--version")
        assert "No module named pytest" in started.stderr  # the pretend uv installs nothing

    assert len(ready.installs()) == 2
    assert "pytest==" in ready.installs()[1]
    assert answer(ready.start(PATH=""))


def test_the_bench_script_lists_and_runs_benchmarks(ready: Checkout) -> None:
    (ready.root / "benchmarks").mkdir()
    program = 'import ddx, sys\nif __name__ == "__main__":\n    print(sys.argv[1:])\n'
    (ready.root / "benchmarks/echo.py").write_text(program)
    (ready.root / "benchmarks/shared.py").write_text("WORDS = ()")
    bench = ready.root / "scripts/bench"

    assert ready.start(bench).stdout == "echo\n"
    assert ready.start(bench, "echo", "a b").stdout == "['a b']\n"
    assert ready.start(bench, "nothing").returncode == 2
