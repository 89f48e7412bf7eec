"""`ddx bead close`"""

from __future__ import annotations

from ddx.cli.bead.transition import finish
from ddx.cli.place import actor, settings
from ddx.cli.session import open_tracker
from ddx.console.spec import ID, IF_REVISION, JSON, Command, Flag
from ddx.errors import NotFound
from ddx.tracker.lifecycle import Ending, close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.store import Tracker


def run(
    *,
    id: str,
    reason: str | None,
    commit: str | None,
    session: str | None,
    claim_id: str | None,
    force: bool,
    cascade: bool,
    if_revision: str | None,
    json: bool,
) -> int:
    tracker = open_tracker()
    ending = Ending(reason or "", _full_commit(tracker, commit), session or "")
    applied = tracker.change(
        lambda view, now: close(
            view,
            id,
            ending,
            actor=actor(),
            now=now,
            claim_id=claim_id or "",
            force=force,
            cascade=cascade,
        ),
        expect={id: if_revision} if if_revision else None,
    )
    if applied.rows and settings(tracker.project).tracker_commit == "on-close":
        from ddx.tracker.committing import commit_tracker

        commit_tracker(tracker.project, message=f"tracker: close {id}")
    return finish(tracker, applied, id, f"{id} is closed", json=json)


def _full_commit(tracker: Tracker, name: str | None) -> str:
    """Evidence that nobody can find is none."""
    if not name:
        return ""
    from ddx.git import commit_id

    found = commit_id(tracker.project.root, name)
    if not found:
        raise NotFound(
            f"{tracker.project.root} has no commit {name!r}", hint="for example: --commit HEAD"
        )
    return found


COMMAND = Command(
    "bead close",
    "Close a bead; its open children and dependencies must be closed first.",
    run,
    'ddx bead close app-1a2b3c4d --reason "throttled after 5 tries" --commit HEAD',
    arguments=(ID,),
    flags=(
        Flag("--reason", "what was done"),
        Flag("--commit", "the commit that did it"),
        Flag("--session", "the session that did it"),
        Flag("--claim-id", "the claim must still be this one (exit 5 otherwise)"),
        Flag("--force", "close it all the same", kind="switch"),
        Flag("--cascade", "close its epic too, if this was the last open child", kind="switch"),
        IF_REVISION,
        JSON,
    ),
    schema="bead-changed",
)
