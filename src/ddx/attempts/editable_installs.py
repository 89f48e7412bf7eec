"""Whether a virtual environment imports a checkout of the project instead of its own copy (R-3).

Tests that run by such an environment test the operator's files, whatever the agent has written.
"""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from ddx.base import loads

_LARGEST = 1 << 16
_DEEPEST = 8
_SUFFIXES = (".pth", ".egg-link")


def find_editable_install(folder: str, checkout: str) -> str | None:
    """The file in an environment that leads into a checkout; None if there is none.

    A folder without `pyvenv.cfg` is no environment, and so has none.
    """
    if not os.path.isfile(os.path.join(folder, "pyvenv.cfg")):
        return None
    inside, own = os.path.realpath(checkout), os.path.realpath(folder)
    for place, folders, names in os.walk(folder):
        if os.path.relpath(place, folder).count(os.sep) >= _DEEPEST:
            folders.clear()
        for name in names:
            path = os.path.join(place, name)
            if any(_lies_in(it, inside) and not _lies_in(it, own) for it in _targets(path, name)):
                return path
    return None


def _targets(path: str, name: str) -> list[str]:
    """The folders that a file of an environment names."""
    if name.endswith(_SUFFIXES):
        lines = [line.strip() for line in _read(path).splitlines()]
        return [line for line in lines if line.startswith("/")]
    if name == "direct_url.json":
        try:
            said = loads(_read(path))
        except ValueError:
            return []
        url = said.get("url") if isinstance(said, dict) else None
        is_editable = isinstance(url, str) and (said.get("dir_info") or {}).get("editable")
        return [unquote(urlsplit(url).path)] if is_editable and url else []
    return []


def _lies_in(path: str, folder: str) -> bool:
    real = os.path.realpath(path)
    return real == folder or real.startswith(os.path.join(folder, ""))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""
