"""The policy's settings: flag > environment > project file > user file > default (C-6).

`.helix/config.yaml` is read by the same rules as the substrate's file; only the table is ours.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ddx.base import changed, value
from ddx.project import SettingKey, SettingsTable, read_layers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ddx.base import Clock
    from ddx.project import Project

T = TypeVar("T")
OCCASIONS = ("guidance", "blocked", "finished", "budget", "parked")
"""What may be worth a word to a person who is not looking (S-26a)."""
POLICY = SettingsTable(
    {
        "agent": SettingKey(
            "text", "", "the harness that builds; empty: the only one configured or installed"
        ),
        "align.auto": SettingKey("switch", True, "whether a run aligns by itself when that is due"),
        "memory.embedder": SettingKey(
            "name-or-off",
            "minilm",
            "what compares texts: minilm, off, sentence-transformers:MODEL, fastembed:MODEL, "
            "an http address with #MODEL, or an entry point of helix.embedders",
        ),
        "memory.holdout": SettingKey(
            "share", 0.1, "attempts that go without memories, to see what those are worth"
        ),
        "memory.limit": SettingKey("count", 5, "memories that one prompt carries at most"),
        "objective.explorers": SettingKey(
            "count", 6, "explorers of one objective at most, memory and framework included"
        ),
        "review.enabled": SettingKey("switch", True, "whether what landed is reviewed"),
        "review_agent": SettingKey(
            "text", "", "the harness that reviews; empty: the one that builds"
        ),
        "run.backoff_s": SettingKey(
            "amount",
            None,
            "seconds after a failed attempt, in place of 5, 10, 20 and 40",
            variable="HELIX_BACKOFF_SLEEP",
        ),
        "run.batch_size": SettingKey("count", 1, "beads that one attempt may take on together"),
        "run.max_attempts": SettingKey("count", 4, "failed attempts after which a bead is blocked"),
        "run.max_cost_usd": SettingKey("number", None, "US dollars that one run may cost"),
        "run.orphan_threshold_s": SettingKey(
            "amount",
            7200,
            "seconds after which a claim without a living holder is taken away",
            variable="HELIX_ORPHAN_THRESHOLD",
        ),
        "run.review_every": SettingKey(
            "whole", 15, "completed cycles between two alignments; 0: none by count"
        ),
        "run.review_threshold": SettingKey(
            "whole", 0, "changed lines below which nothing is reviewed; 0: all of it is"
        ),
    },
    {
        "notify": {
            "on": SettingKey(
                "choices", OCCASIONS, "what is told; without it everything", choices=OCCASIONS
            ),
            "to": SettingKey("route", "desktop", "where it is told"),
        }
    },
)


def _number(given: Any) -> float | None:
    return None if given is None else float(given)


class _Setting(property, Generic[T]):
    """One key of settings, as a value of the type that it has."""

    def __init__(self, key: str, kind: Callable[[Any], T]) -> None:
        super().__init__(lambda settings: kind(settings.found[key]))

    if TYPE_CHECKING:

        def __get__(self, settings: Any, owner: type | None = None, /) -> T: ...  # type: ignore[override]


@value
class NotifyRoute:
    """Where word goes of some occasions: the desktop, an http address, or a program."""

    name: str
    on: tuple[str, ...]
    to: str | tuple[str, ...]


@value
class HelixSettings:
    """Every key's value, and where it came from; `notify.phone.to` is there if it was said."""

    found: Mapping[str, Any]
    origins: Mapping[str, str]

    agent = _Setting("agent", str)
    review_agent = _Setting("review_agent", str)
    max_attempts = _Setting("run.max_attempts", int)
    batch_size = _Setting("run.batch_size", int)
    review_every = _Setting("run.review_every", int)
    review_threshold = _Setting("run.review_threshold", int)
    orphan_threshold_s = _Setting("run.orphan_threshold_s", float)
    backoff_s = _Setting("run.backoff_s", _number)
    max_cost_usd = _Setting("run.max_cost_usd", _number)
    reviews = _Setting("review.enabled", bool)
    aligns = _Setting("align.auto", bool)
    embedder = _Setting("memory.embedder", str)
    memory_holdout = _Setting("memory.holdout", float)
    memory_limit = _Setting("memory.limit", int)
    explorers = _Setting("objective.explorers", int)

    @property
    def routes(self) -> tuple[NotifyRoute, ...]:
        """Who is told of what, in the order of the file."""
        said: dict[str, dict[str, Any]] = {}
        for key, given in self.found.items():
            section, _, rest = key.partition(".")
            name, _, field = rest.partition(".")
            if section == "notify":
                said.setdefault(name, {})[field] = given
        return tuple(
            NotifyRoute(
                name, tuple(route.get("on", OCCASIONS)), _target(route.get("to", "desktop"))
            )
            for name, route in said.items()
        )

    def with_flags(self, given: Mapping[str, tuple[str, Any]]) -> HelixSettings:
        """The same with what was typed: setting -> flag and value; None means not typed."""
        typed = {
            name: POLICY.checked(name, said, where=flag)
            for name, (flag, said) in given.items()
            if said is not None
        }
        origins = {name: given[name][0] for name in typed}
        return changed(self, found={**self.found, **typed}, origins={**self.origins, **origins})


