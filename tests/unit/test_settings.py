"""Settings: flag > environment > project file > user file > default (C-6)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ddx.base.errors import UsageError
from ddx.cli import config_show
from ddx.project.project import Project
from ddx.project.settings import (
    BudgetSettings,
    HarnessSettings,
    LimitSettings,
    RetentionSettings,
    SandboxSettings,
    Settings,
    WorkspaceSettings,
    read_settings,
    user_file,
)
from ddx.project.settings_keys import KEYS, NAMED, SUBSTRATE
from ddx.testing import FakeClock


class Home:
    """A project and a user, each with a settings file if it is written."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.project = Project(str(folder / "app"))
        self.user_file = folder / "config" / "ddx" / "config.yaml"
        self.project_file = folder / "app" / ".ddx" / "config.yaml"
        self.cache = folder / "app" / ".ddx" / "cache" / "settings.json"
        for file in (self.user_file, self.project_file):
            file.parent.mkdir(parents=True)

    def write(self, file: Path, text: str | bytes, *, age_s: float = 60) -> None:
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        changed_ns = self.clock.now_ns() - round(age_s * 1e9)
        os.utime(file, ns=(changed_ns, changed_ns))

    def read(self) -> Settings:
        return read_settings(self.project, clock=self.clock)

    def complaint(self, text: str | bytes) -> str:
        self.write(self.project_file, text)
        with pytest.raises(UsageError) as refused:
            self.read()
        assert refused.value.exit_code == 2
        return refused.value.message


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for key in KEYS.values():
        if key.variable:
            monkeypatch.delenv(key.variable, raising=False)
    return Home(tmp_path)


def test_without_any_word_the_defaults_hold(home):  # C-6
    settings = home.read()
    assert settings.found == {name: key.default for name, key in KEYS.items()}
    assert set(settings.origins.values()) == {"default"}
    assert (settings.bead_prefix, settings.default_checks, settings.tracker_commit) == (
        "",
        (),
        "never",
    )
    assert not home.cache.exists()


def test_the_nearer_word_wins_and_each_value_knows_its_origin(home, monkeypatch):  # C-6
    home.write(
        home.user_file,
        "bead: {prefix: user}\nchecks: {default: [make]}\ntracker: {commit: on-close}",
    )
    assert (home.read().bead_prefix, home.read().default_checks) == ("user", ("make",))
    home.write(home.project_file, "bead:\n  prefix: project\nchecks:\n  default: []\n")
    settings = home.read()
    assert settings.bead_prefix == "project"
    assert settings.default_checks == ()
    assert settings.tracker_commit == "on-close"
    assert settings.origins == {
        **dict.fromkeys(KEYS, "default"),
        "bead.prefix": str(home.project_file),
        "checks.default": str(home.project_file),
        "tracker.commit": str(home.user_file),
    }
    monkeypatch.setenv("DDX_BEAD_PREFIX", "shell")
    assert (home.read().bead_prefix, home.read().origins["bead.prefix"]) == (
        "shell",
        "$DDX_BEAD_PREFIX",
    )
    monkeypatch.setenv("DDX_BEAD_PREFIX", "")
    assert home.read().bead_prefix == "project"


def test_the_user_file_follows_xdg_and_else_the_home(monkeypatch):  # C-6
    monkeypatch.setenv("XDG_CONFIG_HOME", "/xdg")
    assert user_file("ddx") == "/xdg/ddx/config.yaml"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/mara")
    assert user_file("ddx") == "/home/mara/.config/ddx/config.yaml"


