"""The substrate's settings: flag > environment > project file > user file > default (C-6)."""

from __future__ import annotations

import os

from ddx import __version__
from ddx.environment import variable
from ddx.files import Identity, identity_of
from ddx.settings_keys import SUBSTRATE, read_variable
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ddx.clock import Clock
    from ddx.project import Project
    from ddx.settings_keys import Table
    from ddx.settings_values import (
        BudgetSettings,
        HarnessSettings,
        LimitSettings,
        RetentionSettings,
        SandboxSettings,
        WorkspaceSettings,
    )

_SETTLED_NS = 50_000_000


@value
class Settings:
    """Every key's value, and where it came from; `harnesses.mine.kind` is there if it was said.

    What only managed execution asks for is put together when it does.
    """

    found: Mapping[str, Any]
    origins: Mapping[str, str]

    @property
    def agent_timeout_s(self) -> float:
        return float(self.found["agent.timeout_s"])

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

    @property
    def harnesses(self) -> Mapping[str, HarnessSettings]:
        """Those that a file names; the shipped ones need no word there."""
        from ddx.settings_values import HarnessSettings

        return {
            name: HarnessSettings(
                name,
                said.get("kind", name),
                tuple(said.get("argv", ())),
                _number(said.get("timeout_s")),
                _number(said.get("idle_s")),
                dict(said.get("env", {})),
            )
            for name, said in self._entries("harnesses").items()
        }

    @property
    def models(self) -> Mapping[str, Mapping[str, str]]:
        """What `smart` and `cheap` mean, for each harness that a file names."""
        return self._entries("models")

    @property
    def workspace(self) -> WorkspaceSettings:
        from ddx.settings_values import WorkspaceSettings

        return WorkspaceSettings(
            tuple(self.found["workspace.setup"]),
            tuple(self.found["workspace.carry"]),
            float(self.found["workspace.timeout_s"]),
            os.path.expanduser(self.found["workspace.root"]),
        )

    @property
    def retention(self) -> RetentionSettings:
        from ddx.settings_values import RetentionSettings

        return RetentionSettings(
            int(self.found["retention.attempts"]), float(self.found["retention.days"])
        )

    @property
    def sandbox(self) -> SandboxSettings:
        from ddx.settings_values import SandboxSettings

        return SandboxSettings(self.found["sandbox.kind"], self.found["sandbox.network"])

    @property
    def budget(self) -> BudgetSettings:
        from ddx.settings_values import BudgetSettings

        tokens = self.found["budget.bead_tokens"]
        return BudgetSettings(
            _number(self.found["budget.bead_usd"]), None if tokens is None else int(tokens)
        )

    @property
    def limits(self) -> LimitSettings:
        from ddx.settings_values import LimitSettings

        return LimitSettings(self.found["limits.on_limit"], self.found["limits.alternate"])

    def _entries(self, section: str) -> dict[str, dict[str, Any]]:
        """What a section says about each entry that people named themselves."""
        entries: dict[str, dict[str, Any]] = {}
        for key, given in self.found.items():
            first, _, rest = key.partition(".")
            name, _, field = rest.partition(".")
            if first == section:
                entries.setdefault(name, {})[field] = given
        return entries


def user_file(program: str = "ddx") -> str:
    home = variable("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, program, "config.yaml")


def read_settings(project: Project, *, clock: Clock) -> Settings:
    """What holds for a project now; a file that has not changed is not read again."""
    files = (user_file(), project.ddx("config.yaml"))
    found, origins = read_layers(
        SUBSTRATE, files, cache=project.ddx("cache", "settings.json"), clock=clock
    )
    return Settings(found, origins)


def read_layers(
    table: Table, files: tuple[str, ...], *, cache: str, clock: Clock
) -> tuple[dict[str, Any], dict[str, str]]:
    """Each setting and where it came from: variables over files, a later file over an earlier.

    Without a `cache` nothing is written.
    """
    found = {name: key.default for name, key in table.keys.items()}
    origins = dict.fromkeys(table.keys, "default")
    for path, said in _read_files(table, files, cache=cache, clock=clock):
        for name, given in said.items():
            found[name], origins[name] = given, path
    for name, key in table.keys.items():
        given = variable(key.variable) if key.variable else ""
        if given:
            found[name] = read_variable(name, given, table=table)
            origins[name] = f"${key.variable}"
    return found, origins


def _number(given: Any) -> float | None:
    return None if given is None else float(given)


def _read_files(
    table: Table, files: tuple[str, ...], *, cache: str, clock: Clock
) -> list[tuple[str, dict[str, Any]]]:
    """Those that are there, in their order: each a plain table of the keys that it sets."""
    stands = [(path, identity) for path in files if (identity := identity_of(path)) is not None]
    if not stands:
        return []
    from ddx.settings_file import load, parse, save

    mark = f"{__version__} " + "".join(f"{path} {identity} " for path, identity in stands)
    kept = load(cache, mark) if cache else None
    if kept is None:
        kept = [parse(path, table) for path, _ in stands]
        if cache and all(_is_settled(identity, clock) for _, identity in stands):
            save(cache, mark, kept)
    return [(path, said) for (path, _), said in zip(stands, kept, strict=True)]


def _is_settled(identity: Identity, clock: Clock) -> bool:
    return clock.now_ns() - identity.mtime_ns > _SETTLED_NS
