"""`ddx bead commit`"""

from __future__ import annotations

from ddx.cli.place import here
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from ddx.environment import refuse_inside_an_attempt
from ddx.tracker.committing import commit_tracker


def run(*, message: str | None, json: bool) -> int:
    project = here()
    refuse_inside_an_attempt(project, what="committing the tracker")
    commit = commit_tracker(project, message=message or "tracker: update beads")
    if json:
        answer({"commit": commit or None})
    else:
        say(f"committed the tracker as {commit[:12]}" if commit else "nothing to commit")
    return 0


COMMAND = Command(
    "bead commit",
    "Commit the tracker's files and nothing else.",
    run,
    'ddx bead commit --message "tracker: plan the release"',
    flags=(Flag("--message", "the commit message"), JSON),
    schema="bead-committed",
)
