"""How a command ends: the code (C-2), the words (C-3), and no command that harms (T-23)."""

from __future__ import annotations

import ast
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.contract import ROOT, EmptyRepository, Ended

BEADS = """
- {id: one, title: One, verify: ["true"]}
- {id: two, title: Two, verify: ["true"], depends-on: one}
- {id: epic, title: Epic, type: epic}
- {id: part, title: A part, parent: epic}
- {id: done, title: Done}
- {id: held, title: Held}
"""

# What was typed, and what the answer must name: which one, and what to type next.
DONE = (
    "ddx --version",
    "ddx --help",
    "ddx bead --help",
    "ddx bead list --help",
    "ddx bead list --limit=1",
    "ddx bead list --search nothing-like-it",
    "ddx bead close done",
    "ddx bead update held --remove-label none",
    "ddx bead archive --older-than 52w",
    "helix --help",
    "helix trust --list",
    "helix trust --remove",
    "helix --version",
    "helix status",
    "helix next",
    "helix config show --origin",
    "helix skills validate",
    "helix memory list",
    "helix objective list",
)
EXPECTED_FAILURES = {
    "ddx bead show nope": ("'nope'", "ddx bead list"),
    "ddx bead show on": ("'on'", "did you mean done or one?"),
    "ddx bead close two": ("two", "waits for", "one"),
    "ddx bead close epic": ("epic", "open children", "part"),
    "ddx bead close one --commit nothing": ("'nothing'", "--commit HEAD"),
    "ddx bead update done --claim": ("done is closed", "ddx bead reopen done --reason"),
    "ddx bead dep add one two": ("one -> two -> one", "ddx bead dep tree two"),
    "ddx bead dep add one one": ("one cannot wait for itself",),
    "ddx bead dep add one nope": ("'nope'", "ddx bead list"),
    "ddx bead dep add part epic": ("part of epic",),
    "ddx bead create New --parent done": ("done is closed", "ddx bead reopen done --reason"),
    "ddx bead create New --depends-on nope": ("'nope'", "ddx bead list"),
    "ddx bead supersede one --by one --reason no": ("one cannot supersede one",),
    "ddx bead resolve one --field title --take ours": ("one", "'title'"),
    "ddx bead cancel done --reason no": ("done is closed already",),
    "ddx bead diff nothing": ("'nothing'", "ddx bead diff HEAD~1"),
    "ddx bead import nowhere.jsonl --from bd": ("nowhere.jsonl",),
    "ddx bead create --from-file nowhere.json": ("nowhere.json",),
    "helix triage 'No proof'": ("nothing was filed", "helix triage TITLE --verify"),
    "helix explain nope": ("'nope'", "ddx bead list"),
    "helix memory get nope": ("'nope'", "helix memory list"),
    "helix objective status": ("no objective", "helix objective"),
    "helix skills validate nowhere": ("nowhere", "helix skills validate"),
}
FINDINGS = ("ddx bead validate-ready", "ddx bead doctor")
MISTYPED = {
    "ddx nonsense": ("'nonsense'", "ddx --help"),
    "ddx bead lst": ("'lst'", "Did you mean 'list'?", "ddx bead --help"),
    "ddx bead list --stauts open": ("'--stauts'", "--status", "ddx bead list --help"),
    "ddx bead list --status nonsense": ("'nonsense'", "in_progress"),  # T-22
    "ddx bead list --type nonsense": ("'nonsense'", "decision"),
    "ddx bead list --sort nonsense": ("'nonsense'", "priority"),
    "ddx bead list --where nonsense": ("'nonsense'", "name=value"),
    "ddx bead list --limit -1": ("--limit",),
    "ddx bead show": ("ID", "ddx bead show --help"),
    "ddx bead create": ("title", 'ddx bead create "Fix login"'),
    "ddx bead create One Two": ("Two", "ddx bead create --help"),
    "ddx bead create One --priority 9": ("--priority", "'9'"),
    "ddx bead create One --set id=../x": ("id",),
    "ddx bead update one": ("nothing to update", "ddx bead update --help"),
    "ddx bead update one --set nonsense": ("'nonsense'", "name=value"),
    "ddx bead update one --set status=closed": ("status", "close"),
    "ddx bead update one --owner ann": ("--owner", "--claim"),
    "ddx bead update one --claim --unclaim": ("--claim", "--unclaim"),
    "ddx bead update one --claim --title New": ("claim",),
    "ddx bead reopen done": ("--reason", "ddx bead reopen --help"),
    "ddx bead archive --older-than soon": ("'soon'", "30d"),
    "helix nonsense": ("'nonsense'", "helix --help"),
    "helix trust --list --remove": ("--list", "--remove"),
    "helix report nonsense": ("'nonsense'", "ddx bead list", "ddx doc list"),  # C-10
    "helix trace nonsense": ("'nonsense'", "ddx doc list"),
    "helix completion tcsh": ("'tcsh'", "bash, zsh, fish"),
    "helix install --remove --skills-only": ("--remove", "--skills-only"),
    "helix init --docs ''": ("--docs", "helix init --docs"),
    "helix input ''": ("request", "helix input"),
    "helix cost --by colour": ("'colour'", "helix cost --help"),
}
LOST = {
    "ddx bead update held --claim": ("held", "ann", "ddx bead ready"),
    "ddx bead update held --unclaim --claim-id other": ("held", "ann", "ddx bead show held"),
    "ddx bead close held --claim-id other": ("held", "ann", "ddx bead show held"),
    "ddx bead update one --title New --if-revision 0123456789abcdef": (
        *("one", "0123456789abcdef", "ddx bead show one"),
    ),
}