@pytest.mark.parametrize("text", ["", "\n# only words\n", "---\n", "null\n"])
def test_an_empty_file_says_nothing(home, text):
    home.write(home.project_file, text)
    assert set(home.read().origins.values()) == {"default"}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("bead:\n  prefix: a\n  colour: red\n", 3, "unknown setting 'bead.colour'"),
        ("\nbeads:\n  prefix: a\n", 3, "unknown setting 'beads.prefix'"),
        ("bead:\n  prefix: 7\n", 2, "bead.prefix must be a text, not 7"),
        ("bead:\n  prefix:\n    - a\n", 3, "bead.prefix must be a text, not ['a']"),
        ("tracker:\n  commit: always\n", 2, "must be one of never, on-close"),
        ("tracker:\n  commit: [never]\n", 2, "tracker.commit must be one of"),
        ("checks:\n  default: pytest\n", 2, "checks.default must be a list of commands"),
        ("checks:\n  default: [pytest, 5]\n", 2, "checks.default must be a list of commands"),
        ("checks:\n  default: [' ']\n", 2, "checks.default must be a list of commands"),
        ("checks:\n  default: [{run: x}]\n", 2, "checks.default must be a list of commands"),
        ("checks:\n  default: [{command: x, timeout_s: 0}]\n", 2, "checks.default must be a list"),
        ("checks:\n  default: [{command: x, paths: [/a]}]\n", 2, "checks.default must be a list"),
        ("checks:\n  scopes: [{paths: [a]}]\n", 2, "checks.scopes must be a list of tables"),
        ("checks:\n  scopes: [{paths: [], checks: [x]}]\n", 2, "checks.scopes must be a list"),
        ("bead:\n  prefix: a\n  prefix: b\n", 3, "bead.prefix is set twice"),
        ("bead:\n  prefix: a\nbead:\n  prefix: b\n", 4, "bead.prefix is set twice"),
        ("agent:\n  timeout_s: soon\n", 2, "agent.timeout_s must be a number above 0"),
        ("agent:\n  timeout_s: 0\n", 2, "must be a number above 0, at most a billion, not 0"),
        ("agent:\n  timeout_s: -3.5\n", 2, "must be a number above 0"),
        ("agent:\n  timeout_s: .nan\n", 2, "must be a number above 0"),
        ("agent:\n  timeout_s: .inf\n", 2, "must be a number above 0"),
        ("agent:\n  timeout_s: true\n", 2, "must be a number above 0"),
        ("retention:\n  attempts: 1.5\n", 2, "must be a whole number from 1 to a billion, not 1.5"),
        ("retention:\n  attempts: 0\n", 2, "retention.attempts must be a whole number"),
        ("retention:\n  attempts: 10000000000\n", 2, "must be a whole number"),
        ("retention:\n  attempts: -.inf\n", 2, "must be a whole number"),
        ("budget:\n  bead_usd: 1 dollar\n", 2, "budget.bead_usd must be a number"),
        ("budget:\n  bead_usd:\n", 2, "budget.bead_usd must be a number"),
        ("sandbox:\n  network: sometimes\n", 2, "sandbox.network must be true or false"),
        ("sandbox:\n  network: 1\n", 2, "sandbox.network must be true or false"),
        ("sandbox:\n  kind: docker\n", 2, "must be one of none, bubblewrap"),
        ("limits:\n  on_limit: go\n", 2, "must be one of wait, stop, switch"),
        ("workspace:\n  carry: [/etc]\n", 2, "must be a list of paths inside of the project"),
        ("workspace:\n  carry: [a/../../b]\n", 2, "must be a list of paths inside"),
        ("workspace:\n  carry: ['~/x']\n", 2, "must be a list of paths inside"),
        ("workspace:\n  carry: ['']\n", 2, "must be a list of paths inside"),
        ("workspace:\n  root: build\n", 2, "must be an absolute path"),
        ("workspace:\n  setup: make\n", 2, "workspace.setup must be a list of texts"),
        ('workspace:\n  setup: ["a\\0b"]\n', 2, "workspace.setup must be a list of texts"),
        (
            "harnesses:\n  mine:\n    kind: command\n    colour: red\n",
            4,
            "unknown setting 'harnesses.mine.colour'",
        ),
        ("harnesses:\n  mine:\n    kind: ' '\n", 3, "must be a text that is not empty"),
        ("harnesses:\n  mine:\n    kind: 7\n", 3, "harnesses.mine.kind must be a text"),
        ("harnesses:\n  mine:\n    argv: run it\n", 3, "must be a list of texts that begins"),
        ("harnesses:\n  mine:\n    argv: []\n", 3, "must be a list of texts that begins"),
        ("harnesses:\n  mine:\n    argv: ['', a]\n", 3, "must be a list of texts that begins"),
        ("harnesses:\n  mine:\n    timeout_s: no\n", 3, "timeout_s must be a number above 0"),
        ("harnesses:\n  mine:\n    env: [A]\n", 3, "env must be a table of variables"),
        ("harnesses:\n  mine:\n    env: {A: 1}\n", 3, "env must be a table of variables"),
        ("harnesses:\n  mine:\n    env: {A=B: c}\n", 3, "env must be a table of variables"),
        ("harnesses:\n  mine: {}\n", 2, "harnesses.mine says nothing"),
        ("harnesses:\n  mine: command\n", 2, "expected `name: value` lines here"),
        ("harnesses: mine\n", 1, "expected `name: value` lines here"),
        ("harnesses:\n  my.own: {kind: a}\n", 2, "'my.own' cannot name an entry of harnesses"),
        ("harnesses:\n  größe: {kind: a}\n", 2, "cannot name an entry of harnesses"),
        ("harnesses:\n  m: {kind: a}\n  m: {kind: b}\n", 3, "harnesses.m.kind is set twice"),
        ("models:\n  claude:\n    huge: x\n", 3, "unknown setting 'models.claude.huge'"),
        ("models:\n  claude:\n    smart: [x]\n", 3, "models.claude.smart must be a text"),
        ("- bead\n", 1, "expected `name: value` lines here"),
        ("just words\n", 1, "expected `name: value` lines here"),
        ("\nbead: app\n", 2, "expected `name: value` lines here"),
        ("bead:\n", 1, "expected `name: value` lines here"),
        ("bead:\n  prefix: [a\n", 2, "expected ',' or ']'"),
        ("bead:\n\tprefix: a\n", 2, "cannot start any token"),
        ("a: 1\n---\nb: 2\n", 2, "but found another document"),
        ("bead:\n  prefix: 2026-13-01\n", 2, "month must be in 1..12"),
        ("bead:\n  prefix: !!python/name:os.system x\n", 2, "could not determine a constructor"),
    ],
)
def test_every_mistake_is_named_with_its_file_and_line(home, text, line, what):  # C-6
    complaint = home.complaint(text)
    assert complaint.startswith(f"{home.project_file}:{line}: ")
    assert what in complaint


