"""The policy's settings: the same rules as the substrate's, another file and table (C-6)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddx.base.errors import UsageError
from ddx.project.project import Project
from ddx.project.settings import read_settings
from ddx.testing import FakeClock
from helix.project.settings import (
    OCCASIONS,
    POLICY,
    HelixSettings,
    NotifyRoute,
    read_helix_settings,
)


class Home:
    """A project and a user, each with a settings file if it is written."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.project = Project(str(folder / "app"))
        self.user_file = folder / "config/helix/config.yaml"
        self.project_file = folder / "app/.helix/config.yaml"
        self.cache = folder / "app/.ddx/cache/helix-settings.json"
        for file in (self.user_file, self.project_file):
            file.parent.mkdir(parents=True)

    def write(self, file: Path, text: str) -> None:
        file.write_text(text)
        changed_ns = self.clock.now_ns() - 60 * 10**9
        os.utime(file, ns=(changed_ns, changed_ns))

    def read(self, *, keep: bool = True) -> HelixSettings:
        return read_helix_settings(self.project, clock=self.clock, keep=keep)

    def complaint(self, text: str) -> UsageError:
        self.write(self.project_file, text)
        with pytest.raises(UsageError) as refused:
            self.read()
        assert refused.value.exit_code == 2
        return refused.value


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for key in POLICY.keys.values():
        if key.variable:
            monkeypatch.delenv(key.variable, raising=False)
    return Home(tmp_path)


def test_without_any_word_the_defaults_hold(home):  # C-6, D-7, D-24, S-9, S-18
    settings = home.read()
    assert (settings.agent, settings.review_agent) == ("", "")
    assert (settings.max_attempts, settings.batch_size) == (4, 1)
    assert (settings.review_every, settings.review_threshold) == (15, 0)
    assert settings.orphan_threshold_s == 7200
    assert (settings.max_cost_usd, settings.backoff_s) == (None, None)
    assert settings.reviews
    assert settings.aligns
    assert (settings.embedder, settings.memory_holdout, settings.memory_limit) == ("minilm", 0.1, 5)
    assert settings.routes == ()
    assert set(settings.origins.values()) == {"default"}
    assert not home.cache.exists()


def test_the_nearer_word_wins_and_each_value_knows_its_origin(home, monkeypatch):  # C-6
    home.write(home.user_file, "agent: codex\nreview_agent: claude\nrun: {max_attempts: 9}")
    home.write(home.project_file, "agent: claude\nrun: {orphan_threshold_s: 60, batch_size: 3}")
    monkeypatch.setenv("HELIX_ORPHAN_THRESHOLD", "5")
    settings = home.read().with_flags(
        {"run.batch_size": ("--batch", 2), "run.max_attempts": ("--max-attempts", None)}
    )
    assert (settings.agent, settings.review_agent, settings.max_attempts) == ("claude", "claude", 9)
    assert (settings.orphan_threshold_s, settings.batch_size) == (5, 2)
    origins = settings.origins
    assert origins["agent"] == str(home.project_file)
    assert origins["review_agent"] == str(home.user_file)
    assert origins["run.orphan_threshold_s"] == "$HELIX_ORPHAN_THRESHOLD"
    assert origins["run.batch_size"] == "--batch"
    assert origins["run.max_attempts"] == str(home.user_file)
    assert origins["align.auto"] == "default"


