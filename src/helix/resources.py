"""Folders that travel with the code: at the root of a checkout or plugin, or in a wheel (P-2)."""

from __future__ import annotations

import os

import helix
from ddx.errors import NeedsPerson

FOLDERS = ("workflows", "skills", "agents", "hooks")
_PACKED = "_resources"


def find_resources(name: str) -> str:
    """The folder of that name, there or not."""
    package = os.path.dirname(os.path.abspath(helix.__file__))
    packed = os.path.join(package, _PACKED)
    root = packed if os.path.isdir(packed) else os.path.dirname(os.path.dirname(package))
    return os.path.join(root, name)


def require_resources() -> None:
    """An installation without the pages that agents are told to follow is none (P-3)."""
    for name in FOLDERS:
        folder = find_resources(name)
        if not os.path.isdir(folder):
            raise NeedsPerson(
                f"this installation of HELIX is not whole: {folder} is missing",
                hint="install it again, from a wheel or a clone",
            )


def plugin_root() -> str:
    """The folder that holds them: what the plugin's hooks call their root."""
    return os.path.dirname(find_resources(FOLDERS[0]))
