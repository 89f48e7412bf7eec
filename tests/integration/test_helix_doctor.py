"""`helix doctor`: each fault planted in turn is named with its cure, and no other (P-6)."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.front_door import Person

DOCUMENT = "---\nddx:\n  id: {id}\n  depends_on: [{above}]\n---\n# {id}\n"
AGENT = "#!/bin/sh\necho '2.1.325 (Claude Code)'\n"


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    """Somebody whose house is in order, agent included."""
    person = Person(tmp_path)
    person.begins_a_repository()
    program = tmp_path / "bin/claude"
    program.parent.mkdir()
    program.write_text(AGENT)
    program.chmod(0o755)
    person.more = {"PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin"}
    person.helix("init", "--trust")
    person.helix("install", "--skills-only")
    (person.root / ".ddx/config.yaml").write_text("checks: {default: [make test]}\n")
    return person


def write(ada: Person, name: str, text: str | bytes) -> None:
    path = ada.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def bad(ada: Person, *words: str) -> dict[str, str]:
    """What is not sound, each with its cure."""
    found = ada.findings(*words)
    return {name: f"{it['what']} -> {it['cure']}" for name, it in found.items() if not it["ok"]}


def test_where_all_is_well_it_says_so_and_ends_with_0(ada):  # P-6
    assert bad(ada) == {}
    assert "mend" not in ada.helix("doctor")


def test_what_proves_work_here_is_said(ada):
    assert ada.findings()["checks"]["what"] == "work is proven by `make test`"


def test_a_repository_without_checks_is_a_warning_with_the_command_that_sets_them(ada):
    (ada.root / ".ddx/config.yaml").unlink()
    write(ada, "package.json", '{"scripts": {"test": "node --test"}}')
    assert list(bad(ada)) == ["checks"]
    said = ada.helix("doctor")  # a warning does not make it fail
    assert "warn  checks: no check is set, so only a bead's own checks prove it" in said
    assert "-> tests run by `npm test` (package.json:1); to use it: helix init --yes" in said


Plant = Callable[[Person], object]


@pytest.mark.parametrize(
    ("plant", "name", "said"),
    [
        (lambda it: write(it, ".ddx/beads.jsonl", "{not a bead\n"), "tracker", "ddx bead doctor"),
        (lambda it: write(it, ".helix/slider-config.yaml", "speed: 9\n"), "settings", "speed"),
        (lambda it: write(it, ".ddx/config.yaml", "a: b\n"), "settings", "config.yaml:1"),
        (lambda it: write(it, ".helix/helix.db", b"rubbish" * 999), "memory", "helix.db"),
        (
            lambda it: write(it, "docs/helix/a.md", DOCUMENT.format(id="A", above="LOST-001")),
            "documents",
            "ddx doc validate",
        ),
        (lambda it: it.helix("trust", "--remove"), "trust", "helix trust"),
        (
            lambda it: (it.home / ".claude/skills/helix").unlink(),
            "skills",
            "helix install",
        ),
        (
            lambda it: (Path(it.more["PATH"].partition(":")[0]) / "claude").unlink(),
            "harness",
            "ddx agent list",
        ),
        (lambda it: it.git("checkout", "-q", "--detach"), "head", "git"),
        (lambda it: shutil.rmtree(it.root / ".helix"), "set-up", "helix doctor --fix"),
        (
            lambda it: write(
                it,
                ".ddx/config.yaml",
                "checks: {default: [make]}\nworkspace: {root: /dev/null/x}\n",
            ),
            "workspaces",
            "workspace",
        ),
    ],
)
def test_a_planted_fault_is_named_with_its_cure(ada, plant: Plant, name: str, said: str):  # P-6
    plant(ada)
    found = bad(ada)
    assert said in found[name]
    assert set(found) == {name}
    assert not found[name].endswith("-> "), "it says what to do"


def test_what_is_in_the_way_of_everything_hides_nothing_and_has_a_cure(ada):  # P-6
    shutil.rmtree(ada.root / ".helix")
    write(ada, ".helix", "a file")
    done = ada.types(sys.executable, "-m", "helix", "doctor", "--json", code=1)
    found = {it["name"]: it for it in json.loads(done.stdout)["findings"]}
    assert found["git"]["ok"] and found["tracker"]["ok"]
    assert found["set-up"]["cure"] == "move it away, then: helix init"
    assert all(it["cure"] for it in found.values() if not it["ok"])
    assert {"mending", "set-up", "git", "tracker"} <= ada.findings("--fix").keys()
    done = ada.types(sys.executable, "-m", "helix", "init", code=1)
    assert "move it away, then: helix init" in done.stderr
    assert (ada.root / ".helix").read_text() == "a file"


def test_what_can_be_mended_without_a_loss_is(ada):  # P-6
    ada.ddx("bead", "create", "A bead", "--verify", "true")
    tracker = ada.root / ".ddx/beads.jsonl"
    tracker.write_text(tracker.read_text() + "{torn\n")
    (ada.home / ".codex/skills/helix").unlink()
    (ada.root / "AGENTS.md").unlink()
    assert set(bad(ada)) == {"tracker", "skills"}
    said = ada.helix("doctor", "--fix")
    assert "AGENTS.md" in said
    assert bad(ada) == {}
    assert "A bead" in ada.ddx("bead", "list")


def test_outside_of_any_repository_it_still_looks_at_the_machine(tmp_path):  # P-6
    person = Person(tmp_path)
    found = person.findings()
    assert found["python"]["ok"]
    assert "helix init" in found["set-up"]["cure"]
