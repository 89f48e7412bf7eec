"""Which harnesses there are: shipped, from other packages, and named in the settings (X-4, X-4a).

A harness is a class that takes the keywords `program`, `argv` (what follows the program) and `env`,
each only if the settings say so. A package brings one along as an entry point:

    [project.entry-points."ddx.harnesses"]
    mine = "my_package:Mine"
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from ddx.agents.harness import DetectedProgram
from ddx.base import DdxError, UsageError, listed, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.metadata import EntryPoints

    from ddx.agents.harness import Harness
    from ddx.project import Project, Settings

ENTRY_POINTS = "ddx.harnesses"
PROGRAMS: Mapping[str, str] = {
    "claude": "ddx.agents.claude:Claude",
    "codex": "ddx.agents.codex:Codex",
    "gemini": "ddx.agents.gemini:Gemini",
    "opencode": "ddx.agents.opencode:OpenCode",
}
"""Each is called as its program is, and may be chosen because that is installed."""
SHIPPED: Mapping[str, str] = {
    **PROGRAMS,
    "command": "ddx.agents.command:CommandHarness",
    "script": "ddx.agents.script:ScriptHarness",
    "replay": "ddx.agents.script:ReplayHarness",
}
ALIASES = ("smart", "cheap")
_NEEDS_PROGRAM = "command"
_READS_FILES = ("script", "replay")
"""They start no program of the operator's, and their model is a file."""
_EXAMPLE = "harnesses: {mine: {kind: command, argv: [./my-agent]}}"


@value
class HarnessStatus:
    """A harness, and whether its program is there."""

    name: str
    kind: str
    detected: DetectedProgram
    is_chosen: bool = False
    """It is the one that would work if nobody names another."""

    @property
    def is_installed(self) -> bool:
        return self.detected.ok or bool(self.detected.path)

    @property
    def is_scripted(self) -> bool:
        """Whether it says what a file tells it; such a harness is always there."""
        return self.kind in _READS_FILES


@value
class Harnesses:
    """The harnesses that one project's settings know."""

    settings: Settings

    def find(self, name: str) -> Harness:
        """The harness of that name, as the settings want it."""
        configured = self.settings.harnesses.get(name)
        kind = self._kind(name)
        make = _maker(kind)
        if make is None:
            raise self._unknown(name, kind)
        words: dict[str, Any] = {}
        if configured and configured.argv:
            program, *rest = configured.argv
            words = {"program": program, "argv": tuple(rest)}
        if kind in _READS_FILES and words:
            raise UsageError(
                f"harnesses.{name}: the kind {kind} starts no program, so it has no argv"
            )
        if kind == _NEEDS_PROGRAM and not words:
            raise UsageError(
                f"the harness {name!r} has no program to start",
                hint=f"say which one in .ddx/config.yaml: {_EXAMPLE}",
            )
        if configured and configured.env:
            words["env"] = configured.env
        return make(**words)

    def choose(self, given: str | None) -> str:
        """The one that was asked for, or else the only one configured, or else installed (X-4a)."""
        if given:
            self.find(given)
            return given
        for found, how in (
            (list(self.settings.harnesses), "configured"),
            (_installed(), "installed"),
        ):
            if len(found) == 1:
                self.find(found[0])
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

    def known(self) -> list[str]:
        """Every name that `--harness` takes."""
        shipped = (name for name in SHIPPED if name != _NEEDS_PROGRAM)
        return sorted({*self.settings.harnesses, *shipped, *_entry_points().names})

    def model(self, harness: str, model: str, *, root: str = "") -> str:
        """The model by the name that its harness knows; a file is one of the folder `root`."""
        if model in ALIASES:
            meant = self.settings.models.get(harness, {}).get(model, "")
            if not meant:
                raise UsageError(
                    f"nobody has said which model is {model!r} for {harness}",
                    hint=f"say so in .ddx/config.yaml: models: {{{harness}: {{{model}: NAME}}}}",
                )
            model = meant
        is_file = model and self._kind(harness) in _READS_FILES
        return os.path.join(root, model) if is_file else model

    def examine(self, project: Project, names: Sequence[str] = ()) -> list[HarnessStatus]:
        """Every harness, or those named; their programs are asked side by side."""
        for name in names:
            self.find(name)  # an unknown one is a mistake
        wanted = list(dict.fromkeys(names)) or self.known()
        chosen = self._chosen()
        with ThreadPoolExecutor(max(len(wanted), 1)) as pool:
            detected = list(pool.map(lambda name: self._detected(project, name), wanted))
        return [
            HarnessStatus(name, self._kind(name), there, is_chosen=name == chosen)
            for name, there in zip(wanted, detected, strict=True)
        ]

    def _detected(self, project: Project, name: str) -> DetectedProgram:
        """One that is not set up as it should be hides no other."""
        if self._is_foreign(project, name) and not project.is_trusted():
            return DetectedProgram(
                name, problem="this repository sets it up and is not trusted: helix trust"
            )
        try:
            return self.find(name).detect()
        except DdxError as problem:
            return DetectedProgram(name, problem=problem.message)

    def _is_foreign(self, project: Project, name: str) -> bool:
        """Does the repository say what to start? To ask for its version would run it (X-22)."""
        own = project.ddx("config.yaml")
        return any(
            key.startswith(f"harnesses.{name}.") and origin == own
            for key, origin in self.settings.origins.items()
        )

    def _kind(self, name: str) -> str:
        own = self.settings.harnesses.get(name)
        return own.kind if own else name

    def _chosen(self) -> str:
        try:
            return self.choose(None)
        except UsageError:  # there are several, or none
            return ""

    def _unknown(self, name: str, kind: str) -> UsageError:
        if name not in self.settings.harnesses:
            known = ", ".join(self.known())
            return UsageError(f"unknown harness {name!r}", hint=f"it is one of: {known}")
        origin = self.settings.origins.get(f"harnesses.{name}.kind", "")
        what = f"{origin}: harnesses.{name}.kind: there is no harness {kind!r}"
        if not origin:
            what = f"harnesses.{name} has no kind, and there is no harness of its own name"
        kinds = ", ".join(sorted({*SHIPPED, *_entry_points().names}))
        return UsageError(what, hint=f"a kind is one of: {kinds}")


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
