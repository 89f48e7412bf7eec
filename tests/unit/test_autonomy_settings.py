"""The slider: its table, who wins, and what is said of a mistake (I-3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddx.base.errors import UsageError
from ddx.project.project import Project
from ddx.testing import FakeClock
from helix.project.settings import RESERVED, SLIDER, Autonomy, AutonomySettings, read_slider

AS_IN_THE_DESIGN = """\
autonomy_level: "high"
bead_size_target: "large"
question_threshold: 3
escalation_mode: "bead"
speculative_allowed: false
speculation_label: "kind:guess"
speculation_ttl_days: 3
conflict_handling:
  resolvable: "auto-resolve"
  physics_level: "block"
graph_traversal:
  max_depth: 4
  cycle_detection: false
  authority_ordering: false
verification:
  auto_traceback: false
  failure_triage: "manual"
"""


class Home:
    """A project with a slider file if one is written."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.project = Project(str(folder))
        self.file = folder / ".helix/slider-config.yaml"
        self.cache = folder / ".ddx/cache/slider.json"
        self.file.parent.mkdir()

    def write(self, text: str) -> None:
        self.file.write_text(text)
        changed_ns = self.clock.now_ns() - 60 * 10**9
        os.utime(self.file, ns=(changed_ns, changed_ns))

    def read(self, autonomy: str | None = None, *, keep: bool = True) -> AutonomySettings:
        return read_slider(self.project, clock=self.clock, autonomy=autonomy, keep=keep)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    for name in ("HELIX_AUTONOMY", "HELIX_SPECULATIVE"):
        monkeypatch.delenv(name, raising=False)
    return Home(tmp_path)


def test_without_any_word_the_defaults_of_the_table_hold(home):  # I-3
    slider = home.read()
    assert slider.autonomy is Autonomy.MEDIUM
    assert slider.bead_files == 3
    assert slider.speculative_allowed
    assert (slider.speculation_label, slider.speculation_ttl_days) == ("kind:speculative", 14)
    assert (slider.max_depth, slider.cycle_detection, slider.authority_ordering) == (10, True, True)
    assert (slider.auto_traceback, slider.failure_triage) == (True, "automatic")
    assert set(slider.origins.values()) == {"default"}


def test_every_key_of_the_file_is_understood(home):  # I-3
    home.write(AS_IN_THE_DESIGN)
    slider = home.read()
    assert slider.autonomy is Autonomy.HIGH
    assert slider.bead_files == 20
    assert not slider.speculative_allowed
    assert (slider.speculation_label, slider.speculation_ttl_days) == ("kind:guess", 3)
    assert (slider.max_depth, slider.cycle_detection, slider.authority_ordering) == (
        4,
        False,
        False,
    )
    assert (slider.auto_traceback, slider.failure_triage) == (False, "manual")
    assert set(slider.origins.values()) == {str(home.file)}


def test_the_flag_beats_the_variable_and_the_variable_the_file(home, monkeypatch):  # I-3
    home.write("autonomy_level: low\nspeculative_allowed: true")
    assert home.read().autonomy is Autonomy.LOW
    monkeypatch.setenv("HELIX_AUTONOMY", "medium")
    monkeypatch.setenv("HELIX_SPECULATIVE", "False")
    slider = home.read()
    assert (slider.autonomy, slider.speculative_allowed) == (Autonomy.MEDIUM, False)
    assert slider.origins["speculative_allowed"] == "$HELIX_SPECULATIVE"
    slider = home.read("high")
    assert slider.autonomy is Autonomy.HIGH
    assert slider.origins["autonomy_level"] == "--autonomy"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("autonomy_level: low\nautonomy: high", 2, "unknown setting 'autonomy'"),
        ("autonomy_level: turbo", 1, "autonomy_level must be one of low, medium, high"),
        ("\nbead_size_target: tiny", 2, "bead_size_target must be one of small, medium, large"),
        ("speculative_allowed: maybe", 1, "speculative_allowed must be true or false"),
        ("speculation_label: 'two words'", 1, "speculation_label must be a label"),
        ("speculation_ttl_days: 0", 1, "speculation_ttl_days must be a whole number from 1"),
        ("graph_traversal:\n  max_depth: 0", 2, "graph_traversal.max_depth must be a whole"),
        ("graph_traversal: {depth: 3}", 1, "unknown setting 'graph_traversal.depth'"),
        ("conflict_handling:\n  physics_level: go", 2, "conflict_handling.physics_level must be"),
        ("conflict_handling: {resolvable: no-way}", 1, "conflict_handling.resolvable must be one"),
        ("verification: {failure_triage: never}", 1, "verification.failure_triage must be one of"),
        ("question_threshold: -1", 1, "question_threshold must be a whole number from 0"),
        ("escalation_mode: ''", 1, "escalation_mode must be a text that is not empty"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_is_allowed(home, text, line, said):  # I-3
    home.write(text)
    with pytest.raises(UsageError) as refused:
        home.read()
    assert refused.value.exit_code == 2
    assert refused.value.message.startswith(f"{home.file}:{line}: {said}")


def test_an_unknown_key_is_answered_with_those_there_are(home):  # I-3
    home.write("autonomy: high")
    with pytest.raises(UsageError) as refused:
        home.read()
    assert all(key in refused.value.hint for key in SLIDER.keys)


def test_a_wrong_flag_is_said_before_the_file_is_looked_at(home):  # I-11
    home.write("autonomy_level: turbo")
    with pytest.raises(UsageError, match=r"^--autonomy: .* one of low, medium, high, not 'fast'"):
        home.read("fast")


@pytest.mark.parametrize(
    ("name", "said"),
    [("HELIX_AUTONOMY", "one of low, medium, high"), ("HELIX_SPECULATIVE", "true or false")],
)
def test_a_wrong_variable_names_itself(home, monkeypatch, name, said):  # I-3
    monkeypatch.setenv(name, "perhaps")
    with pytest.raises(UsageError, match=rf"^\${name}: .* must be {said}"):
        home.read()


def test_nothing_is_kept_where_nothing_may_be_written(home):  # S-31
    home.write("autonomy_level: low")
    assert home.read(keep=False).autonomy is Autonomy.LOW
    assert not home.cache.exists()
    home.read()
    assert home.cache.exists()


def test_every_key_is_read_but_the_reserved_ones(home):  # C-6
    read: set[str] = set()

    class Watched(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            read.add(key)
            return super().__getitem__(key)

    watched = AutonomySettings(Watched(home.read().found), {})
    for name, member in vars(AutonomySettings).items():
        if isinstance(member, property):
            getattr(watched, name)
    assert read == set(SLIDER.keys) - RESERVED
