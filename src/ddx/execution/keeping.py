"""What did not land is kept at a ref, whatever happens to the attempt (X-14)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ddx.execution.committing import commit_files
from ddx.git import landing
from ddx.tracker.pending import PENDING, remove_pending

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.execution.committing import Signature
    from ddx.execution.record import Record
    from ddx.execution.workspace import Workspace
    from ddx.git.landing import Kept
    from ddx.project import Project


def keep(project: Project, beads: Sequence[str], attempt: str, commit: str) -> str:
    """The ref that holds the attempt's commit from now on; a batch is kept under its first bead."""
    return landing.keep(project.root, beads[0], attempt, commit)


def find_kept(project: Project, attempt: str) -> Kept | None:
    """What is kept of an attempt."""
    return next((item for item in landing.kept(project.root) if item.attempt == attempt), None)


def forget_kept(project: Project, attempt: str) -> bool:
    """Its ref goes, and nothing of it waits any more; False if nothing was kept."""
    kept = find_kept(project, attempt)
    if kept is not None:
        landing.drop(project.root, kept)
    remove_pending(project.ddx(*PENDING), attempt)
    return kept is not None


@contextmanager
def kept_on_error(
    project: Project, workspace: Workspace, signature: Signature, record: Record
) -> Iterator[None]:
    """On success nothing; on an error the work is kept before the workspace goes (X-6)."""
    try:
        yield
    except BaseException:
        if made := commit_files(workspace.work, signature, record):
            keep(project, signature.beads, signature.attempt, made.commit)
        raise
