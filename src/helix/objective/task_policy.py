"""How one task is built: as every bead is, inside its delta, and with a last word (O-6, O-7)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.errors import NotFound
from ddx.execution.model import Boundary, Drift, Section
from ddx.execution.record import MADE, read_record
from ddx.git.repository import read_repository
from ddx.values import changed
from helix.objective.contracts import outside_delta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.execution.model import Bead, Preparation
    from ddx.project import Project
    from helix.memory.injection import Injection
    from helix.work import BuildPolicy

_ENDING = """\
Stay inside of the paths that your task names: what lies outside of them will not land. After all
else, say on one line of its own how it ended, with one of these words, a colon and a few words
more: DELIVERED, what there is now; PARTIAL, what is missing; BLOCKED, why. If it is not DELIVERED,
add a line that begins with TRIED and a colon, and one that begins with ERROR and a colon."""


class TaskPolicy:
    """The policy of a build, and two things more: the form of the end, and the delta."""

    def __init__(self, build: BuildPolicy, project: Project) -> None:
        self._build = build
        self._project = project
        self.outside: tuple[str, ...] = ()
        """The files that kept it from landing; empty: none did."""

    @property
    def attempt(self) -> str:
        return self._build.attempt

    @property
    def injection(self) -> Injection:
        return self._build.injection

    def pick(self, ready: Sequence[Bead]) -> tuple[str, ...]:
        return self._build.pick(ready)

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        prepared = self._build.prepare(beads, attempt)
        ending = Section("How your task ends", _ENDING)
        return changed(prepared, closing_sections=(*prepared.closing_sections, ending))

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        """Before it lands, what it made is held against the delta; by real paths (O-7)."""
        if boundary is Boundary.LANDING and (made := self._made()):
            delta = [path for bead in beads for path in bead.paths]
            self.outside = outside_delta(made, delta, root=self._project.root)
            if self.outside:
                return Drift(beads[0].id, (f"files outside of its delta: {self.outside[0]}",))
        return self._build.still_valid(beads, boundary)

    def _made(self) -> list[str]:
        """The files of its commit, as the project calls them."""
        try:
            paths = read_record(self._project, self.attempt).file(MADE).get("paths", ())
        except NotFound:
            return []
        prefix = read_repository(self._project.root).prefix
        return [os.path.relpath(path, prefix or ".") for path in paths]