def test_what_is_no_text_at_all_is_named_with_its_file(home):  # C-6
    assert home.complaint(b"bead: \xff\xfe\n") == f"{home.project_file}:1: it is no UTF-8 text"
    assert str(home.project_file) in home.complaint(b"bead:\n  prefix: \x00\n")


def test_an_unknown_key_is_met_with_the_known_ones(home):  # C-6
    home.write(home.user_file, "bead: {colour: red}")
    with pytest.raises(UsageError) as refused:
        home.read()
    assert str(home.user_file) in refused.value.message
    assert all(name in refused.value.hint for name in KEYS)


def test_an_unknown_key_of_a_named_entry_is_met_with_those_of_its_kind(home):  # C-6
    home.write(home.project_file, "harnesses: {mine: {colour: red}}")
    with pytest.raises(UsageError) as refused:
        home.read()
    assert refused.value.hint == (
        "the settings of harnesses.mine are: argv, env, idle_s, kind, timeout_s"
    )


# The sections of managed execution (C-6)


def test_without_any_word_execution_has_its_defaults_and_no_harness_is_configured(home):  # C-6
    settings = home.read()
    assert settings.agent_timeout_s == 2700
    assert settings.harnesses == settings.models == {}
    assert settings.workspace == WorkspaceSettings((), (), 600, root="")
    assert settings.retention == RetentionSettings(500, 30)
    assert settings.sandbox == SandboxSettings("none", True)
    assert settings.budget == BudgetSettings(None, None)
    assert settings.limits == LimitSettings("wait", "")


