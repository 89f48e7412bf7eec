"""What detection found: commands with where they stand, and what was left out and why. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.base import value

if TYPE_CHECKING:
    from ddx.proof.detection.command_lines import CheckKind


@value
class FoundCommand:
    """A command that could prove work here, or prepare a workspace for it."""

    kind: CheckKind
    command: str
    where: str
    """`file:line` that says so."""
    folder: str = ""
    """The package that it is for; empty: the whole repository."""
    program: str = ""
    """What must be installed for it; empty: it brings its own."""

    @property
    def shell_text(self) -> str:
        """The command as it is run from the top of the repository."""
        return f"cd {self.folder} && {self.command}" if self.folder else self.command

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it covers; none means all."""
        return (f"{self.folder}/**",) if self.folder else ()

    def as_row(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "command": self.shell_text,
            "where": self.where,
            "paths": list(self.paths),
        }


@value
class LeftOut:
    """A command that was seen and is not proposed."""

    command: str
    where: str
    why: str


@value
class Ecosystem:
    """What one kind of project in one folder offers, the best first."""

    name: str
    folder: str
    checks: tuple[FoundCommand, ...] = ()
    setup: tuple[FoundCommand, ...] = ()
