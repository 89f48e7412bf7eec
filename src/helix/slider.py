"""How freely HELIX acts: flag > environment > `.helix/slider-config.yaml` > default (I-3)."""

from __future__ import annotations

import os

from ddx.settings import read_layers
from ddx.settings_keys import Key, Table, checked
from ddx.values import value
from helix.policy.model import Autonomy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ddx.clock import Clock
    from ddx.project import Project

BEAD_FILES = {"small": 3, "medium": 8, "large": 20}
"""How many files one bead that builds may name (I-3)."""

SLIDER = Table(
    {
        "autonomy_level": Key(
            "choice",
            "medium",
            "how often a person is asked",
            choices=tuple(map(str, Autonomy)),
            variable="HELIX_AUTONOMY",
        ),
        "bead_size_target": Key(
            "choice",
            "small",
            "how many files one bead that builds may name: 3, 8 or 20",
            choices=tuple(BEAD_FILES),
        ),
        "conflict_handling.physics_level": Key(
            "choice",
            "block",
            "what a conflict that no authority settles does to the work on its path",
            choices=("block",),
        ),
        "conflict_handling.resolvable": Key(
            "choice",
            "escalate",
            "reserved: an escalation bead is always filed, and the level says whether work waits",
            choices=("escalate", "auto-resolve"),
        ),
        "escalation_mode": Key("name", "bead", "reserved: the level's own meaning wins"),
        "graph_traversal.authority_ordering": Key(
            "switch", True, "whether impacted documents are ordered by authority before distance"
        ),
        "graph_traversal.cycle_detection": Key(
            "switch", True, "whether documents that depend on each other in a ring are told of"
        ),
        "graph_traversal.max_depth": Key(
            "count", 10, "how many links away an impacted document may be"
        ),
        "question_threshold": Key("whole", 0, "reserved: the level's own meaning wins"),
        "speculation_label": Key("label", "kind:speculative", "the label of a bead that assumes"),
        "speculation_ttl_days": Key(
            "count", 14, "days after which an assumption that nobody reviewed is only proposed"
        ),
        "speculative_allowed": Key(
            "switch",
            True,
            "whether a bead may rest on an assumption; false: it waits for a person",
            variable="HELIX_SPECULATIVE",
        ),
        "verification.auto_traceback": Key(
            "switch", True, "whether a failing test is traced to its documents by itself"
        ),
        "verification.failure_triage": Key(
            "choice",
            "automatic",
            "what a failing test leads to: beads, or with manual only proposed ones",
            choices=("automatic", "manual"),
        ),
    }
)

RESERVED = frozenset(
    {
        "conflict_handling.physics_level",
        "conflict_handling.resolvable",
        "escalation_mode",
        "question_threshold",
    }
)
"""Accepted and checked; low, medium and high mean what I-4 says whatever stands there."""


@value
class Slider:
    """Every key's value, and where it came from."""

    found: Mapping[str, Any]
    origins: Mapping[str, str]

    @property
    def autonomy(self) -> Autonomy:
        return Autonomy(self.found["autonomy_level"])

    @property
    def bead_files(self) -> int:
        return BEAD_FILES[self.found["bead_size_target"]]

    @property
    def speculative_allowed(self) -> bool:
        return bool(self.found["speculative_allowed"])

    @property
    def speculation_label(self) -> str:
        return str(self.found["speculation_label"])

    @property
    def speculation_ttl_days(self) -> int:
        return int(self.found["speculation_ttl_days"])

    @property
    def max_depth(self) -> int:
        return int(self.found["graph_traversal.max_depth"])

    @property
    def cycle_detection(self) -> bool:
        return bool(self.found["graph_traversal.cycle_detection"])

    @property
    def authority_ordering(self) -> bool:
        return bool(self.found["graph_traversal.authority_ordering"])

    @property
    def auto_traceback(self) -> bool:
        return bool(self.found["verification.auto_traceback"])

    @property
    def failure_triage(self) -> str:
        return str(self.found["verification.failure_triage"])


def slider_file(project: Project) -> str:
    return os.path.join(project.root, ".helix", "slider-config.yaml")


def read_slider(
    project: Project, *, clock: Clock, autonomy: str | None = None, keep: bool = True
) -> Slider:
    """What holds for a project now; not even the cache is written unless we may `keep` (S-31)."""
    flag = "--autonomy"
    if autonomy is not None:  # a wrong word is said before anything is read (I-11)
        checked("autonomy_level", autonomy, where=flag, table=SLIDER)
    cache = project.ddx("cache", "slider.json") if keep else ""
    found, origins = read_layers(SLIDER, (slider_file(project),), cache=cache, clock=clock)
    if autonomy is not None:
        found["autonomy_level"], origins["autonomy_level"] = autonomy, flag
    return Slider(found, origins)
