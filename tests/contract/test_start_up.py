"""A hot command loads little, and only what is on this list (C-7, T-19)."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from tests.support.contract import ROOT, Repository

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
    *("ddx", "ddx.cli", "ddx.cli.fast", "ddx.cli.registry", "ddx.cli.rows", "ddx.cli.session"),
    "ddx.cli.place",
    *("ddx.console", "ddx.console.guard", "ddx.console.screen", "ddx.console.spec"),
    *("ddx.clock", "ddx.environment", "ddx.errors", "ddx.fastjson", "ddx.files", "ddx.instants"),
    *("ddx.process", "ddx.project", "ddx.settings", "ddx.settings_keys", "ddx.text", "ddx.values"),
    *("ddx.tracker", "ddx.tracker.acceptance", "ddx.tracker.attachments", "ddx.tracker.codec"),
    *("ddx.tracker.columns", "ddx.tracker.criteria", "ddx.tracker.events", "ddx.tracker.index"),
    *("ddx.tracker.journal", "ddx.tracker.lineage", "ddx.tracker.model", "ddx.tracker.publishing"),
    *("ddx.tracker.queue", "ddx.tracker.snapshot", "ddx.tracker.store"),
}
OURS_TO_EXPLAIN = {
    *("ddx.tracker.explain", "ddx.tracker.fields", "ddx.tracker.lifecycle", "ddx.tracker.working"),
}
OURS_TO_WRITE = {
    *("ddx.git", "ddx.tracker.drafting", "ddx.tracker.fields", "ddx.tracker.lifecycle"),
    *("ddx.tracker.updating", "ddx.tracker.working"),
}

# What a command may load besides PYTHON, OURS and its own modules of the command line.
BESIDES = {
    "show": OURS_TO_EXPLAIN,
    "blocked": OURS_TO_EXPLAIN,
    "status": {"ddx.tracker.doctor", "ddx.tracker.doctor.links", *PYTHON_TO_COUNT_TIME},
    **dict.fromkeys(("create", "update", "dep", "take", "close"), OURS_TO_WRITE | PYTHON_TO_WRITE),
}
ITS_OWN = {
    "ready": {"ready", "listing"},
    "list": {"list", "listing", "filters"},
    "create": {"create", "fields"},
    "update": {"update", "fields"},
    "close": {"close", "transition"},
    "dep": {"dep_add", "dep_remove", "transition"},
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    found = Repository(tmp_path_factory.mktemp("start"))
    (found.root / "beads.yaml").write_text(BEADS, encoding="utf-8")
    for line in (
        "ddx bead init",
        "ddx bead create --from-file beads.yaml",
        "ddx bead update held --claim",
    ):
        assert found.run(*shlex.split(line)).returncode == 0
    return found


def loaded(repository: Repository, *words: str) -> set[str]:
    """The modules that Python names as it loads them, started as bin/ddx starts it."""
    ended = repository.run(sys.executable, "-X", "importtime", "-I", "-S", *words)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def loaded_by_ddx(repository: Repository, line: str) -> set[str]:
    bare = loaded(repository, "-c", "pass")
    return loaded(repository, str(ROOT / "src/ddx/__main__.py"), *shlex.split(line)) - bare


@pytest.mark.parametrize("line", HOT)
def test_a_hot_command_loads_only_what_is_on_the_list(shop: Repository, line: str):  # C-7
    name = line.split()[1]
    own = {f"ddx.cli.bead.{module}" for module in ITS_OWN.get(name, {name})}
    allowed = {*PYTHON, *OURS, *BESIDES.get(name, ()), "ddx.cli.bead", *own}
    assert loaded_by_ddx(shop, line) <= allowed


# -- the same for helix ----------------------------------------------------------------------

OURS_TO_BEGIN = {
    *("ddx", "ddx.console", "ddx.console.guard", "ddx.console.spec", "ddx.errors", "ddx.text"),
    *("ddx.values", "helix", "helix.cli", "helix.cli.main", "helix.cli.registry"),
}
PYTHON_OF_CONTEXTS = {
    *("_collections", "_functools", "_operator", "collections", "contextlib", "functools"),
    *("itertools", "keyword", "operator", "reprlib", "types"),
}
OURS_TO_SHOW_STATUS = {
    *(name for name in OURS if not name.startswith("ddx.cli")),
    *("ddx.console.columns", "helix.cli.status", "helix.cli.status_text"),
    *("helix.run_lock", "helix.status"),
    *("helix.status.files", "helix.status.model", "helix.status.objectives"),
    *("helix.status.queue", "helix.status.runs"),
}
HEAVY = ("numpy", "yaml", "click", "platformdirs", "asyncio", "inspect", "importlib.metadata")
NOT_TO_DECIDE = ("sqlite3", "helix.memory", "helix.objective", "helix.verification", "helix.work",
                 "ddx.execution.work", "ddx.execution.attempt")  # fmt: skip
NOT_TO_NOTE = ("sqlite3", "subprocess", "ddx.tracker", "ddx.graph", "ddx.execution", "ddx.git",
               "ddx.settings", "helix.memory", "helix.policy")  # fmt: skip
NOT_TO_GREET = ("subprocess", "ddx.tracker", "ddx.graph", "ddx.execution", "ddx.git",
                "helix.memory.recall", "helix.memory.embedders", "helix.policy")  # fmt: skip


def loaded_by_helix(repository: Repository, line: str, program: str = "__main__.py") -> set[str]:
    path = str(ROOT / "src/helix" / program)
    return loaded(repository, path, *shlex.split(line)) - loaded(repository, "-c", "pass")


def found_in(modules: set[str], unwanted: tuple[str, ...]) -> list[str]:
    families = tuple(f"{name}." for name in unwanted)
    return sorted(it for it in modules if it in unwanted or it.startswith(families))


def test_the_version_is_told_by_next_to_nothing(shop: Repository):  # C-7
    allowed = {*PYTHON, *OURS_TO_BEGIN, "ddx.console.version"}
    assert loaded_by_helix(shop, "--version") <= allowed


def test_the_status_loads_only_what_is_on_the_list(shop: Repository):  # C-7
    allowed = {*PYTHON, *PYTHON_OF_CONTEXTS, *PYTHON_TO_COUNT_TIME}
    allowed |= OURS_TO_BEGIN | OURS_TO_SHOW_STATUS
    assert loaded_by_helix(shop, "status") <= allowed


def test_the_next_step_is_found_without_what_would_take_it(shop: Repository):  # C-7
    assert not found_in(loaded_by_helix(shop, "next"), (*HEAVY, *NOT_TO_DECIDE))


@pytest.mark.parametrize(
    ("hook", "unwanted"), [("pre-tool-use", NOT_TO_NOTE), ("session-start", NOT_TO_GREET)]
)
def test_a_hook_loads_little(shop: Repository, hook: str, unwanted: tuple[str, ...]):  # C-7, O-11
    modules = loaded_by_helix(shop, hook, "hooks/__main__.py")
    assert f"helix.hooks.{hook.replace('-', '_')}" in modules
    assert not found_in(modules, (*HEAVY, *unwanted))


def test_the_first_page_of_help_loads_no_work(shop: Repository):  # C-7
    needed = ("click", "inspect", "helix.verification")  # the latter for the words of `cost --by`
    unwanted = (name for name in (*HEAVY, *NOT_TO_DECIDE) if name not in needed)
    modules = loaded_by_helix(shop, "--help")
    assert not found_in(modules, (*unwanted, "subprocess", "concurrent"))


@pytest.mark.parametrize("program", ["ddx", "helix"])
def test_the_launcher_starts_python_as_these_tests_do(program: str):
    expected = f'-I -S "$root/src/{program}/__main__.py"'
    assert expected in (ROOT / "bin" / program).read_text("utf-8")


def test_settings_are_parsed_once_and_not_at_every_start(shop: Repository):  # T-19
    config = shop.root / ".ddx/config.yaml"
    config.write_text("bead:\n  prefix: shop\n", encoding="utf-8")
    os.utime(config, (1, 1))
    assert "yaml" in loaded_by_ddx(shop, "bead ready")
    assert "yaml" not in loaded_by_ddx(shop, "bead ready")
    config.unlink()


def test_help_loads_the_commands_it_names_and_no_other(shop: Repository):  # C-7
    groups = loaded_by_ddx(shop, "--help")
    assert not any(module.startswith(("ddx.cli.bead", "ddx.tracker")) for module in groups)
    one = loaded_by_ddx(shop, "bead ready --help")
    commands = {module for module in one if module.startswith("ddx.cli.bead.")}
    assert commands == {"ddx.cli.bead.ready", "ddx.cli.bead.listing"}


def test_help_has_no_effects(tmp_path: Path):  # C-3
    bare = Repository(tmp_path)
    before = sorted(bare.root.rglob("*"))
    for line in ("ddx bead init --help", "ddx bead create One --help", "helix demo --help"):
        assert bare.run(*shlex.split(line)).returncode == 0
    assert sorted(bare.root.rglob("*")) == before
