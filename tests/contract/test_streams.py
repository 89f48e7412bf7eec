"""Whatever stdin, stdout and stderr lead to, a command ends as it should (C-1, C-2)."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest
from tests.support.contract import ROOT, EmptyRepository, Ended

BEADS = """
- {id: one, title: "Prüfung 語", verify: ["true"]}
- {id: vague, title: It should be better}
- id: long
  title: Long
  description: "DESCRIPTION"
"""
AGENT = "write made.txt a line\n"
LONG = 200_000
"""More than any buffer between us and the reader holds."""

ANSWERS = (
    "ddx bead list",
    "ddx bead list --json",
    "ddx bead show long --json",
    "ddx bead export",
    "ddx --help",
    "helix --version",
    "helix status",
    "helix status --json",
    "helix report",
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> EmptyRepository:
    found = EmptyRepository(tmp_path_factory.mktemp("streams"))
    text = BEADS.replace("DESCRIPTION", "x" * LONG)
    (found.root.parent / "beads.yaml").write_text(text, encoding="utf-8")
    for line in ("ddx bead init", "ddx bead create --from-file ../beads.yaml"):
        assert found.run(*shlex.split(line)).returncode == 0
    return found


def in_shell(shop: EmptyRepository, line: str, redirections: str) -> Ended:
    return shop.run("sh", "-c", f"{shlex.join(shop.argv(*shlex.split(line)))} {redirections}")


def started(
    shop: EmptyRepository, line: str, **streams: IO[Any]
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        shop.argv(*shlex.split(line)),
        cwd=shop.root,
        env=shop.variables,
        timeout=60,
        check=False,
        **{"stderr": subprocess.PIPE, **streams},
    )


@pytest.mark.parametrize("line", ANSWERS)
def test_a_full_disk_behind_stdout_is_1_and_named(shop: EmptyRepository, line: str):
    ended = in_shell(shop, line, ">/dev/full")
    assert ended.returncode == 1
    program = line.split()[0]
    assert ended.stderr == (
        f"{program}: stdout: No space left on device\n  make room there, then try again\n"
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize("line", ANSWERS)
def test_a_stream_that_leads_nowhere_changes_no_exit_code(
    shop: EmptyRepository, line: str, closed: str
):
    ended = in_shell(shop, line, closed)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_error_that_nobody_hears_keeps_its_code(shop: EmptyRepository):
    for closed in ("2>&-", "2>/dev/full"):
        assert in_shell(shop, "ddx bead show nope", closed).returncode == 1
        assert in_shell(shop, "ddx bead list --nonsense", closed).returncode == 2


def test_an_answer_for_a_closed_stdout_goes_into_no_file(shop: EmptyRepository):
    """The number of a closed stream is the next file's: the tracker's, where we write."""
    tracker = shop.root / ".ddx/beads.jsonl"
    assert in_shell(shop, "ddx bead update one --priority 1 --json", ">&-").returncode == 0
    for line in ("ddx bead list --json", "ddx bead export", "helix status"):
        before = tracker.read_bytes()
        assert in_shell(shop, line, ">&-").returncode == 0
        assert tracker.read_bytes() == before
    assert shop.run("ddx", "bead", "show", "one").stdout.startswith("one")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ddx bead list", 0),
        ("ddx bead validate-ready", 1),
        ("ddx bead doctor", 1),
        ("helix --help", 0),
        ("helix help run", 0),
    ],
)
def test_a_reader_that_went_away_changes_no_verdict(shop: EmptyRepository, line: str, code: int):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        ended = started(shop, line, stdout=gone)
    assert (ended.returncode, ended.stderr) == (code, b"")


def test_a_screen_without_our_letters_gets_them_spelled(shop: EmptyRepository):
    """As a wheel starts us: without -I, so with the encoding of the person's surroundings."""
    ended = shop.run(
        *(sys.executable, "-c", "import sys; from ddx.cli.main import main; sys.exit(main())"),
        *("bead", "list", "--search", "語"),
        PYTHONIOENCODING="ascii",
        PYTHONPATH=str(ROOT / "src"),
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Pr\\xfcfung \\u8a9e" in ended.stdout


def test_a_run_goes_on_when_nobody_watches_any_more(tmp_path: Path):
    """`helix run 2>&1 | head -1`, or a terminal that is gone."""
    shop = EmptyRepository(tmp_path)
    script = tmp_path / "agent.script"
    script.write_text(AGENT, encoding="utf-8")
    for line in (
        "ddx bead init",
        "ddx bead create One --verify 'test -f made.txt'",
        "git add .",
        "git commit --quiet --message all",
        "helix trust",
    ):
        assert shop.run(*shlex.split(line)).returncode == 0
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        line = f"helix run --agent script --model {script} --no-auto-review --max-cycles 1"
        ended = started(shop, line, stdout=gone, stderr=gone)
    assert ended.returncode == 0
    assert shop.run("ddx", "bead", "list", "--status", "closed").stdout.count("One") == 1
