"""Every setting of the substrate: what it may be, and what it is when nobody says (C-6)."""

from __future__ import annotations

from ddx.errors import UsageError
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@value
class Key:
    """One setting: what it may be, and what it is when nobody says."""

    kind: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    variable: str = ""


KEYS: Mapping[str, Key] = {
    "bead.prefix": Key(
        "text",
        "",
        "what new bead ids begin with; empty: the repository's folder name",
        variable="DDX_BEAD_PREFIX",
    ),
    "checks.default": Key(
        "texts", (), "commands that prove every bead of this project, besides its own"
    ),
    "docs.roots": Key(
        "texts", ("docs/helix",), "folders that hold the documents, relative to the project"
    ),
    "tracker.commit": Key(
        "choice",
        "never",
        "when ddx commits the tracker's files by itself",
        choices=("never", "on-close"),
    ),
}


def checked(name: str, given: Any, *, where: str) -> Any:
    """A setting's value, or an error that says where and what it may be."""
    key = KEYS.get(name)
    if key is None:
        known = ", ".join(sorted(KEYS))
        raise UsageError(f"{where}: unknown setting {name!r}", hint=f"the settings are: {known}")
    fits = {
        "texts": isinstance(given, list)
        and all(isinstance(item, str) and item.strip() for item in given),
        "text": isinstance(given, str),
        "choice": given in key.choices,
    }
    if fits[key.kind]:
        return given
    wanted = {
        "texts": "a list of texts",
        "text": "a text",
        "choice": f"one of {', '.join(key.choices)}",
    }[key.kind]
    raise UsageError(f"{where}: {name} must be {wanted}, not {given!r}")
