"""The tracker's own files as one commit, whatever else is staged (T-14a, D-19)."""

from __future__ import annotations

from ddx import git
from ddx.errors import DdxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.project import Project

TRACKED = (
    ".ddx/.gitattributes",
    ".ddx/.gitignore",
    ".ddx/attachments",
    ".ddx/beads-archive.jsonl",
    ".ddx/beads.jsonl",
    ".ddx/floors.jsonl",
    ".ddx/reviews.jsonl",
)


def commit_tracker(project: Project, *, message: str) -> str:
    """The new commit's id; empty if nothing of the tracker has changed."""
    if not git.common_folder(project.root):
        raise DdxError(f"{project.root} is not a git repository, so there is nothing to commit to")
    if git.is_unmerged(project.root, ".ddx/beads.jsonl"):
        raise DdxError(
            "a merge of the tracker is not finished",
            hint="settle it with ddx bead resolve, then finish the merge with git",
        )
    changed = git.changed_paths(project.root, TRACKED)
    return git.commit_only(project.root, changed, message=message) if changed else ""
