"""The substrate's settings: flag > environment > project file > user file > default (C-6)."""

from __future__ import annotations

import os

from ddx import __version__
from ddx.base import (
    UsageError,
    counted,
    dumps,
    identity_of,
    listed,
    loads,
    replace,
    value,
    variable,
)
from ddx.project.settings_keys import SUBSTRATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ddx.base import Clock, Nodes
    from ddx.project.project import Project
    from ddx.project.settings_keys import SettingsTable

_SETTLED_NS = 50_000_000


@value
class HarnessSettings:
    """One entry below `harnesses`; what it does not say is None or empty."""

    name: str
    kind: str
    argv: tuple[str, ...] = ()
    timeout_s: float | None = None
    idle_s: float | None = None
    env: Mapping[str, str] = {}


@value
class WorkspaceSettings:
    setup: tuple[str, ...]
    carry: tuple[str, ...]
    timeout_s: float
    root: str
    """Absolute; empty: the user's cache."""


@value
class RetentionSettings:
    attempts: int
    days: float


@value
class SandboxSettings:
    kind: str
    network: bool


@value
class BudgetSettings:
    """What all attempts on one bead may use together; None: no limit."""

    bead_usd: float | None
    bead_tokens: int | None


@value
class LimitSettings:
    on_limit: str
    alternate: str


@value
class DefaultCheck:
    """A command of the settings that proves beads; without paths it proves every one."""

    command: str
    paths: tuple[str, ...] = ()
    timeout_s: float | None = None
    """Seconds that it may take; None: as long as any check."""
    origin: str = "checks.default"


def default_checks_of(
    default: list[Any] | tuple[Any, ...], scopes: list[Any] | tuple[Any, ...]
) -> tuple[DefaultCheck, ...]:
    """The checks of both settings, first those for the whole project."""
    found = [_default_check(given, (), "checks.default") for given in default]
    for scope in scopes:
        paths = tuple(scope["paths"])
        found.extend(_default_check(given, paths, "checks.scopes") for given in scope["checks"])
    return tuple(found)


def _default_check(given: Any, paths: tuple[str, ...], origin: str) -> DefaultCheck:
    if isinstance(given, str):
        return DefaultCheck(given, paths, origin=origin)
    return DefaultCheck(
        given["command"],
        (*paths, *given.get("paths", ())),
        given.get("timeout_s"),
        origin=origin,
    )


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
    def checks(self) -> tuple[DefaultCheck, ...]:
        """What proves beads besides their own checks: `checks.default`, then `checks.scopes`."""
        return default_checks_of(self.found["checks.default"], self.found["checks.scopes"])

    @property
    def default_checks(self) -> tuple[str, ...]:
        """The commands of `checks`; which of them apply depends on what an attempt changed."""
        return tuple(it.command for it in self.checks)

    @property
    def spoken_checks(self) -> str:
        """What proves work here, in words; nothing if no check is set."""
        parts = [f"`{it.command}`" for it in self.checks if not it.paths]
        scoped = len(self.checks) - len(parts)
        if scoped:
            parts.append(f"{counted(scoped, 'check')} of certain paths")
        return listed(parts)

    @property
    def test_patterns(self) -> tuple[str, ...]:
        """Where a person says that the tests are; empty: the usual places."""
        return tuple(self.found["checks.tests"])

    @property
    def document_roots(self) -> tuple[str, ...]:
        return tuple(self.found["docs.roots"])

    @property
    def tracker_commit(self) -> str:
        return str(self.found["tracker.commit"])

    @property
    def harnesses(self) -> Mapping[str, HarnessSettings]:
        """Those that a file names; the shipped ones need no word there."""
        return {
            name: HarnessSettings(
                name=name,
                kind=said.get("kind", name),
                argv=tuple(said.get("argv", ())),
                timeout_s=_number(said.get("timeout_s")),
                idle_s=_number(said.get("idle_s")),
                env=dict(said.get("env", {})),
            )
            for name, said in self._entries("harnesses").items()
        }

    @property
    def models(self) -> Mapping[str, Mapping[str, str]]:
        """What `smart` and `cheap` mean, for each harness that a file names."""
        return self._entries("models")

    @property
    def workspace(self) -> WorkspaceSettings:
        return WorkspaceSettings(
            tuple(self.found["workspace.setup"]),
            tuple(self.found["workspace.carry"]),
            float(self.found["workspace.timeout_s"]),
            root=os.path.expanduser(self.found["workspace.root"]),
        )

    @property
    def retention(self) -> RetentionSettings:
        return RetentionSettings(
            int(self.found["retention.attempts"]), float(self.found["retention.days"])
        )

    @property
    def sandbox(self) -> SandboxSettings:
        return SandboxSettings(self.found["sandbox.kind"], self.found["sandbox.network"])

    @property
    def budget(self) -> BudgetSettings:
        tokens = self.found["budget.bead_tokens"]
        return BudgetSettings(
            _number(self.found["budget.bead_usd"]), None if tokens is None else int(tokens)
        )

    @property
    def limits(self) -> LimitSettings:
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


