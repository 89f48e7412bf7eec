"""The policy's settings: flag > environment > project file > user file > default (C-6).

`.helix/config.yaml` is read by the same rules as the substrate's file; only the table is ours.
"""

from __future__ import annotations

import os

from ddx.settings import read_layers, user_file
from ddx.settings_keys import Key, Table, checked
from ddx.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ddx.clock import Clock
    from ddx.project import Project

OCCASIONS = ("guidance", "blocked", "finished", "budget", "parked")
"""What may be worth a word to a person who is not looking (S-26a)."""

POLICY = Table(
    {
        "agent": Key(
            "text", "", "the harness that builds; empty: the only one configured or installed"
        ),
        "align.auto": Key("switch", True, "whether a run aligns by itself when that is due"),
        "memory.embedder": Key(
            "name-or-off",
            "minilm",
            "what compares texts: minilm, off, sentence-transformers:MODEL, fastembed:MODEL, "
            "an http address with #MODEL, or an entry point of helix.embedders",
        ),
        "memory.holdout": Key(
            "share", 0.1, "attempts that go without memories, to see what those are worth"
        ),
        "memory.limit": Key("count", 5, "memories that one prompt carries at most"),
        "objective.explorers": Key(
            "count", 6, "explorers of one objective at most, memory and framework included"
        ),
        "review.enabled": Key("switch", True, "whether what landed is reviewed"),
        "review_agent": Key("text", "", "the harness that reviews; empty: the one that builds"),
        "run.backoff_s": Key(
            "amount",
            None,
            "seconds after a failed attempt, in place of 5, 10, 20 and 40",
            variable="HELIX_BACKOFF_SLEEP",
        ),
        "run.batch_size": Key("count", 1, "beads that one attempt may take on together"),
        "run.max_attempts": Key("count", 4, "failed attempts after which a bead is blocked"),
        "run.max_cost_usd": Key("number", None, "US dollars that one run may cost"),
        "run.orphan_threshold_s": Key(
            "amount",
            7200,
            "seconds after which a claim without a living holder is taken away",
            variable="HELIX_ORPHAN_THRESHOLD",
        ),
        "run.review_every": Key(
            "whole", 15, "completed cycles between two alignments; 0: none by count"
        ),
        "run.review_threshold": Key(
            "whole", 0, "changed lines below which nothing is reviewed; 0: all of it is"
        ),
    },
    {
        "notify": {
            "on": Key(
                "choices", OCCASIONS, "what is told; without it everything", choices=OCCASIONS
            ),
            "to": Key("route", "desktop", "where it is told"),
        },
    },
)


@value
class Route:
    """Where word goes of some occasions: the desktop, an http address, or a program."""

    name: str
    on: tuple[str, ...]
    to: str | tuple[str, ...]


@value
class HelixSettings:
    """Every key's value, and where it came from; `notify.phone.to` is there if it was said."""

    found: Mapping[str, Any]
    origins: Mapping[str, str]

    @property
    def agent(self) -> str:
        return str(self.found["agent"])

    @property
    def review_agent(self) -> str:
        return str(self.found["review_agent"])

    @property
    def max_attempts(self) -> int:
        return int(self.found["run.max_attempts"])

    @property
    def batch_size(self) -> int:
        return int(self.found["run.batch_size"])

    @property
    def review_every(self) -> int:
        return int(self.found["run.review_every"])

    @property
    def review_threshold(self) -> int:
        return int(self.found["run.review_threshold"])

    @property
    def orphan_threshold_s(self) -> float:
        return float(self.found["run.orphan_threshold_s"])

    @property
    def backoff_s(self) -> float | None:
        return _number(self.found["run.backoff_s"])

    @property
    def max_cost_usd(self) -> float | None:
        return _number(self.found["run.max_cost_usd"])

    @property
    def reviews(self) -> bool:
        return bool(self.found["review.enabled"])

    @property
    def aligns(self) -> bool:
        return bool(self.found["align.auto"])

    @property
    def embedder(self) -> str:
        return str(self.found["memory.embedder"])

    @property
    def memory_holdout(self) -> float:
        return float(self.found["memory.holdout"])

    @property
    def memory_limit(self) -> int:
        return int(self.found["memory.limit"])

    @property
    def explorers(self) -> int:
        return int(self.found["objective.explorers"])

    @property
    def routes(self) -> tuple[Route, ...]:
        """Who is told of what, in the order of the file."""
        said: dict[str, dict[str, Any]] = {}
        for key, given in self.found.items():
            section, _, rest = key.partition(".")
            name, _, field = rest.partition(".")
            if section == "notify":
                said.setdefault(name, {})[field] = given
        return tuple(
            Route(name, tuple(route.get("on", OCCASIONS)), _target(route.get("to", "desktop")))
            for name, route in said.items()
        )

    def with_flags(self, given: Mapping[str, tuple[str, Any]]) -> HelixSettings:
        """The same with what was typed: setting -> flag and value; None means not typed."""
        typed = {
            name: checked(name, said, where=flag, table=POLICY)
            for name, (flag, said) in given.items()
            if said is not None
        }
        origins = {name: given[name][0] for name in typed}
        return changed(self, found={**self.found, **typed}, origins={**self.origins, **origins})


def project_file(project: Project) -> str:
    return os.path.join(project.root, ".helix", "config.yaml")


def read_helix_settings(project: Project, *, clock: Clock, keep: bool = True) -> HelixSettings:
    """What holds for a project now; not even the cache is written unless we may `keep` (S-31)."""
    files = (user_file("helix"), project_file(project))
    cache = project.ddx("cache", "helix-settings.json") if keep else ""
    return HelixSettings(*read_layers(POLICY, files, cache=cache, clock=clock))


def _number(given: Any) -> float | None:
    return None if given is None else float(given)


def _target(given: Any) -> str | tuple[str, ...]:
    return given if isinstance(given, str) else tuple(given)