def project_file(project: Project) -> str:
    return os.path.join(project.root, ".helix", "config.yaml")


def read_helix_settings(project: Project, *, clock: Clock, keep: bool = True) -> HelixSettings:
    """What holds for a project now; not even the cache is written unless we may `keep` (S-31)."""
    cache = project.ddx("cache", "helix-settings.json") if keep else ""
    return HelixSettings(
        *read_layers(POLICY, project_file(project), program="helix", cache=cache, clock=clock)
    )


def _target(given: Any) -> str | tuple[str, ...]:
    return given if isinstance(given, str) else tuple(given)


class Autonomy(StrEnum):
    """How often a person is asked (S-34)."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


BEAD_FILES = {"small": 3, "medium": 8, "large": 20}
"""How many files one bead that builds may name (I-3)."""
SLIDER = SettingsTable(
    {
        "autonomy_level": SettingKey(
            "choice",
            "medium",
            "how often a person is asked",
            choices=tuple(map(str, Autonomy)),
            variable="HELIX_AUTONOMY",
        ),
        "bead_size_target": SettingKey(
            "choice",
            "small",
            "how many files one bead that builds may name: 3, 8 or 20",
            choices=tuple(BEAD_FILES),
        ),
        "conflict_handling.physics_level": SettingKey(
            "choice",
            "block",
            "what a conflict that no authority settles does to the work on its path",
            choices=("block",),
        ),
        "conflict_handling.resolvable": SettingKey(
            "choice",
            "escalate",
            "reserved: an escalation bead is always filed, and the level says whether work waits",
            choices=("escalate", "auto-resolve"),
        ),
        "escalation_mode": SettingKey("name", "bead", "reserved: the level's own meaning wins"),
        "graph_traversal.authority_ordering": SettingKey(
            "switch", True, "whether impacted documents are ordered by authority before distance"
        ),
        "graph_traversal.cycle_detection": SettingKey(
            "switch", True, "whether documents that depend on each other in a ring are told of"
        ),
        "graph_traversal.max_depth": SettingKey(
            "count", 10, "how many links away an impacted document may be"
        ),
        "question_threshold": SettingKey("whole", 0, "reserved: the level's own meaning wins"),
        "speculation_label": SettingKey(
            "label", "kind:speculative", "the label of a bead that assumes"
        ),
        "speculation_ttl_days": SettingKey(
            "count", 14, "days after which an assumption that nobody reviewed is only proposed"
        ),
        "speculative_allowed": SettingKey(
            "switch",
            True,
            "whether a bead may rest on an assumption; false: it waits for a person",
            variable="HELIX_SPECULATIVE",
        ),
        "verification.auto_traceback": SettingKey(
            "switch", True, "whether a failing test is traced to its documents by itself"
        ),
        "verification.failure_triage": SettingKey(
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
class AutonomySettings:
    """Every key's value, and where it came from."""

    found: Mapping[str, Any]
    origins: Mapping[str, str]

    autonomy = _Setting("autonomy_level", Autonomy)
    bead_files = _Setting("bead_size_target", BEAD_FILES.__getitem__)
    speculative_allowed = _Setting("speculative_allowed", bool)
    speculation_label = _Setting("speculation_label", str)
    speculation_ttl_days = _Setting("speculation_ttl_days", int)
    max_depth = _Setting("graph_traversal.max_depth", int)
    cycle_detection = _Setting("graph_traversal.cycle_detection", bool)
    authority_ordering = _Setting("graph_traversal.authority_ordering", bool)
    auto_traceback = _Setting("verification.auto_traceback", bool)
    failure_triage = _Setting("verification.failure_triage", str)


def slider_file(project: Project) -> str:
    return os.path.join(project.root, ".helix", "slider-config.yaml")


def read_slider(
    project: Project, *, clock: Clock, autonomy: str | None = None, keep: bool = True
) -> AutonomySettings:
    """What holds for a project now; not even the cache is written unless we may `keep` (S-31)."""
    flag = "--autonomy"
    if autonomy is not None:  # a wrong word is said before anything is read (I-11)
        SLIDER.checked("autonomy_level", autonomy, where=flag)
    cache = project.ddx("cache", "slider.json") if keep else ""
    found, origins = read_layers(SLIDER, slider_file(project), cache=cache, clock=clock)
    if autonomy is not None:
        found["autonomy_level"], origins["autonomy_level"] = autonomy, flag
    return AutonomySettings(found, origins)