EXECUTION = """
harnesses:
  mine: {kind: command, argv: [./my-agent, --flag, ""], timeout_s: 600, env: {MODE: fast}}
  claude: {idle_s: 90.5}
models:
  claude: {smart: opus, cheap: haiku}
workspace: {setup: [npm ci], carry: [.venv, a/node_modules], timeout_s: 5, root: ~/rooms}
retention: {attempts: 10, days: 0.5}
sandbox: {kind: bubblewrap, network: false}
budget: {bead_usd: 2.5, bead_tokens: 1000000}
limits: {on_limit: switch, alternate: codex}
"""


def test_every_section_comes_back_as_a_value_from_the_file_and_from_the_cache(
    home, monkeypatch
):  # C-6, T-19
    monkeypatch.setenv("HOME", "/home/mara")
    home.write(home.project_file, EXECUTION)
    for settings in (home.read(), home.read()):
        assert settings.harnesses == {
            "mine": HarnessSettings(
                name="mine",
                kind="command",
                argv=("./my-agent", "--flag", ""),
                timeout_s=600,
                idle_s=None,
                env={"MODE": "fast"},
            ),
            "claude": HarnessSettings("claude", "claude", idle_s=90.5),
        }
        assert settings.models == {"claude": {"smart": "opus", "cheap": "haiku"}}
        assert settings.workspace == WorkspaceSettings(
            ("npm ci",), (".venv", "a/node_modules"), 5, root="/home/mara/rooms"
        )
        assert settings.retention == RetentionSettings(10, 0.5)
        assert settings.sandbox == SandboxSettings("bubblewrap", False)
        assert settings.budget == BudgetSettings(2.5, 1_000_000)
        assert settings.limits == LimitSettings("switch", "codex")
    assert home.cache.exists()


def test_two_files_may_say_different_things_about_one_harness(home):  # C-6
    home.write(home.user_file, "harnesses: {mine: {kind: command, argv: [mine], timeout_s: 5}}")
    home.write(home.project_file, "harnesses: {mine: {timeout_s: 9}, other: {kind: codex}}")
    settings = home.read()
    assert settings.harnesses["mine"] == HarnessSettings("mine", "command", ("mine",), timeout_s=9)
    assert set(settings.harnesses) == {"mine", "other"}
    assert settings.origins["harnesses.mine.kind"] == str(home.user_file)
    assert settings.origins["harnesses.mine.timeout_s"] == str(home.project_file)


def test_a_number_may_come_from_the_environment(home, monkeypatch):  # C-6, X-6
    home.write(home.project_file, "agent: {timeout_s: 60}")
    assert home.read().agent_timeout_s == 60
    monkeypatch.setenv("HELIX_AGENT_TIMEOUT", "90")
    settings = home.read()
    assert (settings.agent_timeout_s, settings.found["agent.timeout_s"]) == (90, 90)
    assert settings.origins["agent.timeout_s"] == "$HELIX_AGENT_TIMEOUT"
    monkeypatch.setenv("HELIX_AGENT_TIMEOUT", "1.5")
    assert home.read().agent_timeout_s == 1.5


@pytest.mark.parametrize("text", ["soon", "-1", "0", "nan", "inf", "5 s"])
def test_a_bad_number_in_the_environment_is_named_with_its_variable(home, monkeypatch, text):  # C-6
    monkeypatch.setenv("HELIX_AGENT_TIMEOUT", text)
    with pytest.raises(UsageError, match=r"^\$HELIX_AGENT_TIMEOUT: agent.timeout_s must be a num"):
        home.read()


def test_half_of_a_surrogate_pair_is_no_text():  # C-6
    with pytest.raises(UsageError, match=r"^here: bead.prefix must be a text"):
        SUBSTRATE.checked("bead.prefix", "\ud800", where="here")


def test_every_field_of_a_harness_has_a_place_in_its_value():  # C-6
    assert {"name", *NAMED["harnesses"]} == set(HarnessSettings.__annotations__)


# Showing them


