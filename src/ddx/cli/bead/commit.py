"""`ddx bead commit`"""

from __future__ import annotations

from ddx import git
from ddx.cli.place import here
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
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
    ".ddx/reviews.jsonl",
)


def run(*, message: str | None, json: bool) -> int:
    commit = commit_tracker(here(), message=message or "tracker: update beads")
    if json:
        answer({"commit": commit or None})
    else:
        say(f"committed the tracker as {commit[:12]}" if commit else "nothing to commit")
    return 0


def commit_tracker(project: Project, *, message: str) -> str:
    """The tracker's own files and nothing else, whatever is staged (T-14a); empty if unchanged."""
    if not git.common_folder(project.root):
        raise DdxError(f"{project.root} is not a git repository, so there is nothing to commit to")
    if git.is_unmerged(project.root, ".ddx/beads.jsonl"):
        raise DdxError(
            "a merge of the tracker is not finished",
            hint="settle it with ddx bead resolve, then finish the merge with git",
        )
    changed = git.changed_paths(project.root, TRACKED)
    return git.commit_only(project.root, changed, message=message) if changed else ""


COMMAND = Command(
    "bead commit",
    "Commit the tracker's files and nothing else.",
    run,
    'ddx bead commit --message "tracker: plan the release"',
    flags=(Flag("--message", "the commit message"), JSON),
    schema="bead-committed",
)
