"""Which harnesses there are: shipped, from other packages, and named in the settings (X-4, X-4a).

A harness is a class that takes the keywords `program`, `argv` (what follows the program) and `env`,
each only if the settings say so. A package brings one along as an entry point:

    [project.entry-points."ddx.harnesses"]
    mine = "my_package:Mine"
"""

from __future__ import annotations

import os
import shutil
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from ddx.errors import DdxError, UsageError
from ddx.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.metadata import EntryPoints

    from ddx.harnesses.base import Harness
    from ddx.settings import Settings

ENTRY_POINTS = "ddx.harnesses"
PROGRAMS: Mapping[str, str] = {
    "claude": "ddx.harnesses.claude:Claude",
    "codex": "ddx.harnesses.codex:Codex",
    "gemini": "ddx.harnesses.gemini:Gemini",
    "opencode": "ddx.harnesses.opencode:OpenCode",
}
"""Each is called as its program is, and may be chosen because that is installed."""

SHIPPED: Mapping[str, str] = {
    **PROGRAMS,
    "command": "ddx.harnesses.command:Command",
    "script": "ddx.harnesses.script:Script",
    "replay": "ddx.harnesses.replay:Replay",
}
ALIASES = ("smart", "cheap")

_NEEDS_PROGRAM = "command"
_READS_FILES = ("script", "replay")
"""They start no program of the operator's, and their model is a file."""

_EXAMPLE = "harnesses: {mine: {kind: command, argv: [./my-agent]}}"


def find_harness(name: str, settings: Settings) -> Harness:
    """The harness of that name, as the settings want it."""
    configured = settings.harnesses.get(name)
    kind = configured.kind if configured else name
    make = _maker(kind)
    if make is None:
        raise _unknown(name, kind, settings)
    words: dict[str, Any] = {}
    if configured and configured.argv:
        program, *rest = configured.argv
        words = {"program": program, "argv": tuple(rest)}
    if kind in _READS_FILES and words:
        raise UsageError(f"harnesses.{name}: the kind {kind} starts no program, so it has no argv")
    if kind == _NEEDS_PROGRAM and not words:
        raise UsageError(
            f"the harness {name!r} has no program to start",
            hint=f"say which one in .ddx/config.yaml: {_EXAMPLE}",
        )
    if configured and configured.env:
        words["env"] = configured.env
    return make(**words)


def choose_harness(given: str | None, settings: Settings) -> str:
    """The one that was asked for, or else the only one configured, or else installed (X-4a)."""
    if given:
        find_harness(given, settings)
        return given
    for found, how in ((list(settings.harnesses), "configured"), (_installed(), "installed")):
        if len(found) == 1:
            find_harness(found[0], settings)
            return found[0]
        if found:
            raise UsageError(
                f"{len(found)} harnesses are {how}: {listed(sorted(found))}",
                hint=f"say which one: --harness {sorted(found)[0]}",
            )
    raise UsageError(
        "no harness is configured, and none of those we know is installed",
        hint=f"install {listed(sorted(PROGRAMS), joiner='or')}, "
        f"or name a program in .ddx/config.yaml: {_EXAMPLE}",
    )


def known_harnesses(settings: Settings) -> list[str]:
    """Every name that `--harness` takes."""
    shipped = (name for name in SHIPPED if name != _NEEDS_PROGRAM)
    return sorted({*settings.harnesses, *shipped, *_entry_points().names})


def resolve_model(harness: str, model: str, settings: Settings, *, root: str = "") -> str:
    """The model by the name that its harness knows; a file is one of the folder `root`."""
    if model in ALIASES:
        meant = settings.models.get(harness, {}).get(model, "")
        if not meant:
            raise UsageError(
                f"nobody has said which model is {model!r} for {harness}",
                hint=f"say so in .ddx/config.yaml: models: {{{harness}: {{{model}: NAME}}}}",
            )
        model = meant
    configured = settings.harnesses.get(harness)
    if model and (configured.kind if configured else harness) in _READS_FILES:
        return os.path.join(root, model)
    return model


def _maker(kind: str) -> Callable[..., Harness] | None:
    if kind in SHIPPED:
        shipped: Callable[..., Harness] = resolve_name(SHIPPED[kind])
        return shipped
    for entry in _entry_points().select(name=kind):
        try:
            found: Callable[..., Harness] = entry.load()
            return found
        except (ImportError, AttributeError) as problem:
            package = entry.dist.name if entry.dist else entry.value
            raise DdxError(f"the harness {kind} of {package} cannot be loaded: {problem}") from None
    return None


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


def _installed() -> list[str]:
    """The agents whose program is here, and those of other packages that say they work."""
    programs = [name for name in PROGRAMS if shutil.which(name)]
    others = [name for name in _entry_points().names if name not in SHIPPED]
    return programs + [name for name in others if _works(_maker(name))]


def _works(make: Callable[..., Harness] | None) -> bool:
    return make is not None and make().detect().ok


def _unknown(name: str, kind: str, settings: Settings) -> UsageError:
    if name not in settings.harnesses:
        known = ", ".join(known_harnesses(settings))
        return UsageError(f"unknown harness {name!r}", hint=f"it is one of: {known}")
    origin = settings.origins.get(f"harnesses.{name}.kind", "")
    what = f"{origin}: harnesses.{name}.kind: there is no harness {kind!r}"
    if not origin:
        what = f"harnesses.{name} has no kind, and there is no harness of its own name"
    kinds = ", ".join(sorted({*SHIPPED, *_entry_points().names}))
    return UsageError(what, hint=f"a kind is one of: {kinds}")
