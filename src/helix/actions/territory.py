"""Where a pass that writes documents may write: below the document roots, and no code. Pure."""

from __future__ import annotations

from posixpath import normpath
from typing import TYPE_CHECKING

from ddx.graph.tags import is_scanned

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE = ".md"
_HERE = "."


def is_document(path: str, roots: Sequence[str]) -> bool:
    """A page of the graph (G-1)."""
    return path.endswith(_PAGE) and any(_is_below(path, root) for root in roots)


def may_write(path: str, roots: Sequence[str]) -> bool:
    """Pages, and what stands beside them, such as metrics and pictures; never code.

    Where the whole project is a root, only pages count: everything else lies beside them.
    """
    if is_document(path, roots):
        return True
    folders = [root for root in roots if normpath(root) != _HERE]
    return not is_scanned(path) and any(_is_below(path, root) for root in folders)


def _is_below(path: str, root: str) -> bool:
    folder = normpath(root)
    if path.startswith("../"):
        return False
    return folder == _HERE or path.startswith(f"{folder}/")