def user_file(program: str) -> str:
    home = variable("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, program, "config.yaml")


def read_settings(project: Project, *, clock: Clock) -> Settings:
    """What holds for a project now; a file that has not changed is not read again."""
    found, origins = read_layers(
        SUBSTRATE,
        project.ddx("config.yaml"),
        program="ddx",
        cache=project.ddx("cache", "settings.json"),
        clock=clock,
    )
    return Settings(found, origins)


def read_layers(
    table: SettingsTable, file: str, *, program: str = "", cache: str, clock: Clock
) -> tuple[dict[str, Any], dict[str, str]]:
    """Each setting and where it came from: variables over the project's file over the user's.

    The user has a file of their own for each `program`. Without a `cache` nothing is written.
    """
    files = (user_file(program), file) if program else (file,)
    found = {name: key.default for name, key in table.keys.items()}
    origins = dict.fromkeys(table.keys, "default")
    for path, said in _read_files(table, files, cache=cache, clock=clock):
        for name, given in said.items():
            found[name], origins[name] = given, path
    for name, key in table.keys.items():
        given = variable(key.variable) if key.variable else ""
        if given:
            found[name] = table.read_variable(name, given)
            origins[name] = f"${key.variable}"
    return found, origins


def _number(given: Any) -> float | None:
    return None if given is None else float(given)


def _read_files(
    table: SettingsTable, files: tuple[str, ...], *, cache: str, clock: Clock
) -> list[tuple[str, dict[str, Any]]]:
    """Those that are there, in their order: each a plain table of the keys that it sets."""
    stands = [(path, identity) for path in files if (identity := identity_of(path)) is not None]
    if not stands:
        return []

    mark = f"{__version__} " + "".join(f"{path} {identity} " for path, identity in stands)
    kept = load(cache, mark) if cache else None
    if kept is None:
        kept = [parse(path, table) for path, _ in stands]
        latest_ns = max(identity.mtime_ns for _, identity in stands)
        if cache and clock.now_ns() - latest_ns > _SETTLED_NS:
            save(cache, mark, kept)
    return [(path, said) for (path, _), said in zip(stands, kept, strict=True)]


def parse(path: str, table: SettingsTable = SUBSTRATE) -> dict[str, Any]:
    """The keys that a file sets, with all their dots; every mistake names its line."""
    from ddx.base import BrokenYaml, Nodes

    with open(path, "rb") as file:
        content = file.read()
    try:
        nodes = Nodes(content)
        if nodes.top is None or nodes.top.tag == "tag:yaml.org,2002:null":
            return {}
        return _settings(path, nodes, table)
    except BrokenYaml as problem:
        raise UsageError(problem.at(path)) from None


def _settings(path: str, nodes: Nodes, table: SettingsTable) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for full, node in _keys(path, nodes.top, table):
        where = f"{path}:{node.start_mark.line + 1}"
        if full in found:
            raise UsageError(f"{where}: {full} is set twice")
        found[full] = table.checked(full, nodes.value_of(node), where=where)
    return found


def _keys(path: str, top: Any, table: SettingsTable) -> Iterator[tuple[str, Any]]:
    """Each key with all its dots, and the node that holds its value."""
    for section, inner in _pairs(path, top):
        if section in table.keys or (inner.id != "mapping" and section not in _sections(table)):
            yield section, inner
            continue
        for name, node in _pairs(path, inner):
            if section not in table.named:
                yield f"{section}.{name}", node
                continue
            where = f"{path}:{node.start_mark.line + 1}"
            if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
                raise UsageError(
                    f"{where}: {name!r} cannot name an entry of {section}: "
                    "only letters, digits, - and _ can"
                )
            fields = _pairs(path, node)
            if not fields:
                raise UsageError(
                    f"{where}: {section}.{name} says nothing",
                    hint=f"give it one of: {', '.join(table.named[section])}",
                )
            for field, given in fields:
                yield f"{section}.{name}.{field}", given


def _sections(table: SettingsTable) -> set[str]:
    return {*table.named, *(name.partition(".")[0] for name in table.keys)}


def _pairs(path: str, node: Any) -> list[tuple[str, Any]]:
    if node.id != "mapping":
        raise UsageError(f"{path}:{node.start_mark.line + 1}: expected `name: value` lines here")
    return [(str(key.value), inner) for key, inner in node.value]


def load(cache: str, mark: str) -> list[dict[str, Any]] | None:
    """What was kept for exactly these files, or None."""
    try:
        with open(cache, encoding="utf-8") as file:
            if file.readline() != f"{mark}\n":
                return None
            kept: list[dict[str, Any]] = loads(file.read())
            return kept
    except (OSError, ValueError):
        return None


def save(cache: str, mark: str, settings: list[dict[str, Any]]) -> None:
    try:
        replace(cache, (f"{mark}\n".encode(), dumps(settings).encode()), durable=False)
    except OSError:
        pass  # a cache that cannot be written costs time, never an answer
