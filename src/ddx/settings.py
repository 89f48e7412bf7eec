"""The substrate's settings: flag > environment > project file > user file > default (C-6)."""

from __future__ import annotations

import os

from ddx import __version__
from ddx.environment import variable
from ddx.files import Identity, identity_of
from ddx.settings_keys import KEYS
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ddx.clock import Clock
    from ddx.project import Project

_SETTLED_NS = 50_000_000


@value
class Settings:
    """Every key's value, and where it came from."""

    found: Mapping[str, Any]
    origins: Mapping[str, str]

    @property
    def bead_prefix(self) -> str:
        return str(self.found["bead.prefix"])

    @property
    def default_checks(self) -> tuple[str, ...]:
        return tuple(self.found["checks.default"])

    @property
    def document_roots(self) -> tuple[str, ...]:
        return tuple(self.found["docs.roots"])

    @property
    def tracker_commit(self) -> str:
        return str(self.found["tracker.commit"])


def user_file() -> str:
    home = variable("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "ddx", "config.yaml")


def read_settings(project: Project, *, clock: Clock) -> Settings:
    """What holds for a project now; a file that has not changed is not read again."""
    found = {name: key.default for name, key in KEYS.items()}
    origins = dict.fromkeys(KEYS, "default")
    for path, said in _files(project, clock=clock):
        for name, given in said.items():
            found[name], origins[name] = given, path
    for name, key in KEYS.items():
        given = variable(key.variable) if key.variable else ""
        if given:
            found[name], origins[name] = given, f"${key.variable}"
    return Settings(found, origins)


def _files(project: Project, *, clock: Clock) -> list[tuple[str, dict[str, Any]]]:
    """The user's file, then the project's: each a plain table of the keys that it sets."""
    stands = [
        (path, identity)
        for path in (user_file(), project.ddx("config.yaml"))
        if (identity := identity_of(path)) is not None
    ]
    if not stands:
        return []
    from ddx.settings_file import load, parse, save

    cache = project.ddx("cache", "settings.json")
    mark = f"{__version__} " + "".join(f"{path} {identity} " for path, identity in stands)
    kept = load(cache, mark)
    if kept is None:
        kept = [parse(path) for path, _ in stands]
        if all(_is_settled(identity, clock) for _, identity in stands):
            save(cache, mark, kept)
    return [(path, said) for (path, _), said in zip(stands, kept, strict=True)]


def _is_settled(identity: Identity, clock: Clock) -> bool:
    return clock.now_ns() - identity.mtime_ns > _SETTLED_NS
