"""Which harness is meant, and which model (X-4, X-4a)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ddx.agents.command import CommandHarness
from ddx.agents.harness import Request
from ddx.agents.registry import PROGRAMS, SHIPPED, Harnesses
from ddx.agents.script import ReplayHarness, ScriptHarness
from ddx.base.errors import DdxError, UsageError
from ddx.project.settings import Settings

REQUEST = Request("prompt", "/workspace", "/scratch", script="say hi")


def settings(**found: Any) -> Settings:
    """What a file says: `mine__kind="command"` is harnesses.mine.kind."""
    keys = {f"harnesses.{name.replace('__', '.')}": given for name, given in found.items()}
    return Settings(keys, dict.fromkeys(keys, "/app/.ddx/config.yaml"))


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Path:
    """A folder that is all of PATH, so nothing is installed but what the test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(machine: Path, *names: str) -> None:
    for name in names:
        (machine / name).write_text("#!/bin/sh\n")
        (machine / name).chmod(0o755)


def refusal(given: str | None, found: Settings) -> UsageError:
    with pytest.raises(UsageError) as refused:
        Harnesses(found).choose(given)
    assert refused.value.exit_code == 2
    return refused.value


# Finding


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_harness_can_be_made_as_the_settings_want_it(name):
    if name in ("script", "replay"):
        harness = Harnesses(settings()).find(name)
    else:
        own = settings(**{f"{name}__argv": ["/opt/it", "--flag"], f"{name}__env": {"MODE": "x"}})
        harness = Harnesses(own).find(name)
        invocation = harness.command(REQUEST)
        assert invocation.argv[0] == "/opt/it"
        assert "--flag" in invocation.argv
        assert invocation.env["MODE"] == "x"
    assert harness.name == name
    assert isinstance(harness.homes, tuple)


def test_a_name_of_one_s_own_leads_to_its_kind():  # X-4a
    found = settings(mine__kind="command", mine__argv=["./my-agent", "--flag"])
    mine = Harnesses(found).find("mine")
    assert isinstance(mine, CommandHarness)
    assert mine.command(REQUEST).argv == ("./my-agent", "--flag")
    assert isinstance(Harnesses(settings(dry__kind="script")).find("dry"), ScriptHarness)
    assert isinstance(Harnesses(settings(again__kind="replay")).find("again"), ReplayHarness)


def test_variables_of_a_script_reach_its_agent():
    found = settings(dry__kind="script", dry__env={"MODE": "x"})
    assert Harnesses(found).find("dry").command(REQUEST).env == {"MODE": "x"}


def test_an_unknown_harness_is_met_with_the_known_ones():  # X-4a, C-3
    refused = refusal("claud", settings(mine__kind="command", mine__argv=["x"]))
    assert refused.message == "unknown harness 'claud'"
    assert "claude, codex, gemini, mine, opencode, replay, script" in refused.hint


def test_an_unknown_kind_is_named_with_its_file():  # C-6
    refused = refusal("mine", settings(mine__kind="comand"))
    assert refused.message == (
        "/app/.ddx/config.yaml: harnesses.mine.kind: there is no harness 'comand'"
    )
    assert "command" in refused.hint
    assert "has no kind" in refusal("mine", settings(mine__argv=["x"])).message


def test_a_program_is_needed_where_one_is_started_and_nowhere_else():
    assert "has no program" in refusal("command", settings()).message
    assert "has no program" in refusal("mine", settings(mine__kind="command")).message
    assert "has no argv" in refusal("dry", settings(dry__kind="script", dry__argv=["x"])).message


# Choosing


def test_what_is_asked_for_is_taken_installed_or_not(machine):  # X-4a
    assert Harnesses(settings(mine__kind="replay")).choose("script") == "script"
    assert Harnesses(settings(mine__kind="replay")).choose("mine") == "mine"


def test_the_only_one_configured_is_taken_before_any_that_is_installed(machine):  # X-4a
    install(machine, "claude", "codex")
    assert Harnesses(settings(mine__kind="script")).choose(None) == "mine"
    assert Harnesses(settings(mine__kind="script")).choose("") == "mine"


