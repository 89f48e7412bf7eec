"""Who git names as the author of a commit."""

from __future__ import annotations

from ddx.git import ask
from ddx.values import value


@value
class Identity:
    name: str
    email: str


NOBODY = Identity("helix", "helix@localhost")
"""For a machine whose git was never told a name."""


def find_identity(folder: str) -> Identity | None:
    """What git's settings say for `folder`; None unless both parts are set."""
    name, email = (ask(folder, "config", f"user.{part}") for part in ("name", "email"))
    return Identity(name, email) if name and email else None
