"""What no attempt may change: the tracker and the settings that govern it (X-9). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Sequence

_FOLDERS = (".ddx", ".helix")
_CHECKS = ".ddx/checks"


@value
class Reserved:
    """`prefix` is where the project lies in its repository, `named` what its beads ask for."""

    prefix: str = ""
    named: tuple[str, ...] = ()

    def may_land(self, path: str) -> bool:
        """Only checks and settings can be asked for, and only by their own names."""
        for root in {"", self.prefix}:
            below = path.removeprefix(root)
            if path.startswith(root) and below.split("/")[0] in _FOLDERS:
                return root == self.prefix and _is_askable(below) and self._names(below)
        return True

    def _names(self, path: str) -> bool:
        asked = filter(_is_askable, self.named)
        return any(path == name or path.startswith(f"{name}/") for name in asked)


def reserve(prefix: str, named: Sequence[str]) -> Reserved:
    """`named` as people write paths, relative to the project."""
    return Reserved(prefix, tuple(name.strip().removeprefix("./").rstrip("/") for name in named))


def _is_askable(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return (
        f"{path}/".startswith(f"{_CHECKS}/")
        or path == ".ddx/config.yaml"
        or (folder == ".helix" and name.endswith(".yaml"))
    )