# A command that destroys, complete enough to be pasted: an agent will run it.
DESTRUCTIVE = re.compile(
    r"ddx bead [^;,.]*--(force|fix|bring-back)\b"
    r"|\brm\s|reset --hard|checkout (--|\.)|clean -|stash drop|branch -D|push (-f|--force)"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> EmptyRepository:
    found = EmptyRepository(tmp_path_factory.mktemp("codes"))
    (found.root / "beads.yaml").write_text(BEADS, encoding="utf-8")
    for line in (
        "ddx bead init",
        "ddx bead create --from-file beads.yaml",
        "ddx bead close done",
        "ddx bead update held --claim --owner ann",
    ):
        assert found.run(*shlex.split(line)).returncode == 0
    return found


@pytest.fixture
def fresh(tmp_path: Path) -> EmptyRepository:
    found = EmptyRepository(tmp_path)
    assert found.run("ddx", "bead", "init").returncode == 0
    return found


def run(repository: EmptyRepository, line: str, **variables: str) -> Ended:
    return repository.run(*shlex.split(line), **variables)


def assert_says(ended: Ended, code: int, *words: str) -> None:
    """It ended so, said so on stderr, and left stdout to results."""
    assert ended.returncode == code, ended.stderr
    assert ended.stdout == ""
    assert re.match(r"(ddx|helix): \S", ended.stderr)
    assert "Traceback" not in ended.stderr
    assert not DESTRUCTIVE.search(ended.stderr)
    for word in words:
        assert word in ended.stderr


@pytest.mark.parametrize("line", DONE)
def test_done_is_0(shop: EmptyRepository, line: str):
    assert run(shop, line).returncode == 0


@pytest.mark.parametrize("line", EXPECTED_FAILURES)
def test_an_expected_failure_is_1_and_names_the_one(shop: EmptyRepository, line: str):
    assert_says(run(shop, line), 1, *EXPECTED_FAILURES[line])


@pytest.mark.parametrize("line", FINDINGS)
def test_findings_are_1_and_a_result(shop: EmptyRepository, line: str):
    ended = run(shop, line)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "part" in ended.stdout


@pytest.mark.parametrize("line", MISTYPED)
def test_what_cannot_be_understood_is_2(shop: EmptyRepository, line: str):
    assert_says(run(shop, line), 2, *MISTYPED[line])


@pytest.mark.parametrize("line", LOST)
def test_who_comes_second_gets_5(shop: EmptyRepository, line: str):  # T-10, T-21
    assert_says(run(shop, line), 5, *LOST[line])


def test_no_failure_changed_anything(shop: EmptyRepository):
    before = (shop.root / ".ddx/beads.jsonl").read_bytes()
    for line in ("ddx bead close two", "ddx bead update one --owner ann", *LOST):
        assert run(shop, line).returncode
    assert (shop.root / ".ddx/beads.jsonl").read_bytes() == before


def test_a_group_without_a_command_shows_its_help_on_stderr(shop: EmptyRepository):
    for line in ("ddx", "ddx bead", "ddx bead dep", "helix"):
        ended = run(shop, line)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.startswith("Usage: ")


def test_without_a_tracker_the_way_to_one_is_named(tmp_path: Path):
    bare = EmptyRepository(tmp_path)
    assert_says(run(bare, "ddx bead list"), 1, str(bare.root), "ddx bead init")
    shutil.rmtree(bare.root / ".git")
    assert_says(run(bare, "ddx bead list"), 1, str(bare.root), "ddx bead init")


def test_a_broken_line_is_named_with_the_way_to_look_at_it(fresh: EmptyRepository):  # T-11
    tracker = fresh.root / ".ddx/beads.jsonl"
    tracker.write_text('{"id":"one","title":"One"}\n{"id":\n', encoding="utf-8")
    for line in ("ddx bead list", "ddx bead create New"):
        assert_says(run(fresh, line), 1, f"{tracker}:2", "ddx bead doctor")


def test_a_setting_that_is_wrong_is_named_with_its_line(fresh: EmptyRepository):  # C-6
    config = fresh.root / ".ddx/config.yaml"
    for text, words in {
        "bead:\n  colour: red\n": (f"{config}:2", "'bead.colour'", "bead.prefix"),
        "tracker:\n  commit: always\n": (f"{config}:2", "'always'", "on-close"),
    }.items():
        config.write_text(text, encoding="utf-8")
        assert_says(run(fresh, "ddx bead ready"), 2, *words)
    config.unlink()
    ended = run(fresh, "ddx bead create One", DDX_BEAD_LOCK_TIMEOUT="soon")
    assert_says(ended, 2, "DDX_BEAD_LOCK_TIMEOUT", "'soon'")


def test_a_hook_runs_only_when_a_person_trusts_the_folder(fresh: EmptyRepository):  # T-15
    hook = fresh.root / ".ddx/hooks/validate-bead-create"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\necho 'too short' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    line = "ddx bead create One"
    assert_says(run(fresh, line), 4, str(fresh.root), hook.name, "helix trust")
    assert_says(run(fresh, line, HELIX_TRUST="1"), 1, hook.name, "too short")
    assert run(fresh, "helix trust").returncode == 0
    assert_says(run(fresh, line), 1, hook.name, "too short")


def test_a_lock_that_stays_held_is_1_and_names_it(fresh: EmptyRepository):  # T-8
    with holding_the_lock(fresh) as lock:
        ended = run(fresh, "ddx bead create One", DDX_BEAD_LOCK_TIMEOUT="0.01")
    assert_says(ended, 1, lock.name, "DDX_BEAD_LOCK_TIMEOUT")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)],  # a shell calls the latter 143
)
def test_a_waiting_writer_can_be_interrupted(fresh: EmptyRepository, number: int, code: int):
    """A pipe takes 64 KiB: once it took more, the command reads, and we hold what it needs."""
    tracker = fresh.root / ".ddx/beads.jsonl"
    before = tracker.read_bytes()
    with holding_the_lock(fresh), start(fresh, "ddx bead create --from-file -") as writer:
        assert writer.stdin
        writer.stdin.write('{"title": "One"}' + " " * (1 << 18))
        writer.stdin.close()
        writer.send_signal(number)
        assert writer.wait(timeout=120) == code
        assert writer.stdout and writer.stderr
        assert (writer.stdout.read(), writer.stderr.read()) == ("", "")
    assert tracker.read_bytes() == before