def test_routes_are_named_and_tell_everything_unless_they_say_what(home):  # S-26a
    home.write(
        home.project_file,
        "notify:\n"
        "  phone: {on: [guidance, blocked], to: https://example.invalid/hook}\n"
        "  desk: {to: desktop}\n"
        "  bell: {to: [ring, --twice], on: [finished]}\n",
    )
    assert home.read().routes == (
        NotifyRoute("phone", ("guidance", "blocked"), "https://example.invalid/hook"),
        NotifyRoute("desk", OCCASIONS, "desktop"),
        NotifyRoute("bell", ("finished",), ("ring", "--twice")),
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("agent: claude\nagnet: codex", 2, "unknown setting 'agnet'"),
        ("run: 3", 1, "expected `name: value`"),
        ("run:\n  max_atempts: 3", 2, "unknown setting 'run.max_atempts'"),
        ("run:\n  max_attempts: 0", 2, "run.max_attempts must be a whole number from 1"),
        ("run: {review_every: -1}", 1, "run.review_every must be a whole number from 0"),
        ("run: {review_every: 1.5}", 1, "run.review_every must be a whole number from 0"),
        ("run: {orphan_threshold_s: .nan}", 1, "run.orphan_threshold_s must be a number from 0"),
        ("review: {enabled: maybe}", 1, "review.enabled must be true or false"),
        ("agent: [claude]", 1, "agent must be a text"),
        ("memory: {holdout: 1.1}", 1, "memory.holdout must be a number from 0 to 1"),
        ("memory: {holdout: -0.1}", 1, "memory.holdout must be a number from 0 to 1"),
        ("memory: {limit: 0}", 1, "memory.limit must be a whole number from 1"),
        ("memory: {embedder: ''}", 1, "memory.embedder must be a text that is not empty"),
        ("agent: claude\nagent: codex", 2, "agent is set twice"),
        ("notify: {phone: {to: mailto:me}}", 1, "notify.phone.to must be desktop, an http"),
        ("notify: {phone: {on: [noise]}}", 1, "notify.phone.on must be a list of some of guidance"),
        ("notify: {phone: {via: x}}", 1, "unknown setting 'notify.phone.via'"),
        ("bead: {prefix: x}", 1, "unknown setting 'bead.prefix'"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(home, text, line, said):  # C-6
    assert home.complaint(text).message.startswith(f"{home.project_file}:{line}: {said}")


def test_a_wrong_variable_and_a_wrong_flag_name_themselves(home, monkeypatch):  # C-6
    with pytest.raises(UsageError, match=r"^--batch: run.batch_size must be a whole number"):
        home.read().with_flags({"run.batch_size": ("--batch", 0)})
    monkeypatch.setenv("HELIX_BACKOFF_SLEEP", "soon")
    with pytest.raises(UsageError, match=r"^\$HELIX_BACKOFF_SLEEP: run.backoff_s must be"):
        home.read()


def test_no_wait_at_all_can_be_asked_for(home, monkeypatch):  # D-7
    monkeypatch.setenv("HELIX_BACKOFF_SLEEP", "0")
    assert home.read().backoff_s == 0


def test_a_file_is_parsed_once_and_only_kept_where_that_is_allowed(home):  # S-31, T-19
    home.write(home.project_file, "agent: claude")
    assert home.read(keep=False).agent == "claude"
    assert not home.cache.exists()
    first = home.read()
    assert home.cache.exists()
    home.cache.write_text(home.cache.read_text().replace("claude", "cached"))
    assert (first.agent, home.read().agent) == ("claude", "cached")


def test_the_substrate_does_not_read_the_policys_file(home):  # C-6
    home.write(home.project_file, "agent: claude")
    (home.project_file.parents[1] / ".ddx").mkdir(exist_ok=True)
    assert "agent" not in read_settings(home.project, clock=home.clock).found
    assert not set(POLICY.keys) & set(read_settings(home.project, clock=home.clock).found)


def test_every_setting_is_read(home):  # C-6
    read: set[str] = set()

    class Watched(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            read.add(key)
            return super().__getitem__(key)

    settings = home.read()
    watched = HelixSettings(Watched(settings.found), settings.origins)
    for name, member in vars(HelixSettings).items():
        if isinstance(member, property):
            getattr(watched, name)
    assert read == set(POLICY.keys)


def test_an_embedder_is_switched_off_with_or_without_quotes(home):  # M-4: YAML takes off for no
    for said in ("off", '"off"'):
        home.write(home.project_file, f"memory: {{embedder: {said}}}\n")
        assert home.read().embedder == "off"
