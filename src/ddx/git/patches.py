"""What lies between two commits, as a patch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.git import require, run

if TYPE_CHECKING:
    from ddx.git.repository import Repository


def patch_between(repository: Repository, one: str, other: str) -> bytes:
    """As `git apply` takes it; no program and no filter of the repository has a say in it."""
    shape = ("--patch", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color")
    found = run(repository.checkout, "diff-tree", "-r", "-M", *shape, one, other, "--")
    require(found, f"comparing {one} with {other}")
    return found.stdout
