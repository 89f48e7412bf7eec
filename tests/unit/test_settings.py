"""Settings: flag > environment > project file > user file > default (C-6)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddx.errors import UsageError
from ddx.project import Project
from ddx.settings import Settings, read_settings, user_file
from ddx.settings_keys import KEYS
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
    monkeypatch.delenv("DDX_BEAD_PREFIX", raising=False)
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
    assert user_file() == "/xdg/ddx/config.yaml"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/mara")
    assert user_file() == "/home/mara/.config/ddx/config.yaml"


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
        ("checks:\n  default: pytest\n", 2, "checks.default must be a list of texts"),
        ("checks:\n  default: [pytest, 5]\n", 2, "checks.default must be a list of texts"),
        ("checks:\n  default: [' ']\n", 2, "checks.default must be a list of texts"),
        ("bead:\n  prefix: a\n  prefix: b\n", 3, "bead.prefix is set twice"),
        ("bead:\n  prefix: a\nbead:\n  prefix: b\n", 4, "bead.prefix is set twice"),
        ("- bead\n", 1, "expected `name: value` lines here"),
        ("just words\n", 1, "expected `name: value` lines here"),
        ("\nbead: app\n", 2, "expected `name: value` lines here"),
        ("bead:\n", 1, "expected `name: value` lines here"),
        ("bead:\n  prefix: [a\n", 3, "expected ',' or ']'"),
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
    assert home.complaint(b"bead: \xff\xfe\n").startswith(f"{home.project_file}: ")
    assert str(home.project_file) in home.complaint(b"bead:\n  prefix: \x00\n")


def test_an_unknown_key_is_met_with_the_known_ones(home):  # C-6
    home.write(home.user_file, "bead: {colour: red}")
    with pytest.raises(UsageError) as refused:
        home.read()
    assert str(home.user_file) in refused.value.message
    assert all(name in refused.value.hint for name in KEYS)


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
