"""Reviews that are owed: noted before anything lands, so that no crash can lose one (S-17).

One small file an attempt. It goes when the review was made, or when nothing of the attempt can land
any more; whoever lands it meanwhile, the next run finds the note.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.execution.record import attempts
from ddx.files import replace
from ddx.tracker.pending import PENDING, read_pending
from ddx.values import value
from helix.actions.unfiled import find_landing
from helix.policy.review import changed_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ddx.project import Project

FOLDER = ("state", "reviews")


def promise(project: Project, attempt: str) -> None:
    """If this attempt lands, somebody looks at it."""
    replace(_path(project, attempt), (b"\n",))


def forget(project: Project, attempt: str) -> None:
    """It was looked at, or there is nothing to look at."""
    try:
        os.unlink(_path(project, attempt))
    except FileNotFoundError:
        return


def promised(project: Project) -> list[str]:
    """The attempts that were begun under this promise, oldest first."""
    try:
        return sorted(name for name in os.listdir(project.ddx(*FOLDER)) if name[:1].isdigit())
    except FileNotFoundError:
        return []


@value
class Promises:
    """What became of them, as far as anybody can tell now."""

    owed: tuple[str, ...] = ()
    """Landed, and nobody has looked."""
    void: tuple[str, ...] = ()
    """Nothing of these can land any more, or so little has that nobody wants to look."""
    lost: tuple[str, ...] = ()
    """Their records were pruned: nobody can tell whether they landed, or look at it."""


def read_promises(
    project: Project,
    *,
    threshold: int = 0,
    flying: Collection[str] = (),
    landed: Callable[[str], Mapping[str, Any] | None] | None = None,
) -> Promises:
    """Of attempts that still fly, or wait for their landing, nothing is known yet."""
    find = landed or (lambda attempt: find_landed(project, attempt))
    names = [name for name in promised(project) if name not in flying]
    waiting = {item.attempt for item in read_pending(project.ddx(*PENDING))} if names else set()
    recorded = {*attempts(project)} if names else set()
    owed: list[str] = []
    void: list[str] = []
    lost: list[str] = []
    for attempt in names:
        result = find(attempt)
        if result is not None:
            (void if _is_small(result, threshold) else owed).append(attempt)
        elif attempt not in waiting:
            (void if attempt in recorded else lost).append(attempt)
    return Promises(tuple(owed), tuple(void), tuple(lost))


def _is_small(result: Mapping[str, Any], threshold: int) -> bool:
    """Below what is reviewed (D-24); where a crash left no count, it is looked at."""
    diffstat = str(result.get("diffstat", ""))
    return bool(diffstat) and changed_lines(diffstat) < threshold


def find_landed(project: Project, attempt: str) -> Mapping[str, Any] | None:
    """The result of an attempt that changed something, landed and closed its beads, or None."""
    result = find_landing(project, attempt)
    is_due = result and result.get("completed") and result.get("outcome") == "landed"
    return result if is_due else None


def _path(project: Project, attempt: str) -> str:
    return project.ddx(*FOLDER, attempt)