def test_a_reader_that_goes_away_is_no_failure(shop: EmptyRepository):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        for line in ("ddx bead list", "ddx bead list --json", "ddx bead show one"):
            ended = subprocess.run(
                shop.argv(*shlex.split(line)),
                cwd=shop.root,
                env=shop.variables,
                stdout=gone,
                stderr=subprocess.PIPE,
                check=False,
            )
            assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("home", ["home", "a-file"])
def test_our_bug_is_3_and_its_traceback_is_in_a_file(fresh: EmptyRepository, home: str):
    """In a copy of the program that has a bug; where HOME is of no use, the report is elsewhere."""
    folder = fresh.root.parent
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command = folder / "src/ddx/cli/bead/queue.py"
    sound = command.read_text("utf-8")
    command.write_text(sound.replace("tracker = open_tracker()", "tracker = 1 / 0"), "utf-8")
    (folder / "a-file").touch()
    for number in range(30):  # of earlier bugs
        logs = folder / "home/.local/state/helix/log"
        logs.mkdir(parents=True, exist_ok=True)
        (logs / f"helix-crash-2020-{number:02}.log").touch()
    ended = fresh.run(
        *(sys.executable, "-I", "-S", str(folder / "src/ddx/__main__.py"), "bead", "ready"),
        HOME=str(folder / home),
        TMPDIR=str(folder),
    )
    assert_says(ended, 3, "bug")
    report = Path(ended.stderr.rpartition(": ")[2].strip())
    assert report.is_relative_to(folder)
    assert "Traceback" in report.read_text("utf-8")
    assert "ZeroDivisionError" in report.read_text("utf-8")
    if home == "home":
        assert len(list(report.parent.iterdir())) == 20  # C-9


def test_no_message_holds_a_command_that_destroys():  # T-23
    for path in sorted((ROOT / "src").rglob("*.py")):
        for line, text in texts_in(path):
            found = DESTRUCTIVE.search(text)
            assert not found, f"{path}:{line}: {text!r}"


def texts_in(path: Path) -> Iterator[tuple[int, str]]:
    """Every text that a module could print; what an f-string puts in is a blank."""
    tree = ast.parse(path.read_text("utf-8"))
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in documentation:
                yield node.lineno, text
            case ast.JoinedStr(values=parts):
                said = (
                    str(part.value) if isinstance(part, ast.Constant) else "_" for part in parts
                )
                yield node.lineno, "".join(said)


@contextmanager
def holding_the_lock(repository: EmptyRepository) -> Iterator[Path]:
    """Nobody else writes meanwhile."""
    lock = repository.root / ".ddx/state/tracker.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield lock


@contextmanager
def start(repository: EmptyRepository, line: str) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on beside us, and is gone afterwards."""
    with subprocess.Popen(
        repository.argv(*shlex.split(line)),
        cwd=repository.root,
        env={**repository.variables, "DDX_BEAD_LOCK_TIMEOUT": "60"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as child:
        try:
            yield child
        finally:
            child.kill()