def test_of_several_configured_a_person_must_choose(machine):  # X-4a
    refused = refusal(None, settings(a__kind="script", b__kind="script"))
    assert refused.message == "2 harnesses are configured: a and b"
    assert refused.hint == "say which one: --harness a"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_only_one_installed_is_taken(machine, name):  # X-4a
    install(machine, name, "some-other-program")
    assert Harnesses(settings()).choose(None) == name


def test_of_several_installed_a_person_must_choose(machine):  # X-4a
    install(machine, "codex", "claude")
    assert refusal(None, settings()).message == "2 harnesses are installed: claude and codex"


def test_with_nothing_there_the_ways_out_are_named(machine):  # X-4a, C-3
    refused = refusal(None, settings())
    assert "none of those we know is installed" in refused.message
    assert "claude, codex, gemini or opencode" in refused.hint
    assert "kind: command" in refused.hint


# Other packages


PACKAGE = """
from ddx.agents.harness import DetectedProgram, Invocation

class Foreign:
    name = "foreign"
    homes = (".foreign",)

    def __init__(self, *, program="foreign", argv=(), env=None):
        self.argv = (program, *argv)

    def detect(self):
        return DetectedProgram("foreign")

    def command(self, request):
        return Invocation(self.argv)
"""


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A package of somebody else's, installed as pip would do it."""
    folder = tmp_path / "site"
    record = folder / "foreign_agents-1.0.dist-info"
    record.mkdir(parents=True)
    (folder / "foreign_agents.py").write_text(PACKAGE)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-agents\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(
        "[ddx.harnesses]\nforeign = foreign_agents:Foreign\nclaude = foreign_agents:Gone\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    return record


def test_a_harness_of_another_package_is_found_listed_and_configured(package, machine):
    assert Harnesses(settings()).find("foreign").homes == (".foreign",)
    assert "foreign" in Harnesses(settings()).known()
    found = settings(mine__kind="foreign", mine__argv=["/opt/f", "-x"])
    assert Harnesses(found).find("mine").command(REQUEST).argv == ("/opt/f", "-x")
    assert Harnesses(settings()).choose(None) == "foreign"


def test_another_package_cannot_take_the_name_of_a_shipped_harness(package):
    assert type(Harnesses(settings()).find("claude")).__module__ == "ddx.agents.claude"


@pytest.mark.parametrize("target", ["foreign_agents:Gone", "no_such_module:Foreign"])
def test_a_harness_that_cannot_be_loaded_is_named_with_its_package(package, target):
    (package / "entry_points.txt").write_text(f"[ddx.harnesses]\nforeign = {target}\n")
    with pytest.raises(DdxError, match="the harness foreign of foreign-agents cannot be loaded"):
        Harnesses(settings()).find("foreign")


def test_every_name_is_listed_once():
    names = Harnesses(
        settings(mine__kind="command", mine__argv=["x"], claude__env={"A": "b"})
    ).known()
    assert names == ["claude", "codex", "gemini", "mine", "opencode", "replay", "script"]


# Models


MODELS = Settings(
    {
        "models.claude.smart": "opus",
        "models.claude.cheap": "haiku",
        "models.dry.smart": "clever.script",
        "harnesses.dry.kind": "script",
    },
    {},
)


@pytest.mark.parametrize(
    ("harness", "model", "meant"),
    [
        ("claude", "smart", "opus"),
        ("claude", "cheap", "haiku"),
        ("claude", "sonnet", "sonnet"),
        ("claude", "", ""),
        ("codex", "gpt", "gpt"),
        ("script", "a/b.script", "/app/a/b.script"),
        ("replay", "/elsewhere/r.jsonl", "/elsewhere/r.jsonl"),
        ("script", "", ""),
        ("dry", "smart", "/app/clever.script"),
    ],
)
def test_a_model_is_called_as_its_harness_knows_it(harness, model, meant):  # C-6, X-4
    assert Harnesses(MODELS).model(harness, model, root="/app") == meant


def test_a_word_for_a_model_that_nobody_explained_is_refused():  # C-3
    with pytest.raises(UsageError, match="nobody has said which model is 'smart' for codex") as no:
        Harnesses(MODELS).model("codex", "smart")
    assert "models: {codex: {smart: NAME}}" in no.value.hint
