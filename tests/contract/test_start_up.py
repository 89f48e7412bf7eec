"""A hot command loads little, and only what is on this list (C-7, T-19)."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from tests.support.contract import ROOT, EmptyRepository

BEADS = """
- {id: one, title: One, verify: ["true"]}
- {id: two, title: Two, verify: ["true"]}
- {id: epic, title: Epic, type: epic}
- {id: held, title: Held}
"""
HOT = (
    "bead ready --json",
    "bead ready --execution --json",
    "bead list --json",
    "bead show one --json",
    "bead blocked --json",
    "bead status --json",
    "bead create Three --acceptance '`true` passes' --depends-on one --parent epic",
    "bead update one --title 'Number one' --add-label new",
    "bead update two --claim",
    "bead update two --unclaim",
    "bead dep add two one",
    "bead dep remove two one",
    "bead take --json",
    "bead close one --reason done",
)

PYTHON = {
    *("__future__", "_blake2", "_collections_abc", "_json", "_stat", "errno", "fcntl", "gc"),
    *("genericpath", "os", "posixpath", "stat", "zlib"),
}
PYTHON_TO_WRITE = {"_bisect", "bisect", "pwd"}
PYTHON_TO_COUNT_TIME = {"_datetime", "datetime", "math", "_operator", "operator"}
"""How old a claim is: only `status` says that, and only where there is a claim."""

OURS = {
    *(
        "ddx",
        "ddx.cli",
        "ddx.cli.main",
        "ddx.cli.registry",
        "ddx.cli.context",
    ),
    *("ddx.console", "ddx.console.error_handler", "ddx.console.screen", "ddx.console.command"),
    *(
        "ddx.base",
        "ddx.base.clock",
        "ddx.base.doors",
        "ddx.base.errors",
        "ddx.base.json",
        "ddx.base.files",
        "ddx.base.instants",
    ),
    *(
        "ddx.base.process",
        "ddx.project",
        "ddx.project.project",
        "ddx.project.settings",
        "ddx.project.settings_keys",
        "ddx.base.text",
        "ddx.base.values",
    ),
    *("ddx.tracker", "ddx.tracker.changeset", "ddx.tracker.row"),
    *(
        "ddx.tracker.columns",
        "ddx.tracker.criteria",
        "ddx.tracker.changeset",
        "ddx.tracker.snapshot",
    ),
    *("ddx.tracker.publication",),
    *("ddx.tracker.queue", "ddx.tracker.snapshot", "ddx.tracker.tracker"),
}
OURS_TO_EXPLAIN = {
    *("ddx.tracker.explanation", "ddx.tracker.fields", "ddx.tracker.lifecycle"),
    "ddx.tracker.bead_actions",
}
OURS_TO_WRITE = {
    *(
        "ddx.git",
        "ddx.git.commands",
        "ddx.tracker.edits",
        "ddx.tracker.fields",
        "ddx.tracker.lifecycle",
    ),
    *("ddx.tracker.bead_actions", "ddx.tracker.changeset", "ddx.console.bead_flags"),
}

# What a command may load besides PYTHON, OURS and its own modules of the command line.
BESIDES = {
    "show": OURS_TO_EXPLAIN,
    "blocked": OURS_TO_EXPLAIN,
    "status": {
        "ddx.base.findings",
        "ddx.tracker.doctor",
        "ddx.tracker.doctor.link_checks",
        *PYTHON_TO_COUNT_TIME,
    },
    **dict.fromkeys(("create", "update", "dep", "take", "close"), OURS_TO_WRITE | PYTHON_TO_WRITE),
}
ITS_OWN = {
    "ready": {"queue", "rows"},
    "blocked": {"queue", "rows"},
    "take": {"queue", "rows"},
    "list": {"list", "rows"},
    "create": {"fields"},
    "update": {"fields"},
    "close": {"changes"},
    "dep": {"changes"},
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> EmptyRepository:
    found = EmptyRepository(tmp_path_factory.mktemp("start"))
    (found.root / "beads.yaml").write_text(BEADS, encoding="utf-8")
    for line in (
        "ddx bead init",
        "ddx bead create --from-file beads.yaml",
        "ddx bead update held --claim",
    ):
        assert found.run(*shlex.split(line)).returncode == 0
    return found


def loaded(repository: EmptyRepository, *words: str) -> set[str]:
    """The modules that Python names as it loads them, started as bin/ddx starts it."""
    ended = repository.run(sys.executable, "-X", "importtime", "-I", "-S", *words)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def loaded_by_ddx(repository: EmptyRepository, line: str) -> set[str]:
    bare = loaded(repository, "-c", "pass")
    return loaded(repository, str(ROOT / "src/ddx/__main__.py"), *shlex.split(line)) - bare


@pytest.mark.parametrize("line", HOT)
def test_a_hot_command_loads_only_what_is_on_the_list(shop: EmptyRepository, line: str):  # C-7
    name = line.split()[1]
    own = {f"ddx.cli.bead.{module}" for module in ITS_OWN.get(name, {name})}
    allowed = {*PYTHON, *OURS, *BESIDES.get(name, ()), "ddx.cli.bead", *own}
    assert loaded_by_ddx(shop, line) <= allowed


# -- the same for helix ----------------------------------------------------------------------

OURS_TO_BEGIN = {
    *(
        "ddx",
        "ddx.console",
        "ddx.console.error_handler",
        "ddx.console.command",
        "ddx.base",
        "ddx.base.doors",
        "ddx.base.errors",
        "ddx.base.text",
    ),
    *("ddx.base.values", "helix", "helix.cli", "helix.cli.registry"),
}
PYTHON_OF_CONTEXTS = {
    *("_collections", "_functools", "_operator", "collections", "contextlib", "functools"),
    *("itertools", "keyword", "operator", "reprlib", "types"),
}
OURS_TO_SHOW_STATUS = {
    *(name for name in OURS if not name.startswith("ddx.cli")),
    "helix.cli.status",
    *("ddx.base.json_file", "helix.run", "helix.run.run_lock"),
    *("helix.status", "helix.status.snapshot", "ddx.tracker.bead", "ddx.tracker.queue"),
    *("helix.status.model", "helix.status.queue", "helix.status.runs"),
}
HEAVY = ("numpy", "yaml", "click", "platformdirs", "asyncio", "inspect", "importlib.metadata")
NOT_TO_DECIDE = ("sqlite3", "helix.memory", "helix.objective", "helix.verification",
                 "helix.run.build_policy", "ddx.attempts.work", "ddx.attempts.attempt")  # fmt: skip
NOT_TO_NOTE = ("sqlite3", "subprocess", "ddx.tracker", "ddx.documents", "ddx.attempts", "ddx.git",
               "ddx.project.settings", "helix.memory", "helix.run")  # fmt: skip
NOT_TO_GREET = ("subprocess", "ddx.tracker", "ddx.documents", "ddx.attempts", "ddx.git",
                "helix.memory.recall", "helix.memory.embedders", "helix.run")  # fmt: skip


def loaded_by_helix(
    repository: EmptyRepository, line: str, program: str = "__main__.py"
) -> set[str]:
    path = str(ROOT / "src/helix" / program)
    return loaded(repository, path, *shlex.split(line)) - loaded(repository, "-c", "pass")


def found_in(modules: set[str], unwanted: tuple[str, ...]) -> list[str]:
    families = tuple(f"{name}." for name in unwanted)
    return sorted(it for it in modules if it in unwanted or it.startswith(families))


def test_the_version_is_told_by_next_to_nothing(shop: EmptyRepository):  # C-7
    allowed = {*PYTHON, *OURS_TO_BEGIN, "ddx.console.version"}
    assert loaded_by_helix(shop, "--version") <= allowed


def test_the_status_loads_only_what_is_on_the_list(shop: EmptyRepository):  # C-7
    allowed = {*PYTHON, *PYTHON_OF_CONTEXTS, *PYTHON_TO_COUNT_TIME}
    allowed |= OURS_TO_BEGIN | OURS_TO_SHOW_STATUS
    assert loaded_by_helix(shop, "status") <= allowed


def test_the_next_step_is_found_without_what_would_take_it(shop: EmptyRepository):  # C-7
    assert not found_in(loaded_by_helix(shop, "next"), (*HEAVY, *NOT_TO_DECIDE))


@pytest.mark.parametrize(
    ("hook", "unwanted"), [("pre-tool-use", NOT_TO_NOTE), ("session-start", NOT_TO_GREET)]
)
def test_a_hook_loads_little(
    shop: EmptyRepository, hook: str, unwanted: tuple[str, ...]
):  # C-7, O-11
    modules = loaded_by_helix(shop, hook, "hooks/__main__.py")
    assert f"helix.hooks.{hook.replace('-', '_')}" in modules
    assert not found_in(modules, (*HEAVY, *unwanted))


def test_the_first_page_of_help_loads_no_work(shop: EmptyRepository):  # C-7
    needed = ("click", "inspect")
    unwanted = (name for name in (*HEAVY, *NOT_TO_DECIDE) if name not in needed)
    modules = loaded_by_helix(shop, "--help")
    assert not found_in(modules, (*unwanted, "subprocess", "concurrent"))


@pytest.mark.parametrize("program", ["ddx", "helix"])
def test_the_launcher_starts_python_as_these_tests_do(program: str):
    expected = f'-I -S "$root/src/{program}/__main__.py"'
    assert expected in (ROOT / "bin" / program).read_text("utf-8")


def test_settings_are_parsed_once_and_not_at_every_start(shop: EmptyRepository):  # T-19
    config = shop.root / ".ddx/config.yaml"
    config.write_text("bead:\n  prefix: shop\n", encoding="utf-8")
    os.utime(config, (1, 1))
    assert "yaml" in loaded_by_ddx(shop, "bead ready")
    assert "yaml" not in loaded_by_ddx(shop, "bead ready")
    config.unlink()


def test_help_loads_the_commands_it_names_and_no_other(shop: EmptyRepository):  # C-7
    groups = loaded_by_ddx(shop, "--help")
    assert not any(module.startswith(("ddx.cli.bead", "ddx.tracker")) for module in groups)
    one = loaded_by_ddx(shop, "bead ready --help")
    commands = {module for module in one if module.startswith("ddx.cli.bead.")}
    assert commands == {"ddx.cli.bead.queue", "ddx.cli.bead.rows"}


def test_help_has_no_effects(tmp_path: Path):  # C-3
    bare = EmptyRepository(tmp_path)
    before = sorted(bare.root.rglob("*"))
    for line in ("ddx bead init --help", "ddx bead create One --help", "helix demo --help"):
        assert bare.run(*shlex.split(line)).returncode == 0
    assert sorted(bare.root.rglob("*")) == before
