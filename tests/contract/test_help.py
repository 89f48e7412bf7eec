"""What a newcomer sees first: one page in order, and a way on from every wrong word (C-3)."""

from __future__ import annotations

import os
import pty
import select
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.support.contract import EmptyRepository

from ddx.console.version import version_of
from helix.cli.registry import SECTIONS, words


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> EmptyRepository:
    return EmptyRepository(tmp_path_factory.mktemp("help"))


def told(shop: EmptyRepository, line: str, **variables: str) -> str:
    ended = shop.run(*shlex.split(line), **variables)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_every_command_stands_below_one_heading():
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(words())


def test_the_first_page_has_its_headings_in_order_and_each_command_once(shop: EmptyRepository):
    page = told(shop, "helix --help").partition("Start here:")
    lines = f"{page[1]}{page[2]}".splitlines()
    headings = [line.removesuffix(":") for line in lines if line[:1].isalpha()]
    assert headings == list(SECTIONS)
    begun = [line.split()[0] for line in lines if line[:2] == "  " and line[2:3].isalpha()]
    assert begun == [name for names in SECTIONS.values() for name in names]
    assert "..." not in page[2], "no sentence is cut"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_help_fits_the_screen(shop: EmptyRepository, columns: int):  # C-5
    for line in ("helix --help", "helix memory --help", "helix trust --help", "ddx --help"):
        for row in told(shop, line, COLUMNS=str(columns)).splitlines():
            assert len(row) <= columns, row


def test_help_is_found_by_every_name(shop: EmptyRepository):
    whole, one = told(shop, "helix --help"), told(shop, "helix memory recall --help")
    assert told(shop, "helix -h") == told(shop, "helix help") == whole
    assert told(shop, "helix memory recall -h") == told(shop, "helix help memory recall") == one
    assert told(shop, "ddx help bead ready") == told(shop, "ddx bead ready --help")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("helix hlep", "help"),
        ("helix version", "--version"),
        ("helix statsu", "status"),
        ("helix memory recal", "recall"),
        ("ddx bead raedy", "ready"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(shop: EmptyRepository, line: str, meant: str):
    ended = shop.run(*shlex.split(line))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"Did you mean {meant!r}?" in ended.stderr


def test_a_command_that_begins_others_names_them(shop: EmptyRepository):
    assert "status, list, resume, transitions, clear" in told(shop, "helix objective --help")


COMPLETIONS = {
    "helix in": "init input install",
    "helix memory re": "recall relate review",
    "helix objective st": "status",
    "helix init --d": "--docs",
    "helix run --autonomy h": "high",
    "ddx bead rea": "ready",
    "helix completion f": "fish",
}


@pytest.mark.parametrize("typed", COMPLETIONS)
def test_bash_completes_what_was_begun(shop: EmptyRepository, typed: str):  # P-7
    program = typed.partition(" ")[0]
    script = f"""
        eval "$(helix completion bash)"
        COMP_WORDS=({typed}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        _{program}_completion {program}
        echo "${{COMPREPLY[*]}}"
    """
    path = f"{Path(shop.argv('helix')[0]).parent}:{shop.variables['PATH']}"
    ended = shop.run("bash", "--norc", "-c", script, PATH=path)
    assert (ended.stdout.strip(), ended.stderr) == (COMPLETIONS[typed], "")


def test_bash_goes_on_to_complete_names_of_files(shop: EmptyRepository):  # P-7
    """As it would without us: at a real prompt, for only there it asks for files by itself."""
    (shop.root / "drafts-of-ann.yaml").touch()
    script = Path(shop.argv("helix")[0]).parent
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(shop.root)
        path = f"{script}:{shop.variables['PATH']}"
        variables = {**shop.variables, "PATH": path, "TERM": "dumb", "PS1": "ready$ "}
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], variables)
    try:
        until(screen, "ready$ ")
        os.write(screen, b'eval "$(helix completion bash)"; echo set-up\n')
        until(screen, "\r\nset-up\r\nready$ ")
        for typed in ("ddx bead create --from-file dra", "helix skills validate dra"):
            os.write(screen, f"{typed}\t".encode())
            until(screen, "drafts-of-ann.yaml")
            os.write(screen, b"\x15\n")
            until(screen, "ready$ ")
    finally:
        os.close(screen)
        os.waitpid(pid, 0)


def until(screen: int, wanted: str) -> None:
    """Read the terminal as far as this; silence for too long is a failure."""
    shown = ""
    while wanted not in shown:
        assert select.select([screen], [], [], 30)[0], shown
        shown += os.read(screen, 65536).decode("utf-8", "replace")


# -- the version -----------------------------------------------------------------------------


def git(folder: Path, *typed: str) -> str:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.invalid")
    asked = subprocess.run(["git", *who, *typed], cwd=folder, capture_output=True, check=True)
    return asked.stdout.decode().strip()


def test_the_build_is_what_git_calls_head(tmp_path: Path):
    root = tmp_path / "checkout"
    root.mkdir()
    assert version_of("helix", root=str(root)).count("build") == 0
    git(root, "init", "-q")
    assert version_of("helix", root=str(root)).count("build") == 0
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    git(root, "worktree", "add", "-q", "-b", "topic/a", str(tmp_path / "linked"))
    git(tmp_path / "linked", "commit", "-q", "--allow-empty", "-m", "two")

    def is_true(folder: Path) -> bool:
        return f"(build {git(folder, 'rev-parse', 'HEAD')[:12]})" in version_of(
            "helix", root=str(folder)
        )

    assert is_true(root) and is_true(tmp_path / "linked")
    git(root, "pack-refs", "--all")
    assert is_true(root) and is_true(tmp_path / "linked")
    git(root, "checkout", "-q", "--detach")
    assert is_true(root)