@pytest.fixture
def shown(home, monkeypatch, capsys):
    """What `ddx config show` prints for the sections of managed execution."""
    home.write(home.project_file, EXECUTION.replace("MODE: fast", "MODE: fast, MY_TOKEN: abc"))
    monkeypatch.chdir(home.project.root)

    def show(**flags: bool) -> str:
        assert config_show.COMMAND.run(**{"origin": False, "json": False, **flags}) == 0
        return capsys.readouterr().out

    return show


def test_settings_are_shown_in_words_and_a_secret_is_not(shown):  # C-6, X-24
    lines = shown().splitlines()
    assert "harnesses.mine.env: MODE=fast; MY_TOKEN=[masked]" in lines
    assert "harnesses.mine.argv: ./my-agent; --flag; " in lines
    assert "sandbox.network: false" in lines
    assert "workspace.setup: npm ci" in lines
    assert "checks.default: none" in lines
    assert lines == sorted(lines)


def test_each_setting_is_shown_with_its_origin(home, shown, monkeypatch):  # C-6
    monkeypatch.setenv("HELIX_AGENT_TIMEOUT", "60")
    rows = [line.split(None, 2) for line in shown(origin=True).splitlines()]
    assert ["agent.timeout_s", "$HELIX_AGENT_TIMEOUT", "60"] in rows
    assert ["harnesses.claude.idle_s", str(home.project_file), "90.5"] in rows
    assert ["bead.prefix", "default", "none"] in rows


def test_settings_as_json_fit_their_schema(shown):  # C-1, C-6
    schemas = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
    schema = json.loads((schemas / "config.json").read_text("utf-8"))
    answer = json.loads(shown(json=True))
    Draft202012Validator(schema).validate(answer)
    assert answer["budget.bead_usd"]["value"] == 2.5
    assert answer["harnesses.mine.env"]["value"] == {"MODE": "fast", "MY_TOKEN": "[masked]"}
    for wrong in ({"harnesses.mine.colour": answer["bead.prefix"]}, {"sandbox.network": 1}):
        assert not Draft202012Validator(schema).is_valid({**answer, **wrong})


# The cache (T-19)


def test_a_file_that_has_not_changed_is_not_parsed_again(home):  # T-19
    home.write(home.project_file, "bead: {prefix: app}")
    home.read()
    home.cache.write_text(home.cache.read_text().replace('"app"', '"kept"'))
    assert home.read().bead_prefix == "kept"


def test_a_changed_file_is_parsed_again(home):  # T-19
    home.write(home.project_file, "bead: {prefix: app}")
    home.read()
    home.write(home.project_file, "bead: {prefix: new}", age_s=30)
    assert home.read().bead_prefix == "new"
    home.write(home.user_file, "tracker: {commit: on-close}")
    assert home.read().tracker_commit == "on-close"
    home.user_file.unlink()
    assert home.read().tracker_commit == "never"
    home.project_file.unlink()
    assert home.read().bead_prefix == ""


def test_a_file_that_may_still_change_within_its_tick_is_not_kept(home):  # T-19
    home.write(home.project_file, "bead: {prefix: app}", age_s=0.01)
    assert home.read().bead_prefix == "app"
    assert not home.cache.exists()


@pytest.mark.parametrize("garbage", [b"", b"\xff\xff", b"mark\n{broken", b"\0" * 100])
def test_a_broken_cache_costs_only_time(home, garbage):  # T-19
    home.write(home.project_file, "bead: {prefix: app}")
    home.read()
    mark = home.cache.read_bytes().partition(b"\n")[0]
    home.cache.write_bytes(garbage.replace(b"mark", mark))
    assert home.read().bead_prefix == "app"


def test_a_cache_that_cannot_be_written_costs_only_time(home):  # T-19
    home.write(home.project_file, "bead: {prefix: app}")
    home.cache.parent.write_text("no folder")
    assert home.read().bead_prefix == "app"


def test_what_is_wrong_is_never_kept(home):
    home.complaint("bead: {colour: red}")
    assert not home.cache.exists()
